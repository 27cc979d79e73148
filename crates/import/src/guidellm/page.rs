//! The object inside GuideLLM's HTML page.

use super::columns::{Column, Run, statistic};
use crate::label::{Field, Sample};
use crate::quantity::{Quantity, Unit, finite};
use crate::result::ImportedResult;
use serde_json::{Map, Value};

pub(crate) fn is_page(object: &Map<String, Value>) -> bool {
    let header = object.get("header");
    object.contains_key("runs") && header.is_some_and(|it| it.get("guidellm_version").is_some())
}

/// One result for each of its runs.
pub(crate) fn runs(object: &Map<String, Value>, lines: (usize, usize)) -> Vec<ImportedResult> {
    let runs = object.get("runs").and_then(Value::as_array);
    let found = runs.into_iter().flatten().filter_map(|said| {
        let said = said.as_object()?;
        let text = |key: &str| said.get(key).and_then(Value::as_str);
        let strategy = text("label").or(text("strategy"))?;
        let mut run = Run::new(strategy);
        // Arrivals have a cap, too, which is far above what they come to.
        let has_rate = said
            .get("configured_request_rate")
            .is_some_and(Value::is_number);
        let is_cap = |key: &str| has_rate && key == "configured_concurrency";
        for (key, value) in said {
            if let Some(value) = finite(Some(value)).filter(|_| !is_cap(key)) {
                run.set(key, column(key), Quantity::exact(value));
            }
        }
        sizes(object, strategy, &mut run);
        run.finish(lines)
    });
    found.collect()
}

/// Mean lengths stand in a table of their own.
fn sizes(object: &Map<String, Value>, strategy: &str, run: &mut Run) {
    let details = object.get("details");
    let modalities = details.and_then(|details| details.get("modality_sections")?.as_object());
    for (kind, section) in modalities.into_iter().flatten() {
        let metrics = section.get("metrics").and_then(Value::as_array);
        for metric in metrics.into_iter().flatten() {
            let key = metric
                .get("key")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let rows = metric.get("rows").and_then(Value::as_array);
            let mut rows = rows.into_iter().flatten();
            let own =
                rows.find(|row| row.get("strategy").and_then(Value::as_str) == Some(strategy));
            for (name, value) in own.and_then(Value::as_object).into_iter().flatten() {
                let Some(value) = finite(Some(value)) else {
                    continue;
                };
                let column = match (kind.as_str(), key, name.split_once('_')) {
                    ("text", "tokens", Some(("input", stat))) => {
                        statistic(Sample::InputLength, stat, None)
                    }
                    ("text", "tokens", Some(("output", stat))) => {
                        statistic(Sample::OutputLength, stat, None)
                    }
                    _ => Column::Other,
                };
                run.set(
                    &format!("{kind} {key} {name}"),
                    column,
                    Quantity::exact(value),
                );
            }
        }
    }
}

fn column(key: &str) -> Column {
    let is = |field| Column::Is(field, None);
    match key {
        "successful" => is(Field::Ok),
        "errored" => is(Field::Failed),
        "incomplete" => Column::Cut,
        "total" => is(Field::Planned),
        "concurrency" => Column::MeanConcurrency,
        "configured_concurrency" => is(Field::Concurrency),
        "configured_request_rate" => is(Field::Rate),
        "request_rate" => Column::OfAll(Field::RequestsPerS),
        "input_tps" => Column::OfAll(Field::InputPerS),
        "output_tps" => Column::OfAll(Field::OutputPerS),
        "total_tps" => Column::OfAll(Field::TotalPerS),
        key => sample(key).unwrap_or(Column::Other),
    }
}

/// `ttft_p95_ms`, `prompt_tokens_median`.
fn sample(key: &str) -> Option<Column> {
    let (name, unit) = match key.strip_suffix("_ms") {
        Some(name) => (name, Some(Unit::Millis)),
        None => (key, None),
    };
    let (name, stat) = name.rsplit_once('_')?;
    let sample = match name {
        "ttft" => Sample::Ttft,
        "itl" => Sample::Itl,
        "tpot" => Sample::Tpot,
        "request_latency" => Sample::E2e,
        "prompt_tokens" => Sample::InputLength,
        "output_tokens" => Sample::OutputLength,
        _ => return None,
    };
    Some(statistic(sample, stat, unit))
}
