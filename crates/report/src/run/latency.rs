//! The table of latencies.

use super::{Detail, RunReport, heading};
use inferometer_chart::star;
use inferometer_core::summary::Distribution;
use inferometer_message::{MetricText, NumbersText};
use inferometer_page::doc::{Block, Cell, Column, Section, Table, Unit};
use inferometer_page::number;

/// Milliseconds from which a row reads better in seconds, by its median and by its maximum.
const LONG_MEDIAN: f64 = 10_000.0;
const LONG_MAXIMUM: f64 = 1_000_000.0;

/// Decimals of one time over another.
const RATIO_DECIMALS: usize = 3;

/// Percentiles of the table, in percent.
const PERCENTILES: [f64; 4] = [50.0, 90.0, 95.0, 99.0];

/// The section; none where nothing was answered.
pub(super) fn section(report: &RunReport<'_>) -> Option<Section> {
    let rows = rows(report);
    if rows.iter().all(|(_, sample)| sample.is_none()) {
        return None;
    }
    let table = Block::Table(table(report, &rows));
    Some(Section::headed(
        &heading(report, NumbersText::Latency),
        [table],
    ))
}

/// What is shown of this run: rows that cannot exist are left out, rows that should exist and
/// do not are `n/a`.
pub(super) fn rows<'a>(report: &RunReport<'a>) -> Vec<(MetricText, Option<&'a Distribution>)> {
    let latency = &report.summary.latency;
    let streamed = report.scenario.connection.stream;
    let tokens = !report.is_of_items();
    let open = report.is_open();
    let detailed = report.detail == Detail::Definitions;
    let gap = if latency.itl_is_per_token {
        MetricText::Itl
    } else {
        MetricText::InterChunk
    };
    let row = |label, sample: &'a Option<Distribution>, shown: bool| {
        shown.then_some((label, sample.as_ref()))
    };
    [
        row(MetricText::Ttft, &latency.ttft_ms, tokens),
        row(
            MetricText::TtftFromSent,
            &latency.ttft_from_sent_ms,
            open && detailed && tokens,
        ),
        row(
            MetricText::FirstAnswer,
            &latency.first_answer_ms,
            latency.first_answer_ms.is_some(),
        ),
        row(MetricText::SecondToken, &latency.second_token_ms, streamed),
        row(MetricText::Tpot, &latency.tpot_ms, tokens),
        row(gap, &latency.itl_ms, streamed),
        row(MetricText::MaxGap, &latency.max_gap_ms, streamed),
        row(MetricText::E2e, &latency.e2e_ms, true),
        (report.summary.media.as_ref())
            .and_then(|media| media.rtf.as_ref())
            .map(|rtf| (MetricText::RealTimeFactor, Some(rtf))),
        row(
            MetricText::Connect,
            &latency.connect_ms,
            detailed && latency.connect_ms.is_some(),
        ),
        row(
            MetricText::Lag,
            &latency.lag_ms,
            open && latency.lag_ms.is_some(),
        ),
        row(
            MetricText::CapWait,
            &latency.cap_wait_ms,
            open && latency.cap_wait_ms.is_some(),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn table(report: &RunReport<'_>, rows: &[(MetricText, Option<&Distribution>)]) -> Table {
    let mut columns = vec![Column::left(""), Column::left("")];
    columns.push(Column::right(report.say(NumbersText::Mean)));
    columns.extend(PERCENTILES.map(|percent| Column::right(&format!("p{percent}"))));
    columns.push(Column::right(report.say(NumbersText::Max)));
    let samples: Vec<Option<&Distribution>> = rows.iter().map(|(_, sample)| *sample).collect();
    let rows: Vec<Vec<Cell>> = rows
        .iter()
        .map(|&(label, sample)| cells(&named(report, label, sample), label, sample))
        .collect();
    let mut footnotes = Vec::new();
    if !report.scenario.connection.stream && !report.is_of_items() {
        footnotes.push(report.say(NumbersText::WhyNotStreamed).to_owned());
    }
    let starred = PERCENTILES.into_iter().flat_map(|percent| {
        let own = samples
            .iter()
            .flatten()
            .filter_map(move |it| it.requests_for(percent));
        // The number that is told of the run elsewhere.
        own.chain(report.summary.latency.requests_for(percent))
            .map(move |requests| (percent, requests))
    });
    footnotes.extend(star::footnote(starred, report.lang));
    Table {
        columns,
        rows,
        footnotes,
    }
}

/// The name of a row, with its sample where that is not all of the answers.
fn named(report: &RunReport<'_>, label: MetricText, sample: Option<&Distribution>) -> String {
    let name = report.say(label);
    let all = report.summary.latency.e2e_ms.map(|all| all.n);
    let part = sample.map(|sample| sample.n).filter(|&n| Some(n) < all);
    match part {
        Some(n) => format!("{name} (n={})", number::count(n)),
        None => name.to_owned(),
    }
}

fn cells(name: &str, label: MetricText, sample: Option<&Distribution>) -> Vec<Cell> {
    let mut cells = vec![Cell::text(name)];
    let Some(sample) = sample else {
        cells.push(Cell::blank());
        cells.extend([const { Cell::Absent }; PERCENTILES.len() + 2]);
        return cells;
    };
    let (unit, scale, decimals) = match label {
        MetricText::RealTimeFactor => (Unit::Count, 1.0, RATIO_DECIMALS),
        _ => row_unit(sample),
    };
    let plain = |value: f64| Cell::number(Some(value * scale), unit, decimals);
    cells.push(Cell::text(unit.sign()));
    cells.push(plain(sample.mean));
    let values = [sample.p50, sample.p90, sample.p95, sample.p99];
    for (value, percent) in values.into_iter().zip(PERCENTILES) {
        cells.push(if sample.supports(percent) {
            plain(value)
        } else {
            plain(value).starred()
        });
    }
    cells.push(plain(sample.max));
    cells
}

/// The unit, the factor from milliseconds to it, and the decimals that suit a whole row.
pub(super) fn row_unit(sample: &Distribution) -> (Unit, f64, usize) {
    let (unit, scale) = if sample.p50 >= LONG_MEDIAN || sample.max >= LONG_MAXIMUM {
        (Unit::Seconds, 1e-3)
    } else {
        (Unit::Milliseconds, 1.0)
    };
    // Half of the gaps can be nought where chunks come together; the mean then says more.
    let typical = if sample.p50 > 0.0 {
        sample.p50
    } else {
        sample.mean
    };
    (unit, scale, number::decimals(typical * scale))
}
