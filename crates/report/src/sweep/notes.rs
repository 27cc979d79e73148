//! A ladder as people keep it in their notes: a row per metric, a column per load.

use super::{SweepReport, compose, measured};
use inferometer_chart::measured::MeasuredPoint;
use inferometer_chart::measured::ladder::{LoadLadder, ladders};
use inferometer_chart::star;
use inferometer_core::summary::{Distribution, Latencies, Summary};
use inferometer_message::{FigureText, NumbersText, SweepText};
use inferometer_page::doc::{Block, Cell, Column, Doc, Table, Unit};
use inferometer_page::number;
use inferometer_text::Lang;

/// A latency and its name, the same in every language.
type Timed = (&'static str, fn(&Latencies) -> Option<Distribution>);

const TIMES: [Timed; 4] = [
    ("TTFT", |latency| latency.ttft_ms),
    ("TPOT", |latency| latency.tpot_ms),
    ("ITL", |latency| latency.itl_ms),
    ("E2E", |latency| latency.e2e_ms),
];

type Percentile = (u32, fn(&Distribution) -> f64);

const PERCENTILES: [Percentile; 3] = [
    (50, |sample| sample.p50),
    (90, |sample| sample.p90),
    (99, |sample| sample.p99),
];

/// The sweep as a document for notes: under the table of each ladder, a row per metric and a
/// column per load.
pub fn compose_for_notes(report: &SweepReport<'_>) -> Doc {
    let mut doc = compose(report);
    for ladder in ladders(&measured(report)) {
        let heading = match ladder.name.as_str() {
            "" => SweepText::Table.text(report.lang),
            name => name,
        };
        let section =
            (doc.sections.iter_mut()).find(|section| section.heading.as_deref() == Some(heading));
        if let Some(section) = section {
            section
                .blocks
                .push(Block::Table(table(&ladder, report.lang)));
        }
    }
    doc
}

/// The table of one ladder, with the mean lengths under it.
fn table(ladder: &LoadLadder<'_>, lang: Lang) -> Table {
    let rows = &ladder.points;
    let title = match ladder.axis.as_str() {
        "concurrency" => FigureText::Concurrency.text(lang),
        "rate" => FigureText::Rate.text(lang),
        other => other,
    };
    let mut columns = vec![Column::left(title)];
    columns.extend((rows.iter()).map(|row| Column::right(&row.text(ladder.axis))));
    let named = |name: FigureText, unit: Unit, of: fn(&Summary) -> Option<f64>| {
        means(
            &format!("{} ({})", name.text(lang), unit.sign()),
            rows,
            unit,
            of,
        )
    };
    let mut lines = vec![
        counts(NumbersText::Ok.text(lang), rows, |summary| {
            summary.requests.ok
        }),
        counts(NumbersText::Failed.text(lang), rows, |summary| {
            summary.requests.failed
        }),
        named(FigureText::Duration, Unit::Seconds, |summary| {
            summary.window_s
        }),
        means(
            Unit::RequestsPerSecond.sign(),
            rows,
            Unit::RequestsPerSecond,
            |summary| summary.throughput.requests_per_s,
        ),
        named(FigureText::OutputThroughput, Unit::TokensPerSecond, |it| {
            it.throughput.output_tokens_per_s
        }),
        named(FigureText::TotalThroughput, Unit::TokensPerSecond, |it| {
            it.throughput.total_tokens_per_s
        }),
    ];
    let mut starred: Vec<(f64, u64)> = Vec::new();
    for (name, of) in TIMES {
        let mean = format!("{name} {} (ms)", NumbersText::Mean.text(lang));
        lines.push(means(&mean, rows, Unit::Milliseconds, |summary| {
            of(&summary.latency).map(|sample| sample.mean)
        }));
        for (percent, value) in PERCENTILES {
            let label = format!("{name} p{percent} (ms)");
            let mut line = means(&label, rows, Unit::Milliseconds, |summary| {
                of(&summary.latency).map(|sample| value(&sample))
            });
            // What some of the measurements cannot bear is marked.
            for (cell, row) in line[1..].iter_mut().zip(rows) {
                let percent = f64::from(percent);
                let needed = |summary: &&Summary| of(&summary.latency)?.requests_for(percent);
                if let Some(needed) = row.shown().iter().filter_map(needed).max() {
                    *cell = cell.clone().starred();
                    starred.push((percent, needed));
                }
            }
            lines.push(line);
        }
    }
    // A metric that no point has, as TTFT without streams, is no row.
    lines.retain(|line| line[1..].iter().any(|cell| *cell != Cell::Absent));
    Table {
        columns,
        rows: lines,
        footnotes: (mean_lengths(rows.iter().copied(), lang).into_iter())
            .chain(star::footnote(starred, lang))
            .collect(),
    }
}

fn counts(label: &str, rows: &[&MeasuredPoint<'_>], of: fn(&Summary) -> u64) -> Vec<Cell> {
    let count = |row: &MeasuredPoint<'_>| match row.shown().as_slice() {
        [] => Cell::Absent,
        shown => Cell::count(shown.iter().map(|summary| of(summary)).sum()),
    };
    let mut line = vec![Cell::text(label)];
    line.extend(rows.iter().copied().map(count));
    line
}

fn means(
    label: &str,
    rows: &[&MeasuredPoint<'_>],
    unit: Unit,
    of: impl Fn(&Summary) -> Option<f64>,
) -> Vec<Cell> {
    let mut line = vec![Cell::text(label)];
    line.extend(rows.iter().map(|row| Cell::rate(row.mean(&of), unit)));
    line
}

/// How far mean lengths of points may be apart to be told as one.
const ALIKE: f64 = 1.2;

/// Mean lengths of the prompts and answers of some points.
pub(super) fn mean_lengths<'r, 'a: 'r>(
    rows: impl Iterator<Item = &'r MeasuredPoint<'a>>,
    lang: Lang,
) -> Option<String> {
    let summaries: Vec<&Summary> = rows.flat_map(MeasuredPoint::shown).collect();
    let mean = |tokens: fn(&Summary) -> Option<u64>| {
        let counted = || (summaries.iter()).filter(|summary| tokens(summary).is_some());
        // Where points differ in length, no mean over them says anything.
        let own = counted().filter_map(|it| Some(tokens(it)? as f64 / it.requests.ok as f64));
        let own: Vec<f64> = own.filter(|mean| mean.is_finite()).collect();
        let ends = own
            .iter()
            .copied()
            .reduce(f64::min)
            .zip(own.iter().copied().reduce(f64::max));
        ends.filter(|(least, most)| *most <= ALIKE * least)?;
        let requests: u64 = counted().map(|summary| summary.requests.ok).sum();
        let total: u64 = counted().filter_map(|summary| tokens(summary)).sum();
        (requests > 0).then(|| number::grouped(total as f64 / requests as f64, 1))
    };
    let values = [
        ("input", mean(|summary| summary.tokens.input)?),
        ("output", mean(|summary| summary.tokens.output)?),
    ];
    Some(SweepText::MeanLengths.with(lang, &values))
}
