//! The table of a ladder, and what the marks in it mean.

use super::SweepReport;
use super::row::{Row, shown};
use crate::doc::{Cell, Column, Number, Support, Table, Tone, Unit};
use crate::number;
use inferometer_core::message::Lang;
use inferometer_core::message::numbers::NumbersText;
use inferometer_core::message::sweep::SweepText;
use inferometer_core::quantile::least_samples;
use inferometer_core::statistics::batch_means;
use inferometer_core::summary::Summary;
use inferometer_core::sweep_dir::TrialState;

/// Footnotes of marked points, at most.
const MOST_REASONS: usize = 12;

/// The percentile of the tail, and its place among the figures.
const TAIL: f64 = 99.0;
const TAIL_COLUMN: usize = 3;

pub(super) fn table(report: &SweepReport<'_>, axes: &[String], rows: &[Row<'_>]) -> Table {
    let lang = report.lang;
    let repeated = report.plan.repeat > 1;
    let mut columns: Vec<Column> = axes.iter().map(|axis| Column::right(axis)).collect();
    columns.extend(
        [
            "req/s", "tok/s", "TTFT p50", "TTFT p99", "TPOT p50", "E2E p50",
        ]
        .map(Column::right),
    );
    columns.push(Column::right(SweepText::Failed.text(lang)));
    if repeated {
        columns.push(Column::right(SweepText::Repeats.text(lang)));
        columns.push(Column::right(SweepText::Spread.text(lang)));
    }
    let marked = rows.iter().any(|row| mark(row, lang).is_some());
    if marked {
        columns.push(Column::left(""));
    }
    let cells = |row: &Row<'_>| {
        let mut cells: Vec<Cell> = axes
            .iter()
            .map(|axis| Cell::text(shown(row.point.0.get(axis))))
            .collect();
        cells.extend(figures(row));
        if repeated {
            cells.push(Cell::count(row.shown().len() as u64));
            cells.push(Cell::number(spread(row), Unit::Count, 1));
        }
        if marked {
            cells.push(match mark(row, lang) {
                Some(word) => Cell::Toned(word.to_owned(), Tone::Bad),
                None => Cell::blank(),
            });
        }
        cells
    };
    Table {
        columns,
        rows: rows.iter().map(cells).collect(),
        footnotes: footnotes(report, axes, rows),
    }
}

fn figures(row: &Row<'_>) -> Vec<Cell> {
    let millis = |value: Option<f64>| {
        let decimals = match value {
            Some(value) if value < 100.0 => 1,
            _ => 0,
        };
        Cell::number(value, Unit::Milliseconds, decimals)
    };
    let failed: u64 = row
        .shown()
        .iter()
        .map(|summary| summary.requests.failed)
        .sum();
    let requests = row.mean(|summary| summary.throughput.requests_per_s);
    vec![
        Cell::number(requests, Unit::RequestsPerSecond, 2),
        Cell::number(row.tokens_per_s(), Unit::TokensPerSecond, 1),
        millis(row.mean(|summary| summary.latency.ttft_ms.map(|ttft| ttft.p50))),
        tail(
            row,
            millis(row.mean(|summary| summary.latency.ttft_ms.map(|ttft| ttft.p99))),
        ),
        millis(row.mean(|summary| summary.latency.tpot_ms.map(|tpot| tpot.p50))),
        millis(row.mean(|summary| summary.latency.e2e_ms.map(|e2e| e2e.p50))),
        match row.shown().is_empty() {
            true => Cell::Absent,
            false => Cell::count(failed),
        },
    ]
}

/// A p99 that some of the measurements cannot bear is marked.
fn tail(row: &Row<'_>, cell: Cell) -> Cell {
    let bears = |summary: &&Summary| {
        let n = summary.latency.ttft_ms.map_or(0, |ttft| ttft.n);
        least_samples(TAIL).is_some_and(|least| n >= least)
    };
    match cell {
        Cell::Number(number) if !row.shown().iter().all(bears) => Cell::Number(Number {
            support: Support::TooFew,
            ..number
        }),
        cell => cell,
    }
}

/// Half of the interval of the throughput over repeats, in percent.
fn spread(row: &Row<'_>) -> Option<f64> {
    let values: Vec<f64> = (row.shown().into_iter())
        .filter_map(|summary| summary.throughput.output_tokens_per_s)
        .collect();
    let known = batch_means(&values, values.len())?;
    Some((known.interval[1] - known.mean) / known.mean * 100.0).filter(|share| share.is_finite())
}

fn mark(row: &Row<'_>, lang: Lang) -> Option<&'static str> {
    let text = match row
        .trials
        .iter()
        .map(|visited| visited.trial.state)
        .next_back()?
    {
        _ if row.summaries().any(|summary| !summary.valid) => SweepText::Invalid,
        TrialState::Done => return None,
        TrialState::Failed => SweepText::NotRun,
        TrialState::Skipped => SweepText::Skipped,
        TrialState::Interrupted => SweepText::Interrupted,
    };
    Some(text.text(lang))
}

/// Why a point is marked: the codes of its grave doubts, or the reason of the trial.
fn why(row: &Row<'_>) -> Option<String> {
    let grave = row.summaries().flat_map(|summary| &summary.doubts);
    let mut codes: Vec<&str> = grave
        .filter(|doubt| doubt.severity == inferometer_core::doubt::Severity::Invalid)
        .map(|doubt| doubt.code.word())
        .collect();
    codes.dedup();
    let reasons = row
        .trials
        .iter()
        .filter_map(|visited| visited.trial.reason.as_deref());
    let reason = reasons
        .last()
        .map(|reason| inferometer_core::hostile::printable(reason, 300));
    match codes.is_empty() {
        true => reason,
        false => Some(codes.join(", ")),
    }
}

/// Mean lengths of the prompts and answers of some points.
pub(super) fn mean_lengths(rows: &[Row<'_>], lang: Lang) -> Option<String> {
    let mean = |tokens: fn(&Summary) -> Option<u64>| {
        let counted = || {
            rows.iter()
                .flat_map(|row| row.shown())
                .filter(|s| tokens(s).is_some())
        };
        let requests: u64 = counted().map(|summary| summary.requests.ok).sum();
        let total: u64 = counted().filter_map(tokens).sum();
        (requests > 0).then(|| number::grouped(total as f64 / requests as f64, 1))
    };
    let values = [
        ("input", mean(|summary| summary.tokens.input)?),
        ("output", mean(|summary| summary.tokens.output)?),
    ];
    Some(SweepText::MeanLengths.with(lang, &values))
}

fn footnotes(report: &SweepReport<'_>, axes: &[String], rows: &[Row<'_>]) -> Vec<String> {
    let lang = report.lang;
    let mut notes = Vec::new();
    notes.extend(mean_lengths(rows, lang));
    let starred = |row: &&Row<'_>| {
        let cell = figures(row).swap_remove(TAIL_COLUMN);
        matches!(
            cell,
            Cell::Number(Number {
                support: Support::TooFew,
                ..
            })
        )
    };
    if let Some(least) = least_samples(TAIL).filter(|_| rows.iter().any(|row| starred(&row))) {
        let least = format!("p{TAIL}: {least}");
        notes.push(NumbersText::TooFew.with(lang, &[("least", least)]));
    }
    if report.plan.repeat > 1 {
        notes.push(SweepText::SpreadMeans.text(lang).to_owned());
    }
    let reasons: Vec<(String, String)> = (rows.iter())
        .filter(|row| mark(row, lang).is_some())
        .filter_map(|row| Some((row.name(axes), why(row)?)))
        .collect();
    notes.extend(reasons.iter().take(MOST_REASONS).map(|(point, why)| {
        SweepText::Because.with(lang, &[("point", point.clone()), ("why", why.clone())])
    }));
    if reasons.len() > MOST_REASONS {
        let more = (reasons.len() - MOST_REASONS).to_string();
        notes.push(SweepText::MoreReasons.with(lang, &[("count", more)]));
    }
    notes
}
