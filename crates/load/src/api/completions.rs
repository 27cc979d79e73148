//! `/v1/completions`.

use super::wire::{Choice, Found, array_of, object_of, push_text, read, text};
use super::{Ask, BadMessage, Dialect, Message, Said, Text};
use inferometer_core::content::{Content, Exchange};
use serde_json::{Map, Value};

pub(super) struct Completions;

impl Dialect for Completions {
    fn name(&self) -> &'static str {
        "completions"
    }

    fn path(&self) -> &'static str {
        "/completions"
    }

    fn body(&self, ask: &Ask, said: &Said<'_>, limit: Option<u32>) -> Vec<u8> {
        let mut body = ask.fields(limit);
        let mut own = Map::new();
        let prompt = match said.content {
            Content::TokenIds(ids) => Value::from(ids.to_vec()),
            Content::Text(text) => with_history(said.history, text).into(),
            Content::Messages(array) => flattened(&array_of(array)).into(),
            Content::Body(object) => {
                own = object_of(object);
                // A body for the other API: what its messages say is the prompt.
                match own.remove("messages") {
                    Some(Value::Array(messages)) => flattened(&messages).into(),
                    _ => Value::from(""),
                }
            }
        };
        body.insert("prompt".into(), prompt);
        ask.render(body, own)
    }

    fn text(&self, json: &[u8]) -> Text {
        text(json, |choice, text| {
            push_text(&mut text.answer, &choice["text"]);
        })
    }

    fn message(&self, json: &[u8]) -> Result<Message, BadMessage> {
        read(json, |choice: &Choice<'_>, found: &mut Found| {
            found.answer(choice.text)
        })
    }
}

/// A conversation without a template: what was said, one after the other.
fn with_history(history: &[Exchange], text: &str) -> String {
    let mut prompt = String::new();
    for exchange in history {
        for said in [&exchange.user, &exchange.assistant] {
            prompt.push_str(said);
            prompt.push_str("\n\n");
        }
    }
    prompt + text
}

/// The texts of messages, one after the other.
fn flattened(messages: &[Value]) -> String {
    let mut prompt = String::new();
    for message in messages {
        if !prompt.is_empty() {
            prompt.push_str("\n\n");
        }
        push_text(&mut prompt, &message["content"]);
    }
    prompt
}
