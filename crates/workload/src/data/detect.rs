//! Which format a file has, from its first rows and never from its name.

use super::error::{DataError, listed};
use super::format::{csv, line, vllm_log};
use super::head::{head_of, shape_of};
use super::media::sounds;
use super::object::Object;
use super::rows::{Rows, Shape};
use super::source;
use inferometer_core::work::DataFormat;
use inferometer_text::hostile::printable;
use std::path::Path;

/// Rows that are looked at: the first may be a broken one.
const LOOKED_AT: usize = 20;

/// Fields that often hold a prompt and say nothing of a format: worth a hint, not a guess.
const OFTEN_PROMPTS: [&str; 6] = ["input", "query", "text", "content", "problem", "title"];

/// The format of a file. `field` is where the user says that the prompt is.
pub fn detect(path: &Path, field: Option<&str>) -> Result<DataFormat, DataError> {
    let head = source::open(path).and_then(|(mut source, _)| head_of(&mut source));
    format_of(
        path,
        &head.map_err(|error| DataError::unreadable(path, error))?,
        field,
    )
}

/// The format of the file that begins with `head`.
pub fn format_of(path: &Path, head: &[u8], field: Option<&str>) -> Result<DataFormat, DataError> {
    let rows = first_rows(head);
    match rows.first() {
        None if head.trim_ascii().is_empty() => {
            return Err(DataError::Empty {
                path: path.to_owned(),
            });
        }
        Some(row) if csv::is_header(row, csv::BURST_GPT) => return Ok(DataFormat::BurstGpt),
        Some(row) if csv::is_header(row, csv::AZURE) => return Ok(DataFormat::Azure),
        // A table that lacks a column is not text: as the trace that it nearly is, it gets an
        // error that names the column.
        Some(row) if csv::is_like_header(row) => {
            return Ok(if row.contains(csv::AZURE[0]) {
                DataFormat::Azure
            } else {
                DataFormat::BurstGpt
            });
        }
        _ => {}
    }
    if rows.iter().any(|row| vllm_log::is_request(row)) {
        return Ok(DataFormat::VllmLog);
    }
    if !mostly_json(&rows, head) {
        return Ok(DataFormat::Line);
    }
    match rows.iter().find_map(|row| Object::parse(row).ok()) {
        Some(row) => of_fields(&row, field).ok_or_else(|| DataError::UnknownKeys {
            path: path.to_owned(),
            keys: listed(row.keys()),
            likely: likely_field(&row),
        }),
        None => Ok(DataFormat::Line),
    }
}

/// The rows of a file that begins with `head` are JSON, sound or not.
pub fn holds_json(head: &[u8]) -> bool {
    mostly_json(&first_rows(head), head)
}

fn mostly_json(rows: &[String], head: &[u8]) -> bool {
    if rows.is_empty() {
        return shape_of(head) == Shape::Array;
    }
    let json = rows.iter().filter(|row| line::looks_like_json(row)).count();
    json > rows.len() / 2
}

fn first_rows(head: &[u8]) -> Vec<String> {
    let mut rows = Rows::new(head, shape_of(head));
    let mut first = Vec::new();
    for _ in 0..LOOKED_AT {
        match rows.next_row() {
            Ok(Some(row)) => first.extend(row.text.ok().map(str::to_owned)),
            _ => break,
        }
    }
    first
}

fn of_fields(row: &Object, field: Option<&str>) -> Option<DataFormat> {
    use DataFormat::*;
    let has = |field| row.get(field).is_some();
    let solved =
        || matches!(row.optional_text("answer"), Ok(Some(answer)) if answer.contains("####"));
    let question = if solved() { Gsm8k } else { OpenQa };
    let has_length = |field| has("input_length") && has(field);
    let formats = [
        (has("conversations") || has("conversation"), ShareGpt),
        (has_length("chat_id"), Bailian),
        (has_length("session_id"), Trace),
        (has_length("timestamp") || has_length("hash_ids"), Mooncake),
        (
            has("requests") && (has("block_size") || has("hash_id_scope")),
            Agentic,
        ),
        (
            has("resourceSpans") || (has("attributes") && has("context")),
            Otel,
        ),
        (
            has("startTime") && (has("call_type") || has("prompt_tokens")),
            LiteLlm,
        ),
        (has("messages") || line::is_body(row), Line),
        (has("question"), question),
        (has("instruction"), Instruct),
        (has("prompt"), Custom),
        (sounds::are_in(row) || field.is_some(), OpenQa),
    ];
    let found = formats.into_iter().find(|(is_it, _)| *is_it);
    found.map(|(_, format)| format)
}

fn likely_field(row: &Object) -> String {
    let often = OFTEN_PROMPTS.iter().find(|field| row.get(field).is_some());
    printable(often.unwrap_or(&"NAME"), 40)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, field: Option<&str>) -> Result<DataFormat, String> {
        format_of("data.json".as_ref(), text.as_bytes(), field).map_err(|error| error.to_string())
    }

    #[test]
    fn fields_decide() {
        use DataFormat::*;
        for (format, texts) in [
            (
                ShareGpt,
                &[
                    "[\n {\"id\": 1, \"conversations\": []}]",
                    "{\"conversations\": []}\n",
                ][..],
            ),
            (Mooncake, &[r#"{"timestamp": 1, "input_length": 2}"#]),
            (
                Bailian,
                &[r#"{"timestamp": 1, "input_length": 2, "chat_id": 3}"#],
            ),
            (Trace, &[r#"{"session_id": 1, "input_length": 2}"#]),
            (
                Agentic,
                &["{\n \"id\": \"a\",\n \"block_size\": 64,\n \"requests\": []\n}\n"],
            ),
            (Otel, &[r#"{"resourceSpans": []}"#]),
            (
                LiteLlm,
                &[r#"{"startTime": 1, "call_type": "completion", "messages": []}"#],
            ),
            (
                VllmLog,
                &[
                    "INFO:     Started\nINFO 11-17 05:13:48 [logger.py:43] Received request a: prompt: 'b', params: c\n",
                ],
            ),
            (
                Gsm8k,
                &["{\"question\": \"a\", \"answer\": \"b\\n#### 3\"}"],
            ),
            (
                OpenQa,
                &[
                    r#"{"question": "a", "answer": "b"}"#,
                    r#"{"audio_filepath": "a.wav", "duration": 2.5, "text": "said"}"#,
                    // A broken first row does not hide what the others are.
                    "{\"question\": \"a\n{\"question\": \"b\"}\n",
                ],
            ),
            (Instruct, &[r#"[{"instruction": "a"}]"#]),
            (Custom, &[r#"{"prompt": "a", "output_tokens": 3}"#]),
            (
                Line,
                &[
                    r#"{"prompt": "a", "max_tokens": 3}"#,
                    r#"{"model": "a", "prompt": "b"}"#,
                    r#"{"messages": []}"#,
                    "[{\"role\": \"user\", \"content\": \"a\"}]\n",
                    r#"["a", "b"]"#,
                    "Why?\n{\"question\": 1}\nHow?",
                    "{name} is here\n",
                ],
            ),
            (Azure, &["TIMESTAMP,ContextTokens,GeneratedTokens\n"]),
            (
                BurstGpt,
                &["\"Timestamp\",Model,Request tokens,Response tokens\r\n"],
            ),
        ] {
            for text in texts {
                assert_eq!(found(text, None), Ok(format), "{text}");
            }
        }
    }

    #[test]
    fn unknown_fields_are_listed_and_a_name_settles_it() {
        let row = "{\"id\": 1, \"query\": \"why\"}";
        let message = found(row, None).unwrap_err();
        assert!(message.contains("'id', 'query'"), "{message}");
        assert!(message.contains("--field query"), "{message}");
        assert_eq!(found(row, Some("query")), Ok(DataFormat::OpenQa));
    }

    #[test]
    fn nothing_is_no_data() {
        for text in ["", " \n\n"] {
            assert!(found(text, None).unwrap_err().contains("is empty"));
        }
    }
}
