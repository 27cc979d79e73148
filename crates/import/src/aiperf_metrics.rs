//! What AIPerf's and GenAI-Perf's metrics are, by the names of their tables and of their JSON.
//! Names that are almost alike mean other things, so that each is listed: all that is not has no
//! place in a summary and is kept under its own name.

use crate::builder::ResultBuilder;
use crate::commands;
use crate::label::Field::{self, *};
use crate::label::Label;
use crate::label::Sample::{self, *};
use crate::label::Stat;
use crate::quantity::{Quantity, Unit, number};
use serde_json::{Map, Value};

const fn of(sample: Sample) -> Field {
    Field::Of(sample, None)
}

/// The key in JSON, the name in tables where it is not the same words, and the meaning.
const METRICS: [(&str, &str, Field); 18] = [
    ("time_to_first_token", "", of(Ttft)),
    ("time_to_second_token", "", of(SecondToken)),
    ("inter_token_latency", "", of(Itl)),
    ("request_latency", "", of(E2e)),
    ("input_sequence_length", "", of(InputLength)),
    ("output_sequence_length", "", of(OutputLength)),
    // 1 / ITL of each request.
    ("output_token_throughput_per_user", "", of(DecodeSpeed)),
    ("e2e_output_token_throughput", "", of(PerUserSpeed)),
    ("request_throughput", "", RequestsPerS),
    ("input_token_throughput", "", InputPerS),
    ("output_token_throughput", "", OutputPerS),
    ("total_token_throughput", "", TotalPerS),
    // Answered requests; those that failed are counted apart.
    ("request_count", "", Ok),
    ("error_request_count", "", Failed),
    ("completed_request_count", "completed requests", Total),
    ("total_isl", "total input sequence length", InputTokens),
    ("total_osl", "total output sequence length", OutputTokens),
    ("benchmark_duration", "", Window),
];

/// The meaning of a metric; `None` if it has no place in a summary.
pub(crate) fn field(name: &str) -> Option<Field> {
    let bare = name.split_once(" (").map_or(name, |(bare, _)| bare);
    let bare = bare.trim().to_lowercase();
    // `Request Latency (error-adjusted) (ms)` is not the request latency.
    let qualified = name.split_once(" (").is_some_and(|(_, rest)| {
        let inner = rest.split(')').next().unwrap_or_default();
        !is_unit(inner) && inner != "Success + Error"
    });
    if qualified {
        return None;
    }
    let key = bare.replace(' ', "_");
    let mut known = METRICS.iter();
    let known = known.find(|(tag, words, _)| *tag == key || *words == bare);
    known
        .map(|(_, _, field)| *field)
        .or((key == "goodput").then_some(Field::Goodput))
        .or((key == "effective_concurrency").then_some(Field::BareConcurrency))
}

/// The share of requests that met the objectives.
fn is_attainment(name: &str) -> bool {
    name.to_lowercase()
        .replace(' ', "_")
        .starts_with("good_request_fraction")
}

fn is_unit(text: &str) -> bool {
    Unit::of_word(text).is_some()
        || matches!(
            text,
            "tokens/sec/user" | "tokens/sec" | "per sec" | "count" | "ratio"
        )
}

/// Takes in what is said of one metric, statistic by statistic.
pub(crate) fn set(
    builder: &mut ResultBuilder,
    name: &str,
    unit: Option<Unit>,
    stats: &[(String, Quantity)],
) {
    let field = field(name);
    let mut left = Map::new();
    for (column, quantity) in stats {
        let stat = Stat::of_word(column);
        let field = match (field, stat) {
            (Some(Field::Of(sample, _)), Some(stat)) => Some(Field::Of(sample, Some(stat))),
            (Some(Field::Of(sample, _)), None) if column == "count" => {
                builder.spread(sample).n = crate::quantity::count(quantity.value);
                continue;
            }
            (Some(Field::Of(..)), None) => None,
            (None, Some(Stat::Mean)) if is_attainment(name) => {
                builder.summary.slo.get_or_insert_default().attainment = Some(quantity.value);
                continue;
            }
            // The mean of what is in flight, over time.
            (Some(field), Some(Stat::Mean)) => Some(field),
            _ => None,
        };
        match field {
            Some(field) => builder.set(name, Label { field, unit }, *quantity),
            None => {
                left.insert(column.clone(), number(quantity.value));
            }
        }
    }
    // One value has no statistic.
    let left = match (left.len(), left.get("value")) {
        (0, _) => return,
        (1, Some(value)) => value.clone(),
        _ => Value::Object(left),
    };
    builder.summary.other.insert(name.to_owned(), left);
}

/// Takes the load from the command of a result.
pub(crate) fn set_load(builder: &mut ResultBuilder, command: &str) {
    let flags = commands::flags(command);
    for (flag, field) in [
        ("concurrency", Field::Concurrency),
        ("request-rate", Field::Rate),
        ("request-count", Field::Planned),
    ] {
        builder.set_exact(field, flags.get(flag).and_then(Value::as_f64));
    }
    let mut delay = ["conversation-turn-delay-mean", "session-turn-delay-mean"].into_iter();
    let delay = delay.find_map(|flag| flags.get(flag)?.as_f64());
    builder.set_turn_delay(delay);
}
