//! Two runs that sent the same requests in the same order. The lengths that a seed draws move the
//! figures of both alike, so what each request differs by from its partner tells more than the runs
//! by themselves. Neighbours in a queue still share their fate: the differences are taken in batches,
//! as the values of one run are.

use super::metric::{Column, Metric, Source, WITHIN_DEGREES};
use super::sample::RunSample;
use inferometer_statistics::{Batches, student_quantile};

/// Least share of the requests of either run that both answered.
const LEAST_PAIRED: f64 = 0.95;

/// Variance of the logarithm of b / a by pairs of requests, of a mean or of what a closed loop does
/// per second; absent where the runs did not send the same, or either is too short for an interval.
pub(crate) fn log_variance(a: &RunSample, b: &RunSample, metric: Metric) -> Option<f64> {
    let sent = |run: &RunSample| Some((run.definition.seed?, run.definition.work.clone()?));
    let same = sent(a)? == sent(b)?;
    let streams = [a, b].map(|run| run.as_short().streams);
    let column = match metric {
        // As many requests as its streams have time for, each with its own tokens.
        Metric::OutputTokensPerS
        | Metric::OutputTokensPerSPerCard
        | Metric::RequestsPerS
        | Metric::TotalTokensPerS => Column::E2e,
        _ => match metric.source() {
            Source::Mean(column) => column,
            Source::Quantile(..) | Source::Rate => return None,
        },
    };
    let is_alike = match metric.source() {
        Source::Rate => streams[0].is_some() && streams[0] == streams[1],
        _ => streams[0] == streams[1],
    };
    let is_long = |run: &RunSample| metric.log_variance(&run.summary).is_some();
    if !(same && is_alike && is_long(a) && is_long(b)) {
        return None;
    }
    let (of_a, of_b) = (a.series.as_ref()?, b.series.as_ref()?);
    let pairs = of_a.paired(of_b, column);
    let count = pairs.len() as f64;
    if count < LEAST_PAIRED * of_a.answers().max(of_b.answers()) as f64 {
        return None;
    }
    let mean = |side: usize| pairs.iter().map(|pair| pair[side]).sum::<f64>() / count;
    let means = [mean(0), mean(1)];
    let differences = pairs.iter().map(|[a, b]| b / means[1] - a / means[0]);
    let differences: Vec<f64> = differences.filter(|it| it.is_finite()).collect();
    let [low, high] = Batches::of(Batches::MOST as f64).mean(&differences)?;
    let half_widths = 2.0 * student_quantile(0.975, WITHIN_DEGREES);
    Some(((high - low) / half_widths).powi(2)).filter(|it| it.is_finite())
}
