//! Answers in the form that a request asks for: JSON that its schema allows, or a call of the first
//! tool that it offers.

use serde_json::{Map, Value, json};

/// Characters of a token of JSON.
const PIECE: usize = 4;
/// Schemas inside schemas that are followed.
const DEEPEST: usize = 16;

/// What a request has answered in place of words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Structured {
    pub(crate) tool: Option<String>,
    pub(crate) json: String,
}

pub(crate) fn asked(body: &Map<String, Value>) -> Option<Structured> {
    let tools = body.get("tools").and_then(Value::as_array);
    let none = body
        .get("tool_choice")
        .is_some_and(|choice| choice == "none");
    if let Some(function) = tools.and_then(|tools| tools.first()).filter(|_| !none) {
        let function = &function["function"];
        return Some(Structured {
            tool: function["name"].as_str().map(str::to_owned),
            json: sample(&function["parameters"], DEEPEST).to_string(),
        });
    }
    let format = body.get("response_format")?;
    let schema = match format["type"].as_str()? {
        "json_schema" => &format["json_schema"]["schema"],
        "json_object" => &Value::Null,
        _ => return None,
    };
    Some(Structured {
        tool: None,
        json: sample(schema, DEEPEST).to_string(),
    })
}

/// A text in the pieces of its tokens, as they stand inside a JSON string.
pub(crate) fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let pieces = chars
        .chunks(PIECE)
        .map(|piece| piece.iter().collect::<String>());
    pieces.map(|piece| escaped(&piece)).collect()
}

/// A text as it stands between the quotes of a JSON string.
pub(crate) fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// A value that a schema allows, as far as plain schemas go.
fn sample(schema: &Value, depth: usize) -> Value {
    let Some(depth) = depth.checked_sub(1) else {
        return Value::Null;
    };
    if let Some(first) = schema["enum"].as_array().and_then(|all| all.first()) {
        return first.clone();
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().and_then(Value::as_str),
        kind => kind.as_str(),
    };
    match kind {
        Some("string") => "a text".into(),
        Some("integer") => schema["minimum"].as_i64().unwrap_or(7).into(),
        Some("number") => schema["minimum"].as_f64().unwrap_or(7.5).into(),
        Some("boolean") => true.into(),
        Some("null") => Value::Null,
        Some("array") => json!([sample(&schema["items"], depth)]),
        _ => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            let fields = fields.map(|(name, schema)| (name.clone(), sample(schema, depth)));
            Value::Object(fields.collect())
        }
    }
}
