//! What results of another tool show together: as measured points, so that the charts and the
//! rules of a sweep's findings serve them too.

use super::{ImportReport, ReportedResult, families};
use crate::findings::{self, Finding, FindingKind};
use crate::quality;
use inferometer_chart::measured::{
    MeasuredPoint, MeasuredPoints, SETTING, is_load, is_work, value_text,
};
use inferometer_chart::{self, Shown};
use inferometer_compare::are_other_lengths;
use inferometer_core::point::Point;
use inferometer_core::summary::Summary;
use inferometer_import::{ResultGroup, Tool};
use inferometer_message::{FigureText, FindingText, ImportText, PageText};
use inferometer_page::doc::Pair;
use inferometer_page::figure::Figure;
use inferometer_page::number;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Results that are named in a finding or a footnote.
const MOST_NAMED: usize = 6;

/// A group, and what it is called beside others.
type NamedGroup<'r> = (&'r str, &'r ResultGroup);

/// The points of an import, which [`MeasuredPoints`] borrows.
struct ImportedPoints<'a> {
    axes: Vec<String>,
    /// Results of one point are its repeats.
    points: Vec<(Point, Vec<&'a Summary>)>,
}

impl<'a> ImportedPoints<'a> {
    /// Those of some groups, each of which is a setting where there are several.
    fn of(report: &'a ImportReport<'_>, groups: &[NamedGroup<'_>]) -> Self {
        let mut points: Vec<(Point, Vec<&Summary>)> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for (name, group) in groups {
            let names = Names::of_group(report, group);
            let mut settings: BTreeMap<String, Option<String>> = BTreeMap::new();
            for (_, result) in report.rows(group) {
                let Some((told_apart, summary)) = &result.measured else {
                    continue;
                };
                let title = (groups.len() > 1).then(|| (*name).to_owned());
                let mut own = names.of(group, result, told_apart);
                // What was measured again with the same flags is a repeat, whatever it is called.
                if result.found.flags.is_some() && result.found.tool != Tool::MarkdownTable {
                    let first = settings.entry(told_apart.key());
                    own = first.or_insert(own).clone();
                }
                let setting: Vec<String> = title.into_iter().chain(own).collect();
                let mut point = with_our_names(&result.point());
                if matches!(names, Names::Flags) {
                    point.0.extend(beside_load(result, told_apart).0);
                }
                if !setting.is_empty() {
                    point
                        .0
                        .insert(SETTING.to_owned(), setting.join(" / ").into());
                }
                let place = *places.entry(point.key()).or_insert(points.len());
                match points.get_mut(place) {
                    Some((_, summaries)) => summaries.push(summary),
                    None => points.push((point, vec![summary])),
                }
            }
        }
        ImportedPoints {
            axes: axes(&points),
            points,
        }
    }

    /// Of settings at one load those whose prompts have another mean length than most have: their
    /// work is another. All of them where no length is that of most.
    fn take_out_other_prompts(&mut self) -> Vec<String> {
        let prompts = |(_, summaries): &(Point, Vec<&Summary>)| {
            let known = summaries.iter().filter_map(|it| it.tokens.input_mean);
            known.reduce(f64::max)
        };
        let held = |(point, _): &(Point, Vec<&Summary>)| {
            let axes = point.0.iter();
            let axes = axes.filter(|(axis, _)| is_load(axis) || is_work(axis));
            Point(
                axes.map(|(axis, value)| (axis.clone(), value.clone()))
                    .collect(),
            )
            .key()
        };
        let mut at_load: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for point in &self.points {
            at_load
                .entry(held(point))
                .or_default()
                .extend(prompts(point));
        }
        let is_of_most = |point: &(Point, Vec<&Summary>)| {
            let Some(own) = prompts(point) else {
                return true;
            };
            let all = &at_load[&held(point)];
            let alike = all.iter().filter(|other| !are_other_lengths(own, **other));
            2 * alike.count() > all.len()
        };
        let (kept, others) = std::mem::take(&mut self.points)
            .into_iter()
            .partition(is_of_most);
        self.points = kept;
        let named = |it: &(Point, Vec<&Summary>)| {
            let length = number::mean(prompts(it).unwrap_or_default());
            match it.0.0.get(SETTING).and_then(Value::as_str) {
                Some(setting) => format!("{setting} ({length})"),
                None => format!("{} ({length})", it.0),
            }
        };
        let others: Vec<_> = others;
        others.iter().map(named).collect()
    }

    fn measured(&self, lang: Lang) -> MeasuredPoints<'_> {
        let is_repeated = (self.points.iter()).any(|(_, summaries)| summaries.len() > 1);
        let note = is_repeated.then(|| PageText::MedianRepeat.text(lang).to_owned());
        MeasuredPoints {
            axes: &self.axes,
            planned: self.points.iter().map(|(point, _)| point).collect(),
            points: (self.points.iter())
                .map(|(point, summaries)| MeasuredPoint {
                    point,
                    trials: Vec::new(),
                    summaries: summaries.clone(),
                })
                .collect(),
            notes: note.into_iter().collect(),
        }
    }
}

/// How results of one load are told apart.
enum Names {
    /// All are of one load: by their numbers and headings.
    Numbers,
    /// All are of one load, and each is a file of its own.
    Files,
    /// By their headings, which differ.
    Headings,
    /// All are of one load, each with other flags, which are axes of their own.
    Flags,
    Settings,
}

impl Names {
    fn of_group(report: &ImportReport<'_>, group: &ResultGroup) -> Self {
        let members = report.rows(group).into_iter().map(|(_, result)| result);
        let measured: Vec<&ReportedResult<'_>> =
            members.filter(|result| result.measured.is_some()).collect();
        let loads: BTreeSet<String> = measured.iter().map(|result| result.point().key()).collect();
        let headings: BTreeSet<(String, &str)> = (measured.iter())
            .filter_map(|result| Some((result.point().key(), group.own_name(result.found)?)))
            .collect();
        let files: BTreeSet<&str> = (measured.iter())
            .map(|result| result.found.file.as_str())
            .collect();
        // A number of a row says nothing.
        let settings: BTreeSet<String> = (measured.iter())
            .filter_map(|result| Some(beside_load(result, &result.measured.as_ref()?.0)))
            .filter(|own| !own.0.is_empty() && !own.0.contains_key("row"))
            .map(|own| own.key())
            .collect();
        match (loads.len(), headings.len() == measured.len()) {
            (_, true) if loads.len() < measured.len() => Names::Headings,
            (1, _) if settings.len() == measured.len() => Names::Flags,
            (1, _) if files.len() == measured.len() => Names::Files,
            (1, _) => Names::Numbers,
            _ => Names::Settings,
        }
    }

    /// The name of a result beside its load; absent where the load says all.
    fn of(
        &self,
        group: &ResultGroup,
        result: &ReportedResult<'_>,
        point: &Point,
    ) -> Option<String> {
        let name = group.own_name(result.found).unwrap_or_default();
        match self {
            Names::Headings => Some(name.to_owned()),
            Names::Files => Some(result.source_name()),
            Names::Numbers => Some(format!("#{} {name}", result.number).trim_end().to_owned()),
            Names::Flags => None,
            Names::Settings => {
                let own = beside_load(result, point);
                (!own.0.is_empty()).then(|| own.to_string())
            }
        }
    }
}

/// What tells a result from others of its load.
fn beside_load(result: &ReportedResult<'_>, point: &Point) -> Point {
    let mut own = point.clone();
    for axis in result.found.point.keys() {
        own.0.remove(&axis.replace('_', "-"));
    }
    own
}

/// `input_chars` as `input-chars`.
fn with_our_names(point: &Point) -> Point {
    let named = point.0.iter();
    let named = named.map(|(axis, value)| (axis.replace('_', "-"), value.clone()));
    Point(named.collect())
}

/// Axes with several values, those of load last.
fn axes(points: &[(Point, Vec<&Summary>)]) -> Vec<String> {
    let names: BTreeSet<&String> = points
        .iter()
        .flat_map(|(point, _)| point.0.keys())
        .collect();
    let varies = |axis: &&&String| {
        let values = points.iter().map(|(point, _)| point.0.get(**axis));
        let texts = values.map(|value| value.map(ToString::to_string));
        texts.collect::<BTreeSet<_>>().len() > 1
    };
    let mut axes: Vec<String> = names
        .iter()
        .filter(varies)
        .map(|axis| (*axis).clone())
        .collect();
    // A length that only some tests name does not tell one test from another: their names do.
    if axes.iter().any(|axis| axis == SETTING) {
        let all_have = |axis: &String| points.iter().all(|(point, _)| point.0.contains_key(axis));
        axes.retain(|axis| is_load(axis) || all_have(axis));
    }
    if axes.is_empty() {
        axes.extend(names.into_iter().find(|axis| *axis == SETTING).cloned());
    }
    axes.sort_by_key(|axis| is_load(axis));
    axes
}

/// Every figure of an import: groups that differ in one heading lie over each other, as do the
/// others that were measured along the same axes. Invalid results are left out and named, unless
/// there are no others: nobody can measure them again, so that they are drawn, and marked.
pub fn figures(report: &ImportReport<'_>) -> Vec<Figure> {
    let families = families::comparable(report);
    let mut drawn: Vec<(&str, Vec<NamedGroup<'_>>)> = Vec::new();
    for family in &families {
        let members = family.members.iter();
        let members = members.map(|it| (it.name.as_str(), it.group));
        drawn.push((family.title.as_str(), members.collect()));
    }
    let is_beside = |group: &ResultGroup| {
        let mut members = families.iter().flat_map(|family| &family.members);
        members.any(|member| std::ptr::eq(member.group, group))
    };
    let mut by_axes: Vec<(Vec<String>, Vec<NamedGroup<'_>>)> = Vec::new();
    for group in report.groups.iter().filter(|group| !is_beside(group)) {
        let named = (group.title.as_str(), group);
        let mut axes = ImportedPoints::of(report, &[named]).axes;
        axes.retain(|axis| axis != SETTING);
        match by_axes.iter_mut().find(|(known, _)| *known == axes) {
            Some((_, groups)) => groups.push(named),
            None => by_axes.push((axes, vec![named])),
        }
    }
    let several = report.groups.len() > 1;
    drawn.extend(by_axes.into_iter().map(|(_, mut groups)| {
        if let [(title, _)] = groups[..] {
            return (if several { title } else { "" }, groups);
        }
        // Headings that all share stand in the title, so that a legend has room for the others.
        let shared = shared_headings(&groups);
        let title = &groups[0].0[..shared];
        for (name, _) in &mut groups {
            *name = &name[shared..];
        }
        (title.trim_end_matches(" / "), groups)
    }));
    let mut figures: Vec<Figure> = Vec::new();
    for (title, groups) in drawn {
        for mut figure in overlaid(report, &groups) {
            let numbered = |known: &&Figure| {
                let rest = known.id.strip_prefix(&figure.id);
                let rest = rest.map(|rest| rest.trim_start_matches('-'));
                rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
            };
            if let number @ 1.. = figures.iter().filter(numbered).count() {
                figure.id = format!("{}-{}", figure.id, number + 1);
            }
            if !title.is_empty() {
                // A lone curve has its own name in the title, which says less.
                let (own, _) = figure
                    .title
                    .split_once(" – ")
                    .unwrap_or((&figure.title, ""));
                let of = [("title", own.to_owned()), ("of", title.to_owned())];
                figure.title = FigureText::TitleOf.with(report.lang, &of);
            }
            figures.push(figure);
        }
    }
    figures
}

/// The length of the headings that the titles of all groups begin with.
fn shared_headings(groups: &[NamedGroup<'_>]) -> usize {
    let first = groups.first().map_or("", |(title, _)| title);
    let ends = first.match_indices(" / ").map(|(at, sign)| at + sign.len());
    let is_shared = |end: &usize| {
        let begin = &first[..*end];
        groups.iter().all(|(title, _)| title.starts_with(begin))
    };
    ends.filter(is_shared).last().unwrap_or(0)
}

fn overlaid(report: &ImportReport<'_>, groups: &[NamedGroup<'_>]) -> Vec<Figure> {
    let lang = report.lang;
    let rows = || groups.iter().flat_map(|(_, group)| report.rows(group));
    let mut measured = rows().filter_map(|(_, result)| result.measured.as_ref());
    let shown = if measured.any(|(_, summary)| summary.valid) {
        Shown::Valid
    } else {
        Shown::All
    };
    let points = ImportedPoints::of(report, groups);
    let mut figures = inferometer_chart::points::figures(&points.measured(lang), shown, lang);
    for figure in &mut figures {
        // What a tool does not print has no chart.
        figure.panels.retain(|panel| !panel.is_empty());
        if shown == Shown::All {
            let title = [("title", std::mem::take(&mut figure.title))];
            figure.title = FigureText::InvalidTitle.with(lang, &title);
            let note = FigureText::AllInvalid.text(lang);
            figure.footnotes.push(note.to_owned());
        }
    }
    figures.retain(|figure| !figure.panels.is_empty());
    figures
}

/// What the results of each group show together, with the group's title.
pub fn findings(report: &ImportReport<'_>) -> Vec<(String, Finding)> {
    let of = |group: &ResultGroup| {
        let title = group.title.clone();
        let found = findings_of(report, group).into_iter();
        found.map(move |finding| (title.clone(), finding))
    };
    report.groups.iter().flat_map(of).collect()
}

pub(super) fn findings_of(report: &ImportReport<'_>, group: &ResultGroup) -> Vec<Finding> {
    let mut points = ImportedPoints::of(report, &[(group.title.as_str(), group)]);
    points.take_out_other_prompts();
    let mut findings = findings::of_points(&points.measured(report.lang), report.lang);
    // A table that does not report its failures loses requests all the same.
    findings.retain(|finding| finding.kind != FindingKind::LostRequests);
    findings.extend(lost(report, group));
    findings.extend(out_of_memory(report, group));
    findings
}

/// The best and the worst setting of a group.
pub(super) fn extremes_of(report: &ImportReport<'_>, group: &ResultGroup) -> Vec<Pair> {
    let lang = report.lang;
    let mut points = ImportedPoints::of(report, &[(group.title.as_str(), group)]);
    let others = points.take_out_other_prompts();
    let measured = points.measured(lang);
    let mut pairs = findings::extremes(measured.axes, &measured.points, lang);
    if points
        .axes
        .iter()
        .any(|axis| !is_load(axis) && !is_work(axis))
        && !others.is_empty()
    {
        let others = some(&others, PunctuationText::Semicolon, lang);
        let text = ImportText::OtherPrompts.with(lang, &[("points", others)]);
        pairs.push(Pair::new(FindingText::NotCountedName.text(lang), text));
    }
    let rows = report.rows(group);
    let varying = varying_flags(&rows);
    let flags = rows.iter().filter(|(_, row)| row.measured.is_some());
    let flags = flags.flat_map(|(_, row)| row.found.flags.iter().flatten());
    let risky: BTreeSet<String> = flags
        .filter(|(name, value)| {
            varying.contains(name) && quality::is_risky(name, &value_text(Some(*value)))
        })
        .map(|(name, value)| format!("{name}={}", value_text(Some(value))))
        .collect();
    pairs.extend(quality::may_change_answers(&Vec::from_iter(risky), lang));
    pairs
}

fn lost(report: &ImportReport<'_>, group: &ResultGroup) -> Option<Finding> {
    let lang = report.lang;
    let lost_of = |result: &ReportedResult<'_>| {
        let requests = result.requests();
        let lost = requests.planned?.checked_sub(requests.accounted_for()?);
        lost.filter(|lost| *lost > 0)
    };
    let losing: Vec<(&ReportedResult<'_>, u64)> = (report.rows(group).into_iter())
        .filter_map(|(_, result)| Some((result, lost_of(result)?)))
        .collect();
    if losing.is_empty() {
        return None;
    }
    let planned: u64 = losing
        .iter()
        .filter_map(|(result, _)| result.requests().planned)
        .sum();
    let count = losing.iter().map(|(_, lost)| lost).sum();
    let text = [
        ("lost", number::count(count)),
        ("planned", number::count(planned)),
    ];
    let pieces: Vec<String> = (losing.iter())
        .map(|(result, lost)| {
            let values = [
                ("number", result.number.to_string()),
                ("lost", number::count(*lost)),
                (
                    "planned",
                    result
                        .requests()
                        .planned
                        .map(number::count)
                        .unwrap_or_default(),
                ),
                ("load", result.load(lang)),
            ];
            ImportText::LostAt.with(lang, &values)
        })
        .collect();
    let lost = FindingText::Lost.with(lang, &text);
    let told = losing
        .iter()
        .find_map(|(result, _)| too_short(report, result));
    let told = Vec::from_iter([Some(lost), told].into_iter().flatten());
    Some(Finding {
        kind: FindingKind::LostRequests,
        text: PunctuationText::Semicolon.join(lang, &told),
        evidence: some(&pieces, PunctuationText::Semicolon, lang),
    })
}

/// The lowest load at which memory did not suffice, and what was measured below it.
fn out_of_memory(report: &ImportReport<'_>, group: &ResultGroup) -> Option<Finding> {
    let lang = report.lang;
    let rows = report.rows(group);
    let rows = || rows.iter().map(|(_, result)| *result);
    // Where lengths vary, too, no single axis tells what was too much.
    if rows().any(|result| result.own_load().0.len() > 1) {
        let exhausted = rows().filter(|result| result.found.is_out_of_memory_under_load());
        let loads: Vec<String> = exhausted.clone().map(|it| it.load(lang)).collect();
        let loads = some(&loads, PunctuationText::Semicolon, lang);
        let error = exhausted.clone().find_map(|it| it.found.error.clone());
        return error.map(|evidence| Finding {
            kind: FindingKind::OutOfMemory,
            text: FindingText::OutOfMemoryAt.with(lang, &[("loads", loads)]),
            evidence,
        });
    }
    let (axis, load, first) = rows()
        .filter(|result| result.found.is_out_of_memory_under_load())
        .filter_map(|result| {
            let load = (result.found.point.iter()).find(|(axis, _)| is_load(axis))?;
            Some((load.0.as_str(), load.1.as_f64()?, result))
        })
        .min_by(|a, b| a.1.total_cmp(&b.1))?;
    let measured = rows().filter(|result| result.found.summary.is_some());
    let below = measured
        .filter_map(|result| result.found.point.get(axis)?.as_f64())
        .filter(|other| *other < load)
        .reduce(f64::max);
    let mut evidence: Vec<String> = Vec::new();
    evidence.extend(below.map(|below| {
        let values = [
            ("axis", findings::axis_in_words(axis, lang)),
            ("load", number::whole_or_brief(below)),
        ];
        FindingText::MemoryBelow.with(lang, &values)
    }));
    evidence.extend(first.found.error.clone());
    let values = [
        ("axis", findings::axis_in_words(axis, lang)),
        ("load", number::whole_or_brief(load)),
    ];
    Some(Finding {
        kind: FindingKind::OutOfMemory,
        text: FindingText::OutOfMemory.with(lang, &values),
        evidence: PunctuationText::Semicolon.join(lang, &evidence),
    })
}

/// Some of many, and how many more there are.
pub(super) fn some(pieces: &[String], between: PunctuationText, lang: Lang) -> String {
    findings::some(pieces, MOST_NAMED, between, lang)
}

/// The longest context that a server takes, by the names of its flag.
const LONGEST: [&str; 3] = ["max-model-len", "context-length", "maxSeqLen"];

/// That a result was served with a context shorter than the requests of another with the same model:
/// what is longer is rejected, and what is left looks fast.
fn too_short(report: &ImportReport<'_>, result: &ReportedResult<'_>) -> Option<String> {
    let flag =
        |result: &ReportedResult<'_>, name: &str| result.found.flags.as_ref()?.get(name).cloned();
    let (name, most) = LONGEST
        .into_iter()
        .find_map(|name| Some((name, flag(result, name)?.as_f64()?)))?;
    let tokens = |result: &ReportedResult<'_>| {
        let [input, output] = result.lengths();
        Some(input? + output?)
    };
    let model = |result: &ReportedResult<'_>| flag(result, "model");
    let is_longer = |other: &&ReportedResult<'_>| {
        model(other) == model(result) && tokens(other).is_some_and(|tokens| tokens > most)
    };
    let longer = report.results.iter().find(is_longer)?;
    let values = [
        ("flag", format!("{name}={}", number::whole_or_brief(most))),
        ("number", longer.number.to_string()),
        ("tokens", number::grouped(tokens(longer)?, 0)),
    ];
    Some(ImportText::TooShortFor.with(report.lang, &values))
}

/// Flags that are not the same in all rows.
pub(super) fn varying_flags<'r>(rows: &[(usize, &'r ReportedResult<'r>)]) -> BTreeSet<&'r String> {
    let all = || rows.iter().filter_map(|(_, it)| it.found.flags.as_ref());
    let names: BTreeSet<&String> = all().flat_map(BTreeMap::keys).collect();
    let varies = |name: &&String| {
        let values: BTreeSet<Option<String>> = all()
            .map(|flags| flags.get(*name).map(Value::to_string))
            .collect();
        values.len() > 1
    };
    names.into_iter().filter(varies).collect()
}
