//! Groups of an import that differ in one heading only, side by side: throughput by load, and who
//! is ahead. Of the headings that tell groups apart, the one that names the engine is taken.

use super::{ImportReport, ReportedResult, in_brief};
use inferometer_compare::{Group, RunSample, Settings, WhyNot, WhyNotText, compare};
use inferometer_core::doubt::Severity;
use inferometer_core::point::Point;
use inferometer_core::summary::CARDS;
use inferometer_import::{ImportDoubtCode, ImportedResult, ResultGroup};
use inferometer_message::ImportText;
use inferometer_page::doc::{Block, Cell, Column, Pair, Section, Table, Tone, Unit};
use inferometer_page::number;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;
use std::collections::BTreeSet;

/// Share by which mean answers may differ before rates in tokens tell something else.
const SAME_LENGTH: f64 = 0.05;

/// Groups with the same headings but one.
pub(super) struct Family<'r> {
    /// Headings that all share.
    pub title: String,
    pub members: Vec<Member<'r>>,
}

pub(super) struct Member<'r> {
    pub name: String,
    pub group: &'r ResultGroup,
    /// The first of the group, which facts about all are read from.
    first: Option<&'r ImportedResult>,
    /// Results by load; none where no start was possible.
    rows: Vec<&'r ReportedResult<'r>>,
    /// Those of loads that were measured again with the same settings.
    again: Vec<&'r ReportedResult<'r>>,
}

pub(super) fn sections(report: &ImportReport<'_>) -> Vec<Section> {
    let families = comparable(report);
    let shown = families.iter();
    shown
        .filter_map(|family| family.section(report.lang))
        .collect()
}

/// The families that differ in the heading that tells most.
pub(super) fn comparable<'r>(report: &'r ImportReport<'_>) -> Vec<Family<'r>> {
    let deepest = report.groups.iter().map(|it| headings(report, it).len());
    let by_place = (0..deepest.max().unwrap_or(0)).map(|place| families(report, place));
    let mut by_place: Vec<Vec<Family<'_>>> = by_place.filter(|found| !found.is_empty()).collect();
    let of_engines = |families: &Vec<Family<'_>>| families.iter().any(tells_engines_apart);
    let chosen = by_place.iter().position(of_engines).unwrap_or(0);
    if by_place.is_empty() {
        return Vec::new();
    }
    by_place.swap_remove(chosen)
}

fn headings<'a>(report: &ImportReport<'a>, group: &ResultGroup) -> &'a [String] {
    let first = group.members.first();
    first.map_or(&[], |place| group.headings(report.results[*place].found))
}

/// Groups whose headings differ at one place only.
fn families<'r>(report: &'r ImportReport<'_>, place: usize) -> Vec<Family<'r>> {
    let mut families: Vec<(Vec<&String>, Vec<&'r ResultGroup>)> = Vec::new();
    for group in &report.groups {
        let all = headings(report, group);
        if place >= all.len() {
            continue;
        }
        let (before, after) = (&all[..place], &all[place + 1..]);
        let others: Vec<&String> = before.iter().chain(after).collect();
        match families.iter_mut().find(|(known, _)| *known == others) {
            Some((_, groups)) => groups.push(group),
            None => families.push((others, vec![group])),
        }
    }
    families.retain(|(_, groups)| groups.len() > 1);
    let of_all = families.iter().map(|(others, _)| others.clone());
    let of_all: Vec<Vec<&String>> = of_all.collect();
    let tells_apart = |heading: &&&String| match &of_all[..] {
        [_] => {
            let mut groups = report.groups.iter();
            !groups.all(|group| headings(report, group).contains(**heading))
        }
        several => !several.iter().all(|others| others.contains(*heading)),
    };
    let family = |(others, groups): (Vec<&String>, Vec<&'r ResultGroup>)| {
        let title: Vec<&str> = others
            .iter()
            .filter(tells_apart)
            .map(|it| it.as_str())
            .collect();
        let member = |group: &'r ResultGroup| {
            let rows = report.rows(group).into_iter().map(|(_, result)| result);
            let rows = rows.filter(|row| !row.found.point.is_empty());
            let mut rows: Vec<&ReportedResult<'_>> = rows.collect();
            // Of a table and its block that contradict each other, the block counts.
            let all = rows.clone();
            let repeats = |row: &ReportedResult<'_>| {
                let mut same = all.iter().filter(|it| load(it) == load(row));
                is_contradicted(row) && same.any(|it| !is_contradicted(it))
            };
            rows.retain(|row| !repeats(row));
            // What was measured again because it had gone wrong is not held against anything.
            let sound: BTreeSet<String> = (rows.iter().filter(|row| is_sound(row)))
                .map(|row| load(row).key())
                .collect();
            rows.retain(|row| is_sound(row) || !sound.contains(&load(row).key()));
            // Of one load and setting, what was measured again is a repeat of the first.
            let all = rows.clone();
            let is_again = |at: usize| {
                let same = |it: &&&ReportedResult<'_>| is_repeat(it, all[at]);
                all[..at].iter().find(same).is_some()
            };
            let again: Vec<_> = (0..all.len()).filter(|at| is_again(*at)).collect();
            let again: Vec<_> = again.into_iter().map(|at| all[at]).collect();
            rows.retain(|row| !again.iter().any(|it| std::ptr::eq(*it, *row)));
            let first = group.members.first();
            Member {
                again,
                name: headings(report, group)[place].clone(),
                group,
                first: first.map(|place| report.results[*place].found),
                rows,
            }
        };
        let mut family = Family {
            title: title.join(" / "),
            members: groups.into_iter().map(member).collect(),
        };
        family.shorten_names();
        family
    };
    let families = families.into_iter().map(family);
    families.filter(Family::is_comparable).collect()
}

/// Whether two results are of one load and setting, and both have numbers.
fn is_repeat(a: &ReportedResult<'_>, b: &ReportedResult<'_>) -> bool {
    let setting = |it: &ReportedResult<'_>| it.measured.as_ref().map(|(point, _)| point.key());
    let known = setting(a).zip(setting(b));
    load(a) == load(b) && known.is_some_and(|(a, b)| a == b)
}

fn is_contradicted(result: &ReportedResult<'_>) -> bool {
    let mut doubts = result.doubts.iter();
    doubts.any(|doubt| doubt.code == ImportDoubtCode::InconsistentImport)
}

fn engine<'r>(member: &Member<'r>) -> Option<&'r String> {
    member.first?.facts.get("engine")
}

/// The card of a member, and how many of them served it where that is known.
fn cards(member: &Member<'_>) -> Option<String> {
    let card = member.first?.facts.get("card")?;
    let mut counts = member
        .rows
        .iter()
        .filter_map(|row| row.found.summary.as_ref());
    let count = counts.find_map(|summary| summary.tags.get(CARDS));
    Some(match count.filter(|count| *count != "1") {
        Some(count) => format!("{card} ×{count}"),
        None => card.clone(),
    })
}

fn tells_engines_apart(family: &Family<'_>) -> bool {
    let engines: BTreeSet<_> = family.members.iter().map(engine).collect();
    engines.len() > 1
}

impl<'r> Member<'r> {
    /// All results of the load of one of its rows.
    fn repeats(&self, row: &'r ReportedResult<'r>) -> Vec<&'r ReportedResult<'r>> {
        let again = self.again.iter().copied();
        let again = again.filter(|it| is_repeat(it, row));
        std::iter::once(row).chain(again).collect()
    }

    /// The mean rate at the load of one of its rows.
    fn rate(&self, row: &'r ReportedResult<'r>, unit: Unit) -> Option<f64> {
        let rates: Option<Vec<f64>> = (self.repeats(row).into_iter())
            .map(|it| rate(it, unit))
            .collect();
        let rates = rates?;
        Some(rates.iter().sum::<f64>() / rates.len() as f64)
    }

    /// Whether all at the load of one of its rows may be the best.
    fn counts(&self, row: &'r ReportedResult<'r>) -> bool {
        self.repeats(row).into_iter().all(counts)
    }

    /// By what share repeats differ, at whichever load they differ most.
    fn apart(&self, unit: Unit) -> f64 {
        let of_load = |row: &&'r ReportedResult<'r>| {
            let rates = self.repeats(row).into_iter();
            let rates = Vec::from_iter(rates.filter_map(|it| rate(it, unit)));
            let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
            let high = rates.iter().copied().fold(0.0, f64::max);
            high / low - 1.0
        };
        self.rows.iter().map(of_load).fold(0.0, f64::max)
    }

    fn at(&self, wanted: &Point) -> Option<&'r ReportedResult<'r>> {
        let mut rows = self.rows.iter();
        rows.find(|row| load(row) == *wanted).copied()
    }
}

impl<'r> Family<'r> {
    /// Members are named by their engines and cards where that tells them apart: `vLLM (A100 ×4)`.
    /// A card that all share is not named.
    fn shorten_names(&mut self) {
        let cards_of_all: BTreeSet<_> = self.members.iter().map(cards).collect();
        let name = |member: &Member<'_>| {
            let engine = engine(member)?;
            Some(match cards(member).filter(|_| cards_of_all.len() > 1) {
                Some(cards) => format!("{engine} ({cards})"),
                None => engine.clone(),
            })
        };
        let names: Option<Vec<String>> = self.members.iter().map(name).collect();
        let names = names.filter(|names| BTreeSet::from_iter(names).len() == names.len());
        for (member, name) in self.members.iter_mut().zip(names.into_iter().flatten()) {
            member.name = name;
        }
    }

    /// Those that have results.
    fn measured(&self) -> impl Iterator<Item = &Member<'r>> + Clone {
        self.members.iter().filter(|member| !member.rows.is_empty())
    }

    /// Whether several have one result for each load, and a load in common.
    fn is_comparable(&self) -> bool {
        let loads = |member: &Member<'_>| -> BTreeSet<String> {
            member.rows.iter().map(|it| load(it).key()).collect()
        };
        let all: Vec<BTreeSet<String>> = self.measured().map(loads).collect();
        let single =
            |(member, loads): (&Member<'_>, &BTreeSet<String>)| loads.len() == member.rows.len();
        let distinct: BTreeSet<&String> = all.iter().flatten().collect();
        all.len() > 1
            && self.measured().zip(&all).all(single)
            && distinct.len() < all.iter().map(BTreeSet::len).sum()
    }

    /// Tokens per second where all know them, else requests.
    fn unit(&self) -> Option<Unit> {
        let all_know = |unit: &Unit| {
            let knows = |it: &Member<'_>| it.rows.iter().any(|row| rate(row, *unit).is_some());
            self.measured().all(knows)
        };
        let mut units = [Unit::TokensPerSecond, Unit::RequestsPerSecond].into_iter();
        units.find(all_know)
    }

    fn section(&self, lang: Lang) -> Option<Section> {
        let unit = self.unit()?;
        let heading = match self.title.as_str() {
            "" => ImportText::SideBySide.text(lang).to_owned(),
            title => ImportText::SideBySideOf.with(lang, &[("title", title.to_owned())]),
        };
        let mut pairs = Vec::from_iter(self.most(unit, lang));
        pairs.extend(self.lengths(unit, lang));
        pairs.extend(self.other_cards(lang));
        pairs.extend(self.without_result(lang));
        let rows = self.members.iter().flat_map(|it| &it.rows);
        let mut shown = rows.filter(|row| rate(row, unit).is_some());
        let has_missed = shown.clone().any(|row| row.misses());
        if shown.clone().any(|row| sign(row) == Some("!")) {
            let text = if has_missed {
                ImportText::NotCountedOrMissed
            } else {
                ImportText::NotCounted
            };
            pairs.push(Pair::new("!", text.text(lang)));
        }
        if shown.any(|row| sign(row) == Some("?")) {
            pairs.push(Pair::new("?", ImportText::NotKnownToMeet.text(lang)));
        }
        Some(Section::headed(
            &heading,
            [Block::Pairs(pairs), Block::Table(self.table(unit, lang))],
        ))
    }

    /// Rates are those of whole servers: which cards these have, where they differ.
    fn other_cards(&self, lang: Lang) -> Option<Pair> {
        let known: BTreeSet<String> = self.measured().filter_map(cards).collect();
        let is_counted = |member: &Member<'_>| cards(member).is_some_and(|it| it.contains('×'));
        let text = if self.measured().all(is_counted) {
            ImportText::OtherCards
        } else {
            ImportText::OtherCardsUncounted
        };
        let listed = PunctuationText::Comma.join(lang, &Vec::from_iter(&known));
        let text = text.with(lang, &[("cards", listed)]);
        (known.len() > 1).then(|| Pair::new(ImportText::Cards.text(lang), text))
    }

    /// Members that could not be measured at all.
    fn without_result(&self, lang: Lang) -> Option<Pair> {
        let names = self.members.iter().filter(|member| member.rows.is_empty());
        let names: Vec<String> = names.map(|member| member.name.clone()).collect();
        let names = (!names.is_empty()).then(|| PunctuationText::Comma.join(lang, &names));
        names.map(|names| Pair::new(ImportText::NoResult.text(lang), names))
    }

    /// The highest rate of all, and what the others have at the same load, with their own highest
    /// where that is at another; of one that has nothing sound there its own highest alone.
    fn most(&self, unit: Unit, lang: Lang) -> Option<Pair> {
        let sound = |member: &Member<'r>, row: &'r ReportedResult<'r>| {
            member.rate(row, unit).filter(|_| member.counts(row))
        };
        let best_of = |member: &Member<'r>| {
            let known = member.rows.iter();
            let known = known.filter_map(|row| Some((sound(member, row)?, load(row))));
            known.max_by(|a, b| a.0.total_cmp(&b.0))
        };
        let mut best: Vec<(&Member<'r>, (f64, Point))> = (self.members.iter())
            .filter_map(|member| Some((member, best_of(member)?)))
            .collect();
        best.sort_by(|(_, a), (_, b)| b.0.total_cmp(&a.0));
        let (ahead, (most, at)) = best.first()?.clone();
        let best_row = ahead.at(&at);
        let part = |(member, own): &(&Member<'r>, (f64, Point))| {
            let row = member.at(&at);
            let beside = row.and_then(|row| sound(member, row));
            let (rate, load) = beside.map_or(own.clone(), |rate| (rate, at.clone()));
            let of_same = row
                .zip(best_row)
                .is_none_or(|(a, b)| !have_other_inputs(a, b));
            let apart = member.apart(unit).max(ahead.apart(unit));
            let is_less = rate * (1.0 + apart) < most;
            let text = if beside.is_some() && is_less && of_same {
                ImportText::LessAt
            } else {
                ImportText::MostAt
            };
            let values = [
                ("rate", format!("{} {}", number::brief(rate), unit.sign())),
                ("load", in_brief(&load, lang)),
                ("less", number::percent(1.0 - rate / most)),
                ("name", member.name.clone()),
            ];
            let text = text.with(lang, &values);
            let (highest, load) = own;
            if *highest <= rate {
                return text;
            }
            let values = [
                ("text", text),
                (
                    "rate",
                    format!("{} {}", number::brief(*highest), unit.sign()),
                ),
                ("load", in_brief(load, lang)),
            ];
            ImportText::OwnMost.with(lang, &values)
        };
        let parts: Vec<String> = best.iter().map(part).collect();
        let parts = PunctuationText::Semicolon.join(lang, &parts);
        Some(Pair::new(ImportText::MostOutput.text(lang), parts))
    }

    /// Mean answers, where they differ.
    fn lengths(&self, unit: Unit, lang: Lang) -> Option<Pair> {
        let length = |member: &Member<'_>| {
            let known = member.rows.iter().filter_map(|row| row.lengths()[1]);
            let known: Vec<f64> = known.collect();
            let mean = known.iter().sum::<f64>() / known.len() as f64;
            (!known.is_empty()).then(|| (member.name.clone(), mean))
        };
        let lengths: Vec<(String, f64)> = self.members.iter().filter_map(length).collect();
        let mut means = Vec::from_iter(lengths.iter().map(|(_, mean)| *mean));
        means.sort_by(f64::total_cmp);
        if !are_unlike(&means) || unit != Unit::TokensPerSecond {
            return None;
        }
        let lengths = lengths
            .iter()
            .map(|(name, mean)| format!("{name} {}", number::mean(*mean)));
        let lengths = PunctuationText::Comma.join(lang, &Vec::from_iter(lengths));
        let text = ImportText::OtherLengths.with(lang, &[("lengths", lengths)]);
        Some(Pair::new(ImportText::Lengths.text(lang), text))
    }

    fn table(&self, unit: Unit, lang: Lang) -> Table {
        let mut loads: Vec<&ReportedResult<'_>> = Vec::new();
        for row in self.members.iter().flat_map(|member| &member.rows) {
            if loads.iter().all(|known| load(known) != load(row)) {
                loads.push(row);
            }
        }
        loads.sort_by(|a, b| load(a).order(&load(b)));
        let mut columns = vec![Column::key(ImportText::Load.text(lang))];
        let titles = self
            .measured()
            .map(|it| format!("{} {}", it.name, unit.sign()));
        columns.extend(titles.map(|title| Column::right(&title)));
        columns.push(Column::left(ImportText::Ahead.text(lang)));
        columns.push(Column::left(ImportText::AheadOf.text(lang)));
        let line = |one: &ReportedResult<'_>| {
            let load = load(one);
            let at = Vec::from_iter(self.measured().map(|member| member.at(&load)));
            let mut cells = vec![Cell::text(in_brief(&load, lang))];
            let of_members = self.measured().zip(&at);
            cells.extend(of_members.map(|(member, row)| cell(member, *row, unit, lang)));
            cells.extend(self.ahead(&at, unit, lang).map(Cell::text));
            cells
        };
        Table::new(columns, loads.into_iter().map(line))
    }

    /// Who has the highest rate at a load and by how much, and who comes next; empty where fewer than
    /// two count. A difference that `compare` would not call one is none here.
    fn ahead(&self, at: &[Option<&'r ReportedResult<'r>>], unit: Unit, lang: Lang) -> [String; 2] {
        let margin = Settings::default().margin;
        let mut apart: f64 = 0.0;
        let mut rates: Vec<(&str, f64)> = Vec::new();
        let mut of_rates: Vec<&ReportedResult<'_>> = Vec::new();
        let mut answers: Vec<f64> = Vec::new();
        for (member, row) in self.measured().zip(at) {
            let Some(row) = row.filter(|row| member.counts(row)) else {
                continue;
            };
            if let Some(rate) = member.rate(row, unit) {
                apart = apart.max(member.apart(unit));
                rates.push((member.name.as_str(), rate));
                of_rates.push(row);
                answers.extend(row.lengths()[1]);
            }
        }
        rates.sort_by(|a, b| b.1.total_cmp(&a.1));
        answers.sort_by(f64::total_cmp);
        let mut pairs = of_rates.iter().enumerate().flat_map(|(at, a)| {
            let further = of_rates.get(at + 1..).unwrap_or_default();
            further.iter().map(move |b| (*a, *b))
        });
        if let Some((a, b)) = pairs.find(|(a, b)| have_other_inputs(a, b)) {
            let [a, b] = [a, b].map(|row| number::mean(row.lengths()[0].unwrap_or_default()));
            let text = ImportText::OtherInputs.with(lang, &[("a", a), ("b", b)]);
            return [text, String::new()];
        }
        match rates[..] {
            // Shorter answers are other work, as `compare` says, too.
            [_, _, ..] if unit == Unit::TokensPerSecond && are_unlike(&answers) => {
                let ends = [answers.first(), answers.last()].map(|it| it.copied());
                let [a, b] = ends.map(|it| number::mean(it.unwrap_or_default()));
                let text = ImportText::OtherAnswers.with(lang, &[("a", a), ("b", b)]);
                [text, String::new()]
            }
            [(_, most), (_, next), ..] if most <= next * (1.0 + margin) => {
                let margin = [("margin", number::percent(margin))];
                [ImportText::NobodyAhead.with(lang, &margin), String::new()]
            }
            [(_, most), (_, next), ..] if most <= next * (1.0 + apart) => {
                let share = [("share", number::percent(apart))];
                [ImportText::WithinRepeats.with(lang, &share), String::new()]
            }
            [(first, most), (second, next), ..] if most > next && next > 0.0 => {
                let ratio = most / next;
                let by = if ratio >= number::MANY_TIMES {
                    number::change(ratio)
                } else {
                    format!("+{} %", number::mean(100.0 * (ratio - 1.0)))
                };
                [format!("{first} {by}"), second.to_owned()]
            }
            _ => Default::default(),
        }
    }
}

/// Whether mean answers, the shortest first, differ so much that rates in tokens tell something else.
fn are_unlike(answers: &[f64]) -> bool {
    let ends = answers.first().zip(answers.last());
    ends.is_some_and(|(least, most)| most - least > SAME_LENGTH * most)
}

/// Whether `compare` would not compare two results of one load, their prompts being of other lengths.
fn have_other_inputs(a: &ReportedResult<'_>, b: &ReportedResult<'_>) -> bool {
    let side = |name: &str, row: &ReportedResult<'_>| {
        let summary = row.found.summary.as_ref()?.to_summary();
        let run = RunSample::imported(row.found.tool.name(), load(row), summary);
        Some(Group {
            name: name.to_owned(),
            runs: vec![run],
            out_of_memory: Vec::new(),
        })
    };
    let (Some(a), Some(b)) = (side("a", a), side("b", b)) else {
        return false;
    };
    let what = WhyNotText::InputTokens;
    let is_of_inputs = |it: &WhyNot| matches!(it, WhyNot::Differs { what: it, .. } if *it == what);
    let reasons = compare(&[a, b], &Settings::default()).reasons;
    reasons.iter().any(is_of_inputs)
}

/// The load of a result; streams at no limit of the rate are a closed loop.
fn load(result: &ReportedResult<'_>) -> Point {
    let mut point = result.point();
    if point.0.contains_key("concurrency") && point.0.get("rate") == Some(&"inf".into()) {
        point.0.remove("rate");
    }
    point
}

fn rate(result: &ReportedResult<'_>, unit: Unit) -> Option<f64> {
    let throughput = result.throughput();
    match unit {
        Unit::TokensPerSecond => throughput.output_tokens_per_s,
        _ => throughput.requests_per_s,
    }
}

/// Whether it may be the best: all was answered or nearly so, nothing makes it invalid, and the
/// objectives are known to be met.
fn counts(result: &ReportedResult<'_>) -> bool {
    !result.has_failures() && result.meets() && is_sound(result)
}

/// What marks a result that may not be the best.
fn sign(result: &ReportedResult<'_>) -> Option<&'static str> {
    let is_unknown = !result.has_failures() && !result.misses() && is_sound(result);
    match (counts(result), is_unknown) {
        (true, _) => None,
        (false, true) => Some("?"),
        (false, false) => Some("!"),
    }
}

fn is_sound(result: &ReportedResult<'_>) -> bool {
    result.severity() < Some(Severity::Invalid)
}

fn cell<'r>(
    member: &Member<'r>,
    row: Option<&'r ReportedResult<'r>>,
    unit: Unit,
    lang: Lang,
) -> Cell {
    let Some(row) = row else {
        return Cell::blank();
    };
    if let Some(word) = row.failure() {
        return Cell::Toned(word.text(lang).to_owned(), Tone::Bad);
    }
    let repeats = member.repeats(row);
    let Some(rate) = member.rate(row, unit) else {
        return Cell::blank();
    };
    let values = [
        ("rate", number::brief(rate)),
        ("runs", repeats.len().to_string()),
    ];
    let text = match repeats.len() {
        1 => number::brief(rate),
        _ => ImportText::RateOfRuns.with(lang, &values),
    };
    match repeats.iter().find_map(|row| sign(row)) {
        Some(sign) => Cell::Toned(format!("{sign} {text}"), Tone::Bad),
        None if repeats.len() > 1 => Cell::text(text),
        None => Cell::brief(Some(rate)),
    }
}
