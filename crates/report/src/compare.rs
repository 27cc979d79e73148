//! What `inferometer compare` shows: a verdict for each group, then a table for each load.

use crate::csv::{field, harmless};
use crate::doc::{
    Block, Cell, Column, Doc, Note, Pair, Section, Table, Tone, Verdict as Judgement,
};
use crate::number;
use inferometer_core::compare::{Basis, Comparison, Metric, Point, Row, Verdict};
use inferometer_core::message::Lang;
use inferometer_core::message::compare::CompareText;

/// A comparison and what it was made of.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareReport<'a> {
    /// The answer.
    pub comparison: &'a Comparison,
    /// The groups, the baseline first.
    pub groups: &'a [GroupLine],
    /// Deviation from run to run that was assumed where each side has one run.
    pub run_deviation: f64,
    /// Language of the texts.
    pub lang: Lang,
}

/// One group in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupLine {
    /// Its name.
    pub name: String,
    /// How many runs it has.
    pub runs: usize,
    /// At how many loads.
    pub points: usize,
    /// The tool whose definitions hold; absent for ours.
    pub tool: Option<String>,
}

/// The comparison as a document.
pub fn compose(report: &CompareReport<'_>) -> Doc {
    let lang = report.lang;
    let comparison = report.comparison;
    let mut sections = vec![
        Section::plain(verdicts(report)),
        Section::plain(vec![legend(report)]),
    ];
    if !comparison.why_not.is_empty() {
        let notes = comparison.why_not.iter().map(|reason| note(reason));
        let heading = CompareText::WhyNot.text(lang);
        sections.push(Section::headed(
            heading,
            vec![Block::Notes(notes.collect())],
        ));
    }
    let mut place = 0;
    while let Some(first) = comparison.rows.get(place) {
        let rows = comparison.rows[place..].iter();
        let rows: Vec<&Row> = rows
            .take_while(|row| row.point == first.point && row.group == first.group)
            .collect();
        place += rows.len();
        sections.push(table(report, &rows));
    }
    if !comparison.unpaired.is_empty() {
        let alone = comparison.unpaired.iter();
        let lines = alone.map(|alone| format!("{}: {}", alone.group, shown(&alone.point)));
        let heading = CompareText::Unpaired.text(lang);
        sections.push(Section::headed(
            heading,
            vec![Block::Quotes(lines.collect())],
        ));
    }
    Doc { sections }
}

fn note(reason: &str) -> Note {
    Note {
        tag: "!".to_owned(),
        tone: Tone::Caution,
        subject: reason.to_owned(),
        text: String::new(),
        follow: None,
    }
}

fn shown(point: &Point) -> String {
    match point.0.is_empty() {
        true => "–".to_owned(),
        false => point.to_string(),
    }
}

/// `A`, `B`, `C` …
fn letter(place: usize) -> String {
    match u8::try_from(place).ok().filter(|place| *place < 26) {
        Some(place) => char::from(b'A' + place).to_string(),
        None => format!("#{}", place + 1),
    }
}

fn legend(report: &CompareReport<'_>) -> Block {
    let lang = report.lang;
    let mut pairs: Vec<Pair> = (report.groups.iter().enumerate())
        .map(|(place, group)| {
            let key = match place {
                0 => CompareText::Baseline.text(lang).to_owned(),
                _ => letter(place),
            };
            let values = [
                ("name", group.name.clone()),
                ("runs", group.runs.to_string()),
                ("points", group.points.to_string()),
            ];
            let mut text = CompareText::GroupIs.with(lang, &values);
            if let Some(tool) = &group.tool {
                let tool = [("tool", tool.clone())];
                text = format!("{text}; {}", CompareText::AsDefined.with(lang, &tool));
            }
            Pair::new(&key, text)
        })
        .collect();
    pairs.push(Pair::new(
        CompareText::Margin.text(lang),
        format!("± {}", number::percent(report.comparison.margin)),
    ));
    Block::Pairs(pairs)
}

/// One line for each group, by its primary metric.
fn verdicts(report: &CompareReport<'_>) -> Vec<Block> {
    let lang = report.lang;
    let comparison = report.comparison;
    let names = report.groups.iter().skip(1).map(|group| &group.name);
    names
        .map(|name| {
            let rows: Vec<&Row> = (comparison.rows.iter())
                .filter(|row| row.primary && row.group == *name)
                .collect();
            let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
            let [better, worse, same] = [Verdict::Better, Verdict::Worse, Verdict::Same].map(count);
            let unknown = count(Verdict::Unknown);
            let (word, tone) = match (better, worse, same) {
                (0, 0, 0) if !comparison.comparable => (CompareText::NotComparable, Tone::Bad),
                (0, 0, 0) => (CompareText::Unknown, Tone::Caution),
                (_, 0, _) if better > 0 => (CompareText::Better, Tone::Good),
                (0, _, _) if worse > 0 => (CompareText::Worse, Tone::Bad),
                (0, 0, _) if unknown > 0 => (CompareText::Unknown, Tone::Caution),
                (0, 0, _) => (CompareText::Same, Tone::Good),
                _ => (CompareText::Mixed, Tone::Caution),
            };
            let group = ("group", name.clone());
            let reason = match rows.as_slice() {
                [] => {
                    let count = ("count", comparison.why_not.len().to_string());
                    CompareText::SeeReasons.with(lang, &[group, count])
                }
                [row] => {
                    let values = [
                        group,
                        ("metric", metric(row.metric).to_owned()),
                        ("change", change(row.ratio)),
                        ("point", shown(&row.point)),
                    ];
                    CompareText::AtOnePoint.with(lang, &values)
                }
                several => {
                    let values = [
                        group,
                        ("metric", metric(several[0].metric).to_owned()),
                        ("better", better.to_string()),
                        ("worse", worse.to_string()),
                        ("same", same.to_string()),
                        ("unknown", unknown.to_string()),
                        ("all", several.len().to_string()),
                    ];
                    CompareText::AtPoints.with(lang, &values)
                }
            };
            Block::Verdict(Judgement {
                word: word.text(lang).to_owned(),
                tone,
                reason,
                rest: String::new(),
            })
        })
        .collect()
}

/// The name of a metric, the same in every language.
fn metric(metric: Metric) -> &'static str {
    match metric {
        Metric::OutputTokensPerS => "output tok/s",
        Metric::RequestsPerS => "req/s",
        Metric::TotalTokensPerS => "total tok/s",
        Metric::TtftMean => "TTFT mean",
        Metric::TtftP50 => "TTFT p50",
        Metric::TtftP99 => "TTFT p99",
        Metric::TpotMean => "TPOT mean",
        Metric::TpotP50 => "TPOT p50",
        Metric::TpotP99 => "TPOT p99",
        Metric::E2eMean => "E2E mean",
        Metric::E2eP50 => "E2E p50",
        Metric::E2eP99 => "E2E p99",
        Metric::MaxGapP99 => "max gap p99",
        Metric::Goodput => "goodput/s",
    }
}

/// A ratio as a change in percent, with its sign.
fn change(ratio: Option<f64>) -> String {
    match ratio {
        Some(ratio) => format!("{} %", percent(ratio)),
        None => number::ABSENT.to_owned(),
    }
}

/// A ratio as a change in percent, for a column that says so.
fn percent(ratio: f64) -> String {
    let percent = 100.0 * (ratio - 1.0);
    match percent.abs() >= 99.95 {
        true => format!("{percent:+.0}"),
        false => format!("{percent:+.1}"),
    }
}

fn table(report: &CompareReport<'_>, rows: &[&Row]) -> Section {
    let lang = report.lang;
    let group = rows
        .first()
        .map(|row| row.group.as_str())
        .unwrap_or_default();
    let place = report
        .groups
        .iter()
        .position(|line| line.name == group)
        .unwrap_or(1);
    let heading = rows
        .first()
        .map(|row| shown(&row.point))
        .unwrap_or_default();
    let columns = vec![
        Column::left(CompareText::Metric.text(lang)),
        Column::right("A"),
        Column::right(&letter(place)),
        Column::right(CompareText::Change.text(lang)),
        Column::right(CompareText::Interval.text(lang)),
        Column::left(CompareText::Verdict.text(lang)),
        Column::right(CompareText::Detectable.text(lang)),
        Column::right(CompareText::Repeats.text(lang)),
    ];
    let cells = rows.iter().map(|row| {
        let value = |value: Option<f64>| match value {
            Some(value) => Cell::text(number::brief(value)),
            None => Cell::Absent,
        };
        let interval = match row.low.zip(row.high) {
            Some((low, high)) => format!("{} … {}", percent(low), percent(high)),
            None => String::new(),
        };
        let (word, tone) = match row.verdict {
            Verdict::Better => (CompareText::CellBetter, Tone::Good),
            Verdict::Worse => (CompareText::CellWorse, Tone::Bad),
            Verdict::Same => (CompareText::CellSame, Tone::Plain),
            Verdict::Unknown => (CompareText::CellUnknown, Tone::Caution),
        };
        let star = if row.basis == Basis::FewSamples {
            "*"
        } else {
            ""
        };
        let mark = if row.primary { "> " } else { "  " };
        vec![
            Cell::text(format!("{mark}{}", metric(row.metric))),
            value(row.a),
            value(row.b),
            match row.ratio {
                Some(ratio) => Cell::text(percent(ratio)),
                None => Cell::Absent,
            },
            Cell::text(interval),
            Cell::Toned(format!("{}{star}", word.text(lang)), tone),
            Cell::text(
                row.minimum_detectable
                    .map(number::percent)
                    .unwrap_or_default(),
            ),
            Cell::text(
                row.repeats_to_decide
                    .map(|runs| format!("{runs} x"))
                    .unwrap_or_default(),
            ),
        ]
    });
    let table = Table {
        columns,
        rows: cells.collect(),
        footnotes: footnotes(report, rows),
    };
    Section::headed(&heading, vec![Block::Table(table)])
}

fn footnotes(report: &CompareReport<'_>, rows: &[&Row]) -> Vec<String> {
    let lang = report.lang;
    let any = |basis: Basis| rows.iter().any(|row| row.basis == basis);
    let mut notes = Vec::new();
    if rows.iter().any(|row| row.minimum_detectable.is_some()) {
        notes.push(CompareText::PrimaryIs.text(lang).to_owned());
        notes.push(CompareText::Legend.text(lang).to_owned());
    }
    if any(Basis::OneRunEach) {
        let share = ("share", number::percent(report.run_deviation));
        notes.push(CompareText::OneRunEach.with(lang, &[share]));
    }
    if any(Basis::FewSamples) {
        notes.push(CompareText::FewSamples.text(lang).to_owned());
    }
    if any(Basis::Nothing) {
        notes.push(CompareText::FiguresAlone.text(lang).to_owned());
    }
    notes
}

/// The rows as CSV, with names of columns that do not change.
pub fn csv(comparison: &Comparison) -> String {
    let mut out = String::from(
        "baseline,group,point,metric,primary,a,b,ratio,low,high,verdict,p_value,minimum_detectable,repeats_to_decide,runs_a,runs_b,basis\r\n",
    );
    for row in &comparison.rows {
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let text = |text: &str| field(&harmless(text));
        let cells = [
            text(&comparison.baseline),
            text(&row.group),
            text(&row.point.to_string()),
            row.metric.to_string(),
            row.primary.to_string(),
            number(row.a),
            number(row.b),
            number(row.ratio),
            number(row.low),
            number(row.high),
            row.verdict.to_string(),
            number(row.p_value),
            number(row.minimum_detectable),
            row.repeats_to_decide
                .map(|runs| runs.to_string())
                .unwrap_or_default(),
            row.runs[0].to_string(),
            row.runs[1].to_string(),
            row.basis.to_string(),
        ];
        out.push_str(&cells.join(","));
        out.push_str("\r\n");
    }
    out
}
