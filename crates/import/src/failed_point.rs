//! A load at which nothing could be measured: out of memory under a heading that names only the
//! load, or in the row of a table.

use crate::context;
use crate::heading::only_load;
use crate::notes::{Notes, bare};
use crate::result::{ImportedResult, Tool};
use crate::section::sections;
use inferometer_text::hostile::printable;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Lines between the name of a load and what became of it.
const LARGEST_GAP: usize = 4;

/// Whether a line or cell says that memory was exhausted.
pub(crate) fn is_out_of_memory(text: &str) -> bool {
    let text = text.to_lowercase();
    let said = [
        "out of memory",
        "outofmemory",
        "显存不足",
        "内存不足",
        "爆显存",
    ];
    let is_word = |word: &str| word == "oom";
    said.iter().any(|said| text.contains(said))
        || text.split(|c: char| !c.is_alphanumeric()).any(is_word)
}

/// Adds loads that ran out of memory, and starts that did, from lines that nobody took. What is said
/// of a load that a table has already is that result's own.
pub(crate) fn find(results: &mut Vec<ImportedResult>, notes: &mut Notes<'_>) {
    let sections = sections(notes);
    // The last heading above a line, by its number.
    let home_of = |line: usize| sections.partition_point(|section| section.line() < line);
    // Loads that ran out of memory, by their heading and themselves, or by their heading alone.
    let mut known: HashMap<(usize, Option<String>), usize> = HashMap::new();
    let remember = |known: &mut HashMap<_, usize>, results: &[ImportedResult], place: usize| {
        let found = &results[place];
        let home = home_of(found.span().0);
        for load in [Some(key(&found.point)), None] {
            known.entry((home, load)).or_insert(place);
        }
    };
    for place in 0..results.len() {
        if results[place].is_out_of_memory_under_load() {
            remember(&mut known, results, place);
        }
    }
    let mut last = None;
    for line in 0..notes.lines.len() {
        if notes.is_taken(line) || !is_out_of_memory(notes.lines[line]) {
            continue;
        }
        let load = load_of(line, notes);
        let is_said = context::is_out_of_memory(notes.lines[line]);
        if load.is_none() && !is_said {
            continue;
        }
        let home = home_of(line);
        let said = printable(bare(notes.lines[line]), 1000);
        let end = match load {
            Some(_) => paragraph_end(line, notes),
            None => line,
        };
        if let Some(&place) = known.get(&(home, load.as_ref().map(key))) {
            let words = results[place].error.get_or_insert_default();
            if said.len() > words.len() {
                *words = said;
            }
        } else {
            // Every process of an engine says it again.
            let is_again = load.is_none() && last == Some(home);
            last = Some(home);
            if is_again {
                continue;
            }
            let mut found = ImportedResult::new(Tool::TrialLog, (line, end));
            found.error = Some(said);
            let is_under_load = load.is_some();
            found.point = load.unwrap_or_default();
            results.push(found);
            if is_under_load {
                remember(&mut known, results, results.len() - 1);
            }
        }
        notes.take((line, end));
    }
}

/// A load as a text by which it is found.
fn key(load: &BTreeMap<String, Value>) -> String {
    serde_json::to_string(load).unwrap_or_default()
}

/// The load that ran out of memory: named in front of what is said, or alone in the line above.
fn load_of(line: usize, notes: &Notes<'_>) -> Option<BTreeMap<String, Value>> {
    let own = notes.bare(line).split([':', '：']).next();
    let mut above = (line.saturating_sub(LARGEST_GAP)..line)
        .rev()
        .filter(|at| !is_frame(*at, notes));
    own.and_then(only_load)
        .or_else(|| above.next().and_then(|at| only_load(notes.bare(at))))
}

/// Whether a line is only a border of what stands beside it.
fn is_frame(line: usize, notes: &Notes<'_>) -> bool {
    let text = notes.lines[line].trim();
    text.is_empty() || text.starts_with("```")
}

fn paragraph_end(line: usize, notes: &Notes<'_>) -> usize {
    let end = (line + 1..notes.lines.len()).find(|at| is_frame(*at, notes));
    end.map_or(notes.lines.len() - 1, |end| end - 1)
}
