//! All results of a text, and the lines that look like one and could not be read.

use crate::announced::Announced;
use crate::conclude::conclude;
use crate::label::label;
use crate::quantity::quantity;
use crate::result::Imported;
use crate::section::{self, sections};
use crate::{
    block, context, copies, facts, failed_point, guidellm, heading, json, own, remarks, served_by,
    settings, stated_requests, tables, told_failures,
};
use inferometer_notes::{BARS, Notes, plain_width};

/// Finds every result in `text`; `name` is the file it is from.
pub fn read(name: &str, text: &str) -> Imported {
    let text = &*plain_width(text);
    let mut notes = Notes::new(text);
    let mut results = json::find(text, &mut notes);
    results.extend(guidellm::find(&mut notes));
    results.extend(tables::find(&mut notes));
    results.extend(block::find(&mut notes));
    results.sort_by_key(|found| found.lines);
    own::read(&mut results, &notes);
    // Before commands are taken, of which a program may be made.
    notes.code = section::code(&notes);
    let mut without_result = context::attach(&mut results, &mut notes);
    let announced = Announced::find(&notes, &sections(&notes));
    failed_point::find(&mut results, &mut notes, &announced);
    results.sort_by_key(|found| found.lines);
    // A start that ran out of memory had settings, too.
    without_result.extend(settings::attach(&mut results, &mut notes));
    told_failures::find(&mut results, &mut notes);
    let title = heading::read(&mut results, &notes);
    remarks::find(&mut results, &notes);
    stated_requests::read(&mut results, &notes);
    facts::read(name, &mut results, &announced, &sections(&notes));
    served_by::read(&mut results, &notes);
    copies::fold(&mut results);
    conclude(name, &mut results);
    let unread = unread(&notes, without_result);
    let mut imported = Imported {
        title,
        results,
        unread,
    };
    imported.number();
    imported
}

/// Lines that nobody took and that carry a metric with a number, those of results that cannot be
/// read, and commands without a result.
fn unread(notes: &Notes<'_>, without_result: Vec<(usize, usize)>) -> Vec<(u64, u64)> {
    let is_left = |(first, _): &&(usize, usize)| !notes.is_taken(*first);
    let unknown = notes.unknown.iter().filter(is_left);
    let spans = without_result.iter().chain(&notes.failed).chain(unknown);
    let mut lines: Vec<usize> = spans.flat_map(|&(first, last)| first..=last).collect();
    lines.extend((0..notes.lines.len()).filter(|line| {
        if notes.is_taken(*line) {
            return false;
        }
        let text = notes.lines[*line].trim();
        let bare = notes.bare(*line).trim_matches(['"', ',', '|', ' ']);
        text.contains("Serving Benchmark Result")
            || text.starts_with("Benchmarking summary")
            || block::entries(&bare.replace("\":", ":"))
                .iter()
                .any(|entry| entry.label.field.is_result())
            || looks_like_row(text)
    }));
    lines.sort_unstable();
    lines.dedup();
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for line in lines {
        let line = line as u64 + 1;
        match spans.last_mut() {
            Some(span) if span.1 + 1 == line => span.1 = line,
            _ => spans.push((line, line)),
        }
    }
    spans
}

/// `| QPS | 3 |` outside any table that could be read.
fn looks_like_row(text: &str) -> bool {
    let inner = text.strip_prefix(BARS);
    let Some((first, rest)) = inner.and_then(|inner| inner.split_once(BARS)) else {
        return false;
    };
    label(first).is_some_and(|label| label.field.is_result())
        && rest.split(BARS).any(|cell| quantity(cell).is_some())
}
