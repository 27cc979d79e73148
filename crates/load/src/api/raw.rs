//! Any other JSON service: a body with places for the prompt, and paths to what its answers say.

use super::dialect::{AnswerText, BadMessage, Dialect, Message, Prompt, RequestOptions};
use super::wire::{error_in, parse};
use inferometer_core::api::Api;
use inferometer_core::content::Content;
use inferometer_core::raw_form::{JsonPath, RawForm};
use inferometer_core::record::Usage;
use serde_json::{Map, Value};
use std::borrow::Cow;

pub(super) struct Raw(RawForm);

impl Raw {
    /// The dialect of a form. It stays for the rest of the process, as all dialects do: a few
    /// hundred bytes for each measurement.
    pub(super) fn dialect(form: &RawForm) -> &'static dyn Dialect {
        Box::leak(Box::new(Raw(form.clone())))
    }

    fn said(&self, message: &Value) -> Option<String> {
        match found(message, &self.0.text)? {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => Some(other.to_string()),
        }
    }
}

fn found<'a>(message: &'a Value, path: &JsonPath) -> Option<&'a Value> {
    message.pointer(path.pointer())
}

impl Dialect for Raw {
    fn api(&self) -> Api {
        Api::Raw
    }

    /// The URL is the whole address.
    fn path(&self, _options: &RequestOptions) -> Cow<'static, str> {
        "".into()
    }

    fn says_finish(&self) -> bool {
        self.0.end.is_some()
    }

    fn body(&self, options: &RequestOptions, prompt: &Prompt<'_>, limit: Option<u32>) -> Vec<u8> {
        let text = match prompt.content {
            Content::TokenIds(_) | Content::Batch(_) => String::new(),
            _ => prompt.as_text(),
        };
        let mut body = self.0.body.0.clone();
        for field in body.values_mut() {
            fill(field, &text, &options.model, limit);
        }
        options.merged(body, Map::new())
    }

    fn text(&self, json: &[u8]) -> AnswerText {
        let message: Value = serde_json::from_slice(json).unwrap_or_default();
        AnswerText {
            answer: self.said(&message).unwrap_or_default(),
            ..AnswerText::default()
        }
    }

    fn message(&self, json: &[u8]) -> Result<Message, BadMessage> {
        let message: Value = parse(json)?;
        let said = self.said(&message);
        let end = self.0.end.as_ref().and_then(|path| found(&message, path));
        let finish = end.and_then(|end| match end {
            Value::Null | Value::Bool(false) => None,
            Value::String(word) if word.is_empty() => None,
            Value::String(word) => Some(word.clone()),
            other => Some(other.to_string()),
        });
        let tokens = self.0.tokens.as_ref();
        let tokens = tokens.and_then(|path| found(&message, path)?.as_u64());
        let chars = said.as_ref().map_or(0, |text| text.chars().count() as u64);
        // Nothing is known of how it fails but what nearly all say.
        let error = match (&said, &finish) {
            (None, None) => error_in(&message),
            _ => None,
        };
        Ok(Message {
            has_choice: said.is_some() || finish.is_some(),
            chars,
            has_answer: chars > 0,
            finish,
            usage: tokens.map(|tokens| Usage {
                output: u32::try_from(tokens).ok(),
                ..Usage::default()
            }),
            error,
            ..Message::default()
        })
    }
}

/// Puts the prompt, the model and the limit where the body has places for them.
fn fill(value: &mut Value, prompt: &str, model: &str, limit: Option<u32>) {
    match value {
        Value::String(text) if text == RawForm::LIMIT => *value = limit.into(),
        Value::String(text) => {
            // The prompt last: it may speak of the others.
            *text = text
                .replace(RawForm::MODEL, model)
                .replace(RawForm::PROMPT, prompt);
        }
        Value::Array(items) => {
            for item in items {
                fill(item, prompt, model, limit);
            }
        }
        Value::Object(fields) => {
            for field in fields.values_mut() {
                fill(field, prompt, model, limit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn raw() -> &'static dyn Dialect {
        let body = r#"{"q": {"text": "Say: {prompt}"}, "n": "{max_tokens}", "m": "{model}"}"#;
        Raw::dialect(&RawForm {
            body: body.parse().unwrap(),
            text: "answer.parts.0".parse().unwrap(),
            tokens: Some("count".parse().unwrap()),
            end: Some("done".parse().unwrap()),
        })
    }

    #[test]
    fn the_places_of_a_body_are_filled_and_nothing_escapes() {
        let options = RequestOptions {
            model: "m1".into(),
            ..RequestOptions::default()
        };
        let content = Content::Text("a \"b\" {model}".into());
        let body = raw().body(&options, &Prompt::from(&content), Some(9));
        let body: Value = serde_json::from_slice(&body).unwrap();
        let text = json!({"text": "Say: a \"b\" {model}"});
        assert_eq!(body, json!({"q": text, "n": 9, "m": "m1"}));
    }

    #[test]
    fn paths_find_text_tokens_and_the_end() {
        let read = |json: Value| raw().message(json.to_string().as_bytes()).unwrap();
        let part = read(json!({"answer": {"parts": ["hé"]}, "done": false}));
        assert_eq!((part.chars, part.finish), (2, None));
        let last = read(json!({"answer": {"parts": []}, "done": true, "count": 7}));
        assert_eq!(last.finish.as_deref(), Some("true"));
        assert_eq!(last.usage.unwrap().output, Some(7));
        let failed = read(json!({"error": {"message": "no"}}));
        assert_eq!(failed.error.as_deref(), Some("no"));
    }
}
