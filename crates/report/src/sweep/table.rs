//! The table of a ladder, its marks and what they mean.

use super::{SweepReport, notes};
use crate::chart::ladder::cards_of;
use crate::message::{NumbersText, SweepText};
use crate::points::MeasuredPoint;
use crate::run::seen;
use inferometer_analysis::statistics::batch_means;
use inferometer_core::doubt::Severity;
use inferometer_core::quantile::least_samples;
use inferometer_core::summary::{Distribution, Summary};
use inferometer_page::doc::{Cell, Column, Table, Tone, Unit};
use inferometer_store::sweep_dir::TrialState;
use inferometer_text::Lang;
use inferometer_text::hostile::printable;
use inferometer_text::punctuation::PunctuationText;

/// Marked points that footnotes name, at most.
const MOST_REASONS: usize = 12;

/// The percentile of the tail, and its place among the figures.
const TAIL: f64 = 99.0;
const TAIL_COLUMN: usize = 3;

/// The points of a ladder, a row each.
pub(super) fn table(
    report: &SweepReport<'_>,
    axes: &[String],
    rows: Vec<&MeasuredPoint<'_>>,
) -> Table {
    let lang = report.lang;
    let repeated = report.plan.repeat > 1;
    let mut columns: Vec<Column> = axes.iter().map(|axis| Column::key(axis)).collect();
    let figures = Figures::of(&rows);
    columns.extend(figures.names().iter().map(|name| Column::right(name)));
    columns.push(Column::right(SweepText::Failed.text(lang)));
    let shared = |summary: &Summary| cards_of(summary).is_some_and(|cards| cards > 1.0);
    let with_cards = rows.iter().any(|row| row.summaries().any(shared));
    if with_cards {
        columns.push(Column::right(SweepText::PerCard.text(lang)));
    }
    if repeated {
        columns.push(Column::right(SweepText::Repeats.text(lang)));
        columns.push(Column::right(SweepText::Spread.text(lang)));
    }
    let marked = rows.iter().any(|row| remark(row, lang).is_some());
    if marked {
        columns.push(Column::mark());
    }
    let cells = |row: &&MeasuredPoint<'_>| {
        let mut cells: Vec<Cell> = axes.iter().map(|axis| Cell::text(row.text(axis))).collect();
        cells.extend(figures.cells(row));
        if with_cards {
            let each = row
                .mean(|summary| Some(summary.throughput.output_tokens_per_s? / cards_of(summary)?));
            cells.push(Cell::number(each, Unit::TokensPerSecond, 1));
        }
        if repeated {
            cells.push(Cell::count(row.shown().len() as u64));
            cells.push(Cell::number(spread(row), Unit::Count, 1));
        }
        if marked {
            cells.push(match remark(row, lang) {
                Some((word, tone)) => Cell::Toned(word.to_owned(), tone),
                None => Cell::blank(),
            });
        }
        cells
    };
    Table {
        columns,
        rows: rows.iter().map(cells).collect(),
        footnotes: footnotes(report, axes, &rows),
    }
}

/// What is shown of each point: by what its answers consist of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Figures {
    Tokens,
    Items,
}

impl Figures {
    fn of(rows: &[&MeasuredPoint<'_>]) -> Self {
        let of_items = |row: &&MeasuredPoint<'_>| row.summaries().any(|it| it.items.is_some());
        if rows.iter().any(of_items) {
            Figures::Items
        } else {
            Figures::Tokens
        }
    }

    fn names(self) -> &'static [&'static str] {
        match self {
            Figures::Items => &["req/s", "items/s", "E2E p50", "E2E p99"],
            Figures::Tokens => &[
                "req/s", "tok/s", "TTFT p50", "TTFT p99", "TPOT p50", "E2E p50",
            ],
        }
    }

    fn cells(self, row: &MeasuredPoint<'_>) -> Vec<Cell> {
        match self {
            Figures::Items => item_cells(row),
            Figures::Tokens => number_cells(row),
        }
    }
}

fn millis(value: Option<f64>) -> Cell {
    let decimals = match value {
        Some(value) if value < 100.0 => 1,
        _ => 0,
    };
    Cell::number(value, Unit::Milliseconds, decimals)
}

fn failed_cell(row: &MeasuredPoint<'_>) -> Cell {
    let shown = row.shown();
    if shown.is_empty() {
        return Cell::Absent;
    }
    Cell::count(shown.iter().map(|summary| summary.requests.failed).sum())
}

/// Of answers that consist of items, and have no first token.
fn item_cells(row: &MeasuredPoint<'_>) -> Vec<Cell> {
    let requests = row.mean(|summary| summary.throughput.requests_per_s);
    let items = row.mean(|summary| summary.throughput.items_per_s);
    let e2e = |of: fn(Distribution) -> f64| row.mean(|summary| summary.latency.e2e_ms.map(of));
    vec![
        Cell::number(requests, Unit::RequestsPerSecond, 2),
        Cell::number(items, Unit::ItemsPerSecond, 1),
        millis(e2e(|e2e| e2e.p50)),
        tail(row, millis(e2e(|e2e| e2e.p99))),
        failed_cell(row),
    ]
}

fn number_cells(row: &MeasuredPoint<'_>) -> Vec<Cell> {
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
        failed_cell(row),
    ]
}

/// A p99 that some of the measurements cannot bear is marked.
fn tail(row: &MeasuredPoint<'_>, cell: Cell) -> Cell {
    let bears = |summary: &&Summary| {
        let of_items = summary.latency.e2e_ms.filter(|_| summary.items.is_some());
        let tail = summary.latency.ttft_ms.or(of_items);
        tail.is_some_and(|tail| tail.supports(TAIL))
    };
    if row.shown().iter().all(bears) {
        cell
    } else {
        cell.starred()
    }
}

/// Half of the interval of the throughput over repeats, in percent.
fn spread(row: &MeasuredPoint<'_>) -> Option<f64> {
    let values: Vec<f64> = (row.shown().into_iter())
        .filter_map(|summary| summary.throughput.output_tokens_per_s)
        .collect();
    let known = batch_means(&values, values.len())?;
    Some((known.interval[1] - known.mean) / known.mean * 100.0).filter(|share| share.is_finite())
}

/// What a point that cannot be trusted is called.
pub(super) fn mark(row: &MeasuredPoint<'_>, lang: Lang) -> Option<&'static str> {
    let text = match row.trials.iter().map(|trial| trial.state).next_back()? {
        _ if row.summaries().any(|summary| !summary.valid) => SweepText::Invalid,
        TrialState::Done => return None,
        TrialState::Failed => SweepText::NotRun,
        TrialState::Skipped => SweepText::Skipped,
        TrialState::Interrupted => SweepText::Interrupted,
    };
    Some(text.text(lang))
}

/// The mark, or why a valid point is not to be compared, or that it misses objectives.
fn remark(row: &MeasuredPoint<'_>, lang: Lang) -> Option<(&'static str, Tone)> {
    if let Some(word) = mark(row, lang) {
        return Some((word, Tone::Bad));
    }
    let text = if row.summaries().any(|summary| !summary.can_win()) {
        SweepText::NotComparable
    } else if row.meets() == Some(false) {
        SweepText::SloMissed
    } else {
        return None;
    };
    Some((text.text(lang), Tone::Caution))
}

/// The objectives that a point misses, with what it showed.
fn misses(row: &MeasuredPoint<'_>, lang: Lang) -> Option<String> {
    let objectives = (row.shown().into_iter()).filter_map(|summary| summary.slo.as_ref());
    let mut missed: Vec<String> = (objectives.flat_map(|slo| &slo.objectives))
        .filter(|one| one.met == Some(false))
        .map(|one| format!("{} ({})", one.objective, seen(one, lang)))
        .collect();
    missed.dedup();
    (!missed.is_empty()).then(|| PunctuationText::Comma.join(lang, &missed))
}

/// Why a point is marked: the codes of its grave doubts, or the reason of the trial.
fn why(row: &MeasuredPoint<'_>) -> Option<String> {
    let grave = row.summaries().flat_map(|summary| &summary.doubts);
    let mut codes: Vec<&str> = grave
        .filter(|doubt| doubt.severity == Severity::Invalid)
        .map(|doubt| doubt.code.into_str())
        .collect();
    codes.dedup();
    if !codes.is_empty() {
        return Some(codes.join(", "));
    }
    let mut reasons = (row.trials.iter()).filter_map(|trial| trial.reason.as_deref());
    Some(printable(reasons.next_back()?, 300))
}

fn footnotes(
    report: &SweepReport<'_>,
    axes: &[String],
    rows: &[&MeasuredPoint<'_>],
) -> Vec<String> {
    let lang = report.lang;
    let mut notes = vec![SweepText::TimesInMs.text(lang).to_owned()];
    notes.extend(notes::mean_lengths(rows.iter().copied(), lang));
    let figures = Figures::of(rows);
    let starred = |row: &&MeasuredPoint<'_>| figures.cells(row)[TAIL_COLUMN].is_starred();
    if let Some(least) = least_samples(TAIL).filter(|_| rows.iter().any(starred)) {
        let least = format!("p{TAIL}: {least}");
        notes.push(NumbersText::TooFew.with(lang, &[("least", least)]));
    }
    if report.plan.repeat > 1 {
        notes.push(SweepText::SpreadMeans.text(lang).to_owned());
    }
    let axes: Vec<&String> = axes.iter().collect();
    let name = |row: &MeasuredPoint<'_>| row.name(&axes);
    let missing = (rows.iter()).filter_map(|row| Some((name(row), misses(row, lang)?)));
    notes.extend(
        missing
            .take(MOST_REASONS)
            .map(|(point, list)| SweepText::Misses.with(lang, &[("point", point), ("list", list)])),
    );
    let reasons: Vec<(String, String)> = (rows.iter())
        .filter(|row| mark(row, lang).is_some())
        .filter_map(|row| Some((name(row), why(row)?)))
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
