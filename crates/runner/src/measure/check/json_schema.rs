//! JSON Schema, as far as structured output and tools use it. A keyword that decides and is not
//! known here is refused when the schema is read; all others are notes.

use regex::Regex;
use serde_json::{Map, Value};

/// Schemas inside schemas, and values inside values, that are followed.
const DEEPEST: usize = 64;

/// Keywords that decide, and are not known here.
const UNKNOWN: [&str; 9] = [
    "$dynamicRef",
    "dependentSchemas",
    "dependentRequired",
    "dependencies",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contains",
    "propertyNames",
    "if",
];

const TYPES: [&str; 7] = [
    "object", "array", "string", "number", "integer", "boolean", "null",
];

#[derive(Clone, Debug)]
pub struct JsonSchema(Value);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSchema {
    #[error("it is not JSON: {0}")]
    NotJson(String),
    #[error("a schema is an object, such as {{\"type\": \"object\"}}")]
    NotASchema,
    #[error("its keyword '{0}' is not supported")]
    Unknown(&'static str),
    #[error("its type {0} is none of JSON's")]
    Type(String),
    #[error("its pattern '{0}' is not a regular expression")]
    Pattern(String),
}

impl JsonSchema {
    pub fn parse(text: &str) -> Result<Self, BadSchema> {
        let schema = serde_json::from_str(text).map_err(|e| BadSchema::NotJson(e.to_string()))?;
        Self::new(schema)
    }

    /// OpenAI's `response_format` holds one inside.
    pub fn new(mut schema: Value) -> Result<Self, BadSchema> {
        for wrapper in ["json_schema", "schema"] {
            if let Some(inner) = schema.get_mut(wrapper).filter(|inner| inner.is_object()) {
                schema = inner.take();
            }
        }
        if !schema.is_object() {
            return Err(BadSchema::NotASchema);
        }
        check(&schema, DEEPEST)?;
        Ok(JsonSchema(schema))
    }

    pub fn as_json(&self) -> &Value {
        &self.0
    }

    /// Whether a text is JSON that the schema allows.
    pub fn allows_text(&self, text: &str) -> bool {
        serde_json::from_str(text.trim()).is_ok_and(|value| self.allows(&value))
    }

    pub fn allows(&self, value: &Value) -> bool {
        self.allows_by(&self.0, value, DEEPEST)
    }

    fn allows_by(&self, schema: &Value, value: &Value, depth: usize) -> bool {
        let schema = match schema {
            Value::Bool(all) => return *all,
            Value::Object(schema) => schema,
            _ => return true,
        };
        let Some(depth) = depth.checked_sub(1) else {
            return false;
        };
        let counted = |schemas: &Value, is_enough: fn(usize, usize) -> bool| {
            let schemas = schemas.as_array().map_or(&[][..], Vec::as_slice);
            let allowed = schemas.iter().filter(|it| self.allows_by(it, value, depth));
            is_enough(allowed.count(), schemas.len())
        };
        let allows = |(keyword, wanted): (&String, &Value)| match keyword.as_str() {
            "$ref" => (self.found(wanted)).is_some_and(|it| self.allows_by(it, value, depth)),
            "type" => is_of_type(wanted, value),
            "enum" => wanted.as_array().is_some_and(|all| all.contains(value)),
            "const" => wanted == value,
            "allOf" => counted(wanted, |allowed, all| allowed == all),
            "anyOf" => counted(wanted, |allowed, _| allowed > 0),
            "oneOf" => counted(wanted, |allowed, _| allowed == 1),
            "not" => !self.allows_by(wanted, value, depth),
            keyword => match value {
                Value::Object(object) => self.allows_fields(schema, keyword, wanted, object, depth),
                Value::Array(items) => self.allows_items(schema, keyword, wanted, items, depth),
                Value::String(text) => allows_string(keyword, wanted, text),
                Value::Number(number) => allows_number(keyword, wanted, number.as_f64()),
                Value::Null | Value::Bool(_) => true,
            },
        };
        schema.iter().all(allows)
    }

    /// What `#/$defs/name` names.
    fn found(&self, reference: &Value) -> Option<&Value> {
        self.0.pointer(reference.as_str()?.strip_prefix('#')?)
    }

    fn allows_fields(
        &self,
        schema: &Map<String, Value>,
        keyword: &str,
        wanted: &Value,
        object: &Map<String, Value>,
        depth: usize,
    ) -> bool {
        let named = || wanted.as_object().into_iter().flatten();
        match keyword {
            "required" => (wanted.as_array().into_iter().flatten())
                .filter_map(Value::as_str)
                .all(|name| object.contains_key(name)),
            "properties" => named().all(|(name, schema)| {
                let field = object.get(name);
                field.is_none_or(|it| self.allows_by(schema, it, depth))
            }),
            "patternProperties" => named().all(|(pattern, schema)| {
                let mut fields = object.iter().filter(|(key, _)| matches(pattern, key));
                fields.all(|(_, it)| self.allows_by(schema, it, depth))
            }),
            "additionalProperties" => {
                let names = |keyword: &str| schema.get(keyword).and_then(Value::as_object);
                let is_further = |key: &str| {
                    let by_pattern =
                        |all: &Map<String, Value>| all.keys().any(|it| matches(it, key));
                    !names("properties").is_some_and(|known| known.contains_key(key))
                        && !names("patternProperties").is_some_and(by_pattern)
                };
                let mut further = object.iter().filter(|(key, _)| is_further(key));
                further.all(|(_, it)| self.allows_by(wanted, it, depth))
            }
            "minProperties" => at_least(wanted, object.len()),
            "maxProperties" => at_most(wanted, object.len()),
            _ => true,
        }
    }

    fn allows_items(
        &self,
        schema: &Map<String, Value>,
        keyword: &str,
        wanted: &Value,
        items: &[Value],
        depth: usize,
    ) -> bool {
        let first = schema.get("prefixItems").and_then(Value::as_array);
        match keyword {
            "items" => (items.iter().skip(first.map_or(0, Vec::len)))
                .all(|it| self.allows_by(wanted, it, depth)),
            "prefixItems" => (items.iter().zip(first.into_iter().flatten()))
                .all(|(it, schema)| self.allows_by(schema, it, depth)),
            "minItems" => at_least(wanted, items.len()),
            "maxItems" => at_most(wanted, items.len()),
            "uniqueItems" => {
                let is_new = |(place, it): (usize, &Value)| !items[..place].contains(it);
                wanted != true || items.iter().enumerate().all(is_new)
            }
            _ => true,
        }
    }
}

/// Finds what a schema and those inside it ask for and nobody here can tell.
fn check(schema: &Value, depth: usize) -> Result<(), BadSchema> {
    let (Value::Object(schema), Some(depth)) = (schema, depth.checked_sub(1)) else {
        return Ok(());
    };
    let mut unknown = UNKNOWN.iter().filter(|it| schema.contains_key(**it));
    if let Some(unknown) = unknown.next() {
        return Err(BadSchema::Unknown(unknown));
    }
    let types = match schema.get("type") {
        Some(Value::Array(types)) => types.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let is_other = |it: &&Value| !it.as_str().is_some_and(|name| TYPES.contains(&name));
    if let Some(other) = types.iter().find(is_other) {
        return Err(BadSchema::Type(other.to_string()));
    }
    let pattern = schema.get("pattern").and_then(Value::as_str);
    if let Some(pattern) = pattern.filter(|pattern| Regex::new(pattern).is_err()) {
        return Err(BadSchema::Pattern(pattern.to_owned()));
    }
    for (keyword, inside) in schema {
        match (keyword.as_str(), inside) {
            ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(all)) => {
                all.values().try_for_each(|it| check(it, depth))?;
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(all)) => {
                all.iter().try_for_each(|it| check(it, depth))?;
            }
            ("items" | "additionalProperties" | "not", inside) => check(inside, depth)?,
            _ => {}
        }
    }
    Ok(())
}

fn matches(pattern: &str, text: &str) -> bool {
    Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text))
}

fn is_of_type(wanted: &Value, value: &Value) -> bool {
    match wanted {
        Value::Array(several) => several.iter().any(|one| is_of_type(one, value)),
        Value::String(name) => match name.as_str() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "number" => value.is_number(),
            "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            "boolean" => value.is_boolean(),
            "null" => value.is_null(),
            _ => false,
        },
        _ => true,
    }
}

fn at_least(wanted: &Value, count: usize) -> bool {
    wanted.as_u64().is_none_or(|least| count as u64 >= least)
}

fn at_most(wanted: &Value, count: usize) -> bool {
    wanted.as_u64().is_none_or(|most| count as u64 <= most)
}

fn allows_string(keyword: &str, wanted: &Value, text: &str) -> bool {
    match keyword {
        "minLength" => at_least(wanted, text.chars().count()),
        "maxLength" => at_most(wanted, text.chars().count()),
        "pattern" => wanted.as_str().is_none_or(|pattern| matches(pattern, text)),
        _ => true,
    }
}

fn allows_number(keyword: &str, wanted: &Value, number: Option<f64>) -> bool {
    let Some((limit, number)) = wanted.as_f64().zip(number) else {
        return true;
    };
    match keyword {
        "minimum" => number >= limit,
        "maximum" => number <= limit,
        "exclusiveMinimum" => number > limit,
        "exclusiveMaximum" => number < limit,
        "multipleOf" => (number / limit - (number / limit).round()).abs() < 1e-9,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_held_against_types_fields_items_and_limits() {
        let schema = JsonSchema::parse(
            r##"{"type": "object", "required": ["name", "tags"], "additionalProperties": false,
                "properties": {
                    "name": {"type": "string", "minLength": 2, "pattern": "^[a-z]+$"},
                    "age": {"type": ["integer", "null"], "minimum": 0},
                    "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "maxItems": 2,
                             "uniqueItems": true},
                    "kind": {"anyOf": [{"const": 1}, {"enum": ["a", "b"]}]}},
                "$defs": {"tag": {"type": "string"}}}"##,
        )
        .unwrap();
        for (text, allowed) in [
            (r#"{"name": "ab", "tags": []}"#, true),
            (
                r#" {"name": "ab", "tags": ["x"], "age": 3, "kind": "b"}"#,
                true,
            ),
            (
                r#"{"name": "ab", "tags": [], "age": null, "kind": 1}"#,
                true,
            ),
            (r#"{"name": "a", "tags": []}"#, false),
            (r#"{"name": "aB", "tags": []}"#, false),
            (r#"{"name": "ab"}"#, false),
            (r#"{"name": "ab", "tags": [1]}"#, false),
            (r#"{"name": "ab", "tags": ["x", "x"]}"#, false),
            (r#"{"name": "ab", "tags": [], "age": -1}"#, false),
            (r#"{"name": "ab", "tags": [], "age": 1.5}"#, false),
            (r#"{"name": "ab", "tags": [], "kind": 2}"#, false),
            (r#"{"name": "ab", "tags": [], "more": 1}"#, false),
            (r#"{"name": "ab", "tags": []"#, false),
            ("ab", false),
        ] {
            assert_eq!(schema.allows_text(text), allowed, "{text}");
        }
    }

    #[test]
    fn what_is_no_schema_is_refused_and_openais_wrapper_is_taken_off() {
        let refused = |text: &str| JsonSchema::parse(text).unwrap_err().to_string();
        assert!(refused("{").contains("not JSON"));
        assert!(refused("[]").contains("object"));
        assert!(refused(r#"{"type": "text"}"#).contains("text"));
        assert!(refused(r#"{"properties": {"a": {"contains": {}}}}"#).contains("contains"));
        assert!(refused(r#"{"items": {"pattern": "("}}"#).contains("pattern"));
        let wrapped = r#"{"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "integer"}}}"#;
        let schema = JsonSchema::parse(wrapped).unwrap();
        assert!(schema.allows_text("3") && !schema.allows_text("true"));
    }

    #[test]
    fn a_schema_that_names_itself_without_end_allows_nothing() {
        let schema = JsonSchema::parse(r##"{"$ref": "#"}"##).unwrap();
        assert!(!schema.allows_text("1"));
    }
}
