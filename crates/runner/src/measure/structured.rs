//! The form that requests ask answers to have: JSON by a schema, or calls of tools.

use super::check::{JsonSchema, ToolSet};
use crate::error::{Context as _, RunnerError};
use inferometer_core::content::Content;
use inferometer_core::work::Work;
use inferometer_store::texts_file::RequestText;
use inferometer_text::user_file;
use serde_json::{Map, Value, json};
use std::path::Path;

#[derive(Clone, Default)]
pub(super) struct Form {
    /// The answer is to be JSON, of this schema if there is one.
    json: Option<Option<JsonSchema>>,
    tools: Option<ToolSet>,
    /// As the file has them.
    given_tools: Value,
}

/// Whether an answer has the form.
#[derive(Clone, Copy, Default)]
pub(super) struct FormVerdict {
    pub valid_json: Option<bool>,
    /// Calls of tools, and the valid ones.
    pub calls: Option<(u32, u32)>,
}

impl FormVerdict {
    pub(super) fn is_invalid(self) -> bool {
        self.valid_json == Some(false) || self.calls.is_some_and(|(all, valid)| valid < all)
    }
}

impl Form {
    /// What the options ask of all requests.
    pub(super) fn of_work(work: &Work) -> Result<Form, RunnerError> {
        let mut form = Form::default();
        if let Some(file) = &work.json_schema {
            form.json = Some(Some(read_schema("--json-schema", file)?));
        }
        if let Some(file) = &work.tools {
            let text = read("--tools", file)?;
            let no_tools = || format!("--tools: {} has no tools", file.display());
            let tools: Value = serde_json::from_str(&text).with_context(no_tools)?;
            let tools = match tools {
                Value::Object(mut object) => object.remove("tools").unwrap_or_default(),
                tools => tools,
            };
            form.tools = Some(ToolSet::new(&tools).with_context(no_tools)?);
            form.given_tools = tools;
        }
        Ok(form)
    }

    /// What a row that is a body of its own asks beside; of what cannot be read nothing is said.
    pub(super) fn of_row(&self, content: &Content) -> Form {
        let mut form = self.clone();
        let Content::Body(body) = content else {
            return form;
        };
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let format = &body["response_format"];
        match format["type"].as_str() {
            _ if form.json.is_some() => {}
            Some("json_schema") => form.json = JsonSchema::new(format.clone()).ok().map(Some),
            Some("json_object") => form.json = Some(None),
            _ => {}
        }
        if form.tools.is_none() {
            form.tools = ToolSet::new(&body["tools"]).ok();
        }
        form
    }

    pub(super) fn asks_nothing(&self) -> bool {
        self.json.is_none() && self.tools.is_none()
    }

    /// Fields of a request to chat.
    pub(super) fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        if let Some(Some(schema)) = &self.json {
            let schema = json!({"name": "answer", "strict": true, "schema": schema.as_json()});
            let format = json!({"type": "json_schema", "json_schema": schema});
            fields.insert("response_format".into(), format);
        }
        if self.tools.is_some() {
            fields.insert("tools".into(), self.given_tools.clone());
        }
        fields
    }

    pub(super) fn verdict(&self, text: &RequestText) -> FormVerdict {
        let is_json = || serde_json::from_str::<Value>(text.answer.trim()).is_ok();
        let calls = self.tools.as_ref().map(|tools| {
            let valid = text
                .calls
                .iter()
                .filter(|it| tools.takes(&it.name, &it.arguments));
            (text.calls.len() as u32, valid.count() as u32)
        });
        // An answer that calls a tool in place of speaking owes no JSON.
        let speaks = calls.is_none_or(|(all, _)| all == 0);
        FormVerdict {
            valid_json: (self.json.as_ref().filter(|_| speaks)).map(|schema| match schema {
                Some(schema) => schema.allows_text(&text.answer),
                None => is_json(),
            }),
            calls,
        }
    }
}

fn read(option: &str, file: &Path) -> Result<String, RunnerError> {
    user_file::read_text(file).with_context(|| format!("{option}: cannot read {}", file.display()))
}

pub(super) fn read_schema(option: &str, file: &Path) -> Result<JsonSchema, RunnerError> {
    JsonSchema::parse(&read(option, file)?)
        .with_context(|| format!("{option}: {} is not a JSON schema", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_store::texts_file::CalledTool;

    #[test]
    fn a_row_says_what_its_answer_is_held_against() {
        let body = r#"{"messages": [], "response_format": {"type": "json_object"},
            "tools": [{"type": "function", "function": {"name": "now"}}]}"#;
        let form = Form::default().of_row(&Content::Body(body.into()));
        let spoken = |answer: &str| RequestText {
            answer: answer.to_owned(),
            ..RequestText::default()
        };
        assert_eq!(form.verdict(&spoken("{}")).valid_json, Some(true));
        assert!(form.verdict(&spoken("{")).is_invalid());
        let call = |name: &str| CalledTool {
            name: name.to_owned(),
            arguments: String::new(),
        };
        let called = RequestText {
            calls: vec![call("now"), call("then")],
            ..RequestText::default()
        };
        let verdict = form.verdict(&called);
        assert_eq!((verdict.valid_json, verdict.calls), (None, Some((2, 1))));
        assert!(verdict.is_invalid());
        assert!(
            Form::default()
                .of_row(&Content::Text("a".into()))
                .asks_nothing()
        );
    }
}
