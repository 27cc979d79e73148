//! Which tool wrote a JSON object, and its numbers.

use crate::draft::{Draft, count};
use crate::exports::{aiperf, guidellm};
use crate::found::{Found, Tool};
use crate::label::{Field, Label, Sample, label};
use crate::quantity::{Quantity, Unit, quantity};
use crate::summary::{Spread, Stat};
use serde_json::{Map, Value};

pub(crate) enum Item {
    Result(Box<Found>),
    /// One row, or all, of EvalScope's percentiles.
    PercentileRow(Map<String, Value>),
    Unknown,
}

/// Tells what an object is.
pub(crate) fn recognise(object: Map<String, Value>, lines: (usize, usize)) -> Item {
    if object.contains_key("Percentiles") && object.len() >= 2 {
        return Item::PercentileRow(object);
    }
    let result = aiperf(&object, lines)
        .or_else(|| guidellm(&object, lines))
        .or_else(|| serving_benchmark(&object, lines))
        .or_else(|| offline_throughput(&object, lines))
        .or_else(|| labelled(&object, lines));
    match result {
        Some(mut result) => {
            let name = ["model_id", "label", "model", "Model", "tag"]
                .iter()
                .find_map(|key| object.get(*key).and_then(Value::as_str))
                .filter(|name| !name.is_empty());
            result.label = result
                .label
                .take()
                .or_else(|| name.map(|name| inferometer_text::hostile::printable(name, 200)));
            Item::Result(Box::new(result))
        }
        None => Item::Unknown,
    }
}

pub(crate) fn float(value: Option<&Value>) -> Option<f64> {
    value
        .and_then(Value::as_f64)
        .filter(|value| value.is_finite())
}

pub(crate) fn put(draft: &mut Draft, field: Field, value: Option<f64>) {
    if let Some(value) = value {
        draft.set("", Label { field, unit: None }, Quantity::exact(value));
    }
}

/// vLLM's `--save-result` and SGLang's JSONL: the same stems.
fn serving_benchmark(object: &Map<String, Value>, lines: (usize, usize)) -> Option<Found> {
    let known = [
        "duration",
        "completed",
        "output_throughput",
        "mean_ttft_ms",
        "total_output_tokens",
    ];
    if !object.contains_key("request_throughput")
        || !known.iter().any(|key| object.contains_key(*key))
    {
        return None;
    }
    let sglang = [
        "mean_e2e_latency_ms",
        "total_output_tokens_retokenized",
        "random_range_ratio",
        "sharegpt_output_len",
        "accept_length",
    ]
    .iter()
    .any(|key| object.contains_key(*key));
    let tool = if sglang { Tool::Sglang } else { Tool::Vllm };
    let mut draft = Draft::default();
    for (key, value) in object {
        let field = match key.as_str() {
            "duration" => Field::Window,
            "completed" => Field::Ok,
            "failed" => Field::Failed,
            "num_prompts" => Field::Planned,
            "total_input_tokens" => Field::InputTokens,
            "total_output_tokens" => Field::OutputTokens,
            "request_throughput" => Field::RequestsPerS,
            "input_throughput" => Field::InputPerS,
            "output_throughput" => Field::OutputPerS,
            "total_token_throughput" | "total_throughput" => Field::TotalPerS,
            "request_goodput" | "request_goodput:" => Field::Goodput,
            "max_concurrency" => Field::Concurrency,
            "concurrency" => Field::BareConcurrency,
            "max_concurrent_requests" => Field::PeakConcurrency,
            "request_rate" if value.as_str().is_some_and(|rate| rate.starts_with("inf")) => {
                draft.point.insert("rate".into(), "inf".into());
                continue;
            }
            "request_rate" => Field::Rate,
            // Facts of single requests: kept as they are.
            "input_lens" | "output_lens" | "ttfts" | "itls" | "errors" => {
                draft.summary.other.insert(key.clone(), value.clone());
                continue;
            }
            _ => {
                if let Some((sample, stat)) = stem(key) {
                    if let Some(value) = float(Some(value)) {
                        let label = Label {
                            field: Field::Of(sample, Some(stat)),
                            unit: Some(Unit::Millis),
                        };
                        draft.set(key, label, Quantity::exact(value));
                    }
                } else if key.starts_with("max_output_tokens_per")
                    || key == "rtfx"
                    || key == "accept_length"
                {
                    draft.summary.other.insert(key.clone(), value.clone());
                }
                continue;
            }
        };
        put(&mut draft, field, float(Some(value)));
    }
    Some(draft.finish(tool, lines))
}

/// vLLM's throughput benchmark without a server, whose tokens are those of both kinds.
fn offline_throughput(object: &Map<String, Value>, lines: (usize, usize)) -> Option<Found> {
    object.get("total_num_tokens")?;
    let mut draft = Draft::default();
    for (key, field) in [
        ("elapsed_time", Field::Window),
        ("num_requests", Field::Ok),
        ("requests_per_second", Field::RequestsPerS),
        ("tokens_per_second", Field::TotalPerS),
    ] {
        put(&mut draft, field, Some(float(object.get(key))?));
    }
    let total = "total_num_tokens".to_owned();
    draft
        .summary
        .other
        .insert(total, object["total_num_tokens"].clone());
    Some(draft.finish(Tool::Vllm, lines))
}

/// `mean_ttft_ms`, `p99_e2e_latency_ms` …
fn stem(key: &str) -> Option<(Sample, Stat)> {
    let (stat, metric) = key.strip_suffix("_ms")?.split_once('_')?;
    let sample = match metric {
        "ttft" => Sample::Ttft,
        "tpot" => Sample::Tpot,
        "itl" => Sample::Itl,
        "e2el" | "e2e_latency" => Sample::E2e,
        _ => return None,
    };
    Some((sample, Stat::of_word(stat)?))
}

/// Objects whose keys are labels: EvalScope's summary, and what people's own scripts write.
fn labelled(object: &Map<String, Value>, lines: (usize, usize)) -> Option<Found> {
    let mut draft = Draft::default();
    for (key, value) in object {
        let Some(label) = label(key) else { continue };
        match value {
            Value::Object(stats) => {
                let sample = match label.field {
                    Field::Of(sample, _) => sample,
                    // Percentiles of tokens a second are of single requests.
                    Field::OutputPerS => Sample::PerUserSpeed,
                    Field::Speed(sample) => sample,
                    _ => continue,
                };
                let factor = if sample.is_time() {
                    label.unit.and_then(Unit::in_ms).unwrap_or(1000.0)
                } else {
                    1.0
                };
                draft.put(sample, spread(stats).scaled(factor));
            }
            Value::String(text) => {
                if let Some(quantity) = quantity(text) {
                    draft.set(key, label, quantity);
                } else if label.field == Field::Rate && text.starts_with("inf") {
                    draft.point.insert("rate".into(), "inf".into());
                }
            }
            _ => {
                if let Some(value) = float(Some(value)) {
                    draft.set(key, label, Quantity::exact(value));
                }
            }
        }
    }
    if draft.results() < 2 || draft.numbers() < 3 {
        return None;
    }
    let has = |key: &str| object.contains_key(key);
    let tool = if has("Expected number of requests") && has("Average QPS") {
        Tool::Evalscope2024
    } else if [
        "Number of concurrency",
        "Time taken for tests (s)",
        "Req Throughput (req/s)",
    ]
    .into_iter()
    .any(has)
    {
        Tool::Evalscope
    } else {
        Tool::TrialLog
    };
    if tool == Tool::Evalscope2024 {
        draft.summary.latency.tpot_ms = None;
    }
    Some(draft.finish(tool, lines))
}

/// Statistics by their names, also those in a `percentiles` object.
pub(crate) fn spread(stats: &Map<String, Value>) -> Spread {
    let mut spread = Spread::default();
    let inner = stats.get("percentiles").and_then(Value::as_object);
    for (name, value) in stats.iter().chain(inner.into_iter().flatten()) {
        if let (Some(stat), Some(value)) = (Stat::of_word(name), float(Some(value))) {
            spread.set(stat, value);
        } else if name == "count" {
            spread.n = float(Some(value)).and_then(count);
        }
    }
    spread
}

/// EvalScope's percentiles: rows of objects, or one object of lists.
pub(crate) fn percentiles(objects: &[Map<String, Value>], lines: (usize, usize)) -> Found {
    let mut draft = Draft::default();
    let mut set = |rank: &Value, key: &str, value: &Value| {
        let rank = match rank {
            Value::String(text) => Stat::of_word(text),
            other => other
                .as_f64()
                .and_then(|rank| Stat::of_word(&format!("p{rank}"))),
        };
        if let (Some(rank), Some(value)) = (rank, float(Some(value))) {
            percentile(&mut draft, rank, key, value);
        }
    };
    for object in objects {
        let Some(ranks) = object.get("Percentiles") else {
            continue;
        };
        for (key, value) in object {
            match (ranks, value) {
                (Value::Array(ranks), Value::Array(values)) => {
                    for (rank, value) in ranks.iter().zip(values) {
                        set(rank, key, value);
                    }
                }
                _ => set(ranks, key, value),
            }
        }
    }
    draft.finish(Tool::Evalscope, lines)
}

/// One number of EvalScope's percentiles.
pub(crate) fn percentile(draft: &mut Draft, rank: Stat, column: &str, value: f64) {
    let label = label(column);
    let Some(sample) = label.and_then(|label| label.field.sample()) else {
        return match column {
            "Percentiles" => (),
            column => draft.pass_over(column),
        };
    };
    let label = Label {
        field: Field::Of(sample, Some(rank)),
        unit: label.and_then(|label| label.unit),
    };
    draft.set(column, label, Quantity::exact(value));
}
