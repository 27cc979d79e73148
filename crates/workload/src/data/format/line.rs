//! One prompt per line: plain text, or JSON that is a string, an array of messages, an object with
//! messages, or a whole request body.

use super::reader::{Reader, Reading, text_row};
use crate::data::error::{Fault, listed};
use crate::data::object::{Object, from_json};
use crate::data::row::{Row, RowContent};
use serde_json::value::RawValue;
use std::borrow::Cow;

pub struct Plain;

impl Reader for Plain {
    fn read(&mut self, row: &str) -> Result<Reading, Fault> {
        Ok(text_row(row, None, None))
    }
}

pub struct Json {
    pub field: Option<String>,
}

/// Fields that only a request has. An object with one of them and something to ask is a body;
/// without, its other fields are notes of the data set that no server should see.
const OF_REQUESTS: [&str; 16] = [
    "model",
    "max_tokens",
    "max_completion_tokens",
    "min_tokens",
    "temperature",
    "top_p",
    "top_k",
    "stream",
    "stop",
    "n",
    "seed",
    "tools",
    "tool_choice",
    "response_format",
    "ignore_eos",
    "logprobs",
];

/// Fields that hold what a body asks.
const ASKING: [&str; 3] = ["messages", "prompt", "input"];

/// Fields of a request to rank or to score.
const QUERIES: [&str; 2] = ["query", "text_1"];
const DOCUMENTS: [&str; 3] = ["documents", "texts", "text_2"];

/// The object is one that a server would take as a request.
pub fn is_body(row: &Object) -> bool {
    let has = |fields: &[&str]| fields.iter().any(|field| row.get(field).is_some());
    let is_list = |field: &str| row.get(field).is_some_and(|it| it.get().starts_with('['));
    let of_items = is_list("input") || has(&QUERIES) && has(&DOCUMENTS);
    of_items || has(&ASKING) && has(&OF_REQUESTS)
}

impl Reader for Json {
    fn read(&mut self, row: &str) -> Result<Reading, Fault> {
        let row = row.trim();
        match row.as_bytes().first() {
            Some(b'"') => Ok(text_row(&from_json::<Cow<str>>(row)?, None, None)),
            Some(b'[') => messages(row),
            _ => self.object(row),
        }
    }
}

impl Json {
    fn object(&self, text: &str) -> Result<Reading, Fault> {
        let row = Object::parse(text)?;
        if let Some(field) = &self.field {
            return Ok(text_row(&row.text(field)?, None, None).expecting(row.expected()));
        }
        if is_body(&row) {
            let newer = row.optional_tokens("max_completion_tokens")?;
            return Ok(Reading::Row(Row {
                content: RowContent::Body(row.as_request(text)),
                output_tokens: newer.or(row.optional_tokens("max_tokens")?),
                reference: None,
                expected: row.expected(),
            }));
        }
        match row.get("messages") {
            Some(list) => Ok(messages(list.get())?.expecting(row.expected())),
            None => Err(Fault::NoPrompt {
                found: listed(row.keys()),
            }),
        }
    }
}

/// Messages as they are, but for an answer at their end: that is the reference.
fn messages(json: &str) -> Result<Reading, Fault> {
    let list: Vec<&RawValue> = from_json(json)?;
    let mut reference = None;
    for (place, message) in list.iter().enumerate() {
        let message = Object::parse(message.get())?;
        let role = message.text("role")?;
        if place + 1 == list.len() && role == "assistant" {
            reference = Some(message.text("content")?.into());
        }
    }
    let asked = &list[..list.len() - usize::from(reference.is_some())];
    if asked.is_empty() {
        return Ok(Reading::Unusable);
    }
    let content = match reference {
        Some(_) => {
            let texts: Vec<&str> = asked.iter().map(|message| message.get()).collect();
            format!("[{}]", texts.join(",")).into()
        }
        None => json.into(),
    };
    Ok(Reading::Row(Row {
        content: RowContent::Messages(content),
        output_tokens: None,
        reference,
        expected: None,
    }))
}

/// The row looks like JSON, sound or not; no one writes a prompt like that.
pub fn looks_like_json(row: &str) -> bool {
    let mut marks = row.chars().filter(|c| !c.is_whitespace());
    match (marks.next(), marks.next()) {
        (Some('{'), Some('"')) | (Some('['), Some('{')) => true,
        (Some('"'), _) => serde_json::from_str::<String>(row).is_ok(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Reading, Fault> {
        Json { field: None }.read(text)
    }

    fn row(text: &str) -> Row {
        match read(text) {
            Ok(Reading::Row(row)) => row,
            other => panic!("{other:?}"),
        }
    }

    const USER: &str = r#"{"role": "user", "content": "hi"}"#;

    #[test]
    fn messages_are_sent_as_they_are_alone_or_within_an_object() {
        let list = format!(r#"[{{"role": "system", "content": "s"}}, {USER}]"#);
        let expected = RowContent::Messages(list.as_str().into());
        assert_eq!(row(&list).content, expected);
        let object = format!(r#"{{"id": 7, "source": "x", "messages": {list}}}"#);
        assert_eq!(row(&object).content, expected);
    }

    #[test]
    fn an_answer_at_the_end_is_the_reference_and_not_sent() {
        let list = format!(r#"[{USER}, {{"role": "assistant", "content": "hello"}}]"#);
        let row = row(&list);
        assert_eq!(
            row.content,
            RowContent::Messages(format!("[{USER}]").into())
        );
        assert_eq!(row.reference.as_deref(), Some("hello"));
        let answer = r#"[{"role": "assistant", "content": "hello"}]"#;
        assert_eq!(read(answer), Ok(Reading::Unusable));
        assert_eq!(read("[]"), Ok(Reading::Unusable));
    }

    #[test]
    fn a_request_body_is_kept_whole_and_its_limit_is_known() {
        let body = format!(r#"{{"messages": [{USER}], "max_tokens": 9, "top_p": 0.5}}"#);
        let row = row(&body);
        assert_eq!(row.content, RowContent::Body(body.into()));
        assert_eq!(row.output_tokens, Some(9));
        for items in [
            r#"{"input": ["a", "b"]}"#,
            r#"{"query": "q", "documents": ["a"]}"#,
        ] {
            let row = self::row(items);
            assert_eq!(row.content, RowContent::Body(items.into()));
        }
        let completion = r#"{"model": "m", "prompt": "once"}"#;
        assert!(matches!(read(completion), Ok(Reading::Row(row)) if row.output_tokens.is_none()));
    }

    #[test]
    fn a_field_by_name_is_the_prompt() {
        let mut reader = Json {
            field: Some("ask".to_owned()),
        };
        let expected = Ok(text_row("why", None, None));
        assert_eq!(reader.read(r#"{"ask": "why", "model": "m"}"#), expected);
    }

    #[test]
    fn json_without_a_prompt_is_bad_and_says_what_there_is() {
        let message = read(r#"{"id": 1, "body": "x"}"#).unwrap_err().to_string();
        assert!(message.contains("'id', 'body'"), "{message}");
        for bad in [
            r#"{"messages": "#,
            r#"{"messages": "x"}"#,
            r#"[{"content": "x"}]"#,
            "[3]",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_what_no_one_would_write_as_a_prompt_looks_like_json() {
        for json in ["{\"a", "{ \"a\": 1}", "[{\"role\"", " [ {", "\"quoted\""] {
            assert!(looks_like_json(json), "{json}");
        }
        for text in [
            "{name}, hello",
            "[INST] hi",
            "\"He said\" and left",
            "",
            "{",
        ] {
            assert!(!looks_like_json(text), "{text}");
        }
    }
}
