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
    let has = |field| row.get(field).is_some();
    let solved =
        || matches!(row.optional_text("answer"), Ok(Some(answer)) if answer.contains("####"));
    if has("conversations") || has("conversation") {
        Some(DataFormat::ShareGpt)
    } else if has("input_length") && has("chat_id") {
        Some(DataFormat::Bailian)
    } else if has("input_length") && has("session_id") {
        Some(DataFormat::Trace)
    } else if has("input_length") && (has("timestamp") || has("hash_ids")) {
        Some(DataFormat::Mooncake)
    } else if has("requests") && (has("block_size") || has("hash_id_scope")) {
        Some(DataFormat::Agentic)
    } else if has("resourceSpans") || (has("attributes") && has("context")) {
        Some(DataFormat::Otel)
    } else if has("startTime") && (has("call_type") || has("prompt_tokens")) {
        Some(DataFormat::LiteLlm)
    } else if has("messages") || line::is_body(row) {
        Some(DataFormat::Line)
    } else if has("question") {
        Some(if solved() {
            DataFormat::Gsm8k
        } else {
            DataFormat::OpenQa
        })
    } else if has("instruction") {
        Some(DataFormat::Instruct)
    } else if has("prompt") {
        Some(DataFormat::Custom)
    } else if sounds::are_in(row) {
        Some(DataFormat::OpenQa)
    } else {
        field.map(|_| DataFormat::OpenQa)
    }
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
        for (text, format) in [
            (
                "[\n {\"id\": 1, \"conversations\": []}]",
                DataFormat::ShareGpt,
            ),
            ("{\"conversations\": []}\n", DataFormat::ShareGpt),
            (
                "{\"timestamp\": 1, \"input_length\": 2}",
                DataFormat::Mooncake,
            ),
            (
                "{\"timestamp\": 1, \"input_length\": 2, \"chat_id\": 3}",
                DataFormat::Bailian,
            ),
            (
                "{\"session_id\": 1, \"input_length\": 2}",
                DataFormat::Trace,
            ),
            (
                "{\n \"id\": \"a\",\n \"block_size\": 64,\n \"requests\": []\n}\n",
                DataFormat::Agentic,
            ),
            ("{\"resourceSpans\": []}", DataFormat::Otel),
            (
                "{\"startTime\": 1, \"call_type\": \"completion\", \"messages\": []}",
                DataFormat::LiteLlm,
            ),
            (
                "INFO:     Started\nINFO 11-17 05:13:48 [logger.py:43] Received request a: prompt: 'b', params: c\n",
                DataFormat::VllmLog,
            ),
            (
                "{\"question\": \"a\", \"answer\": \"b\\n#### 3\"}",
                DataFormat::Gsm8k,
            ),
            (
                "{\"question\": \"a\", \"answer\": \"b\"}",
                DataFormat::OpenQa,
            ),
            ("[{\"instruction\": \"a\"}]", DataFormat::Instruct),
            (
                "{\"prompt\": \"a\", \"output_tokens\": 3}",
                DataFormat::Custom,
            ),
            ("{\"prompt\": \"a\", \"max_tokens\": 3}", DataFormat::Line),
            (
                "{\"audio_filepath\": \"a.wav\", \"duration\": 2.5, \"text\": \"said\"}",
                DataFormat::OpenQa,
            ),
            ("{\"model\": \"a\", \"prompt\": \"b\"}", DataFormat::Line),
            ("{\"messages\": []}", DataFormat::Line),
            (
                "[{\"role\": \"user\", \"content\": \"a\"}]\n",
                DataFormat::Line,
            ),
            ("[\"a\", \"b\"]", DataFormat::Line),
            ("Why?\n{\"question\": 1}\nHow?", DataFormat::Line),
            ("{name} is here\n", DataFormat::Line),
            (
                "TIMESTAMP,ContextTokens,GeneratedTokens\n",
                DataFormat::Azure,
            ),
            (
                "\"Timestamp\",Model,Request tokens,Response tokens\r\n",
                DataFormat::BurstGpt,
            ),
            // A broken first row does not hide what the others are.
            (
                "{\"question\": \"a\n{\"question\": \"b\"}\n",
                DataFormat::OpenQa,
            ),
        ] {
            assert_eq!(found(text, None), Ok(format), "{text}");
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
