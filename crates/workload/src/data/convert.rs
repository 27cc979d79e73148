//! Rows of any format in another: as rows of `custom`, one prompt and the length of its answer,
//! or as those of a trace, which hold no text.

use super::error::DataError;
use super::row::{Picked, Row, RowContent};
use super::sessions::grouped;
use inferometer_core::work::Wait;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;

/// The requests of a trace or a log on their way to a trace of our own form.
#[derive(Clone, Debug, Default)]
pub struct TraceWriter {
    rows: Vec<Picked>,
}

impl TraceWriter {
    /// Takes a row; false if it has no lengths.
    pub fn add(&mut self, row: &Row, line: u64) -> bool {
        let known = matches!(row.content, RowContent::Lengths { .. });
        if known {
            self.rows.push(Picked {
                row: row.clone(),
                line,
                prompt_tokens: None,
                reference_tokens: None,
                turns: Box::default(),
            });
        }
        known
    }

    /// The lines in the order of their times. Blocks and sessions are numbered in the order in
    /// which they occur, so that nothing of what they were made from is left.
    pub fn lines(&self, path: &Path) -> Result<Vec<String>, DataError> {
        let trace = grouped(&self.rows, path)?;
        let mut order: Vec<(usize, usize)> = Vec::with_capacity(trace.rows.len());
        for (session, begin) in trace.begins.iter().enumerate() {
            let end = trace.begins.get(session + 1).copied();
            order.extend((*begin..end.unwrap_or(trace.rows.len())).map(|row| (row, session)));
        }
        // A request never stands before one that it waits for, whatever the clocks said.
        let mut keys = trace.times.clone();
        for (place, session) in &order {
            if let Some(follows) = &trace.rows[*place].follows {
                let before = follows
                    .after
                    .iter()
                    .map(|turn| trace.begins[*session] + *turn as usize);
                let latest = before.map(|place| keys[place]).max();
                keys[*place] = keys[*place].max(latest.unwrap_or_default());
            }
        }
        order.sort_by_key(|(row, _)| keys[*row]);
        let mut written: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut names: HashMap<u64, u64> = HashMap::new();
        let mut lines = Vec::with_capacity(order.len());
        for (place, session) in order {
            let row = &trace.rows[place];
            let turns = written.entry(session).or_default();
            let blocks: Vec<u64> = row
                .blocks
                .iter()
                .map(|block| {
                    let next = names.len() as u64;
                    *names.entry(*block).or_insert(next)
                })
                .collect();
            let millis = |span: std::time::Duration| (span.as_secs_f64() * 1e6).round() / 1e3;
            let mut line = json!({
                "timestamp": millis(trace.times[place]),
                "session_id": session,
                "input_length": row.input_tokens,
                "output_length": row.output_tokens,
                "block_size": row.block_tokens,
                "hash_ids": blocks,
            });
            if let Some(follows) = &row.follows {
                let begin = trace.begins[session];
                let turn_of = |turn: &u32| {
                    let place = begin + *turn as usize;
                    turns.iter().position(|written| *written == place)
                };
                line["after"] = follows.after.iter().filter_map(turn_of).collect();
                if let (Wait::SinceEnd(wait), false) = (follows.wait, follows.after.is_empty()) {
                    line["delay"] = json!(millis(wait));
                }
            }
            turns.push(place);
            lines.push(line.to_string());
        }
        Ok(lines)
    }
}

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
