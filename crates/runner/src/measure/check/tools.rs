//! The tools that a request offers, and whether a call is one of theirs.

use super::json_schema::{BadSchema, JsonSchema};
use serde_json::Value;
use std::collections::HashMap;

#[derive(Clone, Debug)]
pub struct ToolSet(HashMap<String, Option<JsonSchema>>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTools {
    #[error(
        "tools are a JSON array, such as [{{\"type\": \"function\", \"function\": {{\"name\": …}}}}]"
    )]
    NotAnArray,
    #[error("tool {0} has no function.name")]
    NoName(usize),
    #[error("the parameters of '{name}': {why}")]
    Parameters { name: String, why: BadSchema },
}

impl ToolSet {
    /// As chat takes them.
    pub fn new(tools: &Value) -> Result<Self, BadTools> {
        let tools = tools.as_array().filter(|tools| !tools.is_empty());
        let tools = tools.ok_or(BadTools::NotAnArray)?;
        let read = |(place, tool): (usize, &Value)| {
            let function = &tool["function"];
            let name = function["name"]
                .as_str()
                .ok_or(BadTools::NoName(place + 1))?;
            let parameters =
                match &function["parameters"] {
                    Value::Null => None,
                    schema => Some(JsonSchema::new(schema.clone()).map_err(|why| {
                        BadTools::Parameters {
                            name: name.to_owned(),
                            why,
                        }
                    })?),
                };
            Ok((name.to_owned(), parameters))
        };
        let tools = tools.iter().enumerate().map(read);
        tools.collect::<Result<_, _>>().map(ToolSet)
    }

    /// Whether a tool of that name takes these arguments. Without any, a tool that needs none is
    /// called.
    pub fn takes(&self, name: &str, arguments: &str) -> bool {
        let Some(parameters) = self.0.get(name) else {
            return false;
        };
        let arguments = match arguments.trim() {
            "" => "{}",
            arguments => arguments,
        };
        match (serde_json::from_str::<Value>(arguments), parameters) {
            (Ok(value), Some(schema)) => value.is_object() && schema.allows(&value),
            (Ok(value), None) => value.is_object(),
            (Err(_), _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_names_an_offered_tool_with_arguments_that_it_takes() {
        let parameters = json!({"type": "object", "required": ["city"],
            "properties": {"city": {"type": "string"}}});
        let tools = json!([
            {"type": "function", "function": {"name": "weather", "parameters": parameters}},
            {"type": "function", "function": {"name": "now"}},
        ]);
        let tools = ToolSet::new(&tools).unwrap();
        for (name, arguments, takes) in [
            ("weather", r#"{"city": "Ulm"}"#, true),
            ("now", "", true),
            ("now", "{}", true),
            ("weather", r#"{"town": "Ulm"}"#, false),
            ("weather", r#"{"city": "Ul"#, false),
            ("weather", "", false),
            ("now", "[]", false),
            ("clock", "{}", false),
        ] {
            assert_eq!(tools.takes(name, arguments), takes, "{name} {arguments}");
        }
        for (bad, word) in [
            (json!({}), "array"),
            (json!([]), "array"),
            (json!([{"name": "x"}]), "tool 1"),
            (
                json!([{"function": {"name": "x", "parameters": {"type": "y"}}}]),
                "'x'",
            ),
        ] {
            let said = ToolSet::new(&bad).unwrap_err().to_string();
            assert!(said.contains(word), "{said}");
        }
    }
}
