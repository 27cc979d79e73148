//! JSON objects anywhere in a text: files, lines of JSONL, and objects glued to prose.

use crate::aiperf_records;
use crate::json_result::{self, Item};
use crate::notes::Notes;
use crate::result::ImportedResult;
use crate::{percentiles, python_object};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// How often the text may be gone over, so that no hostile nesting makes the search slow.
const PASSES: usize = 16;

/// Finds all results written as JSON objects. `text` is what `notes` was made of.
pub(crate) fn find(text: &str, notes: &mut Notes<'_>) -> Vec<ImportedResult> {
    let readable = without_python_numbers(text);
    // Replacements keep every line where it was, but not every byte.
    let index = Notes::new(&readable);
    let mut found: Vec<ImportedResult> = Vec::new();
    let mut rows: Vec<(usize, usize, Map<String, Value>)> = Vec::new();
    let mut requests = aiperf_records::Requests::default();
    let mut budget = readable.len().saturating_mul(PASSES) + 4096;
    // Printed dictionaries are small and whole; failing ones are not tried for long.
    let mut python_budget = readable.len().saturating_mul(2) + 4096;
    let mut at = 0;
    while let Some(open) = readable[at..].find('{').map(|offset| at + offset) {
        let mut stream =
            serde_json::Deserializer::from_str(&readable[open..]).into_iter::<Map<String, Value>>();
        let (object, read) = match stream.next() {
            Some(Ok(object)) => (Some(object), stream.byte_offset()),
            Some(Err(error)) => {
                let line = index.line_of(open) + error.line().saturating_sub(1);
                let starts = index.starts.get(line).filter(|_| error.line() > 1);
                let begin = starts.copied().unwrap_or(open);
                (None, (begin + error.column()).saturating_sub(open))
            }
            None => (None, 1),
        };
        let (object, read) = match object {
            None if python_budget > 0
                && readable[open + 1..].starts_with(['\'', '\n'])
                && readable[open + 1..].trim_start().starts_with('\'') =>
            {
                let (object, read) = python_object::read(&readable[open..]);
                python_budget = python_budget.saturating_sub(read);
                (object, read)
            }
            object => (object, read),
        };
        let Some(left) = budget.checked_sub(read.max(1)) else {
            break;
        };
        budget = left;
        at = open + 1;
        let Some(object) = object else { continue };
        let last = open + read.saturating_sub(1);
        let lines = (index.line_of(open), index.line_of(last));
        if aiperf_records::is_request(&object) {
            requests.add(&object, lines);
            notes.take(lines);
            at = open + read;
            continue;
        }
        match json_result::recognise(object, lines) {
            Item::Result(result) => {
                close_rows(&mut rows, &mut found, notes);
                notes.take(lines);
                found.push(*result);
                at = open + read;
            }
            Item::Page(results) => {
                notes.take((0, notes.lines.len()));
                found.extend(results);
                break;
            }
            Item::PercentileRow(row) => {
                rows.push((lines.0, lines.1, row));
                at = open + read;
            }
            Item::Unknown => {}
        }
    }
    close_rows(&mut rows, &mut found, notes);
    found.extend(requests.finish());
    found
}

/// Rows of EvalScope's percentile file become one result, or complete the summary before them.
fn close_rows(
    rows: &mut Vec<(usize, usize, Map<String, Value>)>,
    found: &mut Vec<ImportedResult>,
    notes: &mut Notes<'_>,
) {
    let (Some(first), Some(last)) = (rows.first().map(|row| row.0), rows.last().map(|row| row.1))
    else {
        return;
    };
    notes.take((first, last));
    let objects: Vec<Map<String, Value>> = rows.drain(..).map(|(_, _, row)| row).collect();
    let percentiles = json_result::percentiles(&objects, (first, last));
    percentiles::join(found, percentiles);
}

/// Python writes NaN and Infinity, which JSON does not have.
fn without_python_numbers(text: &str) -> Cow<'_, str> {
    if !text.contains("NaN") && !text.contains("Infinity") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['N', 'I']) {
        let (front, tail) = rest.split_at(at);
        let word = ["NaN", "Infinity"]
            .into_iter()
            .find(|word| tail.starts_with(word));
        let Some(word) = word else {
            let (passed, left) = rest.split_at(at + 1);
            out.push_str(passed);
            rest = left;
            continue;
        };
        out.push_str(front);
        rest = &tail[word.len()..];
        let signed = out.strip_suffix('-').map_or(out.len(), str::len);
        let is_value = out[..signed].ends_with([':', ',', '[', ' '])
            && rest.starts_with([',', '}', ']', '\n', '\r', ' ']);
        if is_value {
            out.truncate(signed);
            out.push_str(if word == "NaN" { "null" } else { "\"inf\"" });
        } else {
            out.push_str(word);
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}
