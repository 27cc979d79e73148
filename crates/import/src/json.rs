//! JSON objects anywhere in a text: files, lines of JSONL, and objects glued to prose.

use crate::aiperf_records;
use crate::json_result::{self, Item};
use crate::result::{ImportedResult, Tool};
use crate::{percentiles, python_object};
use inferometer_notes::Notes;
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
    let mut so_far: Option<SoFar> = None;
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
                at = open + read;
                if is_so_far(&readable[..open], &result) {
                    let next = SoFar { result, end: at };
                    let last = so_far
                        .take()
                        .filter(|last| last.is_all_there_is(&readable[..open], Some(&next)));
                    found.extend(last.map(|last| *last.result));
                    so_far = Some(next);
                } else {
                    found.push(*result);
                }
            }
            Item::Several(results) => {
                close_rows(&mut rows, &mut found, notes);
                notes.take(lines);
                at = open + read;
                found.extend(results);
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
            Item::Settings | Item::PartOfRun => {
                notes.take(lines);
                at = open + read;
            }
            Item::Unknown => {}
        }
    }
    close_rows(&mut rows, &mut found, notes);
    let last = so_far.filter(|last| last.is_all_there_is(&readable, None));
    found.extend(last.map(|last| *last.result));
    found.extend(requests.finish());
    found
}

/// What EvalScope had measured so far, which its log repeats every few requests.
struct SoFar {
    result: Box<ImportedResult>,
    end: usize,
}

impl SoFar {
    /// Neither the summary nor a later line of the same run follows: it was ended before.
    fn is_all_there_is(&self, text: &str, next: Option<&SoFar>) -> bool {
        let summed_up =
            (text.get(self.end..)).is_some_and(|text| text.contains("Benchmarking summary"));
        let goes_on = next.is_some_and(|next| next.requests() >= self.requests());
        !summed_up && !goes_on
    }

    fn requests(&self) -> u64 {
        let requests = self.result.summary.as_ref().map(|summary| summary.requests);
        requests.map_or(0, |counted| {
            counted.ok.unwrap_or(0) + counted.failed.unwrap_or(0)
        })
    }
}

fn is_so_far(before: &str, result: &ImportedResult) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    result.tool == Tool::Evalscope && line.contains("evalscope - ")
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
