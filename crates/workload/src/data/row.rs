//! What a row of a data set holds, whatever its format.

use inferometer_core::work::Wait;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub content: RowContent,
    /// Output tokens that the data ask for.
    pub output_tokens: Option<u32>,
    /// The answer in the data; its number of tokens is the length to ask for.
    pub reference: Option<Arc<str>>,
    /// What a right answer says, where that is no model's answer: it tells nothing of a length.
    pub expected: Option<Arc<str>>,
}

/// What is sent for a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RowContent {
    Text(Arc<str>),
    /// A JSON array of messages.
    Messages(Arc<str>),
    /// A JSON object whose fields win over ours.
    Body(Arc<str>),
    /// A conversation; at least one turn.
    Turns(Arc<[Turn]>),
    /// Lengths without text: a request of a trace.
    Lengths {
        /// Time since the first request of the trace.
        at: Duration,
        /// Prompt tokens, at least one.
        input_tokens: u32,
        /// Blocks of the prompt: equal numbers, equal text. Empty where the trace has none.
        blocks: Arc<[u64]>,
        /// Tokens of each block.
        block_tokens: u32,
        /// Its place in a session, where the trace has sessions.
        link: Option<Arc<Link>>,
    },
}

/// The place of a request in its session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    pub session: u64,
    /// Its own name.
    pub id: u64,
    /// Names of the requests that it waits for.
    pub after: Box<[u64]>,
    pub wait: Wait,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Turn {
    pub user: Arc<str>,
    pub answer: Option<Arc<str>>,
}

impl Row {
    /// A text of which nothing else is known.
    pub fn of_text(text: &str) -> Self {
        Row {
            content: RowContent::Text(text.into()),
            output_tokens: None,
            reference: None,
            expected: None,
        }
    }

    /// Bytes that the row takes while it is kept.
    pub(super) fn held_bytes(&self) -> usize {
        let content = match &self.content {
            RowContent::Text(text) | RowContent::Messages(text) | RowContent::Body(text) => {
                text.len()
            }
            RowContent::Turns(turns) => turns
                .iter()
                .map(|turn| turn.user.len() + turn.answer.as_ref().map_or(0, |text| text.len()))
                .sum::<usize>(),
            RowContent::Lengths { blocks, link, .. } => {
                let linked = |link: &Link| size_of::<Link>() + size_of_val(&*link.after);
                size_of_val(&**blocks) + link.as_deref().map_or(0, linked)
            }
        };
        let further = [&self.reference, &self.expected].into_iter().flatten();
        content + further.map(|text| text.len()).sum::<usize>() + size_of::<Row>()
    }
}

impl RowContent {
    /// The text whose length is the prompt's: that of the first turn in a conversation, that of
    /// all messages together in a list of them.
    pub fn prompt_text(&self) -> Cow<'_, str> {
        match self {
            RowContent::Text(text) => Cow::Borrowed(text),
            RowContent::Turns(turns) => Cow::Borrowed(turns.first().map_or("", |turn| &turn.user)),
            RowContent::Messages(json) => Cow::Owned(text_of_messages(json)),
            RowContent::Body(json) => Cow::Owned(text_of_body(json)),
            RowContent::Lengths { .. } => Cow::Borrowed(""),
        }
    }
}

fn text_of_messages(json: &str) -> String {
    let mut text = String::new();
    if let Ok(messages) = serde_json::from_str::<Value>(json) {
        gather(&messages, &mut text);
    }
    text
}

fn text_of_body(json: &str) -> String {
    let mut text = String::new();
    if let Ok(Value::Object(body)) = serde_json::from_str(json) {
        for field in ["messages", "prompt", "input", "query", "documents", "texts"] {
            gather(body.get(field).unwrap_or(&Value::Null), &mut text);
        }
    }
    text
}

/// Texts of messages and of their parts, one a line.
fn gather(value: &Value, text: &mut String) {
    match value {
        Value::String(part) => {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(part);
        }
        Value::Array(parts) => parts.iter().for_each(|part| gather(part, text)),
        Value::Object(message) => {
            for field in ["content", "text"] {
                gather(message.get(field).unwrap_or(&Value::Null), text);
            }
        }
        _ => {}
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picked {
    pub row: Row,
    /// The line where it begins, counted from 1.
    pub line: u64,
    /// Tokens of the prompt, or of the first turn; known for traces, else counted if there is a
    /// tokenizer.
    pub prompt_tokens: Option<u32>,
    /// Tokens of the reference, or of the first answer, if there is a tokenizer.
    pub reference_tokens: Option<u32>,
    /// Tokens of all turns of a conversation, if there is a tokenizer.
    pub turns: Box<[TurnTokens]>,
}

impl Picked {
    /// Tokens to ask for, where the row says so or has an answer of its own.
    pub fn asked(&self) -> Option<u32> {
        let asked = self.row.output_tokens.or(self.reference_tokens);
        asked.filter(|tokens| *tokens > 0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnTokens {
    /// Of what the user says.
    pub user: Option<u32>,
    /// Of the answer in the data.
    pub answer: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_messages_is_that_of_what_they_say() {
        let messages = r#"[{"role":"system","content":"be short"},
            {"role":"user","content":[{"type":"text","text":"你好"},{"type":"image_url"}]}]"#;
        let content = RowContent::Messages(messages.into());
        assert_eq!(content.prompt_text(), "be short\n你好");
        let body = RowContent::Body(r#"{"model":"m","prompt":"once"}"#.into());
        assert_eq!(body.prompt_text(), "once");
    }
}
