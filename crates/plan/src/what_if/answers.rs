//! The answers to a question, and their form for programs.

use super::objective::PredictedVerdict;
use super::prediction::{Judged, Prediction};
use super::question::{TAIL, TooLong};
use super::setting::Setting;
use crate::means::MeanMetric;
use crate::work::Load;
use inferometer_core::summary::Distribution;
use serde_json::{Map, Value, json};

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Predicted(Box<Prediction>),
    /// The engine does not start, in its own words.
    Refused(String),
    /// The engine starts, and rejects most requests of these lengths.
    TooLong(TooLong),
    NeverMet,
}

#[derive(Clone, Debug)]
pub struct Answers {
    pub settings: Vec<(Setting, Outcome)>,
    /// The one to take; absent where none serves and meets the objectives.
    pub recommended: Option<usize>,
}

impl Answers {
    pub(crate) fn of(settings: Vec<(Setting, Outcome)>) -> Answers {
        Answers {
            recommended: recommend(&settings),
            settings,
        }
    }
}

/// The best of those that meet the objectives: the cheapest where prices are known, else the
/// fastest by card; one that is certain to meet them before one that is not, and one inside the
/// envelope before one outside.
fn recommend(settings: &[(Setting, Outcome)]) -> Option<usize> {
    let candidates = settings
        .iter()
        .enumerate()
        .filter_map(|(index, (_, outcome))| {
            let Outcome::Predicted(prediction) = outcome else {
                return None;
            };
            let verdict = prediction.verdict.unwrap_or(PredictedVerdict::Met);
            let met = verdict != PredictedVerdict::Missed && prediction.served > 0;
            let worth = match prediction.cost_per_million {
                Some(cost) => 1.0 / cost,
                None => prediction.output_tokens_per_s / f64::from(prediction.cards),
            };
            met.then_some(((verdict, prediction.inside()), worth, index))
        });
    let best = candidates.max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    best.map(|(_, _, index)| index)
}

pub const SCHEMA: &str = "inferometer.what-if/1";

/// The object that `plan what-if --format json` prints.
pub fn to_json(answers: &Answers) -> Value {
    let settings = answers.settings.iter();
    let settings = settings.map(|(setting, outcome)| setting_json(setting, outcome));
    let settings: Vec<Value> = settings.collect();
    json!({ "schema": SCHEMA, "settings": settings, "recommended": answers.recommended })
}

pub(crate) fn setting_json(setting: &Setting, outcome: &Outcome) -> Value {
    let flags: Map<String, Value> = setting
        .flags
        .iter()
        .map(|(name, value)| (name.clone(), value.as_deref().map_or(json!(true), typed)))
        .collect();
    let mut all =
        json!({ "device": setting.device, "engine": setting.engine.word(), "flags": flags });
    let load = match outcome {
        Outcome::Predicted(prediction) => Some(prediction.work.load),
        Outcome::Refused(_) | Outcome::TooLong(_) | Outcome::NeverMet => setting.load,
    };
    all["point"] = match load {
        Some(Load::Closed(streams)) => json!({ "concurrency": streams }),
        Some(Load::Open(rate)) => json!({ "rate": rate }),
        None => json!({}),
    };
    let more = match outcome {
        Outcome::Refused(reason) => json!({ "predicted": null, "error": reason }),
        Outcome::TooLong(why) => json!({
            "predicted": null,
            "error": format!(
                "requests of {} tokens exceed max-model-len {}", why.median, why.most
            ),
        }),
        Outcome::NeverMet => json!({
            "predicted": null,
            "error": "a single stream misses the objectives",
        }),
        Outcome::Predicted(prediction) => predicted(prediction),
    };
    if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
        all.extend(more);
    }
    all
}

fn typed(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => Value::from(text),
    }
}

fn predicted(prediction: &Prediction) -> Value {
    let input_per_s = prediction.requests_per_s * prediction.input_mean;
    let concurrency = match prediction.work.load {
        Load::Closed(streams) => Some(streams),
        Load::Open(_) => None,
    };
    let mean = prediction
        .e2e_ms
        .map(|e2e| e2e.mean / 1e3 * prediction.requests_per_s);
    json!({
        "predicted": {
            "requests": { "planned": prediction.work.requests, "ok": prediction.served,
                          "failed": prediction.refused, "cut": 0, "unsent": 0 },
            "window_s": prediction.window_s,
            "throughput": {
                "requests_per_s": prediction.requests_per_s,
                "input_tokens_per_s": input_per_s,
                "output_tokens_per_s": prediction.output_tokens_per_s,
                "total_tokens_per_s": input_per_s + prediction.output_tokens_per_s,
            },
            "concurrency": { "configured": concurrency, "mean": mean },
            "latency": {
                "ttft_ms": prediction.ttft_ms,
                "tpot_ms": prediction.tpot_ms,
                "e2e_ms": prediction.e2e_ms,
                "max_gap_ms": prediction.max_gap_ms,
            },
            "tokens": { "input_mean": prediction.input_mean, "output_mean": prediction.output_mean },
            "slo": prediction.verdict.map(|verdict| json!({
                "met": verdict == PredictedVerdict::Met,
                "verdict": verdict,
                "objectives": prediction.judged.iter().map(objective).collect::<Vec<_>>(),
            })),
        },
        "work": {
            "input_tokens": prediction.work.input.to_string(),
            "output_tokens": prediction.work.output.to_string(),
            "trace": prediction.work.trace.is_some(),
            "start": prediction.work.start,
            "too_long": prediction.too_long,
        },
        "interval": interval(prediction),
        "inside_envelope": prediction.inside(),
        "outside": prediction.beyond,
        "cards": prediction.cards,
        "replicas": prediction.replicas.map(|replicas| replicas.count),
        "replicas_range": prediction.replicas.map(|replicas| (replicas.least, replicas.most)),
        "cost_per_million_output_tokens": prediction.cost_per_million,
        "output_tokens_per_joule": prediction.tokens_per_joule,
    })
}

fn objective(judged: &Judged) -> Value {
    json!({ "objective": judged.slo.to_string(), "value_ms": judged.ms })
}

/// Where the values lie in 9 of 10 cases, with the keys of the prediction; `null` where nothing
/// was held out to tell.
fn interval(prediction: &Prediction) -> Value {
    let latency = |metric: MeanMetric, sample: Option<Distribution>| {
        let sample = sample?;
        prediction.interval(metric, sample.mean, 1.0)?;
        let tail = |value| prediction.interval(metric, value, TAIL);
        Some(json!({
            "mean": prediction.interval(metric, sample.mean, 1.0),
            "p50": prediction.interval(metric, sample.p50, 1.0),
            "p90": tail(sample.p90),
            "p99": tail(sample.p99),
        }))
    };
    json!({
        "throughput": {
            "requests_per_s": prediction.interval(MeanMetric::Requests, prediction.requests_per_s, 1.0),
            "output_tokens_per_s":
                prediction.interval(MeanMetric::Throughput, prediction.output_tokens_per_s, 1.0),
        },
        "latency": {
            "ttft_ms": latency(MeanMetric::Ttft, prediction.ttft_ms),
            "tpot_ms": latency(MeanMetric::Tpot, prediction.tpot_ms),
            "e2e_ms": latency(MeanMetric::E2e, prediction.e2e_ms),
        },
    })
}
