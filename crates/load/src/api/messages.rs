//! `/v1/messages`, in Anthropic's form: its headers, events, usage and thinking.

use super::dialect::{AnswerText, BadMessage, Dialect, Message, Prompt, RequestOptions};
use super::prompt_text::push_text;
use super::wire::{MessageBuilder, error_message, parse, present, string};
use inferometer_core::api::Api;
use inferometer_core::record::Usage;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

pub(super) struct Messages;

/// The version of the form, without which Anthropic refuses a request.
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// The limit where the work names none: the API takes no request without.
const LIMIT: u32 = 4096;

/// An event of a stream, or a whole answer.
#[derive(Deserialize)]
struct RawEvent<T> {
    #[serde(rename = "type")]
    kind: Option<T>,
    delta: Option<RawBlock<T>>,
    content_block: Option<RawBlock<T>>,
    message: Option<T>,
    content: Option<T>,
    model: Option<T>,
    stop_reason: Option<T>,
    usage: Option<T>,
    error: Option<T>,
    detail: Option<T>,
}

/// A block of content, or what is added to one.
#[derive(Deserialize)]
struct RawBlock<T> {
    text: Option<T>,
    thinking: Option<T>,
    partial_json: Option<T>,
    /// Of a tool.
    name: Option<T>,
    stop_reason: Option<T>,
}

/// The answer as it begins.
#[derive(Deserialize)]
struct RawStart<T> {
    model: Option<T>,
    usage: Option<T>,
}

#[derive(Deserialize)]
struct RawUsage {
    input_tokens: Option<u32>,
    output_tokens: Option<u32>,
    cache_read_input_tokens: Option<u32>,
    cache_creation_input_tokens: Option<u32>,
}

impl Dialect for Messages {
    fn api(&self) -> Api {
        Api::Messages
    }

    fn path(&self, _options: &RequestOptions) -> Cow<'static, str> {
        "/messages".into()
    }

    /// The version, and the key in the header where Anthropic looks for it.
    fn headers(&self, given: &[(String, String)]) -> Vec<(String, String)> {
        let has = |name: &str| {
            given
                .iter()
                .any(|(given, _)| given.eq_ignore_ascii_case(name))
        };
        let mut headers = Vec::new();
        if !has(VERSION.0) {
            headers.push((VERSION.0.to_owned(), VERSION.1.to_owned()));
        }
        let bearer = given.iter().find_map(|(name, value)| {
            let authorizes = name.eq_ignore_ascii_case("authorization");
            value.strip_prefix("Bearer ").filter(|_| authorizes)
        });
        if let Some(key) = bearer.filter(|_| !has("x-api-key")) {
            headers.push(("x-api-key".to_owned(), key.to_owned()));
        }
        headers
    }

    fn body(&self, options: &RequestOptions, prompt: &Prompt<'_>, limit: Option<u32>) -> Vec<u8> {
        let mut body = options.model_field();
        body.insert("stream".into(), options.stream.into());
        let limit = Value::from(limit.unwrap_or(LIMIT));
        body.extend(options.sampling(&[("max_tokens", Some(limit))]));
        if let Some(stop) = body.remove("stop") {
            body.insert("stop_sequences".into(), stop);
        }
        let (messages, mut own) = prompt.as_messages();
        if let Some(limit) = own.remove("max_completion_tokens") {
            own.entry("max_tokens").or_insert(limit);
        }
        // What the system says stands beside the messages.
        let (system, messages): (Vec<Value>, Vec<Value>) = messages
            .into_iter()
            .partition(|message| message["role"] == "system");
        if !system.is_empty() {
            body.insert(
                "system".into(),
                super::prompt_text::flattened(&system).into(),
            );
        }
        body.insert("messages".into(), messages.into());
        options.merged(body, own)
    }

    fn text(&self, json: &[u8]) -> AnswerText {
        let mut text = AnswerText::default();
        let message: Value = serde_json::from_slice(json).unwrap_or_default();
        let parts = [&message["delta"], &message["content_block"]];
        let whole = message["content"].as_array().into_iter().flatten();
        for block in parts.into_iter().chain(whole) {
            push_text(&mut text.answer, &block["text"]);
            for aside in ["thinking", "name", "partial_json"] {
                push_text(&mut text.aside, &block[aside]);
            }
            if let Value::Object(input) = &block["input"]
                && !input.is_empty()
            {
                text.aside.push_str(&block["input"].to_string());
            }
        }
        text
    }

    fn message(&self, json: &[u8]) -> Result<Message, BadMessage> {
        let event: RawEvent<&RawValue> = parse(json)?;
        let kind = string(event.kind).unwrap_or_default();
        let mut found = MessageBuilder::new(json);
        match &*kind {
            "content_block_delta" | "content_block_start" => {
                for block in [&event.delta, &event.content_block].into_iter().flatten() {
                    found.answer(block.text)?;
                    found.reasoning(block.thinking)?;
                    found.answer(block.name)?;
                    found.answer(block.partial_json)?;
                }
                Ok(found.built())
            }
            "message_start" => {
                let start: RawStart<&RawValue> =
                    parse(present(event.message).unwrap_or("{}").as_bytes())?;
                Ok(Message {
                    model: string(start.model).map(Cow::into_owned),
                    usage: present(start.usage).and_then(usage_of),
                    ..Message::default()
                })
            }
            "message_delta" => {
                let reason = event.delta.and_then(|delta| string(delta.stop_reason));
                Ok(Message {
                    has_choice: true,
                    finish: reason.map(Cow::into_owned),
                    usage: present(event.usage).and_then(usage_of),
                    ..Message::default()
                })
            }
            "message" => {
                let said = self.text(json);
                let chars = said.answer.chars().count() + said.aside.chars().count();
                Ok(Message {
                    has_choice: event.content.is_some(),
                    chars: chars as u64,
                    has_answer: !said.answer.is_empty(),
                    finish: string(event.stop_reason).map(Cow::into_owned),
                    model: string(event.model).map(Cow::into_owned),
                    usage: present(event.usage).and_then(usage_of),
                    ..Message::default()
                })
            }
            _ => Ok(Message {
                error: [event.error, event.detail]
                    .into_iter()
                    .find_map(error_message),
                ..Message::default()
            }),
        }
    }
}

/// Tokens of the prompt that were cached are counted apart here, and belong to it.
fn usage_of(raw: &str) -> Option<Usage> {
    let usage: RawUsage = serde_json::from_str(raw).ok()?;
    let cached = [
        usage.cache_read_input_tokens,
        usage.cache_creation_input_tokens,
    ];
    let cached: u32 = cached.into_iter().flatten().fold(0, u32::saturating_add);
    Some(Usage {
        input: usage.input_tokens.map(|input| input.saturating_add(cached)),
        output: usage.output_tokens,
        cached: usage.cache_read_input_tokens,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::content::Content;
    use serde_json::json;

    fn body(content: &Content, limit: Option<u32>) -> Value {
        let options = RequestOptions {
            model: "m".into(),
            stop: vec!["x".into()],
            ..RequestOptions::default()
        };
        let body = Messages.body(&options, &Prompt::from(content), limit);
        serde_json::from_slice(&body).unwrap()
    }

    #[test]
    fn a_body_has_the_fields_of_this_api_and_always_a_limit() {
        let messages = r#"[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}]"#;
        let body = body(&Content::Messages(messages.into()), None);
        assert_eq!(body["system"], "be brief");
        assert_eq!(body["messages"].as_array().unwrap().len(), 1);
        assert_eq!(body["max_tokens"], 4096);
        assert_eq!(body["stop_sequences"], json!(["x"]));
        assert!(body.get("stop").is_none() && body.get("stream_options").is_none());
    }

    #[test]
    fn the_key_also_goes_where_anthropic_looks_for_it() {
        let given = [("Authorization".to_owned(), "Bearer k".to_owned())];
        let headers = Messages.headers(&given);
        assert!(headers.contains(&("x-api-key".into(), "k".into())));
        assert!(headers.iter().any(|(name, _)| name == "anthropic-version"));
    }

    #[test]
    fn calls_of_tools_errors_and_pings_are_told_apart() {
        let read = |json: &str| Messages.message(json.as_bytes()).unwrap();
        let call = r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"weather","input":{}}}"#;
        assert_eq!(read(call).chars, 7);
        let part = r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city"}}"#;
        assert!(read(part).has_answer);
        let thinks = r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#;
        assert!(read(thinks).has_text() && !read(thinks).has_answer);
        assert!(!read(r#"{"type":"ping"}"#).has_text());
        let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#;
        assert_eq!(read(error).error.as_deref(), Some("busy"));
    }
}
