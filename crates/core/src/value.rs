//! How values of options are read and written: the same text on the command line and in files.

use serde::Deserialize;
use std::fmt::{self, Display};
use std::str::FromStr;

#[doc(inline)]
pub use crate::serde_as_text;

/// A value that an option does not take, with what it takes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{given}' is not possible; {takes}")]
pub struct BadValue {
    given: String,
    takes: String,
}

impl BadValue {
    pub fn new(given: &str, takes: impl Into<String>) -> Self {
        BadValue {
            given: given.to_owned(),
            takes: takes.into(),
        }
    }

    /// The number that a text gives, where it is possible.
    pub fn unless<T: FromStr>(
        text: &str,
        takes: &str,
        is_possible: impl Fn(&T) -> bool,
    ) -> Result<T, BadValue> {
        let number = text.trim().parse().ok().filter(is_possible);
        number.ok_or_else(|| BadValue::new(text, takes))
    }

    /// A word that is none of an enum's: lists them.
    pub fn choose<T: strum::VariantArray + Display>(given: &str) -> Self {
        let words: Vec<String> = T::VARIANTS.iter().map(T::to_string).collect();
        let takes = match words.split_last() {
            Some((last, rest)) if !rest.is_empty() => {
                format!("choose {} or {last}", rest.join(", "))
            }
            _ => format!("choose {}", words.concat()),
        };
        BadValue::new(given, takes)
    }

    /// The same, where one word more is taken.
    pub fn or(mut self, word: &str) -> Self {
        self.takes = format!("{}, or {word}", self.takes);
        self
    }
}

/// A JSON object given as text.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonObject(pub serde_json::Map<String, serde_json::Value>);

impl FromStr for JsonObject {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        serde_json::from_str(text)
            .map(JsonObject)
            .map_err(|_| BadValue::new(text, "write a JSON object such as {\"top_k\": 20}"))
    }
}

impl Display for JsonObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_string(&self.0).map_err(|_| fmt::Error)?;
        f.write_str(&text)
    }
}

/// `key=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    pub key: String,
    pub value: String,
}

impl FromStr for Tag {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => Ok(Tag {
                key: key.trim().to_owned(),
                value: value.trim().to_owned(),
            }),
            _ => Err(BadValue::new(text, "write KEY=VALUE")),
        }
    }
}

impl Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

/// Serialises a type by its `Display` and reads it by its `FromStr`, so that a file holds
/// what the command line takes.
#[macro_export]
macro_rules! serde_as_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = $crate::value::TextOrNumber::deserialize(deserializer)?.into_text();
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

/// What a TOML file may hold where the command line takes a word: `rate = 5` as well as
/// `rate = "inf"`.
#[doc(hidden)]
#[derive(Deserialize)]
#[serde(untagged)]
pub enum TextOrNumber {
    Text(String),
    Whole(i64),
    Real(f64),
}

impl TextOrNumber {
    pub fn into_text(self) -> String {
        match self {
            TextOrNumber::Text(text) => text,
            TextOrNumber::Whole(number) => number.to_string(),
            TextOrNumber::Real(number) => number.to_string(),
        }
    }
}

serde_as_text!(Tag);
