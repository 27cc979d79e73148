//! A JSON object whose values stay text until they are asked for.

use super::error::{Fault, listed};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Fields under which data sets have the right answer, the plainest first.
const EXPECTED: [&str; 11] = [
    "expected",
    "expected_answer",
    "expected_output",
    "answer",
    "reference",
    "reference_answer",
    "target",
    "ground_truth",
    "gold",
    "solution",
    "label",
];

#[derive(Debug)]
pub struct Object<'a>(Vec<(Text<'a>, &'a RawValue)>);

/// A string that is copied only where it has escapes.
#[derive(Debug, Deserialize)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl<'a> Object<'a> {
    pub fn parse(row: &'a str) -> Result<Self, Fault> {
        from_json(row)
    }

    /// The value of a field; the last of them, where a field is there more than once.
    pub fn get(&self, field: &str) -> Option<&'a RawValue> {
        let found = self.0.iter().rev().find(|(key, _)| key.0 == field);
        found.map(|(_, value)| *value)
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| &*key.0)
    }

    /// A field that must be there and be a string.
    pub fn text(&self, field: &str) -> Result<Cow<'a, str>, Fault> {
        self.optional_text(field)?.ok_or_else(|| Fault::NoField {
            field: field.to_owned(),
            found: listed(self.keys()),
        })
    }

    /// A string that need not be there, or is null.
    pub fn optional_text(&self, field: &str) -> Result<Option<Cow<'a, str>>, Fault> {
        let Some(value) = self.get(field) else {
            return Ok(None);
        };
        serde_json::from_str::<Option<Text<'a>>>(value.get())
            .map(|text| text.map(|text| text.0))
            .map_err(|_| Fault::WrongType {
                field: field.to_owned(),
                wanted: "text",
            })
    }

    /// What a right answer says: text, a number or a word of JSON under one of the usual names.
    pub fn expected(&self) -> Option<Arc<str>> {
        let value = EXPECTED.iter().find_map(|field| self.get(field))?.get();
        match value.as_bytes().first()? {
            b'"' => serde_json::from_str::<Text<'_>>(value)
                .ok()
                .map(|text| text.0.into()),
            b'n' => None,
            _ => Some(value.into()),
        }
    }

    /// The row as it is sent, without what is expected: no server should see that.
    pub fn as_request(&self, row: &str) -> Arc<str> {
        if !EXPECTED.iter().any(|field| self.get(field).is_some()) {
            return row.into();
        }
        let fields = self
            .0
            .iter()
            .filter(|(key, _)| !EXPECTED.contains(&&*key.0));
        let fields: Vec<String> = fields
            .map(|(key, value)| format!("{}:{}", serde_json::json!(key.0), value.get()))
            .collect();
        format!("{{{}}}", fields.join(",")).into()
    }

    /// A number of tokens that need not be there, or is null.
    pub fn optional_tokens(&self, field: &str) -> Result<Option<u32>, Fault> {
        let Some(value) = self.get(field) else {
            return Ok(None);
        };
        match serde_json::from_str::<Option<u32>>(value.get()) {
            Ok(tokens) if tokens != Some(0) => Ok(tokens),
            _ => Err(Fault::WrongType {
                field: field.to_owned(),
                wanted: "a number of tokens",
            }),
        }
    }
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Object<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Object<'de>, M::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Object(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// Reads a row as JSON. The place that the parser names is one within the row.
pub fn from_json<'a, T: Deserialize<'a>>(row: &'a str) -> Result<T, Fault> {
    serde_json::from_str(row).map_err(|error| {
        Fault::Json(inferometer_text::hostile::printable(
            &error.to_string(),
            200,
        ))
    })
}
