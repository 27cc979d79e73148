//! Groups of an import that differ in one heading only, side by side: throughput by load, and who
//! is ahead.

use super::families::{Family, Member, cards, comparable, is_sound};
use super::{ImportReport, ReportedResult, in_brief, objectives, shared_lengths};
use inferometer_compare::{
    Group, Metric, RunSample, Settings, Verdict, are_other_lengths, compare,
};
use inferometer_core::point::Point;
use inferometer_import::{ImportDoubtCode, ResultGroup};
use inferometer_message::ImportText;
use inferometer_page::doc::{Block, Cell, Column, Pair, Section, Table, Tone, Unit};
use inferometer_page::number;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;
use std::collections::BTreeSet;

pub(super) fn sections(report: &ImportReport<'_>) -> Vec<Section> {
    let families = comparable(report);
    let shown = families.iter();
    let mut sections: Vec<Section> = shown.filter_map(|family| family.section(report)).collect();
    let alone = alone(report, &families);
    if let (Some(last), Some(alone)) = (sections.last_mut(), alone) {
        last.blocks.push(Block::Pairs(vec![alone]));
    }
    sections
}

/// Measured groups that stand in no family although others do.
fn alone(report: &ImportReport<'_>, families: &[Family<'_>]) -> Option<Pair> {
    let is_beside = |group: &ResultGroup| {
        let mut members = families.iter().flat_map(|family| &family.members);
        members.any(|member| std::ptr::eq(member.group, group))
    };
    let is_measured = |group: &ResultGroup| {
        let mut rows = report.rows(group).into_iter();
        rows.any(|(_, row)| row.found.summary.is_some() && !row.found.point.is_empty())
    };
    let alone = report.groups.iter();
    let alone = alone.filter(|group| is_measured(group) && !is_beside(group));
    let alone: Vec<String> = alone.map(|group| group.title.clone()).collect();
    let groups = PunctuationText::Semicolon.join(report.lang, &alone);
    let text = ImportText::AloneGroups.with(report.lang, &[("groups", groups)]);
    let name = ImportText::Alone.text(report.lang);
    (!alone.is_empty()).then(|| Pair::new(name, text))
}

impl<'r> Member<'r> {
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
}

impl<'r> Family<'r> {
    /// A load without the lengths that all of the family have.
    fn in_brief(&self, load: &Point, lang: Lang) -> String {
        let rows = self.members.iter().flat_map(|member| &member.rows);
        let shared = shared_lengths(rows.map(|row| &row.found.point));
        let mut load = load.clone();
        load.0.retain(|axis, _| !shared.0.contains_key(axis));
        in_brief(&load, lang)
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

    fn section(&self, report: &ImportReport<'_>) -> Option<Section> {
        let (unit, lang) = (self.unit()?, report.lang);
        let heading = match self.title.as_str() {
            "" => ImportText::SideBySide.text(lang).to_owned(),
            title => ImportText::SideBySideOf.with(lang, &[("title", title.to_owned())]),
        };
        let mut pairs = Vec::from_iter(self.most(unit, lang));
        pairs.extend(self.within_objectives(report));
        pairs.extend(self.lengths(unit, lang));
        pairs.extend(self.lengths_not_stated(lang));
        pairs.extend(self.other_cards(lang));
        pairs.extend(self.per_card(unit, lang));
        pairs.extend(self.in_brackets(lang));
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

    /// Up to which load each member meets the objectives.
    fn within_objectives(&self, report: &ImportReport<'_>) -> Vec<Pair> {
        let told = self.measured().filter_map(|member| {
            let said = objectives::in_words(report, &report.rows(member.group))?;
            let values = [("name", member.name.clone()), ("text", said)];
            Some(ImportText::OfMember.with(report.lang, &values))
        });
        let name = ImportText::Objectives.text(report.lang);
        let names = std::iter::once(name).chain(std::iter::repeat(""));
        names
            .zip(told)
            .map(|(name, text)| Pair::new(name, text))
            .collect()
    }

    /// Rates are those of whole servers: which cards these have, where they differ.
    fn other_cards(&self, lang: Lang) -> Option<Pair> {
        let in_words = |(card, count): (String, Option<String>)| match count {
            Some(count) => format!("{card} ×{count}"),
            None => card,
        };
        let known = self.measured().filter_map(cards).map(in_words);
        let known: BTreeSet<String> = known.collect();
        let is_counted = |member: &Member<'_>| cards(member).is_some_and(|(_, it)| it.is_some());
        let text = if self.measured().all(is_counted) {
            ImportText::OtherCards
        } else {
            ImportText::OtherCardsUncounted
        };
        let listed = PunctuationText::Comma.join(lang, &Vec::from_iter(&known));
        let text = text.with(lang, &[("cards", listed)]);
        (known.len() > 1).then(|| Pair::new(ImportText::Cards.text(lang), text))
    }

    /// The highest rate of each member by its cards, the highest first, where these differ in number
    /// and all are counted.
    fn per_card(&self, unit: Unit, lang: Lang) -> Option<Pair> {
        let counts: Option<Vec<f64>> = (self.measured())
            .map(|member| {
                let count: f64 = cards(member)?.1?.parse().ok()?;
                (count >= 1.0).then_some(count)
            })
            .collect();
        let most = |(member, count): (&'_ Member<'r>, f64)| {
            let sound = member.rows.iter().filter(|row| member.counts(row));
            let rated = sound.filter_map(|row| Some((member.rate(row, unit)?, member.load(row))));
            let (most, load) = rated.max_by(|a, b| a.0.total_cmp(&b.0))?;
            Some((most / count, load, member.name.clone(), count))
        };
        let mut each: Vec<_> = self.measured().zip(counts?).filter_map(most).collect();
        let is_one_number = each.windows(2).all(|pair| pair[0].3 == pair[1].3);
        each.sort_by(|a, b| b.0.total_cmp(&a.0));
        let said = each.iter().map(|(rate, load, name, _)| {
            let values = [
                ("rate", format!("{} {}", number::brief(*rate), unit.sign())),
                ("load", self.in_brief(load, lang)),
                ("name", name.clone()),
            ];
            ImportText::MostAt.with(lang, &values)
        });
        let said = PunctuationText::Semicolon.join(lang, &Vec::from_iter(said));
        let is_told = !is_one_number && each.len() > 1;
        is_told.then(|| Pair::new(ImportText::PerCard.text(lang), said))
    }

    /// What the headings say in brackets, where that is not the same.
    fn in_brackets(&self, lang: Lang) -> Option<Pair> {
        let shared = |text: &String| self.measured().all(|it| it.inside.contains(text));
        let own = |member: &Member<'_>| -> Vec<String> {
            let own = member.inside.iter().filter(|text| !shared(text));
            own.cloned().collect()
        };
        let told = self.measured().map(|member| (member, own(member)));
        let told = told.filter(|(_, own)| !own.is_empty());
        let told = told.map(|(member, own)| format!("{} {}", member.name, own.join(", ")));
        let told: Vec<String> = told.collect();
        let text = PunctuationText::Semicolon.join(lang, &told);
        (!told.is_empty()).then(|| Pair::new(ImportText::InBrackets.text(lang), text))
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
            let known = known.filter_map(|row| Some((sound(member, row)?, member.load(row))));
            known.max_by(|a, b| a.0.total_cmp(&b.0))
        };
        let mut best: Vec<(&Member<'r>, (f64, Point))> = (self.members.iter())
            .filter_map(|member| Some((member, best_of(member)?)))
            .collect();
        best.sort_by(|(_, a), (_, b)| b.0.total_cmp(&a.0));
        let (ahead, (most, at)) = best.first()?;
        let (most, at) = (*most, at.clone());
        let best_row = ahead.at(&at);
        let part = |(member, own): &(&Member<'r>, (f64, Point))| {
            let row = member.at(&at);
            let beside = row.and_then(|row| sound(member, row));
            let (rate, load) = beside.map_or(own.clone(), |rate| (rate, at.clone()));
            let of_same = row
                .zip(best_row)
                .is_none_or(|(a, b)| !have_other_inputs(a, b));
            let apart = member.apart(unit).max(ahead.apart(unit));
            let is_less = beside.is_some() && rate * (1.0 + apart) < most && of_same;
            let unsure = is_less.then(|| unsure([*ahead, *member], &at, unit));
            let text = match unsure.flatten() {
                Some(Unsure::Chance) => ImportText::PerhapsLessAt,
                Some(Unsure::NotCounted) if most < rate * LARGE_LEAD => ImportText::PerhapsLessAt,
                _ if is_less => ImportText::LessAt,
                _ => ImportText::MostAt,
            };
            let values = [
                ("rate", format!("{} {}", number::brief(rate), unit.sign())),
                ("load", self.in_brief(&load, lang)),
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
                ("load", self.in_brief(load, lang)),
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
            let rows = member.rows.iter().filter(|row| !is_other_work(row));
            let known = rows.filter_map(|row| row.lengths()[1]);
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

    fn lengths_not_stated(&self, lang: Lang) -> Option<Pair> {
        let names = self.without_lengths();
        let listed = PunctuationText::Comma.join(lang, &names);
        let text = ImportText::LengthsNotStated.with(lang, &[("names", listed)]);
        (!names.is_empty()).then(|| Pair::new(ImportText::Lengths.text(lang), text))
    }

    fn table(&self, unit: Unit, lang: Lang) -> Table {
        let all = self.members.iter();
        let all = all.flat_map(|member| member.rows.iter().map(|row| member.load(row)));
        let mut loads: Vec<Point> = all.collect();
        loads.sort_by(|a, b| a.order(b).then_with(|| a.key().cmp(&b.key())));
        loads.dedup();
        let mut columns = vec![Column::key(ImportText::Load.text(lang))];
        let titles = self
            .measured()
            .map(|it| format!("{} {}", it.name, unit.sign()));
        columns.extend(titles.map(|title| Column::right(&title)));
        columns.push(Column::left(ImportText::Ahead.text(lang)));
        columns.push(Column::left(ImportText::AheadOf.text(lang)));
        let line = |load: Point| {
            let at = Vec::from_iter(self.measured().map(|member| member.at(&load)));
            let mut cells = vec![Cell::text(self.in_brief(&load, lang))];
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
        let mut ranked: Vec<(&Member<'_>, f64, &ReportedResult<'_>)> = Vec::new();
        for (member, row) in self.measured().zip(at) {
            let counted = row.filter(|row| member.counts(row));
            let rated = counted.and_then(|row| Some((member.rate(row, unit)?, row)));
            if let Some((rate, row)) = rated {
                ranked.push((member, rate, row));
            }
        }
        let answers = ranked.iter().filter_map(|(_, _, row)| row.lengths()[1]);
        let mut answers: Vec<f64> = answers.collect();
        answers.sort_by(f64::total_cmp);
        let mut pairs = ranked.iter().enumerate().flat_map(|(at, (_, _, a))| {
            let further = ranked.get(at + 1..).unwrap_or_default();
            further.iter().map(move |(_, _, b)| (*a, *b))
        });
        if let Some((a, b)) = pairs.find(|(a, b)| have_other_inputs(a, b)) {
            let [a, b] = [a, b].map(|row| number::mean(row.lengths()[0].unwrap_or_default()));
            let text = ImportText::OtherInputs.with(lang, &[("a", a), ("b", b)]);
            return [text, String::new()];
        }
        ranked.sort_by(|(_, a, _), (_, b, _)| b.total_cmp(a));
        // By what share the repeats of the first two differ.
        let apart = ranked.iter().take(2).map(|(member, ..)| member.apart(unit));
        let apart = apart.fold(0.0, f64::max);
        match ranked[..] {
            // Shorter answers are other work, as `compare` says, too.
            [_, _, ..] if unit == Unit::TokensPerSecond && are_unlike(&answers) => {
                let ends = [answers.first(), answers.last()].map(|it| it.copied());
                let [a, b] = ends.map(|it| number::mean(it.unwrap_or_default()));
                let text = ImportText::OtherAnswers.with(lang, &[("a", a), ("b", b)]);
                [text + &more_requests(&ranked, lang), String::new()]
            }
            [(_, most, _), (_, next, _), ..] if most <= next * (1.0 + margin) => {
                let margin = [("margin", number::percent(margin))];
                [ImportText::NobodyAhead.with(lang, &margin), String::new()]
            }
            [(_, most, _), (_, next, _), ..] if most <= next * (1.0 + apart) => {
                let share = [("share", number::percent(apart))];
                [ImportText::WithinRepeats.with(lang, &share), String::new()]
            }
            [(first, most, row), (second, next, _), ..] if most > next && next > 0.0 => {
                let ratio = most / next;
                let by = if ratio >= number::MANY_TIMES {
                    number::change(ratio)
                } else {
                    format!("+{} %", number::mean(100.0 * (ratio - 1.0)))
                };
                let ahead = format!("{} {by}", first.name);
                let ahead = match unsure([first, second], &first.load(row), unit) {
                    Some(Unsure::Chance) => {
                        ImportText::NotCertainlyAhead.with(lang, &[("ahead", ahead)])
                    }
                    Some(Unsure::NotCounted) if ratio < LARGE_LEAD => {
                        ImportText::PerhapsAheadUncounted.with(lang, &[("ahead", ahead)])
                    }
                    Some(Unsure::NotCounted) => {
                        ImportText::AheadOfUncounted.with(lang, &[("ahead", ahead)])
                    }
                    None => ahead,
                };
                [ahead, second.name.clone()]
            }
            _ => Default::default(),
        }
    }
}

/// Of two with answers of other lengths, which ended more requests: what a user waits for.
fn more_requests(ranked: &[(&Member<'_>, f64, &ReportedResult<'_>)], lang: Lang) -> String {
    let rate = |at: usize| {
        let (member, _, row) = ranked.get(at)?;
        Some((
            member,
            member
                .rate(row, Unit::RequestsPerSecond)
                .filter(|it| *it > 0.0)?,
        ))
    };
    let both = rate(0).zip(rate(1)).filter(|_| ranked.len() == 2);
    both.map_or_else(String::new, |((a, of_a), (b, of_b))| {
        let (name, ratio) = if of_a >= of_b {
            (&a.name, of_a / of_b)
        } else {
            (&b.name, of_b / of_a)
        };
        let more = number::percent(ratio - 1.0);
        ImportText::MoreRequests.with(lang, &[("name", name.clone()), ("share", more)])
    })
}

/// A lead that is told of results that do not say how many requests they are of.
const LARGE_LEAD: f64 = 1.2;

/// Fewest loads that together tell of one of them.
const SEVERAL_LOADS: usize = 4;

/// Why `compare` does not tell a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unsure {
    Chance,
    /// A side does not say how many requests it is of, so that nobody can tell.
    NotCounted,
}

/// Whether `compare` cannot tell that the second of two members is behind at a load.
fn unsure(members: [&Member<'_>; 2], at: &Point, unit: Unit) -> Option<Unsure> {
    let side = |member: &Member<'_>| {
        let run = |row: &ReportedResult<'_>| {
            let summary = row.found.summary.as_ref()?.to_summary();
            let answered = row.found.summary.as_ref()?.requests.answered();
            let run = RunSample::imported(row.found.tool.name(), member.load(row), summary);
            Some(RunSample { answered, ..run })
        };
        let rows = member.rows.iter().filter(|row| member.counts(row));
        let all = rows.flat_map(|row| member.repeats(row));
        Group {
            name: member.name.clone(),
            runs: all.filter_map(run).collect(),
            out_of_memory: Vec::new(),
        }
    };
    let metric = match unit {
        Unit::TokensPerSecond => Metric::OutputTokensPerS,
        _ => Metric::RequestsPerS,
    };
    let settings = Settings {
        primary: Some(metric),
        metrics: vec![metric],
        ..Settings::default()
    };
    let comparison = compare(&members.map(side), &settings);
    let mut rows = comparison.rows.iter().filter(|row| row.metric == metric);
    let row = rows.find(|row| row.point == *at)?;
    // What several loads show together holds for one that is as they are.
    let together = comparison.pooled.first();
    let is_told = together.is_some_and(|it| {
        let is_alike = row.ratio.is_some_and(|ratio| ratio <= it.high);
        it.verdict == Verdict::Worse && it.loads >= SEVERAL_LOADS && is_alike
    });
    if is_told {
        return None;
    }
    let is_counted = |member: &Member<'_>| {
        let summary = member.at(at).and_then(|row| row.found.summary.as_ref());
        summary.is_some_and(|summary| summary.requests.answered() > Some(0))
    };
    (row.verdict == Verdict::Unknown).then(|| {
        if members.into_iter().all(is_counted) {
            Unsure::Chance
        } else {
            Unsure::NotCounted
        }
    })
}

/// Whether mean answers, the shortest first, differ so much that rates in tokens tell something else.
fn are_unlike(answers: &[f64]) -> bool {
    let ends = answers.first().zip(answers.last());
    ends.is_some_and(|(least, most)| are_other_lengths(*least, *most))
}

/// Whether `compare` would not compare two results of one load, their prompts being of other lengths.
fn have_other_inputs(a: &ReportedResult<'_>, b: &ReportedResult<'_>) -> bool {
    let both = a.lengths()[0].zip(b.lengths()[0]);
    both.is_some_and(|(a, b)| are_other_lengths(a, b))
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
    let is_whole = !result.has_failures() && !is_other_work(result);
    is_whole && result.meets() && is_sound(result)
}

/// Whether its answers are not those that were asked for, or its author does not trust it.
fn is_other_work(result: &ReportedResult<'_>) -> bool {
    let codes = [
        ImportDoubtCode::OutputLengths,
        ImportDoubtCode::DoubtedByAuthor,
    ];
    result
        .doubts
        .iter()
        .any(|doubt| codes.contains(&doubt.code))
}

/// What marks a result that may not be the best.
fn sign(result: &ReportedResult<'_>) -> Option<&'static str> {
    let is_spoiled = result.has_failures() || is_other_work(result);
    let is_unknown = !is_spoiled && !result.misses() && is_sound(result);
    match (counts(result), is_unknown) {
        (true, _) => None,
        (false, true) => Some("?"),
        (false, false) => Some("!"),
    }
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
