//! `/v1/completions`.

use super::dialect::{AnswerText, BadMessage, Dialect, Message, Prompt, RequestOptions, object_of};
use super::prompt_text::{flattened, push_text};
use super::wire::{read, text};
use inferometer_core::api::Api;
use inferometer_core::content::Content;
use serde_json::{Map, Value};
use std::borrow::Cow;

pub(super) struct Completions;

impl Dialect for Completions {
    fn api(&self) -> Api {
        Api::Completions
    }

    fn path(&self, _options: &RequestOptions) -> Cow<'static, str> {
        "/completions".into()
    }

    fn body(&self, options: &RequestOptions, prompt: &Prompt<'_>, limit: Option<u32>) -> Vec<u8> {
        let mut body = options.fields(limit);
        let mut own = Map::new();
        let text = match prompt.content {
            Content::TokenIds(ids) => Value::from(ids.to_vec()),
            Content::Text(_) | Content::Messages(_) => prompt.as_text().into(),
            // Only where answers are items; refused before it comes here.
            Content::Batch(_) => Value::from(""),
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
        read(json, |choice, found| found.answer(choice.text))
    }
}
