//! Export files of GuideLLM and AIPerf: statistics by metric, in nested objects.

use crate::draft::{Draft, count};
use crate::found::{Found, Tool};
use crate::json_result::{float, put, spread};
use crate::label::{Field, Sample};
use crate::quantity::Unit;
use serde_json::{Map, Value};

/// AIPerf's `profile_export_aiperf.json`.
pub(crate) fn aiperf(object: &Map<String, Value>, lines: (usize, usize)) -> Option<Found> {
    let records = object
        .get("records")
        .and_then(Value::as_object)
        .unwrap_or(object);
    let latency = records.get("request_latency")?.as_object()?;
    if !latency.contains_key("unit") || !latency.contains_key("avg") {
        return None;
    }
    let average = |key: &str| float(records.get(key).and_then(|value| value.get("avg")));
    let mut draft = Draft::default();
    for (key, field) in [
        ("request_throughput", Field::RequestsPerS),
        ("output_token_throughput", Field::OutputPerS),
        ("total_token_throughput", Field::TotalPerS),
        ("request_count", Field::Ok),
        ("error_request_count", Field::Failed),
        ("total_isl", Field::InputTokens),
        ("total_osl", Field::OutputTokens),
        ("goodput", Field::Goodput),
    ] {
        put(&mut draft, field, average(key));
    }
    for (key, sample) in [
        ("time_to_first_token", Sample::Ttft),
        ("time_to_second_token", Sample::SecondToken),
        ("inter_token_latency", Sample::Itl),
        ("request_latency", Sample::E2e),
        ("input_sequence_length", Sample::InputLength),
        ("output_sequence_length", Sample::OutputLength),
        ("output_token_throughput_per_user", Sample::PerUserSpeed),
    ] {
        if let Some(stats) = records.get(key).and_then(Value::as_object) {
            let unit = stats
                .get("unit")
                .and_then(Value::as_str)
                .and_then(Unit::of_word);
            draft.put(
                sample,
                spread(stats).scaled(unit.and_then(Unit::in_ms).unwrap_or(1.0)),
            );
        }
    }
    if let Some(duration) = average("benchmark_duration") {
        let unit = records
            .get("benchmark_duration")
            .and_then(|v| v.get("unit"))
            .and_then(Value::as_str);
        let ms = unit
            .and_then(Unit::of_word)
            .and_then(Unit::in_ms)
            .unwrap_or(1000.0);
        draft.summary.window_s = Some(duration * ms / 1000.0);
    }
    let config = object.get("input_config");
    let load = config.and_then(|config| config.get("loadgen")).or(config);
    put(
        &mut draft,
        Field::Concurrency,
        float(load.and_then(|load| load.get("concurrency"))),
    );
    put(
        &mut draft,
        Field::Rate,
        float(load.and_then(|load| load.get("request_rate"))),
    );
    put(
        &mut draft,
        Field::Planned,
        float(load.and_then(|load| load.get("request_count"))),
    );
    let mut found = draft.finish(Tool::Aiperf, lines);
    let command = config
        .and_then(|config| config.get("cli_command"))
        .and_then(Value::as_str);
    found.client_command = command.map(crate::command::safe);
    let model = config
        .and_then(|config| config.pointer("/endpoint/model_names/0"))
        .and_then(Value::as_str);
    found.label = model.map(|model| inferometer_text::hostile::printable(model, 200));
    Some(found)
}

/// One benchmark of GuideLLM's `benchmarks.json`.
pub(crate) fn guidellm(object: &Map<String, Value>, lines: (usize, usize)) -> Option<Found> {
    let metrics = object.get("metrics")?.as_object()?;
    if !metrics.contains_key("request_latency") && !metrics.contains_key("time_to_first_token_ms") {
        return None;
    }
    // Each metric is given for successful, incomplete, errored and all requests.
    let of = |key: &str| -> Option<&Map<String, Value>> {
        let metric = metrics.get(key)?;
        metric.get("successful").unwrap_or(metric).as_object()
    };
    let mean = |key: &str| of(key).and_then(|stats| float(stats.get("mean")));
    let mut draft = Draft::default();
    let totals = metrics
        .get("request_totals")
        .or_else(|| object.get("request_totals"));
    let total = |key: &str| float(totals.and_then(|totals| totals.get(key)));
    put(&mut draft, Field::Ok, total("successful"));
    put(&mut draft, Field::Failed, total("errored"));
    put(&mut draft, Field::Planned, total("total"));
    draft.summary.requests.cut = total("incomplete").and_then(count);
    put(&mut draft, Field::RequestsPerS, mean("requests_per_second"));
    put(
        &mut draft,
        Field::OutputPerS,
        mean("output_tokens_per_second"),
    );
    put(
        &mut draft,
        Field::InputPerS,
        mean("prompt_tokens_per_second"),
    );
    put(&mut draft, Field::TotalPerS, mean("tokens_per_second"));
    draft.summary.concurrency.mean = mean("request_concurrency");
    for (key, sample, factor) in [
        ("time_to_first_token_ms", Sample::Ttft, 1.0),
        ("time_per_output_token_ms", Sample::Tpot, 1.0),
        ("inter_token_latency_ms", Sample::Itl, 1.0),
        ("request_latency", Sample::E2e, 1000.0),
        ("prompt_token_count", Sample::InputLength, 1.0),
        ("output_token_count", Sample::OutputLength, 1.0),
    ] {
        if let Some(stats) = of(key) {
            draft.put(sample, spread(stats).scaled(factor));
        }
    }
    let window = float(object.get("duration"))
        .or_else(|| Some(float(object.get("end_time"))? - float(object.get("start_time"))?));
    draft.summary.window_s = window.filter(|seconds| *seconds > 0.0);
    let strategy = [
        "/config/strategy",
        "/args/strategy",
        "/scheduler/strategy",
        "/args/profile",
        "/strategy",
    ]
    .iter()
    .find_map(|path| pointer(object, path));
    let mut found_label = None;
    if let Some(strategy) = strategy {
        let kind = strategy
            .get("type_")
            .or_else(|| strategy.get("type"))
            .and_then(Value::as_str);
        found_label = kind.map(|kind| inferometer_text::hostile::printable(kind, 80));
        let streams = ["streams", "concurrency", "max_concurrency"]
            .iter()
            .find_map(|key| float(strategy.get(*key)));
        put(&mut draft, Field::Concurrency, streams);
        put(&mut draft, Field::Rate, float(strategy.get("rate")));
        if kind == Some("throughput") {
            draft.point.insert("rate".into(), "inf".into());
        }
    }
    let mut found = draft.finish(Tool::Guidellm, lines);
    found.label = found_label;
    Some(found)
}

fn pointer<'a>(object: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let mut parts = path.split('/').skip(1);
    let first = object.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}
