//! AIPerf's `profile_export_aiperf.json`: statistics by metric, in nested objects.

use crate::aiperf_metrics;
use crate::builder::{OBSERVED, ResultBuilder};
use crate::label::Field;
use crate::quantity::{Quantity, Unit, finite, number};
use crate::result::{ImportedResult, Tool};
use crate::unread::{UnreadReason, has_numbers};
use serde_json::{Map, Value};

pub(crate) fn result(object: &Map<String, Value>, lines: (usize, usize)) -> Option<ImportedResult> {
    let records = object
        .get("records")
        .and_then(Value::as_object)
        .unwrap_or(object);
    let latency = records.get("request_latency")?.as_object()?;
    if !latency.contains_key("unit") || !latency.contains_key("avg") {
        return None;
    }
    let mut builder = ResultBuilder::default();
    for (key, stats) in records {
        let Some(stats) = stats.as_object().filter(|stats| stats.contains_key("unit")) else {
            match key.as_str() {
                _ if !has_numbers(stats) => {}
                // How often which failure came.
                "error_summary" => {
                    builder.summary.other.insert(key.clone(), stats.clone());
                }
                "input_config" | "run_info" => builder.skip(key, UnreadReason::NotMeasured),
                "warmup_metrics" => builder.skip(key, UnreadReason::WarmUp),
                "telemetry_data" => builder.skip(key, UnreadReason::NoCounterpart),
                key => builder.skip(key, UnreadReason::of_unknown(key)),
            }
            continue;
        };
        let unit = stats.get("unit").and_then(Value::as_str);
        let unit = unit.and_then(Unit::of_word);
        let unit = unit.filter(|unit| unit.in_ms().is_some());
        let stats = stats.iter().filter_map(|(name, value)| {
            Some((name.clone(), Quantity::exact(finite(Some(value))?)))
        });
        aiperf_metrics::set(&mut builder, key, unit, &stats.collect::<Vec<_>>());
    }
    set_cancelled(&mut builder, object);
    set_observed(&mut builder, object);
    let config = object.get("input_config");
    let load = config.and_then(|config| config.get("loadgen")).or(config);
    // Since 0.13 a run has phases, of which the last is measured.
    let phases = config.and_then(|config| config.get("phases")?.as_array());
    let phase = phases.and_then(|phases| phases.last());
    for (keys, field) in [
        ("concurrency", Field::Concurrency),
        ("request_rate|rate", Field::Rate),
        ("request_count|requests", Field::Planned),
    ] {
        let said = keys.split('|').find_map(|key| {
            let of = |from: Option<&Value>| finite(from.and_then(|from| from.get(key)));
            of(phase).or_else(|| of(load))
        });
        builder.set_exact(field, said);
    }
    let delay = config.and_then(|config| {
        let mut places = [
            "/datasets/0/turn_delay/mean",
            "/input/conversation/turn/delay/mean",
        ]
        .into_iter();
        places.find_map(|place| config.pointer(place))
    });
    builder.set_turn_delay(finite(delay));
    let mut found = builder.finish(Tool::Aiperf, lines);
    let run = object.get("run_info");
    let mut said = [config, run].into_iter().flatten();
    let command = said.find_map(|said| said.get("cli_command")?.as_str());
    found.client_command = command.map(crate::commands::safe);
    let mut places = ["/endpoint/model_names/0", "/models/items/0/name"].into_iter();
    let model = places.find_map(|place| config?.pointer(place)?.as_str());
    if let Some(model) = model {
        found.is_of_model(model);
    }
    found.label = model.map(|model| inferometer_text::hostile::printable(model, 200));
    Some(found)
}

/// Takes what was given up by wish (`--request-cancellation-rate`) out of the failed.
fn set_cancelled(builder: &mut ResultBuilder, object: &Map<String, Value>) {
    let kinds = object.get("error_summary").and_then(Value::as_array);
    let cancelled = kinds.into_iter().flatten().filter(|kind| {
        let name = kind.pointer("/error_details/type").and_then(Value::as_str);
        name == Some("RequestCancellationError")
    });
    let cancelled = cancelled
        .filter_map(|kind| kind.get("count")?.as_u64())
        .sum();
    let requests = &mut builder.summary.requests;
    if let Some(failed) = requests
        .failed
        .filter(|failed| (1..=*failed).contains(&cancelled))
    {
        requests.failed = Some(failed - cancelled);
        requests.cut = Some(cancelled);
    }
}

/// Rates are over the time that was observed, which is longer than that of the requests where the
/// last of them failed.
fn set_observed(builder: &mut ResultBuilder, object: &Map<String, Value>) {
    let [start, end] =
        ["start_time", "end_time"].map(|key| second_of_day(object.get(key)?.as_str()?));
    let Some((start, end)) = start.zip(end) else {
        return;
    };
    let observed = (end - start).rem_euclid(86_400.0);
    let summary = &mut builder.summary;
    let (Some(rate), Some(ok)) = (summary.throughput.requests_per_s, summary.requests.ok) else {
        return;
    };
    let explains = |seconds: f64| (rate * seconds / ok as f64 - 1.0).abs() < 0.005;
    if explains(observed) {
        summary.other.insert(OBSERVED.to_owned(), number(observed));
    }
}

/// Of `2026-11-18T12:11:01.119646`.
fn second_of_day(time: &str) -> Option<f64> {
    let (_, clock) = time.split_once('T')?;
    let mut parts = clock.splitn(3, ':').map(|part| part.parse::<f64>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    Some(3_600.0 * hours + 60.0 * minutes + seconds)
}
