//! What a reader should know of the sides before the figures: doubts of their runs, and models, cards
//! and lengths that are not the same.

use super::{CompareReport, label_of, labels, note};
use inferometer_compare::{DoubtCount, Group, GroupDoubts, Metric, Repeated, Verdict, WhyNot};
use inferometer_core::doubt::Severity;
use inferometer_core::point::Point;
use inferometer_message::{CompareText, DoubtMeaning};
use inferometer_page::doc::{Block, Section};
use inferometer_page::number;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn section(report: &CompareReport<'_>) -> Option<Section> {
    let runs = left_out(report).chain(doubts(report));
    let loads = contradicted(report)
        .into_iter()
        .chain(out_of_memory(report));
    let sides = [
        tools(report),
        models(report),
        devices(report),
        lengths(report),
        elsewhere(report),
    ];
    let loads = loads.chain(repeated(report));
    let lines = runs.chain(loads).chain(sides.into_iter().flatten());
    let notes = lines.map(note).collect::<Vec<_>>();
    (!notes.is_empty()).then(|| Section::plain([Block::Notes(notes)]))
}

/// What a doubt means and what to do about it. Runs store what they saw in English.
fn meaning(code: &str) -> Option<[DoubtMeaning; 2]> {
    DoubtMeaning::of(code.parse().ok()?)
}

/// What a sentence is in Chinese that an import says of a result in a group.
fn in_chinese<'a>(report: &CompareReport<'a>, group: &str, english: &str) -> Option<&'a str> {
    let mut runs = (report.groups.iter())
        .filter(|it| it.name == group)
        .flat_map(|it| &it.runs);
    runs.find_map(|run| run.in_chinese.get(english))
        .map(String::as_str)
}

/// The remedies for invalid runs of a group, which are joined in English, in Chinese.
fn remedies_in_chinese(
    report: &CompareReport<'_>,
    group: &str,
    codes: &str,
    remedies: &str,
) -> Vec<String> {
    let groups = report.groups.iter().filter(|it| it.name == group);
    let said: BTreeMap<&str, &str> = groups
        .flat_map(|it| it.runs.iter().flat_map(|run| &run.in_chinese))
        .map(|(english, chinese)| (english.as_str(), chinese.as_str()))
        .collect();
    let list = format!("; {remedies}; ");
    let is_listed = |english: &str| !english.is_empty() && list.contains(&format!("; {english}; "));
    let found = said.iter().filter(|(english, _)| is_listed(english));
    let found: Vec<String> = found.map(|(_, chinese)| (*chinese).to_owned()).collect();
    if !found.is_empty() {
        return found;
    }
    let known = codes.split(", ").filter_map(meaning);
    known
        .map(|[_, remedy]| remedy.text(Lang::Zh).to_owned())
        .collect()
}

/// The reasons against a comparison in the language of the report.
pub(super) fn reasons(report: &CompareReport<'_>) -> Vec<String> {
    let (lang, mut reasons) = (report.lang, report.comparison.reasons.clone());
    for reason in &mut reasons {
        if let (
            Lang::Zh,
            WhyNot::Invalid {
                codes,
                remedy,
                group,
                ..
            },
        ) = (lang, reason)
        {
            let remedies = remedies_in_chinese(report, group, codes, remedy);
            if !remedies.is_empty() {
                *remedy = PunctuationText::Semicolon.join(lang, &remedies);
            }
        }
    }
    WhyNot::in_brief(&reasons, lang)
}

/// A line for each invalid run that does not count, with its reason and a remedy.
fn left_out(report: &CompareReport<'_>) -> impl Iterator<Item = String> {
    let lang = report.lang;
    let left_out = report.comparison.left_out.iter();
    let compared = left_out.filter(|it| !report.comparison.is_alone(&it.group, &it.point));
    compared.map(move |it| {
        let codes = PunctuationText::Comma.join(lang, &it.codes);
        let values = [("codes", codes), ("run", it.run.clone())];
        let said = CompareText::LeftOut.with(lang, &values);
        let of_run = it.codes.first().and_then(|code| meaning(code));
        let chinese = |english: &str, part: usize| {
            let said = in_chinese(report, &it.group, english);
            said.or_else(|| Some(of_run?[part].text(Lang::Zh)))
        };
        let [text, remedy] = [&it.text, &it.remedy].map(String::as_str);
        let said_in = |english: &str, part: usize| match lang {
            Lang::Zh => chinese(english, part).unwrap_or(english).to_owned(),
            Lang::En => english.to_owned(),
        };
        let (text, remedy) = (said_in(text, 0), said_in(remedy, 1));
        let mut said = vec![said, text, remedy];
        said.retain(|part| !part.is_empty());
        PunctuationText::Semicolon.join(lang, &said)
    })
}

/// A line for each side whose runs are invalid or have warnings.
fn doubts(report: &CompareReport<'_>) -> impl Iterator<Item = String> {
    let doubts = report.comparison.doubts.iter();
    let compared = doubts.filter(|it| it.invalid > 0 || !it.doubts.is_empty());
    compared.map(move |of| {
        let lang = report.lang;
        let side = ("side", label_of(report.groups, &of.group));
        let warnings = codes(report, of, |it| it.severity != Severity::Invalid);
        let invalid = codes(report, of, |it| it.severity == Severity::Invalid);
        let said = match of.invalid {
            0 => return CompareText::Warnings.with(lang, &[("codes", warnings), side]),
            all if all == of.runs => {
                CompareText::AllInvalid.with(lang, &[("codes", invalid), side])
            }
            some => {
                let counts = [("count", some.to_string()), ("runs", of.runs.to_string())];
                let [count, runs] = counts;
                CompareText::SomeInvalid.with(lang, &[count, runs, ("codes", invalid), side])
            }
        };
        if warnings.is_empty() {
            said
        } else {
            CompareText::AndWarnings.with(lang, &[("codes", warnings), ("invalid", said)])
        }
    })
}

/// A line for each side with figures that others of their result contradict.
fn contradicted(report: &CompareReport<'_>) -> Vec<String> {
    let lang = report.lang;
    let sides = report.groups.iter().zip(labels(report.groups));
    let line = |(group, label): (&Group, String)| {
        let metrics: BTreeSet<Metric> = group
            .counted()
            .flat_map(|run| run.contradicted.clone())
            .collect();
        let metrics: Vec<String> = metrics
            .into_iter()
            .map(|it| super::metric(it, lang))
            .collect();
        let values = [
            ("metrics", PunctuationText::Comma.join(lang, &metrics)),
            ("side", label),
        ];
        (!metrics.is_empty()).then(|| CompareText::Contradicted.with(lang, &values))
    };
    sides.filter_map(line).collect()
}

fn codes(
    report: &CompareReport<'_>,
    of: &GroupDoubts,
    counts: impl Fn(&DoubtCount) -> bool,
) -> String {
    let lang = report.lang;
    let codes = of.doubts.iter().filter(|it| counts(it)).map(|it| {
        if it.runs == of.runs {
            return it.code.clone();
        }
        let values = [
            ("code", it.code.clone()),
            ("count", it.runs.to_string()),
            ("runs", of.runs.to_string()),
        ];
        CompareText::InSomeRuns.with(lang, &values)
    });
    PunctuationText::Comma.join(lang, &codes.collect::<Vec<_>>())
}

fn models(report: &CompareReport<'_>) -> Option<String> {
    let lang = report.lang;
    let models = report.comparison.models.iter();
    let models: Vec<String> = models.map(|it| it.models.join(" + ")).collect();
    let models = PunctuationText::Comma.join(lang, &models);
    (!models.is_empty()).then(|| CompareText::OtherModels.with(lang, &[("models", models)]))
}

/// A line for each side whose server ran out of memory at some load.
fn out_of_memory(report: &CompareReport<'_>) -> Vec<String> {
    let lang = report.lang;
    let labels = labels(report.groups);
    let sides = report.groups.iter().zip(labels);
    let line = |(group, label): (&Group, String)| {
        let loads: Vec<String> = (report.comparison.out_of_memory.iter())
            .filter(|it| it.group == group.name && is_compared(report, &it.point))
            .map(|it| it.point.to_string())
            .collect();
        let loads_of = ("loads", PunctuationText::Semicolon.join(lang, &loads));
        let values = [loads_of, ("side", label)];
        (!loads.is_empty()).then(|| CompareText::OutOfMemory.with(lang, &values))
    };
    sides.filter_map(line).collect()
}

/// A line for each load that was measured several times, with other results.
fn repeated(report: &CompareReport<'_>) -> Vec<String> {
    let lang = report.lang;
    let repeated = report.comparison.repeated.iter();
    let compared = repeated.filter(|it| is_compared(report, &it.point));
    let line = |it: &Repeated| {
        let values = [
            ("side", label_of(report.groups, &it.group)),
            ("load", it.point.to_string()),
            ("runs", it.runs.to_string()),
            ("metric", super::metric(it.metric, lang)),
            ("low", number::brief(it.low)),
            ("high", number::brief(it.high)),
            ("share", number::percent(it.high / it.low - 1.0)),
        ];
        CompareText::Repeated.with(lang, &values)
    };
    compared.map(line).collect()
}

/// Whether some load of its test is compared, if any is.
fn is_compared(report: &CompareReport<'_>, point: &Point) -> bool {
    let rows = &report.comparison.rows;
    rows.is_empty() || rows.iter().any(|row| row.point.group() == point.group())
}

/// How many runs at loads that are not compared have doubts.
fn elsewhere(report: &CompareReport<'_>) -> Option<String> {
    let comparison = report.comparison;
    let doubted: usize = comparison.doubts.iter().map(|it| it.elsewhere).sum();
    let left_out = comparison.left_out.iter();
    let left_out = left_out
        .filter(|it| comparison.is_alone(&it.group, &it.point))
        .count();
    let exhausted = comparison.out_of_memory.iter();
    let exhausted = exhausted
        .filter(|it| !is_compared(report, &it.point))
        .count();
    let count = doubted + left_out + exhausted;
    let text = || CompareText::Elsewhere.with(report.lang, &[("count", count.to_string())]);
    (count > 0).then(text)
}

fn tools(report: &CompareReport<'_>) -> Option<String> {
    let lang = report.lang;
    let tools = report.comparison.tools.iter();
    let tools: Vec<String> = tools.map(|it| it.tools.join(" + ")).collect();
    let tools = PunctuationText::Comma.join(lang, &tools);
    let is_told = report
        .comparison
        .rows
        .iter()
        .any(|row| row.verdict != Verdict::NotComparable);
    (is_told && !tools.is_empty()).then(|| CompareText::OtherTools.with(lang, &[("tools", tools)]))
}

fn devices(report: &CompareReport<'_>) -> Option<String> {
    let lang = report.lang;
    let devices = report.comparison.devices.iter();
    let devices: BTreeSet<String> = devices.map(|it| it.devices.join(" + ")).collect();
    let devices = PunctuationText::Comma.join(lang, &Vec::from_iter(devices));
    (!devices.is_empty()).then(|| CompareText::OtherDevices.with(lang, &[("devices", devices)]))
}

fn lengths(report: &CompareReport<'_>) -> Option<String> {
    let lang = report.lang;
    let counts = report.comparison.lengths.iter();
    let counts: Vec<String> = counts.map(|it| number::count(it.requests)).collect();
    let counts = PunctuationText::Comma.join(lang, &counts);
    (!counts.is_empty()).then(|| CompareText::OtherLengths.with(lang, &[("counts", counts)]))
}
