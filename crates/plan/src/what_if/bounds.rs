//! By how much predictions may be off, from the errors at points that were held out.

use super::question::{Question, TAIL};
use crate::calibrate::Extrapolation;
use crate::means::{MeanMetric, Means};
use crate::work::Load;
use inferometer_core::slo::{Slo, SloMetric, SloScope};

/// The share by which each metric may be off; absent where none was held out for it.
pub(super) type Bound = (MeanMetric, Option<f64>);

pub(super) fn bounds(question: &Question<'_>, load: Load, beyond: &[Extrapolation]) -> Vec<Bound> {
    let far = widening(beyond);
    let held_out = |metric: MeanMetric| {
        let mut known = question.calibration.held_out.iter();
        let known = known.find(|known| known.metric == metric);
        known.map(|known| known.bound)
    };
    let rate = || held_out(MeanMetric::Requests).or_else(|| held_out(MeanMetric::Throughput));
    let bound = |metric: MeanMetric| {
        let known = held_out(metric).or_else(|| match metric {
            // Requests and tokens of the same work are as sure as each other.
            MeanMetric::Requests => held_out(MeanMetric::Throughput),
            MeanMetric::Throughput => held_out(MeanMetric::Requests),
            // A latency is a first token and the others; in a closed loop, its streams by its
            // rate.
            MeanMetric::E2e => {
                let parts = held_out(MeanMetric::Ttft).zip(held_out(MeanMetric::Tpot));
                let whole = parts.map(|(first, others)| first.max(others));
                whole.or_else(|| match load {
                    Load::Closed(_) => rate(),
                    Load::Open(_) => None,
                })
            }
            _ => None,
        });
        (metric, known.map(|known| known * far))
    };
    MeanMetric::all().map(bound).collect()
}

/// How many times larger than predicted the figure of an objective may be.
pub(super) fn worst(bounds: &[Bound], slo: &Slo) -> Option<f64> {
    let metric = match slo.metric {
        SloMetric::Ttft | SloMetric::FirstAnswer => MeanMetric::Ttft,
        SloMetric::Tpot | SloMetric::Itl | SloMetric::MaxGap => MeanMetric::Tpot,
        SloMetric::E2e | SloMetric::PerUser | SloMetric::Job => MeanMetric::E2e,
    };
    let wider = match slo.scope {
        SloScope::Mean => 1.0,
        SloScope::Percentile(percent) if percent <= 50.0 => 1.0,
        SloScope::Percentile(_) | SloScope::Request | SloScope::Session => TAIL,
    };
    Some(1.0 + bound_of(bounds, metric)? * wider)
}

/// Bounds of an open loop: on a server that is slower, requests also wait for each other longer;
/// what arrives is completed there too, unless it falls behind. As many arrivals as were simulated
/// come at another rate in each draw.
pub(super) fn through_queue(
    bounds: Vec<Bound>,
    expected: &Means,
    slower: &Means,
    arrivals: u32,
) -> Vec<Bound> {
    // 9 of 10 draws of random arrivals are nearer.
    let drawn = 1.645 / f64::from(arrivals.max(1)).sqrt();
    let wider = |(metric, bound): Bound| {
        let both = slower.get(metric).zip(expected.get(metric));
        let times = |bound: f64, (slower, expected): (f64, f64)| match metric {
            MeanMetric::Requests | MeanMetric::Throughput => (expected / slower).max(1.0 + drawn),
            _ => (slower / expected).max(1.0) * (1.0 + bound),
        };
        let wider = bound
            .zip(both)
            .map(|(bound, both)| times(bound, both) - 1.0);
        (metric, wider)
    };
    bounds.into_iter().map(wider).collect()
}

/// How much wider bounds are outside the envelope than inside.
pub(super) fn widening(beyond: &[Extrapolation]) -> f64 {
    1.0 + beyond.iter().map(|beyond| beyond.doublings).sum::<f64>()
}

pub(super) fn bound_of(bounds: &[Bound], metric: MeanMetric) -> Option<f64> {
    bounds.iter().find(|(known, _)| *known == metric)?.1
}

pub(super) fn interval(
    bounds: &[Bound],
    metric: MeanMetric,
    value: f64,
    factor: f64,
) -> Option<[f64; 2]> {
    let bound = 1.0 + bound_of(bounds, metric)? * factor;
    Some([value / bound, value * bound])
}
