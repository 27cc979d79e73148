//! OpenTelemetry's GenAI spans as JSON: OTLP as collectors and gateways write it to files, or
//! single spans as an exporter prints them.

use super::csv::time_of_day;
use super::logged::{LogReader, Logged, Said, Steady};
use crate::data::error::Fault;
use crate::data::object::from_json;
use inferometer_text::hostile::printable;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub struct Otel {
    clock: Steady,
}

/// Spans around requests, and those of other work.
const NO_REQUESTS: [&str; 4] = ["invoke_agent", "create_agent", "execute_tool", "embeddings"];

impl LogReader for Otel {
    fn read(&mut self, row: &str) -> Result<Vec<Logged>, Fault> {
        let row: Value = from_json(row)?;
        let mut requests = Vec::new();
        for span in spans(&row) {
            if let Some(request) = request(span)? {
                self.clock.check_request(&request)?;
                requests.push(request);
            }
        }
        Ok(requests)
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The spans of an export, or the one that the row is.
fn spans(row: &Value) -> Vec<&Value> {
    if row["resourceSpans"].is_null() {
        return vec![row];
    }
    let scopes = items(&row["resourceSpans"]).iter().flat_map(|resource| {
        let scopes = [
            &resource["scopeSpans"],
            &resource["instrumentationLibrarySpans"],
        ];
        scopes.into_iter().flat_map(items)
    });
    scopes.flat_map(|scope| items(&scope["spans"])).collect()
}

/// Attributes by their names, whatever form they have.
fn attributes(of: &Value) -> BTreeMap<&str, Value> {
    match &of["attributes"] {
        Value::Object(fields) => {
            let fields = fields.iter();
            fields
                .map(|(name, value)| (name.as_str(), value.clone()))
                .collect()
        }
        list => items(list)
            .iter()
            .filter_map(|pair| Some((pair["key"].as_str()?, plain(&pair["value"]))))
            .collect(),
    }
}

/// A value without the name of its type.
fn plain(value: &Value) -> Value {
    let Some((kind, value)) = value.as_object().and_then(|fields| fields.iter().next()) else {
        return Value::Null;
    };
    match kind.as_str() {
        "arrayValue" => items(&value["values"]).iter().map(plain).collect(),
        "kvlistValue" => {
            let fields = items(&value["values"]).iter();
            let fields = fields
                .filter_map(|pair| Some((pair["key"].as_str()?.to_owned(), plain(&pair["value"]))));
            Value::Object(fields.collect())
        }
        _ => value.clone(),
    }
}

fn request(span: &Value) -> Result<Option<Logged>, Fault> {
    let of_span = attributes(span);
    let get = |names: &[&'static str]| names.iter().find_map(|name| of_span.get(*name));
    let kind = get(&["gen_ai.operation.name"]).and_then(Value::as_str);
    let input = get(&[
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "llm.token_count.prompt",
        "llm.usage.prompt_tokens",
    ]);
    let generates = kind.map_or(input.is_some(), |kind| !NO_REQUESTS.contains(&kind));
    if !generates {
        return Ok(None);
    }
    let text = |value: Option<&Value>| {
        let text = value
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty());
        text.map(str::to_owned)
    };
    let output = get(&[
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
        "llm.token_count.completion",
        "llm.usage.completion_tokens",
    ]);
    let start = time(span, ["startTimeUnixNano", "start_time"])?;
    let Some(start_ns) = start else {
        return Err(Fault::NoField {
            field: "startTimeUnixNano".to_owned(),
            found: "no time".to_owned(),
        });
    };
    // A span that has others around it may be one of several of a run.
    let parent = [&span["parentSpanId"], &span["parent_id"]];
    let inside = parent
        .iter()
        .any(|parent| parent.as_str().is_some_and(|id| !id.is_empty()));
    let trace = [&span["traceId"], &span["context"]["trace_id"]];
    let trace = trace.into_iter().find_map(|id| text(Some(id)));
    Ok(Some(Logged {
        start_ns,
        end_ns: time(span, ["endTimeUnixNano", "end_time"])?,
        prompt: prompt(&of_span, span),
        input_tokens: input.and_then(whole),
        output_tokens: output.and_then(whole),
        answer: None,
        session: text(get(&[
            "gen_ai.conversation.id",
            "session.id",
            "gen_ai.session.id",
        ])),
        run: trace.filter(|_| inside),
    }))
}

/// What the span or its events have of the messages.
fn prompt(of_span: &BTreeMap<&str, Value>, span: &Value) -> Said {
    let json = |value: &Value| match value {
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| value.clone()),
        other => other.clone(),
    };
    let mut messages = Vec::new();
    for name in [
        "gen_ai.system_instructions",
        "gen_ai.input.messages",
        "gen_ai.prompt",
    ] {
        match of_span.get(name).map(json) {
            Some(Value::Array(more)) => messages.extend(more),
            Some(one) => messages.push(one),
            None => {}
        }
    }
    for number in 0.. {
        let part = |form: &str, field: &str| {
            let name = match form {
                "gen_ai.prompt" => format!("gen_ai.prompt.{number}.{field}"),
                _ => format!("llm.input_messages.{number}.message.{field}"),
            };
            of_span.get(name.as_str()).cloned()
        };
        let forms = ["gen_ai.prompt", "llm.input_messages"];
        let Some((role, content)) = forms
            .iter()
            .find_map(|form| Some((part(form, "role"), part(form, "content")?)))
        else {
            break;
        };
        messages.push(json!({"role": role, "content": content}));
    }
    if messages.is_empty() {
        for event in items(&span["events"]) {
            let name = event["name"].as_str().unwrap_or_default();
            let of_event = attributes(event);
            if name == "gen_ai.content.prompt" {
                messages.extend(of_event.get("gen_ai.prompt").map(json));
            } else if let Some(role) = name
                .strip_prefix("gen_ai.")
                .and_then(|name| name.strip_suffix(".message"))
            {
                messages.push(json!({"role": role, "content": of_event.get("content")}));
            }
        }
    }
    Said::of_json(&Value::Array(messages))
}

/// A whole number, which OTLP writes as text.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Nanoseconds since 1970, or a date.
fn time(span: &Value, [number, date]: [&str; 2]) -> Result<Option<i64>, Fault> {
    let bad = |value: &Value| Fault::NoTime(printable(&value.to_string(), 60));
    match (&span[number], &span[date]) {
        (Value::Null, Value::Null) => Ok(None),
        (Value::Null, date) => {
            let time = date.as_str().and_then(time_of_day);
            time.map(Some).ok_or_else(|| bad(date))
        }
        (number, _) => {
            let time = whole(number).and_then(|time| i64::try_from(time).ok());
            time.map(Some).ok_or_else(|| bad(number))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_and_printed_spans_say_the_same() {
        let export = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[
            {"traceId":"t","spanId":"1","name":"agent","startTimeUnixNano":"1","endTimeUnixNano":"9","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"invoke_agent"}},{"key":"gen_ai.usage.input_tokens","value":{"intValue":"99"}}]},
            {"traceId":"t","spanId":"2","parentSpanId":"1","name":"chat m","startTimeUnixNano":"1731823200500000000","endTimeUnixNano":"1731823202000000000","attributes":[
              {"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},
              {"key":"gen_ai.usage.input_tokens","value":{"intValue":"12"}},
              {"key":"gen_ai.usage.output_tokens","value":{"intValue":7}},
              {"key":"gen_ai.input.messages","value":{"stringValue":"[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"hi\"}]}]"}}]}]}]}]}"#;
        let printed = r#"{"name":"chat m","context":{"trace_id":"t"},"parent_id":"0x1","start_time":"2024-11-17T06:00:00.500000Z","end_time":"2024-11-17T06:00:02.000000Z","attributes":{"gen_ai.usage.prompt_tokens":12,"gen_ai.usage.completion_tokens":7,"gen_ai.prompt.0.role":"user","gen_ai.prompt.0.content":"hi"}}"#;
        let read = |row: &str| Otel::default().read(row).unwrap();
        assert_eq!(read(export), read(printed));
        let one = read(export).remove(0);
        assert_eq!(one.prompt, Said::Parts(vec!["user\nhi".to_owned()]));
        assert_eq!((one.input_tokens, one.output_tokens), (Some(12), Some(7)));
        assert_eq!(one.run.as_deref(), Some("t"));
    }

    #[test]
    fn a_request_without_a_time_is_bad() {
        let row = r#"{"attributes":{"gen_ai.usage.input_tokens":3}}"#;
        assert!(Otel::default().read(row).is_err());
        let row = r#"{"startTimeUnixNano":"soon","attributes":{"gen_ai.usage.input_tokens":3}}"#;
        let fault = Otel::default().read(row).unwrap_err();
        assert_eq!(fault, Fault::NoTime("\"soon\"".to_owned()));
    }
}
