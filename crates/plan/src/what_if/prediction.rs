//! What is predicted of one setting, and how sure it is.

use super::bench::{Bench, Trial};
use super::bounds::{Bound, bound_of, bounds, interval, through_queue, worst};
use super::objective::PredictedVerdict;
use crate::calibrate::Extrapolation;
use crate::means::{MeanMetric, Means};
use crate::work::{Load, Work};
use inferometer_core::slo::Slo;
use inferometer_core::summary::Distribution;
use inferometer_sim::engine::Rejection;
use inferometer_sim::engine::virtual_time::{Run, Served};

#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    pub work: Work,
    pub cards: u32,
    pub requests_per_s: f64,
    pub output_tokens_per_s: f64,
    /// Seconds of the measured window; without one, from the first request to the last token.
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
    pub bounds: Vec<Bound>,
    /// The same where nothing lies outside the envelope.
    bounds_inside: Vec<Bound>,
    /// What lies outside the envelope; empty inside.
    pub beyond: Vec<Extrapolation>,
    /// What was predicted of each objective.
    pub judged: Vec<Judged>,
    /// Whether the objectives are met; absent without any.
    pub verdict: Option<PredictedVerdict>,
    /// Replicas for the traffic; absent where the objectives are missed.
    pub replicas: Option<Replicas>,
    /// Money for a million output tokens.
    pub cost_per_million: Option<f64>,
    /// Output tokens for a joule of the cards.
    pub tokens_per_joule: Option<f64>,
}

/// The figure that an objective limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    pub slo: Slo,
    pub ms: f64,
    /// The share by which it may be larger; absent where nobody knows.
    pub bound: Option<f64>,
}

/// How many servers carry a traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replicas {
    /// Those that the prediction is made for.
    pub count: u64,
    /// By the estimate; of streams, where one server carries the most of its interval.
    pub least: u64,
    /// By the slow end of the interval; absent where no number is enough.
    pub most: Option<u64>,
}

impl Replicas {
    /// For servers that carry from `low` to `high` requests/s each.
    fn of(traffic: f64, [low, high]: [f64; 2]) -> Option<Replicas> {
        let count = |each: f64| (traffic / each).ceil().max(1.0) as u64;
        (low > 0.0).then(|| Replicas {
            count: count(low),
            least: count(high),
            most: Some(count(low)),
        })
    }
}

/// What a trial comes to. Where the load was found for a traffic, so were the replicas.
pub(crate) fn prediction(bench: &Bench<'_>, trial: Trial, sized: Option<Replicas>) -> Prediction {
    let slower = bench.slower(&trial);
    let question = bench.question;
    let inside = bounds(question, trial.work.load, &[]);
    let judged = !question.objectives.is_empty();
    let verdict = judged.then(|| bench.verdict(&trial, slower.as_ref()));
    let Trial {
        work,
        seed,
        run,
        beyond,
        bounds,
    } = trial;
    let run = &run;
    let bounds = match slower {
        Some(slower) => through_queue(bounds, &Means::of(run), &slower.means(), work.requests),
        None => bounds,
    };
    let objectives = question.objectives.slos.iter();
    let strains = question.objectives.strains(run);
    let judged_by = objectives.zip(strains).map(|(slo, strain)| Judged {
        slo: *slo,
        ms: strain * slo.limit.0.as_secs_f64() * 1e3,
        bound: worst(&bounds, slo).map(|times| times - 1.0),
    });
    let judged_by: Vec<Judged> = judged_by.collect();
    let sample = |figure: fn(&Served) -> Option<f64>| {
        Distribution::of(run.served.iter().filter_map(figure).collect())
    };
    let done = run.served.iter().filter(|served| served.finished.is_some());
    let sizes = work.sizes(seed);
    let (mut served, mut prompts, mut tokens) = (0u64, 0u64, 0u64);
    for request in done {
        served += 1;
        prompts += sizes
            .get(request.id as usize)
            .map_or(0, |sizes| u64::from(sizes.input));
        tokens += u64::from(request.tokens);
    }
    let (cards, watts) = (bench.cards, bench.watts);
    let (requests_per_s, output_tokens_per_s) =
        (run.requests_per_second(), run.tokens_per_second());
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
        window_s: window_s(run),
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
        bounds_inside: inside,
        beyond,
        judged: judged_by,
        verdict,
        replicas: sized.or_else(|| {
            question
                .traffic
                .filter(|_| served > 0 && verdict != Some(PredictedVerdict::Missed))
                .and_then(|traffic| Replicas::of(traffic, carried))
        }),
        cost_per_million: bench
            .price_per_hour
            .filter(|_| positive)
            .map(|price| price * f64::from(cards) / 3600.0 / output_tokens_per_s * 1e6),
        tokens_per_joule: watts
            .filter(|_| positive)
            .map(|watts| output_tokens_per_s / (watts * f64::from(cards))),
        work,
    }
}

/// Seconds of the window, or from the first arrival to the last token.
fn window_s(run: &Run) -> f64 {
    let began = run.served.iter().map(|served| served.arrived).min();
    let [from, to] = run.window.unwrap_or([began.unwrap_or_default(), run.ended]);
    to.saturating_sub(from) as f64 * 1e-9
}

impl Prediction {
    /// The share by which a metric may be off here.
    pub fn bound(&self, metric: MeanMetric) -> Option<f64> {
        bound_of(&self.bounds, metric)
    }

    /// The same inside the envelope.
    pub fn bound_inside(&self, metric: MeanMetric) -> Option<f64> {
        bound_of(&self.bounds_inside, metric)
    }

    /// The metrics that were not held out.
    pub fn unknown(&self) -> impl Iterator<Item = MeanMetric> {
        let bounds = self.bounds_inside.iter();
        bounds
            .filter(|(_, bound)| bound.is_none())
            .map(|(metric, _)| *metric)
    }

    /// Whether at the slow end of its interval the server falls behind what arrives, so that
    /// latencies have no upper end.
    pub fn may_fall_behind(&self) -> bool {
        let known = |bounds: &[Bound]| bound_of(bounds, MeanMetric::E2e).is_some();
        known(&self.bounds_inside) && !known(&self.bounds)
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
