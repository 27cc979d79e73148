//! Latencies of a run: samples in numbers, with their intervals.

use super::pool::Ordered;
use super::precision::{Precision, RestsOn};
use super::run::Run;
use super::tally::{Answer, Tally};
use inferometer_core::quantile::{quantile, sort};
use inferometer_core::scenario::Shape;
use inferometer_core::slo::SloMetric;
use inferometer_core::summary::{Distribution, Latencies};

/// A sample over tokens: its mean has an interval by requests; its percentiles have none, since
/// the gaps are not kept in order.
fn pooled(
    pool: &Ordered,
    per_request: impl Iterator<Item = (f64, u32)>,
    precision: &Precision,
) -> Option<Distribution> {
    let mut found = pool.distribution()?;
    let (sums, counts): (Vec<f64>, Vec<f64>) = per_request
        .map(|(sum, count)| (sum, f64::from(count)))
        .unzip();
    match precision.batches(RestsOn::Requests) {
        Ok(batches) => found.mean_interval = batches.ratio(&sums, &counts),
        Err(needed) => found.requests_needed = Some(needed),
    }
    Some(found)
}

pub(super) fn column(answers: &[&Answer], of: impl Fn(&Answer) -> Option<f64>) -> Vec<f64> {
    answers.iter().filter_map(|answer| of(answer)).collect()
}

pub(super) fn latencies(
    run: &Run<'_>,
    tally: &Tally<'_>,
    itl: &Ordered,
    chunk_gaps: &Ordered,
    precision: &Precision,
) -> Latencies {
    let answers = &run.answers;
    let on = |rests_on: RestsOn, of: fn(&Answer) -> Option<f64>| {
        precision.described(&column(answers, of), rests_on)
    };
    let waits = |of| on(RestsOn::Waits, of);
    let of = |of| on(RestsOn::Requests, of);
    let ttft_ms = waits(|answer| answer.ttft.ms());
    let ttft_from_sent_ms = match run.context.scenario.load.shape {
        // Without a schedule both bases are one.
        Shape::Closed { .. } => ttft_ms,
        Shape::Open { .. } | Shape::Replay { .. } => waits(|answer| answer.ttft_from_sent.ms()),
    };
    let itl_is_per_token = tally.per_token && itl.quantile(0.5).is_some();
    let by_chunk = answers.iter().map(|answer| answer.chunk_gaps);
    let by_token = answers.iter().map(|answer| answer.token_gaps);
    let inter_chunk_ms = pooled(chunk_gaps, by_chunk, precision);
    Latencies {
        ttft_ms,
        ttft_from_sent_ms,
        first_answer_ms: (tally
            .reasoned
            .then(|| waits(|answer| answer.first_answer.ms())))
        .flatten(),
        second_token_ms: of(|answer| answer.second_token.ms()),
        tpot_ms: of(|answer| answer.tpot.ms()),
        itl_ms: if std::ptr::eq(itl, chunk_gaps) {
            inter_chunk_ms
        } else {
            pooled(itl, by_token, precision)
        },
        inter_chunk_ms,
        max_gap_ms: of(|answer| answer.max_gap.ms()),
        e2e_ms: of(|answer| answer.e2e.ms()),
        connect_ms: Distribution::of(tally.connect.clone()),
        lag_ms: Distribution::of(tally.lag.clone()),
        cap_wait_ms: Distribution::of(tally.cap_wait.clone()),
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
    let of: fn(&Answer) -> Option<f64> = match metric {
        SloMetric::Ttft => |answer| answer.ttft.ms(),
        SloMetric::FirstAnswer => |answer| answer.first_answer.ms(),
        SloMetric::Tpot => |answer| answer.tpot.ms(),
        SloMetric::MaxGap => |answer| answer.max_gap.ms(),
        SloMetric::E2e => |answer| answer.e2e.ms(),
        SloMetric::Itl => {
            return match p {
                Some(p) => itl.quantile(p),
                None => itl.distribution().map(|found| found.mean),
            };
        }
    };
    let mut values = column(&run.answers, of);
    match p {
        Some(p) => {
            sort(&mut values);
            quantile(&values, p)
        }
        None => Distribution::of(values).map(|found| found.mean),
    }
}
