//! LiteLLM's log of requests: its standard payload, or rows of its table of spendings, as JSON.

use super::csv::time_of_day;
use super::logged::{LogReader, Logged, Said, Steady};
use super::trace::nanoseconds;
use crate::data::error::Fault;
use crate::data::object::from_json;
use inferometer_text::hostile::printable;
use serde_json::Value;

#[derive(Debug, Default)]
pub struct LiteLlm {
    clock: Steady,
}

/// Calls that are no generation of text.
const OTHERS: [&str; 6] = [
    "embedding",
    "transcription",
    "image",
    "rerank",
    "moderation",
    "speech",
];

impl LogReader for LiteLlm {
    fn read(&mut self, row: &str) -> Result<Vec<Logged>, Fault> {
        let row: Value = from_json(row)?;
        let kind = row["call_type"].as_str().unwrap_or_default();
        let other = OTHERS.iter().any(|other| kind.contains(other));
        if other || row["status"] == "failure" {
            return Ok(Vec::new());
        }
        let count = |name: &str| {
            let said = [
                &row[name],
                &row["usage"][name],
                &row["response"]["usage"][name],
            ];
            said.into_iter().find_map(Value::as_u64)
        };
        let name = |value: &Value| {
            value
                .as_str()
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
        };
        let message = &row["response"]["choices"][0]["message"];
        let request = Logged {
            start_ns: time(&row["startTime"])?.ok_or_else(|| Fault::NoField {
                field: "startTime".to_owned(),
                found: "no time".to_owned(),
            })?,
            end_ns: time(&row["endTime"])?,
            // The log may hold them as text.
            prompt: match &row["messages"] {
                Value::String(json) => {
                    Said::of_json(&serde_json::from_str(json).unwrap_or_default())
                }
                messages => Said::of_json(messages),
            },
            input_tokens: count("prompt_tokens"),
            output_tokens: count("completion_tokens").filter(|tokens| *tokens > 0),
            answer: name(&message["content"]),
            session: name(&row["session_id"]).or_else(|| name(&row["metadata"]["session_id"])),
            run: name(&row["trace_id"]).or_else(|| name(&row["litellm_trace_id"])),
        };
        self.clock.check_request(&request)?;
        Ok(vec![request])
    }
}

/// A number of seconds since 1970, or a date.
fn time(value: &Value) -> Result<Option<i64>, Fault> {
    let bad = || Fault::NoTime(printable(&value.to_string(), 60));
    match value {
        Value::Null => Ok(None),
        Value::String(text) => time_of_day(text).map(Some).ok_or_else(bad),
        number => {
            let seconds = number
                .as_f64()
                .and_then(|time| nanoseconds(time, 1_000_000_000));
            seconds.map(Some).ok_or_else(bad)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_and_rows_of_the_table_say_the_same() {
        let payload = r#"{"id":"c1","trace_id":"t","call_type":"acompletion","startTime":1731823200.5,"endTime":1731823202.0,"status":"success","prompt_tokens":12,"completion_tokens":7,"messages":[{"role":"user","content":"hi"}],"response":{"choices":[{"message":{"content":"hello"}}]}}"#;
        let row = r#"{"request_id":"c1","call_type":"acompletion","startTime":"2024-11-17 06:00:00.500000","endTime":"2024-11-17T06:00:02Z","prompt_tokens":12,"completion_tokens":7,"messages":"[{\"role\":\"user\",\"content\":\"hi\"}]","session_id":"s"}"#;
        let read = |row: &str| LiteLlm::default().read(row).unwrap().remove(0);
        let (one, other) = (read(payload), read(row));
        assert_eq!((one.start_ns, one.end_ns), (other.start_ns, other.end_ns));
        assert_eq!(one.prompt, Said::Parts(vec!["user\nhi".to_owned()]));
        assert_eq!(one.prompt, other.prompt);
        assert_eq!(one.output_tokens, Some(7));
        assert_eq!(
            (one.run.as_deref(), other.session.as_deref()),
            (Some("t"), Some("s"))
        );
    }

    #[test]
    fn what_is_no_answer_of_text_is_left_out_and_what_has_no_time_is_bad() {
        let mut reader = LiteLlm::default();
        let embedding = r#"{"call_type":"aembedding","startTime":1}"#;
        let failed = r#"{"call_type":"completion","status":"failure","startTime":1}"#;
        assert_eq!(reader.read(embedding), Ok(Vec::new()));
        assert_eq!(reader.read(failed), Ok(Vec::new()));
        assert!(reader.read(r#"{"call_type":"completion"}"#).is_err());
        assert!(reader.read(r#"{"startTime":"soon"}"#).is_err());
    }
}
