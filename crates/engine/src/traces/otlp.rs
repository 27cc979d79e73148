//! The spans of requests in what an exporter of OpenTelemetry sends: bytes in, facts out.

use super::protobuf::{Fields, Malformed, Value};
use inferometer_core::server::RequestSpan;
use inferometer_core::trace_id::TraceId;
use serde_json::Value as Json;

/// The forms of OTLP over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Protobuf,
    Json,
}

/// The spans that tell times of a request; `None` where the body is not of that form.
pub(super) fn request_spans(form: Form, body: &[u8]) -> Option<Vec<RequestSpan>> {
    let mut found = Vec::new();
    match form {
        Form::Protobuf => {
            // resource_spans, then scope_spans, then spans.
            each(body, 1, &mut |resource| {
                each(resource, 2, &mut |scope| {
                    each(scope, 2, &mut |span| {
                        found.extend(span_of(span)?);
                        Ok(())
                    })
                })
            })
            .ok()?;
        }
        Form::Json => {
            let body: Json = serde_json::from_slice(body).ok()?;
            for resource in list(&body, "resourceSpans")? {
                for scope in list(resource, "scopeSpans")? {
                    found.extend(list(scope, "spans")?.iter().filter_map(span_of_json));
                }
            }
        }
    }
    Some(found)
}

/// Does something with each message in a repeated field.
fn each<'a>(
    message: &'a [u8],
    field: u64,
    with: &mut impl FnMut(&'a [u8]) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    for part in Fields::of(message) {
        if let (number, Value::Bytes(bytes)) = part?
            && number == field
        {
            with(bytes)?;
        }
    }
    Ok(())
}

/// A span without a parent is of a request that was sent without `traceparent`: nobody knows it.
fn span_of(message: &[u8]) -> Result<Option<RequestSpan>, Malformed> {
    const TRACE_ID: u64 = 1;
    const PARENT: u64 = 4;
    const ATTRIBUTES: u64 = 9;
    let (mut trace, mut parent) = (None, false);
    for part in Fields::of(message) {
        match part? {
            (TRACE_ID, Value::Bytes(bytes)) => trace = TraceId::from_bytes(bytes),
            (PARENT, Value::Bytes(bytes)) => parent = !bytes.is_empty(),
            _ => {}
        }
    }
    let Some(mut span) = trace.filter(|_| parent).map(RequestSpan::new) else {
        return Ok(None);
    };
    each(message, ATTRIBUTES, &mut |attribute| {
        let (mut name, mut number) = (None, None);
        for part in Fields::of(attribute) {
            match part? {
                (1, Value::Bytes(bytes)) => name = std::str::from_utf8(bytes).ok(),
                (2, Value::Bytes(bytes)) => number = number_of(bytes)?,
                _ => {}
            }
        }
        if let (Some(name), Some(number)) = (name, number) {
            span.take(name, number);
        }
        Ok(())
    })?;
    Ok(span.tells_times().then_some(span))
}

/// The number in an `AnyValue`; `None` for text and the like.
fn number_of(message: &[u8]) -> Result<Option<f64>, Malformed> {
    let mut number = None;
    for part in Fields::of(message) {
        match part? {
            (3, Value::Varint(value)) => number = Some(value as i64 as f64),
            (4, Value::Fixed64(bits)) => number = Some(f64::from_bits(bits)),
            _ => {}
        }
    }
    Ok(number)
}

/// A list that may be left out where it is empty.
fn list<'a>(within: &'a Json, key: &str) -> Option<&'a [Json]> {
    match within.as_object()?.get(key) {
        None => Some(&[]),
        Some(list) => list.as_array().map(Vec::as_slice),
    }
}

fn span_of_json(span: &Json) -> Option<RequestSpan> {
    let mut known = RequestSpan::new(span.get("traceId")?.as_str()?.parse().ok()?);
    let parent = span.get("parentSpanId").and_then(Json::as_str);
    parent.filter(|parent| !parent.is_empty())?;
    for attribute in list(span, "attributes")? {
        let name = attribute.get("key").and_then(Json::as_str);
        let value = attribute.get("value");
        let number = value.and_then(|value| {
            let whole = value.get("intValue");
            // Integers of 64 bits are strings in the JSON of protobuf.
            let text = whole
                .and_then(Json::as_str)
                .and_then(|text| text.parse().ok());
            let number = value.get("doubleValue").or(whole).and_then(Json::as_f64);
            number.or(text)
        });
        if let (Some(name), Some(number)) = (name, number) {
            known.take(name, number);
        }
    }
    known.tells_times().then_some(known)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        assert!(bytes.len() < 1 << 14);
        let length = [bytes.len() as u8 & 0x7f | 0x80, (bytes.len() >> 7) as u8];
        [&[number << 3 | 2], &length[..], bytes].concat()
    }

    fn attribute(name: &str, value: &[u8]) -> Vec<u8> {
        let pair = [field(1, name.as_bytes()), field(2, value)].concat();
        field(9, &pair)
    }

    fn double(value: f64) -> Vec<u8> {
        [&[0x21], &value.to_le_bytes()[..]].concat()
    }

    /// A message with a span of a request, one of something else, and one of a request that nobody
    /// knows.
    pub(crate) fn exported() -> Vec<u8> {
        let request = [
            field(1, &[7; 16]),
            field(4, &[9; 8]),
            field(5, b"llm_request"),
            [&[0x39][..], &1_u64.to_le_bytes()].concat(),
            attribute("gen_ai.latency.time_in_queue", &double(0.25)),
            attribute("gen_ai.latency.time_to_first_token", &double(0.5)),
            attribute("gen_ai.latency.e2e", &double(f64::NAN)),
            attribute("gen_ai.usage.completion_tokens", &[0x18, 0x80, 0x01]),
            attribute("gen_ai.request.id", &field(1, b"cmpl-7")),
        ];
        let other = [
            field(1, &[8; 16]),
            field(4, &[9; 8]),
            field(5, b"POST /v1/completions"),
        ];
        let nobodys = [field(1, &[8; 16]), request[3..].concat()];
        let spans = [&request[..], &other[..], &nobodys[..]].map(|span| field(2, &span.concat()));
        let scope = [field(1, &field(1, b"vllm")), spans.concat()].concat();
        field(1, &field(2, &scope))
    }

    fn expected() -> RequestSpan {
        RequestSpan {
            queue_s: Some(0.25),
            ttft_s: Some(0.5),
            output_tokens: Some(128),
            ..RequestSpan::new(TraceId::from_bytes(&[7; 16]).unwrap())
        }
    }

    #[test]
    fn spans_that_tell_times_are_found_and_others_left_out() {
        assert_eq!(
            request_spans(Form::Protobuf, &exported()),
            Some(vec![expected()])
        );
        assert_eq!(request_spans(Form::Protobuf, &[]), Some(Vec::new()));
    }

    #[test]
    fn json_says_the_same() {
        let body = serde_json::json!({"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [
            {"traceId": "07".repeat(16), "parentSpanId": "09".repeat(8), "attributes": [
                {"key": "gen_ai.latency.time_in_queue", "value": {"doubleValue": 0.25}},
                {"key": "gen_ai.latency.time_to_first_token", "value": {"doubleValue": 0.5}},
                {"key": "gen_ai.latency.e2e", "value": {"doubleValue": -1.0}},
                {"key": "gen_ai.usage.completion_tokens", "value": {"intValue": "128"}},
                {"key": "gen_ai.request.id", "value": {"stringValue": "cmpl-7"}},
            ]},
            {"traceId": "nothing", "attributes": []},
        ]}]}]});
        let found = request_spans(Form::Json, body.to_string().as_bytes());
        assert_eq!(found, Some(vec![expected()]));
    }

    #[test]
    fn what_is_not_of_the_form_is_refused() {
        let whole = exported();
        assert_eq!(
            request_spans(Form::Protobuf, &whole[..whole.len() - 1]),
            None
        );
        for body in [
            "",
            "[]",
            r#"{"resourceSpans": 1}"#,
            r#"{"resourceSpans": [1]}"#,
        ] {
            assert_eq!(request_spans(Form::Json, body.as_bytes()), None, "{body}");
        }
    }

    proptest! {
        #[test]
        fn broken_messages_do_no_harm(place in 0..400_usize, byte in any::<u8>()) {
            let mut message = exported();
            let length = message.len();
            message[place % length] = byte;
            let _ = request_spans(Form::Protobuf, &message);
            let _ = request_spans(Form::Json, &message);
        }
    }
}
