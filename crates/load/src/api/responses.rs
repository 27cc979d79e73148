//! `/v1/responses`: typed events, each with its own kind of text.

use super::dialect::{AnswerText, BadMessage, Dialect, Message, Prompt, RequestOptions};
use super::prompt_text::push_text;
use super::wire::{MessageBuilder, error_message, parse, present, string};
use inferometer_core::api::Api;
use inferometer_core::record::Usage;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

pub(super) struct Responses;

/// An event of a stream, or a whole answer.
#[derive(Deserialize)]
struct RawEvent<T> {
    #[serde(rename = "type")]
    kind: Option<T>,
    delta: Option<T>,
    item: Option<T>,
    response: Option<T>,
    error: Option<T>,
    message: Option<T>,
    detail: Option<T>,
}

/// What an answer says at its end.
#[derive(Deserialize)]
struct RawResponse<T> {
    status: Option<T>,
    model: Option<T>,
    output: Option<T>,
    usage: Option<T>,
    error: Option<T>,
    incomplete_details: Option<IncompleteDetails>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    reason: Option<String>,
}

impl Dialect for Responses {
    fn api(&self) -> Api {
        Api::Responses
    }

    fn path(&self, _options: &RequestOptions) -> Cow<'static, str> {
        "/responses".into()
    }

    fn body(&self, options: &RequestOptions, prompt: &Prompt<'_>, limit: Option<u32>) -> Vec<u8> {
        let mut body = options.model_field();
        body.insert("stream".into(), options.stream.into());
        // Nobody comes back to an answer of a measurement.
        body.insert("store".into(), false.into());
        body.extend(options.sampling(&[("max_output_tokens", limit.map(Value::from))]));
        let (input, mut own) = prompt.as_messages();
        if let Some(limit) = own.remove("max_tokens") {
            own.entry("max_output_tokens").or_insert(limit);
        }
        body.insert("input".into(), input.into());
        options.merged(body, own)
    }

    fn text(&self, json: &[u8]) -> AnswerText {
        let mut text = AnswerText::default();
        let message: Value = serde_json::from_slice(json).unwrap_or_default();
        match Delta::of(message["type"].as_str().unwrap_or_default()) {
            Some(Delta::Answer) => push_text(&mut text.answer, &message["delta"]),
            Some(Delta::Reasoning | Delta::Call) => push_text(&mut text.aside, &message["delta"]),
            None => {
                push_text(&mut text.aside, &message["item"]["name"]);
                for item in message["output"].as_array().into_iter().flatten() {
                    let (said, aside) = said(item);
                    text.answer.push_str(&said);
                    text.aside.push_str(&aside);
                }
            }
        }
        text
    }

    fn message(&self, json: &[u8]) -> Result<Message, BadMessage> {
        let event: RawEvent<&RawValue> = parse(json)?;
        let kind = string(event.kind).unwrap_or_default();
        let mut found = MessageBuilder::new(json);
        match (Delta::of(&kind), &*kind) {
            (Some(Delta::Answer | Delta::Call), _) => {
                found.answer(event.delta)?;
                Ok(found.built())
            }
            (Some(Delta::Reasoning), _) => {
                found.reasoning(event.delta)?;
                Ok(found.built())
            }
            (None, "response.output_item.added") => {
                let item: Value =
                    serde_json::from_str(present(event.item).unwrap_or("null")).unwrap_or_default();
                if item["type"] == "function_call" {
                    found.call(&item);
                }
                Ok(found.built())
            }
            (None, "response.completed" | "response.incomplete" | "response.failed") => Ok(ending(
                &parse(present(event.response).unwrap_or("{}").as_bytes())?,
            )),
            (None, "error") => Ok(Message::failed(
                error_message(event.error)
                    .or_else(|| error_message(event.message))
                    .unwrap_or_else(|| String::from_utf8_lossy(json).into_owned()),
            )),
            // A whole answer has no type.
            (None, "") => {
                let said = [event.error, event.message, event.detail];
                if let Some(error) = said.into_iter().find_map(error_message) {
                    return Ok(Message::failed(error));
                }
                Ok(whole(&parse(json)?))
            }
            // Begins and ends of parts repeat what deltas say.
            (None, _) => Ok(Message::default()),
        }
    }
}

/// Events that bring text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Delta {
    Answer,
    Reasoning,
    Call,
}

impl Delta {
    fn of(kind: &str) -> Option<Delta> {
        Some(match kind {
            "response.output_text.delta" | "response.refusal.delta" => Delta::Answer,
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                Delta::Reasoning
            }
            "response.function_call_arguments.delta"
            | "response.custom_tool_call_input.delta"
            | "response.mcp_call_arguments.delta" => Delta::Call,
            _ => return None,
        })
    }
}

/// The end of an answer: why it ended, and its usage.
fn ending(response: &RawResponse<&RawValue>) -> Message {
    if let Some(error) = error_message(response.error) {
        return Message::failed(error);
    }
    let status = string(response.status);
    let details = response.incomplete_details.as_ref();
    let reason = details.and_then(|details| details.reason.clone());
    Message {
        has_choice: status.is_some(),
        finish: reason.or(status.map(Cow::into_owned)),
        model: string(response.model).map(Cow::into_owned),
        usage: present(response.usage).and_then(usage_of),
        ..Message::default()
    }
}

/// An answer in one piece: its end, and its text.
fn whole(response: &RawResponse<&RawValue>) -> Message {
    let mut message = ending(response);
    let output = present(response.output).unwrap_or("[]");
    let output: Vec<Value> = serde_json::from_str(output).unwrap_or_default();
    for item in &output {
        let (answer, aside) = said(item);
        message.chars += (answer.chars().count() + aside.chars().count()) as u64;
        message.has_answer |= !answer.is_empty();
    }
    message
}

#[derive(Deserialize)]
struct RawUsage {
    input_tokens: Option<u32>,
    output_tokens: Option<u32>,
    input_tokens_details: Option<InputDetails>,
}

#[derive(Deserialize)]
struct InputDetails {
    cached_tokens: Option<u32>,
}

fn usage_of(raw: &str) -> Option<Usage> {
    let usage: RawUsage = serde_json::from_str(raw).ok()?;
    Some(Usage {
        input: usage.input_tokens,
        output: usage.output_tokens,
        cached: usage.input_tokens_details.and_then(|it| it.cached_tokens),
    })
}

/// What an item of a whole answer says, and what it says besides.
fn said(item: &Value) -> (String, String) {
    let (mut answer, mut aside) = (String::new(), String::new());
    match item["type"].as_str() {
        Some("reasoning") => match &item["content"] {
            Value::Null => push_text(&mut aside, &item["summary"]),
            content => push_text(&mut aside, content),
        },
        Some("function_call") => {
            push_text(&mut aside, &item["name"]);
            push_text(&mut aside, &item["arguments"]);
        }
        _ => push_text(&mut answer, &item["content"]),
    }
    (answer, aside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::content::Content;
    use serde_json::json;

    fn message(json: &str) -> Message {
        Responses.message(json.as_bytes()).unwrap()
    }

    #[test]
    fn calls_of_tools_are_tokens_and_parts_are_not_counted_twice() {
        let name = r#"{"type":"response.output_item.added","item":{"type":"function_call","name":"weather","arguments":""}}"#;
        assert_eq!(message(name).chars, 7);
        let part = r#"{"type":"response.function_call_arguments.delta","delta":"{\"city"}"#;
        assert!(message(part).has_answer);
        let done = r#"{"type":"response.output_text.done","text":"all of it"}"#;
        assert!(!message(done).has_text());
        let end = r#"{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"all"}]}]}}"#;
        let end = message(end);
        assert_eq!((end.chars, end.finish.as_deref()), (0, Some("completed")));
    }

    #[test]
    fn failures_are_told_in_a_stream() {
        for json in [
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"bad"}}}"#,
            r#"{"type":"error","code":"x","message":"bad","param":null}"#,
            r#"{"type":"error","error":{"message":"bad"}}"#,
            r#"{"error":{"message":"bad"}}"#,
        ] {
            assert_eq!(message(json).error.as_deref(), Some("bad"), "{json}");
        }
    }

    #[test]
    fn a_body_has_the_fields_of_this_api() {
        let options = RequestOptions {
            model: "m".into(),
            stream: true,
            stream_usage: true,
            ..RequestOptions::default()
        };
        let content = Content::Text("hi".into());
        let body = Responses.body(&options, &Prompt::from(&content), Some(9));
        let body: Value = serde_json::from_slice(&body).unwrap();
        let input = json!([{"role": "user", "content": "hi"}]);
        assert_eq!(
            body,
            json!({"model": "m", "stream": true, "store": false, "max_output_tokens": 9, "input": input})
        );
    }
}
