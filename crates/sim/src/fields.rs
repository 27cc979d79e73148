//! Fields of a request's JSON body; a field that is null counts as absent.

use serde_json::{Map, Value};

use crate::{config::Config, reply::ErrorReply};

/// A body may leave its model out, but not name another one.
pub(crate) fn check_model(body: &Map<String, Value>, config: &Config) -> Result<(), ErrorReply> {
    match body.get("model") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(model)) if config.serves(model) => Ok(()),
        Some(Value::String(model)) => Err(ErrorReply::unknown_model(model)),
        Some(_) => Err(wrong_type("model", "a string")),
    }
}

/// `None` where an element is not a token id.
pub(crate) fn token_ids(ids: &[Value]) -> Option<Vec<u32>> {
    let id = |id: &Value| u32::try_from(id.as_u64()?).ok();
    ids.iter().map(id).collect()
}

pub(crate) fn flag(body: &Map<String, Value>, field: &str) -> Result<bool, ErrorReply> {
    match body.get(field) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(wrong_type(field, "true or false")),
    }
}

pub(crate) fn count(body: &Map<String, Value>, field: &str) -> Result<Option<u32>, ErrorReply> {
    match body.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let count = value.as_u64().and_then(|count| u32::try_from(count).ok());
            let wrong = || wrong_type(field, "a whole number from 0");
            count.map(Some).ok_or_else(wrong)
        }
    }
}

pub(crate) fn priority(body: &Map<String, Value>) -> Result<i32, ErrorReply> {
    match body.get("priority") {
        None | Some(Value::Null) => Ok(0),
        Some(value) => {
            let priority = value.as_i64().and_then(|number| i32::try_from(number).ok());
            priority.ok_or_else(|| wrong_type("priority", "a whole number"))
        }
    }
}

pub(crate) fn wrong_type(field: &str, expected: &str) -> ErrorReply {
    ErrorReply::bad_request(format!("{field}: should be {expected}"))
}
