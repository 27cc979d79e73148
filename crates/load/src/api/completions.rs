//! `/v1/completions`.

use super::dialect::{
    AnswerText, BadMessage, Dialect, Message, Prompt, RequestOptions, array_of, object_of,
};
use super::wire::{Choice, MessageBuilder, push_text, read, text};
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

    fn body(&self, options: &RequestOptions, prompt: &Prompt<'_>, limit: Option<u32>) -> Vec<u8> {
        let mut body = options.fields(limit);
        let mut own = Map::new();
        let text = match prompt.content {
            Content::TokenIds(ids) => Value::from(ids.to_vec()),
            Content::Text(text) => with_history(prompt.history, text).into(),
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
        body.insert("prompt".into(), text);
        options.render(body, own)
    }

    fn text(&self, json: &[u8]) -> AnswerText {
        text(json, |choice, text| {
            push_text(&mut text.answer, &choice["text"]);
        })
    }

    fn message(&self, json: &[u8]) -> Result<Message, BadMessage> {
        read(json, |choice: &Choice<'_>, found: &mut MessageBuilder| {
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
