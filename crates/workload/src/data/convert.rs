//! Rows of any format as rows of `custom`: one prompt and the length of its answer.

use super::row::{Row, RowContent};
use serde_json::Value;

/// The row as a line of JSON; absent if it is more than a prompt, or less.
pub fn to_custom(row: &Row, output_tokens: Option<u32>) -> Option<String> {
    let (prompt, asked) = match &row.content {
        RowContent::Text(text) => (text.to_string(), None),
        RowContent::Turns(turns) => (turns.first()?.user.to_string(), None),
        RowContent::Messages(messages) => {
            (only_message(serde_json::from_str(messages).ok()?)?, None)
        }
        RowContent::Body(body) => of_body(serde_json::from_str(body).ok()?)?,
        RowContent::Lengths { .. } => return None,
    };
    let prompt = Value::from(prompt);
    let tokens = output_tokens.or(asked).filter(|tokens| *tokens > 0);
    Some(match tokens {
        Some(tokens) => format!("{{\"prompt\":{prompt},\"output_tokens\":{tokens}}}"),
        None => format!("{{\"prompt\":{prompt}}}"),
    })
}

/// What a user says alone, without a system's words or a history before it.
fn only_message(messages: Value) -> Option<String> {
    let [message] = messages.as_array()?.as_slice() else {
        return None;
    };
    let user = message["role"] == "user";
    message["content"]
        .as_str()
        .filter(|_| user)
        .map(str::to_owned)
}

fn of_body(mut body: Value) -> Option<(String, Option<u32>)> {
    let limit = ["max_tokens", "max_completion_tokens"]
        .iter()
        .find_map(|field| body[*field].as_u64());
    let prompt = match body["prompt"].take() {
        Value::String(prompt) => prompt,
        _ => only_message(body["messages"].take())?,
    };
    Some((prompt, limit.and_then(|limit| u32::try_from(limit).ok())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(content: RowContent, tokens: Option<u32>) -> Option<String> {
        let row = Row {
            content,
            ..Row::of_text("")
        };
        to_custom(&row, tokens)
    }

    #[test]
    fn what_is_one_prompt_becomes_one_and_nothing_is_lost_silently() {
        let text = converted(RowContent::Text("a \"b\"\n".into()), Some(7));
        assert_eq!(
            text.as_deref(),
            Some(r#"{"prompt":"a \"b\"\n","output_tokens":7}"#)
        );
        let one = r#"[{"role":"user","content":"hi"}]"#;
        let alone = converted(RowContent::Messages(one.into()), None);
        assert_eq!(alone.as_deref(), Some(r#"{"prompt":"hi"}"#));
        let two = r#"[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}]"#;
        assert_eq!(converted(RowContent::Messages(two.into()), None), None);
        let body = r#"{"model":"m","prompt":"once","max_tokens":9}"#;
        let body = converted(RowContent::Body(body.into()), None);
        assert_eq!(
            body.as_deref(),
            Some(r#"{"prompt":"once","output_tokens":9}"#)
        );
    }
}
