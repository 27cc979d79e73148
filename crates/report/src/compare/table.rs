//! The metrics of one group at one load.

use super::{CompareReport, letter, metric, percent, shown, verdict_word};
use crate::message::CompareText;
use inferometer_analysis::compare::{Basis, Row};
use inferometer_page::doc::{Cell, Column, Section, Table};
use inferometer_page::number;

/// The metrics of a group at one load.
pub(super) fn section(report: &CompareReport<'_>, rows: &[&Row]) -> Section {
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
        let interval = match row.low.zip(row.high) {
            Some((low, high)) => format!("{} … {}", percent(low), percent(high)),
            None => String::new(),
        };
        let (word, tone) = verdict_word(row.verdict);
        let star = if row.basis == Basis::FewSamples {
            "*"
        } else {
            ""
        };
        let mark = if row.primary { "> " } else { "  " };
        vec![
            Cell::text(format!("{mark}{}", metric(row.metric, lang))),
            Cell::brief(row.a),
            Cell::brief(row.b),
            Cell::known(row.ratio.map(percent)),
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
    Section::headed(&heading, [table])
}

fn footnotes(report: &CompareReport<'_>, rows: &[&Row]) -> Vec<String> {
    let lang = report.lang;
    let any = |basis: Basis| rows.iter().any(|row| row.basis == basis);
    let mut notes = Vec::new();
    if rows.iter().any(|row| row.minimum_detectable.is_some()) {
        notes.push(CompareText::PrimaryIs.text(lang).to_owned());
        notes.push(CompareText::Legend.text(lang).to_owned());
    }
    if any(Basis::Pairs) {
        notes.push(CompareText::InPairs.text(lang).to_owned());
    }
    let copies = report.comparison.copies.iter().filter(|copies| {
        let compared = |row: &&&Row| row.point.key() == copies.point.key();
        let own = |row: &&Row| row.group == copies.group;
        let ours = copies.group == report.comparison.baseline;
        rows.iter()
            .find(compared)
            .is_some_and(|row| ours || own(row))
    });
    notes.extend(copies.map(|copies| {
        let values = [
            ("runs", copies.runs.to_string()),
            ("distinct", copies.distinct.to_string()),
            ("group", copies.group.clone()),
        ];
        CompareText::Copies.with(lang, &values)
    }));
    if any(Basis::OneRunEach) {
        let share = ("share", number::percent(report.run_deviation));
        notes.push(CompareText::OneRunEach.with(lang, &[share]));
    }
    if any(Basis::FewSamples) {
        notes.push(CompareText::FewSamples.text(lang).to_owned());
    }
    if any(Basis::FewWaves) {
        notes.push(CompareText::FewWaves.text(lang).to_owned());
    }
    if any(Basis::Nothing) {
        notes.push(CompareText::FiguresAlone.text(lang).to_owned());
    }
    notes
}
