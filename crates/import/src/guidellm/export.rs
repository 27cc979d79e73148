//! GuideLLM's `benchmarks.json`: statistics by metric, in nested objects.

use crate::builder::ResultBuilder;
use crate::label::{Field, Sample};
use crate::quantity::{count, finite};
use crate::result::{ImportedResult, Tool};
use crate::summary::{ImportedSlo, Spread};
use crate::unread::{UnreadReason, has_numbers};
use serde_json::{Map, Value};

/// One benchmark.
pub(crate) fn result(object: &Map<String, Value>, lines: (usize, usize)) -> Option<ImportedResult> {
    let metrics = object.get("metrics")?.as_object()?;
    if !metrics.contains_key("request_latency") && !metrics.contains_key("time_to_first_token_ms") {
        return None;
    }
    // Each metric is given for successful, incomplete, errored and all requests.
    let of = |key: &str| -> Option<&Map<String, Value>> {
        let metric = metrics.get(key)?;
        metric.get("successful").unwrap_or(metric).as_object()
    };
    let mean = |key: &str| of(key).and_then(|stats| finite(stats.get("mean")));
    let mut builder = ResultBuilder::default();
    let totals = metrics
        .get("request_totals")
        .or_else(|| object.get("request_totals"));
    let total = |key: &str| finite(totals.and_then(|totals| totals.get(key)));
    builder.set_exact(Field::Ok, total("successful"));
    builder.set_exact(Field::Failed, total("errored"));
    builder.set_exact(Field::Planned, total("total"));
    builder.summary.requests.cut = total("incomplete").and_then(count);
    builder.set_exact(Field::RequestsPerS, mean("requests_per_second"));
    builder.set_exact(Field::OutputPerS, mean("output_tokens_per_second"));
    builder.set_exact(Field::InputPerS, mean("prompt_tokens_per_second"));
    builder.set_exact(Field::TotalPerS, mean("tokens_per_second"));
    builder.summary.concurrency.mean = mean("request_concurrency");
    for (key, sample, factor) in [
        ("time_to_first_token_ms", Sample::Ttft, 1.0),
        ("time_per_output_token_ms", Sample::Tpot, 1.0),
        ("inter_token_latency_ms", Sample::Itl, 1.0),
        ("request_latency", Sample::E2e, 1000.0),
        ("prompt_token_count", Sample::InputLength, 1.0),
        ("output_token_count", Sample::OutputLength, 1.0),
    ] {
        if let Some(stats) = of(key) {
            builder.put(sample, Spread::from_json(stats).scaled(factor));
        }
    }
    let window = finite(object.get("duration"))
        .or_else(|| Some(finite(object.get("end_time"))? - finite(object.get("start_time"))?));
    builder.summary.window_s = window.filter(|seconds| *seconds > 0.0);
    let strategies = "config/strategy|args/strategy|scheduler/strategy|args/profile|strategy";
    let strategy = strategies.split('|').find_map(|path| {
        let mut keys = path.split('/');
        let first = object.get(keys.next()?)?;
        keys.try_fold(first, |value, key| value.get(key))
    });
    let kind = strategy.and_then(kind);
    let label = kind.map(|kind| inferometer_text::hostile::printable(kind, 80));
    if let Some(strategy) = strategy {
        set_load(&mut builder, strategy);
    }
    let (attainment, goodput_per_s) = (
        finite(metrics.get("slo_attainment")),
        mean("request_goodput"),
    );
    if attainment.or(goodput_per_s).is_some() {
        builder.summary.slo = Some(ImportedSlo {
            attainment,
            goodput_per_s,
        });
    }
    skip_rest(&mut builder, object, metrics);
    let mut found = builder.finish(Tool::Guidellm, lines);
    found.label = label;
    Some(found)
}

pub(super) fn kind(strategy: &Value) -> Option<&str> {
    let kind = strategy.get("type_").or_else(|| strategy.get("type"));
    kind.and_then(Value::as_str)
}

/// The load of a strategy.
pub(super) fn set_load(builder: &mut ResultBuilder, strategy: &Value) {
    let kind = kind(strategy);
    // Arrivals have a cap, too, which is far above what they come to.
    let keys: &[&str] = match kind {
        Some("poisson" | "constant" | "async") => &[],
        _ => &["streams", "concurrency", "max_concurrency"],
    };
    let streams = keys.iter().find_map(|key| finite(strategy.get(*key)));
    builder.set_exact(Field::Concurrency, streams);
    builder.set_exact(Field::Rate, finite(strategy.get("rate")));
    if kind == Some("throughput") {
        builder.point.insert("rate".into(), "inf".into());
    }
}

/// Metrics of which the whole distribution is read, and those of which only the mean is.
const WHOLE: &str = "time_to_first_token_ms|time_per_output_token_ms|inter_token_latency_ms|\
    request_latency|prompt_token_count|output_token_count";
const MEANS: &str = "requests_per_second|request_concurrency|output_tokens_per_second|\
    prompt_tokens_per_second|tokens_per_second|request_goodput";
/// What is read of a distribution.
const STATISTICS: &str = "mean|median|std_dev|min|max|percentiles|count";

/// Names what a benchmark of GuideLLM has beside what is read.
fn skip_rest(
    builder: &mut ResultBuilder,
    object: &Map<String, Value>,
    metrics: &Map<String, Value>,
) {
    let is_in = |names: &str, key: &str| names.split('|').any(|name| name == key);
    for (key, _) in object.iter().filter(|(_, value)| has_numbers(value)) {
        let reason = match key.as_str() {
            "metrics" | "duration" | "request_totals" => continue,
            "requests" => UnreadReason::PerRequest,
            "config" | "args" | "scheduler_state" | "scheduler" | "benchmarker" | "env_args"
            | "extras" | "start_time" | "end_time" | "worker" | "request_loader" => {
                UnreadReason::NotMeasured
            }
            "scheduler_metrics" | "run_stats" | "warnings" | "warmup_duration"
            | "cooldown_duration" => UnreadReason::NoCounterpart,
            key => UnreadReason::of_unknown(key),
        };
        builder.skip(key, reason);
    }
    for (key, metric) in metrics.iter().filter(|(_, value)| has_numbers(value)) {
        if key == "request_totals" || key == "slo_attainment" {
            continue;
        }
        if !is_in(WHOLE, key) && !is_in(MEANS, key) {
            builder.skip(&format!("metrics.{key}"), UnreadReason::NoCounterpart);
            continue;
        }
        for status in ["errored", "incomplete", "total"] {
            if metric.get(status).is_some_and(has_numbers) {
                let name = format!("metrics.*.{status}");
                builder.skip(&name, UnreadReason::NotAnswered);
            }
        }
        if is_in(MEANS, key) {
            let name = format!("metrics.{key}.successful");
            builder.skip(&name, UnreadReason::NoCounterpart);
            continue;
        }
        let statistics = metric.get("successful").and_then(Value::as_object);
        for (name, value) in statistics.into_iter().flatten() {
            if has_numbers(value) && !is_in(STATISTICS, name) {
                let name = format!("metrics.*.successful.{name}");
                builder.skip(&name, UnreadReason::NoCounterpart);
            }
        }
    }
}
