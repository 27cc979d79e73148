//! How a service that speaks no known API is asked and read: `--api raw`.

use crate::value::{BadValue, JsonObject, serde_as_text};
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

/// A body with places to fill, and where answers have what is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct RawForm {
    pub body: JsonObject,
    pub text: JsonPath,
    /// Output tokens.
    pub tokens: Option<JsonPath>,
    /// Says that the answer is complete: anything but null, false and the empty text.
    pub end: Option<JsonPath>,
}

impl RawForm {
    pub const PROMPT: &str = "{prompt}";
    pub const MODEL: &str = "{model}";
    /// A text that is only this becomes a number.
    pub const LIMIT: &str = "{max_tokens}";

    /// Whether some text of a body has such a place.
    pub fn has(body: &JsonObject, place: &str) -> bool {
        body.0.values().any(|value| has(value, place))
    }
}

fn has(body: &Value, place: &str) -> bool {
    match body {
        Value::String(text) => text.contains(place),
        Value::Array(items) => items.iter().any(|item| has(item, place)),
        Value::Object(fields) => fields.values().any(|field| has(field, place)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A place in JSON: `choices.0.text`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPath {
    written: String,
    pointer: String,
}

impl JsonPath {
    /// The same as RFC 6901 has it.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }
}

impl FromStr for JsonPath {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let path = text.trim().trim_start_matches("$.");
        if path.is_empty() || path.split('.').any(str::is_empty) {
            return Err(BadValue::new(
                text,
                "write a path such as choices.0.text, names and numbers with dots between them",
            ));
        }
        let escaped = path.replace('~', "~0").replace('/', "~1");
        Ok(JsonPath {
            written: path.to_owned(),
            pointer: format!("/{}", escaped.replace('.', "/")),
        })
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

serde_as_text!(JsonPath);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_names_and_numbers_with_dots() {
        let pointer = |text: &str| text.parse::<JsonPath>().map(|path| path.pointer);
        assert_eq!(pointer("choices.0.text"), Ok("/choices/0/text".into()));
        assert_eq!(pointer("$.a/b"), Ok("/a~1b".into()));
        assert!(pointer("a..b").is_err() && pointer("").is_err());
    }

    #[test]
    fn a_place_for_the_prompt_is_found_at_any_depth() {
        let asks = |text: &str| RawForm::has(&text.parse().unwrap(), RawForm::PROMPT);
        assert!(asks(r#"{"a": [{"b": "x {prompt}"}]}"#));
        assert!(!asks(r#"{"prompt": "x"}"#));
    }
}
