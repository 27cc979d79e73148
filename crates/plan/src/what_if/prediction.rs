//! What is predicted of one setting, and how sure it is.

use super::objective::PredictedVerdict;
use super::question::{Question, SEED, TAIL};
use super::setting::Setting;
use crate::calibrate::Extrapolation;
use crate::flags::{self, Flag};
use crate::means::MeanMetric;
use crate::work::{Load, Work};
use inferometer_core::slo::{Slo, SloMetric, SloScope};
use inferometer_core::summary::Distribution;
use inferometer_sim::engine::Rejection;
use inferometer_sim::engine::virtual_time::{Run, Served};

#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    pub work: Work,
    pub cards: u32,
    pub requests_per_s: f64,
    pub output_tokens_per_s: f64,
    /// Seconds from the first request to the last token.
    pub window_s: f64,
    pub served: u64,
    /// Requests that the engine refused, such as those longer than its cache.
    pub refused: u64,
    /// Those of them that are longer than max-model-len.
    pub too_long: u64,
    /// Prompt tokens of those that were served, on average.
    pub input_mean: f64,
    /// Output tokens of those, on average.
    pub output_mean: f64,
    pub ttft_ms: Option<Distribution>,
    pub tpot_ms: Option<Distribution>,
    pub e2e_ms: Option<Distribution>,
    /// Largest gap of each request, ms.
    pub max_gap_ms: Option<Distribution>,
    /// Share by which each metric may be off; absent where none was held out for it.
    pub bounds: Vec<(MeanMetric, Option<f64>)>,
    /// What lies outside the envelope; empty inside.
    pub beyond: Vec<Extrapolation>,
    /// Whether the objectives are met; absent without any.
    pub verdict: Option<PredictedVerdict>,
    /// Replicas for the traffic; absent where the objectives are missed.
    pub replicas: Option<Replicas>,
    /// Money for a million output tokens.
    pub cost_per_million: Option<f64>,
    /// Output tokens for a joule of the cards.
    pub tokens_per_joule: Option<f64>,
}

/// How many servers carry a traffic, by the ends of the interval of what one carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replicas {
    /// Where one carries the most.
    pub least: u64,
    /// Where one carries the least.
    pub most: u64,
}

impl Replicas {
    /// For servers that carry from `low` to `high` requests/s each.
    fn of(traffic: f64, [low, high]: [f64; 2]) -> Option<Replicas> {
        let count = |each: f64| (traffic / each).ceil().max(1.0) as u64;
        (low > 0.0).then(|| Replicas {
            least: count(high),
            most: count(low),
        })
    }
}

/// The share by which each metric may be off; absent where none was held out for it.
pub(super) fn bounds(
    question: &Question<'_>,
    load: Load,
    beyond: &[Extrapolation],
) -> Vec<(MeanMetric, Option<f64>)> {
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
pub(super) fn worst(bounds: &[(MeanMetric, Option<f64>)], slo: &Slo) -> Option<f64> {
    let metric = match slo.metric {
        SloMetric::Ttft | SloMetric::FirstAnswer => MeanMetric::Ttft,
        SloMetric::Tpot | SloMetric::Itl | SloMetric::MaxGap => MeanMetric::Tpot,
        SloMetric::E2e | SloMetric::Job => MeanMetric::E2e,
    };
    let wider = match slo.scope {
        SloScope::Mean => 1.0,
        SloScope::Percentile(percent) if percent <= 50.0 => 1.0,
        SloScope::Percentile(_) | SloScope::Request | SloScope::Session => TAIL,
    };
    Some(1.0 + bound_of(bounds, metric)? * wider)
}

pub(super) fn prediction(
    question: &Question<'_>,
    setting: &Setting,
    work: Work,
    run: &Run,
    beyond: Vec<Extrapolation>,
    watts: Option<f64>,
) -> Prediction {
    let sample = |figure: fn(&Served) -> Option<f64>| {
        Distribution::of(run.served.iter().filter_map(figure).collect())
    };
    let done = run.served.iter().filter(|served| served.finished.is_some());
    let sizes = work.sizes(SEED);
    let (mut served, mut prompts, mut tokens) = (0u64, 0u64, 0u64);
    for request in done {
        served += 1;
        prompts += sizes
            .get(request.id as usize)
            .map_or(0, |sizes| u64::from(sizes.input));
        tokens += u64::from(request.tokens);
    }
    let cards = cards(question, setting);
    let (requests_per_s, output_tokens_per_s) =
        (run.requests_per_second(), run.tokens_per_second());
    let bounds = bounds(question, work.load, &beyond);
    let judged = !question.objectives.is_empty();
    let verdict = judged.then(|| question.objectives.verdict(run, &|slo| worst(&bounds, slo)));
    let carried = match work.load {
        // What is offered is carried, if it is carried as it should be; the last answers of a
        // run that ends are no sign of less.
        Load::Open(rate) if judged => [rate, rate],
        _ => interval(&bounds, MeanMetric::Requests, requests_per_s, 1.0)
            .unwrap_or([requests_per_s, requests_per_s]),
    };
    let refused = |of: fn(&Rejection) -> bool| {
        let refusals = run.served.iter().filter_map(|it| it.refused.as_ref());
        refusals.filter(|why| of(why)).count() as u64
    };
    let positive = output_tokens_per_s > 0.0;
    Prediction {
        cards,
        requests_per_s,
        output_tokens_per_s,
        window_s: run.ended as f64 * 1e-9,
        served,
        refused: refused(|_| true),
        too_long: refused(|why| {
            matches!(
                why,
                Rejection::TooLong { .. } | Rejection::InputTooLong { .. }
            )
        }),
        input_mean: prompts as f64 / served.max(1) as f64,
        output_mean: tokens as f64 / served.max(1) as f64,
        ttft_ms: sample(Served::ttft_ms),
        tpot_ms: sample(Served::tpot_ms),
        e2e_ms: sample(Served::latency_ms),
        max_gap_ms: sample(|served| {
            (served.chunks > 1).then_some(served.longest_gap as f64 * 1e-6)
        }),
        bounds,
        beyond,
        verdict,
        replicas: question
            .traffic
            .filter(|_| served > 0 && verdict != Some(PredictedVerdict::Missed))
            .and_then(|traffic| Replicas::of(traffic, carried)),
        cost_per_million: question
            .price_per_hour
            .filter(|_| positive)
            .map(|price| price * f64::from(cards) / 3600.0 / output_tokens_per_s * 1e6),
        tokens_per_joule: watts
            .filter(|_| positive)
            .map(|watts| output_tokens_per_s / (watts * f64::from(cards))),
        work,
    }
}

/// Cards of all that one server is.
fn cards(question: &Question<'_>, setting: &Setting) -> u32 {
    let of = |flags: &[Flag]| flags::cards(question.calibration.engine, flags);
    let own = of(&setting.flags);
    match &question.calibration.split {
        Some(split) => split.cards([of(&split.prefill_flags()), own]),
        None => own,
    }
}

/// How much wider bounds are outside the envelope than inside.
fn widening(beyond: &[Extrapolation]) -> f64 {
    1.0 + beyond.iter().map(|beyond| beyond.doublings).sum::<f64>()
}

impl Prediction {
    /// The share by which a metric may be off here.
    pub fn bound(&self, metric: MeanMetric) -> Option<f64> {
        bound_of(&self.bounds, metric)
    }

    /// The same inside the envelope.
    pub fn bound_inside(&self, metric: MeanMetric) -> Option<f64> {
        Some(self.bound(metric)? / widening(&self.beyond))
    }

    /// Whether all of it was measured near by.
    pub fn inside(&self) -> bool {
        self.beyond.is_empty()
    }

    /// The interval of a value of a metric, which may be off by `factor` times its bound.
    pub fn interval(&self, metric: MeanMetric, value: f64, factor: f64) -> Option<[f64; 2]> {
        interval(&self.bounds, metric, value, factor)
    }
}

fn bound_of(bounds: &[(MeanMetric, Option<f64>)], metric: MeanMetric) -> Option<f64> {
    bounds.iter().find(|(known, _)| *known == metric)?.1
}

fn interval(
    bounds: &[(MeanMetric, Option<f64>)],
    metric: MeanMetric,
    value: f64,
    factor: f64,
) -> Option<[f64; 2]> {
    let bound = 1.0 + bound_of(bounds, metric)? * factor;
    Some([value / bound, value * bound])
}
