//! What the calibrated engine would do at settings that nobody has measured.

mod objective;
mod shown;
mod verify;

pub use objective::Objectives;
pub use shown::{SCHEMA, to_json};
pub use verify::{VerifyError, on_simulated};

use crate::calibrate::{Beyond, Calibration, requests};
use crate::cores::on_all;
use crate::device::{BadDevice, Card, Timed};
use crate::flags::{Flag, value};
use crate::observation::Load;
use crate::predict::{Metric, Sizes, Subject, Work, settled, simulate};
use inferometer_core::length::Distribution as Lengths;
use inferometer_core::summary::Distribution;
use inferometer_sim::engine::virtual_time::{Run, Served};
use std::sync::Arc;
use thiserror::Error;

/// Settings to try: every combination of devices, flags and loads.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The calibration.
    pub calibration: &'a Calibration,
    /// Cards in place of the calibrated one; empty: that one.
    pub cards: Vec<String>,
    /// Values of each flag to vary; `None` is a switch.
    pub flags: Vec<(String, Vec<Option<String>>)>,
    /// Loads; empty: the greatest concurrency that meets the objectives.
    pub loads: Vec<Load>,
    /// Tokens of prompts.
    pub input: Lengths,
    /// Tokens of answers.
    pub output: Lengths,
    /// Requests of a trace, in place of drawn lengths.
    pub trace: Option<Arc<[Sizes]>>,
    /// Requests of each simulation; absent: as many as were measured, or four a stream.
    pub requests: Option<u32>,
    /// What must be met.
    pub objectives: Objectives,
    /// Price of a card.
    pub price_per_hour: Option<f64>,
    /// Requests a second that replicas are counted for.
    pub traffic: Option<f64>,
    /// Power of a card under load.
    pub watts: Option<f64>,
}

/// One combination.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The card, as it was named.
    pub device: String,
    /// All flags, those of the calibration included.
    pub flags: Vec<Flag>,
    /// The flags that were varied.
    pub varied: Vec<Flag>,
    /// The load; absent: the greatest that meets the objectives.
    pub load: Option<Load>,
}

/// What becomes of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The engine serves.
    Predicted(Box<Prediction>),
    /// The engine does not start, in its own words.
    Refused(String),
    /// No load at all meets the objectives.
    NeverMet,
}

/// A prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The load that was simulated.
    pub work: Work,
    /// Cards of one replica.
    pub cards: u32,
    /// Requests a second.
    pub requests_per_s: f64,
    /// Output tokens a second.
    pub output_tokens_per_s: f64,
    /// Seconds from the first request to the last token.
    pub window_s: f64,
    /// Requests that were served.
    pub served: u64,
    /// Requests that the engine refused, such as those longer than its cache.
    pub refused: u64,
    /// Prompt tokens of those that were served, on average.
    pub input_mean: f64,
    /// Output tokens of those, on average.
    pub output_mean: f64,
    /// Time to first token, ms.
    pub ttft_ms: Option<Distribution>,
    /// Time per output token, ms.
    pub tpot_ms: Option<Distribution>,
    /// End-to-end latency, ms.
    pub e2e_ms: Option<Distribution>,
    /// Largest gap of each request, ms.
    pub max_gap_ms: Option<Distribution>,
    /// Share by which each metric may be off; absent where none was held out for it.
    pub bounds: Vec<(Metric, Option<f64>)>,
    /// What lies outside the envelope; empty inside.
    pub beyond: Vec<Beyond>,
    /// Whether the objectives are met; absent without any.
    pub met: Option<bool>,
    /// Replicas for the traffic.
    pub replicas: Option<u64>,
    /// Money for a million output tokens.
    pub cost_per_million: Option<f64>,
    /// Output tokens for a joule of the cards.
    pub tokens_per_joule: Option<f64>,
}

/// The answers to a question.
#[derive(Clone, Debug)]
pub struct Answers {
    /// Every setting with its outcome.
    pub settings: Vec<(Setting, Outcome)>,
    /// The one to take; absent where none serves and meets the objectives.
    pub recommended: Option<usize>,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum WhatIfError {
    /// More combinations than anyone reads.
    #[error("{0} settings are too many; vary less, at most {MOST_SETTINGS}")]
    TooMany(usize),
    /// Neither load nor objectives.
    #[error(
        "say at which load (--concurrency or --rate), or give objectives (--slo) to find the greatest"
    )]
    NoLoad,
    /// The card is not known.
    #[error(transparent)]
    Device(#[from] BadDevice),
    /// A card without speed.
    #[error(
        "of the device '{0}' only the memory is known; add bandwidth= and half= to predict times"
    )]
    NoSpeed(String),
}

/// Most settings of one question.
pub const MOST_SETTINGS: usize = 10_000;
/// Most streams that a search for capacity tries.
const MOST_STREAMS: u32 = 16_384;
/// Seed of simulations: settings differ by themselves alone.
const SEED: u64 = 7;
/// Tails are known worse than means.
pub(crate) const TAIL: f64 = 1.5;

/// Predicts every setting.
pub fn ask(question: &Question<'_>) -> Result<Answers, WhatIfError> {
    if question.loads.is_empty() && question.objectives.is_empty() {
        return Err(WhatIfError::NoLoad);
    }
    let settings = settings(question)?;
    let subject = question.calibration.subject()?;
    let outcomes = on_all(settings.len(), |index| {
        outcome(question, &subject, &settings[index])
    });
    let settings: Vec<(Setting, Outcome)> = settings
        .into_iter()
        .map(|(setting, _)| setting)
        .zip(outcomes)
        .collect();
    let recommended = recommend(&settings);
    Ok(Answers {
        settings,
        recommended,
    })
}

/// All combinations, with their cards.
fn settings(question: &Question<'_>) -> Result<Vec<(Setting, Card)>, WhatIfError> {
    let names = match question.cards.is_empty() {
        true => std::slice::from_ref(&question.calibration.device),
        false => &question.cards,
    };
    let mut all = Vec::new();
    for name in names {
        let card: Card = name.parse()?;
        if card.timed == Timed::MemoryOnly {
            return Err(WhatIfError::NoSpeed(name.clone()));
        }
        all.push((
            Setting {
                device: name.clone(),
                flags: question.calibration.base_flags(),
                varied: Vec::new(),
                load: None,
            },
            card,
        ));
    }
    let loads = question.loads.len().max(1);
    let axes = question.flags.iter().map(|(_, values)| values.len());
    let count = axes.fold(all.len().saturating_mul(loads), usize::saturating_mul);
    if count > MOST_SETTINGS {
        return Err(WhatIfError::TooMany(count));
    }
    for (name, values) in &question.flags {
        let each = |(setting, card): (Setting, Card)| {
            let values = values.iter().map(move |value| {
                let mut setting = setting.clone();
                setting.flags.retain(|(known, _)| known != name);
                setting.flags.push((name.clone(), value.clone()));
                setting.varied.push((name.clone(), value.clone()));
                (setting, card.clone())
            });
            values.collect::<Vec<_>>()
        };
        all = all.into_iter().flat_map(each).collect();
    }
    if question.loads.is_empty() {
        return Ok(all);
    }
    let each = |(setting, card): (Setting, Card)| {
        let loads = question.loads.iter().map(move |&load| {
            let load = Some(load);
            (
                Setting {
                    load,
                    ..setting.clone()
                },
                card.clone(),
            )
        });
        loads.collect::<Vec<_>>()
    };
    Ok(all.into_iter().flat_map(each).collect())
}

fn outcome(
    question: &Question<'_>,
    subject: &Subject,
    (setting, card): &(Setting, Card),
) -> Outcome {
    let calibration = question.calibration;
    let elsewhere = setting.device != calibration.device;
    let subject = Subject {
        device: card.device.clone(),
        ..subject.clone()
    };
    let config = match subject.start(&setting.flags, &calibration.timing) {
        Ok(config) => config,
        Err(error) => return Outcome::Refused(error.to_string()),
    };
    let serve = |load: Load| {
        let known = question.requests.or(calibration.workload.requests);
        let work = Work {
            load,
            input: question.input,
            output: calibration.workload.output(question.output),
            requests: question.requests.unwrap_or_else(|| requests(load, known)),
            trace: question.trace.clone(),
        };
        let run = simulate(config.clone(), &work, SEED);
        (work, run)
    };
    let (work, run) = match setting.load {
        Some(load) => serve(load),
        None => match capacity(&question.objectives, serve) {
            Some(found) => found,
            None => return Outcome::NeverMet,
        },
    };
    let mut beyond = calibration
        .envelope
        .beyond(&work, &settled(&setting.flags, &config));
    if elsewhere {
        beyond.push(Beyond {
            what: "device".to_owned(),
            value: setting.device.clone(),
            measured: calibration.device.clone(),
            doublings: 1.0,
        });
    }
    let watts = question.watts.or(card.watts);
    Outcome::Predicted(Box::new(prediction(
        question, setting, work, &run, beyond, watts,
    )))
}

/// The greatest number of streams that meets the objectives, and its run.
fn capacity(objectives: &Objectives, serve: impl Fn(Load) -> (Work, Run)) -> Option<(Work, Run)> {
    let tried =
        |streams: u32| Some(serve(Load::Closed(streams))).filter(|(_, run)| objectives.met(run));
    let mut best = tried(1)?;
    let (mut low, mut high) = (1, 2);
    while high <= MOST_STREAMS {
        match tried(high) {
            Some(found) => best = found,
            None => break,
        }
        low = high;
        high *= 2;
    }
    // To 3 %: closer than any prediction is.
    while high - low > (low / 32).max(1) && high <= MOST_STREAMS {
        let middle = low + (high - low) / 2;
        match tried(middle) {
            Some(found) => (best, low) = (found, middle),
            None => high = middle,
        }
    }
    Some(best)
}

fn prediction(
    question: &Question<'_>,
    setting: &Setting,
    work: Work,
    run: &Run,
    beyond: Vec<Beyond>,
    watts: Option<f64>,
) -> Prediction {
    let sample = |figure: fn(&Served) -> Option<f64>| {
        Distribution::of(run.served.iter().filter_map(figure).collect())
    };
    let done = run.served.iter().filter(|served| served.finished.is_some());
    let (mut served, mut tokens) = (0u64, 0u64);
    for request in done {
        served += 1;
        tokens += u64::from(request.tokens);
    }
    let size = |name: &str| {
        value(&setting.flags, name)
            .and_then(|value| value.parse::<u32>().ok())
            .unwrap_or(1)
            .max(1)
    };
    let cards = size("tensor-parallel-size").saturating_mul(size("pipeline-parallel-size"));
    let (requests_per_s, output_tokens_per_s) =
        (run.requests_per_second(), run.tokens_per_second());
    let far = widening(&beyond);
    let held_out = |metric: Metric| {
        let mut known = question.calibration.held_out.iter();
        known.find(|known| known.metric == metric)
    };
    let bounds = Metric::ALL.map(|metric| {
        // Requests and tokens of the same work are as sure as each other.
        let known = held_out(metric).or_else(|| match metric {
            Metric::Requests => held_out(Metric::Throughput),
            Metric::Throughput => held_out(Metric::Requests),
            Metric::Ttft | Metric::Tpot | Metric::E2e => None,
        });
        (metric, known.map(|known| known.bound * far))
    });
    let positive = output_tokens_per_s > 0.0;
    Prediction {
        cards,
        requests_per_s,
        output_tokens_per_s,
        window_s: run.ended as f64 * 1e-9,
        served,
        refused: run
            .served
            .iter()
            .filter(|served| served.refused.is_some())
            .count() as u64,
        input_mean: work.input.mean(),
        output_mean: tokens as f64 / served.max(1) as f64,
        ttft_ms: sample(Served::ttft_ms),
        tpot_ms: sample(Served::tpot_ms),
        e2e_ms: sample(Served::latency_ms),
        max_gap_ms: sample(|served| {
            (served.chunks > 1).then_some(served.longest_gap as f64 * 1e-6)
        }),
        bounds: bounds.to_vec(),
        beyond,
        met: (!question.objectives.is_empty()).then(|| question.objectives.met(run)),
        replicas: question
            .traffic
            .filter(|_| requests_per_s > 0.0)
            .map(|traffic| (traffic / requests_per_s).ceil().max(1.0) as u64),
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

/// How much wider bounds are outside the envelope than inside.
fn widening(beyond: &[Beyond]) -> f64 {
    1.0 + beyond.iter().map(|beyond| beyond.doublings).sum::<f64>()
}

impl Prediction {
    /// The share by which a metric may be off here.
    pub fn bound(&self, metric: Metric) -> Option<f64> {
        let (_, bound) = self.bounds.iter().find(|(known, _)| *known == metric)?;
        *bound
    }

    /// The same inside the envelope.
    pub fn bound_inside(&self, metric: Metric) -> Option<f64> {
        Some(self.bound(metric)? / widening(&self.beyond))
    }

    /// Whether all of it was measured near by.
    pub fn inside(&self) -> bool {
        self.beyond.is_empty()
    }

    /// The interval of a value of a metric, which may be off by `factor` times its bound.
    pub fn interval(&self, metric: Metric, value: f64, factor: f64) -> Option<[f64; 2]> {
        let bound = 1.0 + self.bound(metric)? * factor;
        Some([value / bound, value * bound])
    }
}

/// The best of those that meet the objectives: the cheapest where prices are known, else the
/// fastest by card; one inside the envelope before one outside.
fn recommend(settings: &[(Setting, Outcome)]) -> Option<usize> {
    let candidates = settings
        .iter()
        .enumerate()
        .filter_map(|(index, (_, outcome))| {
            let Outcome::Predicted(prediction) = outcome else {
                return None;
            };
            let met = prediction.met.unwrap_or(true) && prediction.served > 0;
            let worth = match prediction.cost_per_million {
                Some(cost) => 1.0 / cost,
                None => prediction.output_tokens_per_s / f64::from(prediction.cards),
            };
            met.then_some((prediction.inside(), worth, index))
        });
    let best = candidates.max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    best.map(|(_, _, index)| index)
}
