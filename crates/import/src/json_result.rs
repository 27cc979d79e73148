//! Which tool wrote a JSON object, and its numbers.

use crate::builder::ResultBuilder;
use crate::facts::DATE;
use crate::guidellm::{self, is_page, page_runs};
use crate::label::Stat;
use crate::label::{Field, Label, Sample, label};
use crate::quantity::{Quantity, Unit, finite, quantity};
use crate::result::{ImportedResult, Tool};
use crate::summary::Spread;
use crate::unread::{UnreadReason, has_numbers};
use crate::{aiperf_aggregate, aiperf_export, mindie_table};
use inferometer_text::hostile::printable;
use serde_json::{Map, Value};

pub(crate) enum Item {
    Result(Box<ImportedResult>),
    Several(Vec<ImportedResult>),
    /// The data of a page, of which the rest only shows it.
    Page(Vec<ImportedResult>),
    /// One row, or all, of EvalScope's percentiles.
    PercentileRow(Map<String, Value>),
    /// Of requests before the measured ones, or of a part of them, beside the whole.
    PartOfRun,
    /// What a tool was asked to do.
    Settings,
    Unknown,
}

pub(crate) fn recognise(object: Map<String, Value>, lines: (usize, usize)) -> Item {
    if object.contains_key("Percentiles") && object.len() >= 2 {
        return Item::PercentileRow(object);
    }
    // Requests of `vllm bench sweep` before the measured ones.
    if object.get("run_number").and_then(Value::as_i64) == Some(-1) {
        return Item::PartOfRun;
    }
    // AIPerf's slices of a run, and the time that SGLang takes for steady.
    let has = |key: &str| object.contains_key(key);
    if object.get("timeslices").is_some_and(Value::is_array)
        || has("concurrency_ratio") && has("window_start") && has("window_end")
    {
        return Item::PartOfRun;
    }
    // EvalScope logs its arguments, of which some are called as results are.
    if ["parallel", "number", "max_prompt_length", "dataset"]
        .into_iter()
        .all(|key| object.contains_key(key))
    {
        return Item::Settings;
    }
    if is_page(&object) {
        return Item::Page(page_runs(&object, lines));
    }
    if let Some(results) = aiperf_aggregate::results(&object, lines) {
        return Item::Several(results);
    }
    let result = aiperf_export::result(&object, lines)
        .or_else(|| guidellm::export::result(&object, lines))
        .or_else(|| mindie_table::result(&object, lines))
        .or_else(|| serving_benchmark(&object, lines))
        .or_else(|| offline_throughput(&object, lines))
        .or_else(|| labelled(&object, lines));
    let Some(mut result) = result else {
        return Item::Unknown;
    };
    let named = ["model_id", "model", "Model"].into_iter();
    let model = named.map(|key| object.get(key)).find_map(|it| it?.as_str());
    if let Some(model) = model.filter(|model| !model.is_empty()) {
        result.is_of_model(model);
    }
    if let Some(date) = object.get("date").and_then(Value::as_str).and_then(date) {
        result.facts.insert(DATE.to_owned(), date);
    }
    if result.label.is_none() {
        let mut names = ["model_id", "label", "model", "Model", "tag"].into_iter();
        let name = names.find_map(|key| object.get(key).and_then(Value::as_str));
        let name = name.filter(|name| !name.is_empty());
        result.label = name.map(|name| printable(name, 200));
    }
    Item::Result(Box::new(result))
}

/// When a result was saved: `20250110-101500` or `2025-01-10T10:15:00Z`, as `2025-01-10 10:15`.
fn date(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(char::is_ascii_digit).take(12).collect();
    let is_date = text.len() >= 13 && digits.len() == 12 && digits.starts_with("20");
    is_date.then(|| {
        let part = |range: std::ops::Range<usize>| &digits[range];
        let day = format!("{}-{}-{}", part(0..4), part(4..6), part(6..8));
        format!("{day} {}:{}", part(8..10), part(10..12))
    })
}

/// What SGLang repeats of its command line.
const SETTINGS: [&str; 4] = [
    "random_input_len",
    "random_output_len",
    "random_range_ratio",
    "sharegpt_output_len",
];

/// vLLM's `--save-result` and SGLang's JSONL: the same stems.
fn serving_benchmark(object: &Map<String, Value>, lines: (usize, usize)) -> Option<ImportedResult> {
    let has_any = |keys: &str| keys.split('|').any(|key| object.contains_key(key));
    if !has_any("request_throughput")
        || !has_any("duration|completed|output_throughput|mean_ttft_ms|total_output_tokens")
    {
        return None;
    }
    let is_sglang = has_any(
        "mean_e2e_latency_ms|total_output_tokens_retokenized|random_range_ratio|\
         sharegpt_output_len|accept_length",
    );
    let tool = if is_sglang { Tool::Sglang } else { Tool::Vllm };
    let mut builder = ResultBuilder::default();
    for (key, value) in object {
        let field = match key.as_str() {
            "duration" => Field::Window,
            "completed" => Field::Ok,
            "failed" => Field::Failed,
            // What was asked for: of a smaller data set fewer were sent, and all of these are listed.
            "num_prompts" if listed_all(object) => {
                builder.skip(key, UnreadReason::NotMeasured);
                continue;
            }
            "num_prompts" => Field::Planned,
            "total_input_tokens" => Field::InputTokens,
            "total_output_tokens" => Field::OutputTokens,
            "request_throughput" => Field::RequestsPerS,
            "input_throughput" => Field::InputPerS,
            "output_throughput" => Field::OutputPerS,
            "total_token_throughput" | "total_throughput" => Field::TotalPerS,
            "request_goodput" | "request_goodput:" => Field::Goodput,
            "slo_attainment" => Field::Attainment,
            "max_concurrency" => Field::Concurrency,
            "concurrency" => Field::BareConcurrency,
            "max_concurrent_requests" => Field::PeakConcurrency,
            "request_rate" if value.as_str().is_some_and(|rate| rate.starts_with("inf")) => {
                let load = match ramp(object) {
                    Some(ramp) => ("ramp", ramp),
                    None => ("rate", "inf".to_owned()),
                };
                builder.point.insert(load.0.into(), load.1.into());
                continue;
            }
            "request_rate" => Field::Rate,
            // Facts of single requests: kept as they are.
            "input_lens" | "output_lens" | "ttfts" | "itls" | "errors" => {
                // SGLang counts failures in no other place.
                if let Some(errors) = value.as_array().filter(|_| key == "errors" && is_sglang) {
                    let failed = errors.iter().filter_map(Value::as_str);
                    let failed = failed.filter(|error| !error.is_empty()).count();
                    builder.set_exact(Field::Failed, Some(failed as f64));
                }
                builder.summary.other.insert(key.clone(), value.clone());
                continue;
            }
            _ => {
                if let Some((sample, stat)) = stem(key) {
                    if let Some(value) = finite(Some(value)) {
                        let label = Label {
                            field: Field::Of(sample, Some(stat)),
                            unit: Some(Unit::Millis),
                        };
                        builder.set(key, label, Quantity::exact(value));
                    }
                } else if has_numbers(value) {
                    let is_setting = SETTINGS.contains(&key.as_str()) || value.is_object();
                    if is_setting && key != "steady_state" {
                        builder.skip(key, UnreadReason::NotMeasured);
                    } else {
                        builder.summary.other.insert(key.clone(), value.clone());
                    }
                }
                continue;
            }
        };
        builder.set_exact(field, finite(Some(value)));
    }
    Some(builder.finish(tool, lines))
}

/// Whether single requests are listed, as many as were answered and as failed.
fn listed_all(object: &Map<String, Value>) -> bool {
    let count = |key: &str| object.get(key).and_then(Value::as_u64);
    let ended = count("completed").zip(count("failed"));
    let ended = ended.map(|(ok, failed)| ok.saturating_add(failed));
    let mut lists = ["latencies", "input_lens", "errors"].into_iter();
    let listed = lists.find_map(|key| Some(object.get(key)?.as_array()?.len() as u64));
    listed.is_some() && listed == ended
}

/// A rate that rises over the run: `linear 5-20`.
fn ramp(object: &Map<String, Value>) -> Option<String> {
    let curve = object.get("ramp_up_strategy")?.as_str()?;
    let end = |key: &str| finite(object.get(key));
    let (from, to) = (end("ramp_up_start_rps")?, end("ramp_up_end_rps")?);
    Some(format!("{} {from}-{to}", printable(curve, 20)))
}

/// vLLM's throughput benchmark without a server, whose tokens are those of both kinds.
fn offline_throughput(
    object: &Map<String, Value>,
    lines: (usize, usize),
) -> Option<ImportedResult> {
    let mut builder = ResultBuilder::default();
    for (key, field) in [
        ("elapsed_time", Field::Window),
        ("num_requests", Field::Ok),
        ("requests_per_second", Field::RequestsPerS),
        ("tokens_per_second", Field::TotalPerS),
    ] {
        builder.set_exact(field, Some(finite(object.get(key))?));
    }
    let (key, total) = object.get_key_value("total_num_tokens")?;
    builder.summary.other.insert(key.clone(), total.clone());
    Some(builder.finish(Tool::Vllm, lines))
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
fn labelled(object: &Map<String, Value>, lines: (usize, usize)) -> Option<ImportedResult> {
    let mut builder = ResultBuilder::default();
    for (key, value) in object {
        let Some(label) = label(key) else {
            if has_numbers(value) {
                let reason = match key.as_str() {
                    "Stream Requests" | "Non-Stream Requests" => UnreadReason::NoCounterpart,
                    key => UnreadReason::of_unknown(key),
                };
                builder.skip(key, reason);
            }
            continue;
        };
        match value {
            Value::Object(stats) => {
                let sample = match label.field {
                    Field::Of(sample, _) => sample,
                    // Percentiles of tokens/s are of single requests.
                    Field::OutputPerS => Sample::PerUserSpeed,
                    Field::Speed(sample) => sample,
                    _ => {
                        builder.skip(key, UnreadReason::NoCounterpart);
                        continue;
                    }
                };
                let in_ms = || label.unit.and_then(Unit::in_ms).unwrap_or(1000.0);
                let factor = if sample.is_time() { in_ms() } else { 1.0 };
                builder.put(sample, Spread::from_json(stats).scaled(factor));
            }
            Value::String(text) => {
                if let Some(quantity) = quantity(text) {
                    builder.set(key, label, quantity);
                } else if label.field == Field::Rate && text.starts_with("inf") {
                    builder.point.insert("rate".into(), "inf".into());
                }
            }
            _ => {
                if let Some(value) = finite(Some(value)) {
                    builder.set(key, label, Quantity::exact(value));
                }
            }
        }
    }
    if builder.results() < 2 || builder.numbers() < 3 {
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
    } else if has("completion-tokens/second") && has("n-request") {
        Tool::GridLog
    } else {
        Tool::TrialLog
    };
    if tool == Tool::Evalscope2024 {
        let summary = &mut builder.summary;
        let wall = summary.latency.tpot_ms.take().and_then(|it| it.mean);
        let name = "wall time per output token (ms)".to_owned();
        summary.other.extend(wall.map(|ms| (name, ms.into())));
    }
    // EvalScope writes 0 for what answers without tokens do not have.
    let total = &mut builder.summary.throughput.total_tokens_per_s;
    *total = total.filter(|total| *total > 0.0);
    Some(builder.finish(tool, lines))
}

/// EvalScope's percentiles: rows of objects, or one object of lists.
pub(crate) fn percentiles(objects: &[Map<String, Value>], lines: (usize, usize)) -> ImportedResult {
    let mut builder = ResultBuilder::default();
    let mut set = |rank: &Value, key: &str, value: &Value| {
        let rank = match rank {
            Value::String(text) => Stat::of_word(text),
            other => other
                .as_f64()
                .and_then(|rank| Stat::of_word(&format!("p{rank}"))),
        };
        if let (Some(rank), Some(value)) = (rank, finite(Some(value))) {
            percentile(&mut builder, rank, key, value);
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
    builder.finish(Tool::Evalscope, lines)
}

/// One number of EvalScope's percentiles.
pub(crate) fn percentile(builder: &mut ResultBuilder, rank: Stat, column: &str, value: f64) {
    let label = label(column);
    let Some(sample) = label.and_then(|label| label.field.sample()) else {
        return match column {
            "Percentiles" => (),
            column if label.is_some() => builder.skip(column, UnreadReason::NoCounterpart),
            column => builder.skip(column, UnreadReason::of_unknown(column)),
        };
    };
    let label = Label {
        field: Field::Of(sample, Some(rank)),
        unit: label.and_then(|label| label.unit),
    };
    builder.set(column, label, Quantity::exact(value));
}
