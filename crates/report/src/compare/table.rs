//! The primary metric over all loads, and every metric of one group at one load.

use super::{CompareReport, letter, metric, percent, shown, verdict_word};
use crate::message::CompareText;
use inferometer_analysis::compare::{Basis, Row};
use inferometer_core::point::Point;
use inferometer_page::doc::{Cell, Column, Section, Table};
use inferometer_page::number;

/// The primary metric of every group, a line for each load; absent where there is one load.
pub(super) fn over_loads(report: &CompareReport<'_>) -> Option<Section> {
    let lang = report.lang;
    let primary: Vec<&Row> = (report.comparison.rows.iter())
        .filter(|row| row.primary)
        .collect();
    let mut points: Vec<&Point> = Vec::new();
    for row in &primary {
        if !points.contains(&&row.point) {
            points.push(&row.point);
        }
    }
    let first = primary.first().filter(|_| points.len() > 1)?;
    let mut columns = vec![
        Column::left(CompareText::Load.text(lang)),
        Column::right("A"),
    ];
    let groups = || report.groups.iter().enumerate().skip(1);
    for (place, _) in groups() {
        columns.push(Column::right(&letter(place)));
        columns.push(Column::right(CompareText::Change.text(lang)));
        columns.push(Column::left(CompareText::Verdict.text(lang)));
    }
    let cells = points.into_iter().map(|point| {
        let of = |name: &str| {
            let mut rows = primary.iter();
            rows.find(|row| row.point == *point && row.group == name)
        };
        let baseline = groups().find_map(|(_, group)| of(&group.name)?.a);
        let mut cells = vec![Cell::text(shown(point)), Cell::brief(baseline)];
        for (_, group) in groups() {
            let Some(row) = of(&group.name) else {
                cells.extend([Cell::blank(), Cell::blank(), Cell::blank()]);
                continue;
            };
            let (word, tone) = verdict_word(row.verdict);
            cells.push(Cell::brief(row.b));
            cells.push(Cell::known(row.ratio.map(percent)));
            cells.push(Cell::Toned(word.text(lang).to_owned(), tone));
        }
        cells
    });
    let metric = [("metric", metric(first.metric, lang))];
    let heading = CompareText::OverAllLoads.with(lang, &metric);
    Some(Section::headed(&heading, [Table::new(columns, cells)]))
}

/// The metrics of a group at one load.
pub(super) fn section(report: &CompareReport<'_>, rows: &[Row]) -> Section {
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
    Section::headed(&heading, [Table::new(columns, cells)])
}

/// What the marks and columns of all tables mean.
pub(super) fn footnotes(report: &CompareReport<'_>) -> Vec<String> {
    let lang = report.lang;
    let rows = &report.comparison.rows;
    let any = |basis: Basis| rows.iter().any(|row| row.basis == basis);
    let mut notes = Vec::new();
    if rows.iter().any(|row| row.minimum_detectable.is_some()) {
        notes.push(CompareText::PrimaryIs.text(lang).to_owned());
        notes.push(CompareText::Legend.text(lang).to_owned());
    }
    if any(Basis::Pairs) {
        notes.push(CompareText::InPairs.text(lang).to_owned());
    }
    let copies = report.comparison.copies.iter();
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
    if any(Basis::Assumed) {
        notes.push(CompareText::AssumedError.text(lang).to_owned());
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
