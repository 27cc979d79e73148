//! Latencies of a run: samples in numbers, with their intervals.

use super::pool::{Ordered, Pool};
use super::precision::{Precision, RestsOn};
use super::run::Run;
use super::tally::{Figure, Tally};
use inferometer_core::scenario::Shape;
use inferometer_core::slo::SloMetric;
use inferometer_core::summary::{Distribution, Latencies};

/// A sample over tokens: its mean has an interval by requests; its percentiles have none, since
/// the gaps are not kept in order.
fn pooled(
    pool: &Ordered,
    per_request: impl Iterator<Item = (f64, u32)>,
    places: &[u8],
    precision: &Precision,
) -> Option<Distribution> {
    let mut found = pool.distribution()?;
    let (sums, counts): (Vec<f64>, Vec<f64>) = per_request
        .map(|(sum, count)| (sum, f64::from(count)))
        .unzip();
    // Gaps of one answer share its fate, and those of all answers under way that of a step: a tail
    // is of as many events as there are answers, however many gaps they have.
    let with_gaps = counts.iter().filter(|count| **count > 0.0).count();
    let answers = (with_gaps as f64 * precision.weight).round() as u64;
    (found.independent, found.answers) = (Some(answers), Some(answers));
    match precision.batches(RestsOn::Requests) {
        Ok(batches) => found.mean_interval = batches.grouped(places).ratio(&sums, &counts),
        Err(needed) => found.requests_needed = Some(needed),
    }
    Some(found)
}

/// What the client itself waited for or was late by.
pub(super) struct ClientTimes {
    pub(super) connect: Ordered,
    pub(super) lag: Ordered,
    pub(super) cap_wait: Ordered,
}

impl ClientTimes {
    pub(super) fn of(tally: &mut Tally) -> Self {
        let ordered = |pool: &mut Pool| std::mem::take(pool).into_ordered();
        ClientTimes {
            connect: ordered(&mut tally.connect),
            lag: ordered(&mut tally.lag),
            cap_wait: ordered(&mut tally.cap_wait),
        }
    }
}

pub(super) fn latencies(
    run: &Run<'_>,
    tally: &Tally,
    client: &ClientTimes,
    itl: &Ordered,
    chunk_gaps: &Ordered,
    precision: &Precision,
) -> Latencies {
    let answers = &run.answers;
    let waits = |figure| run.described(figure, RestsOn::Waits, precision);
    let of = |figure| run.described(figure, RestsOn::Requests, precision);
    let ttft_ms = waits(Figure::Ttft);
    let ttft_from_sent_ms = match run.context.scenario.load.shape {
        // Without a schedule both bases are one.
        Shape::Closed { .. } => ttft_ms,
        Shape::Open { .. } | Shape::Replay { .. } => waits(Figure::TtftFromSent),
    };
    let itl_is_per_token = tally.per_token && itl.quantile(0.5).is_some();
    let by_chunk = answers.iter().map(|answer| answer.chunk_gaps);
    let by_token = answers.iter().map(|answer| answer.token_gaps);
    let inter_chunk_ms = pooled(chunk_gaps, by_chunk, &run.places, precision);
    Latencies {
        ttft_ms,
        ttft_from_sent_ms,
        first_answer_ms: (tally.reasoned)
            .then(|| waits(Figure::FirstAnswer))
            .flatten(),
        second_token_ms: of(Figure::SecondToken),
        tpot_ms: of(Figure::Tpot),
        itl_ms: if std::ptr::eq(itl, chunk_gaps) {
            inter_chunk_ms
        } else {
            pooled(itl, by_token, &run.places, precision)
        },
        inter_chunk_ms,
        max_gap_ms: of(Figure::MaxGap),
        e2e_ms: of(Figure::E2e),
        connect_ms: client.connect.distribution(),
        lag_ms: client.lag.distribution(),
        cap_wait_ms: client.cap_wait.distribution(),
        itl_is_per_token,
    }
}

/// A percentile, or the mean, of a metric over the run.
pub(super) fn of_run(
    run: &Run<'_>,
    itl: &Ordered,
    metric: SloMetric,
    p: Option<f64>,
) -> Option<f64> {
    let figure = match metric {
        SloMetric::Ttft => Figure::Ttft,
        SloMetric::FirstAnswer => Figure::FirstAnswer,
        SloMetric::Tpot => Figure::Tpot,
        SloMetric::MaxGap => Figure::MaxGap,
        SloMetric::E2e => Figure::E2e,
        SloMetric::PerUser => {
            // The slow end of times is that of low speeds.
            let speeds = run.ordered(Figure::PerUser);
            let speed = match p {
                Some(p) => speeds.quantile(1.0 - p),
                None => speeds.distribution().map(|found| found.mean),
            };
            return speed.map(|speed| 1e3 / speed);
        }
        SloMetric::Job => return None,
        SloMetric::Itl => {
            return match p {
                Some(p) => itl.quantile(p),
                None => itl.distribution().map(|found| found.mean),
            };
        }
    };
    let all = run.ordered(figure);
    match p {
        Some(p) => all.quantile(p),
        None => all.distribution().map(|found| found.mean),
    }
}
