//! A load at which nothing could be measured: out of memory under a heading that names only the
//! load, or in the row of a table.

use crate::heading::only_load;
use crate::notes::{Notes, bare};
use crate::result::{ImportedResult, Tool};
use inferometer_text::hostile::printable;

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

/// Loads that ran out of memory, in lines that nobody took.
pub(crate) fn find(notes: &mut Notes<'_>) -> Vec<ImportedResult> {
    let mut found = Vec::new();
    for line in 0..notes.lines.len() {
        if notes.is_taken(line) || !is_out_of_memory(notes.lines[line]) {
            continue;
        }
        let is_frame = |at: &usize| {
            let text = notes.lines[*at].trim();
            text.is_empty() || text.starts_with("```")
        };
        let mut above = (line.saturating_sub(LARGEST_GAP)..line)
            .rev()
            .filter(|at| !is_frame(at));
        let Some(load) = above.next().and_then(|at| only_load(notes.bare(at))) else {
            continue;
        };
        let end = (line..notes.lines.len()).find(|at| *at > line && is_frame(at));
        let last = end.map_or(notes.lines.len() - 1, |end| end - 1);
        let mut result = ImportedResult::new(Tool::TrialLog, (line, last));
        result.error = Some(printable(bare(notes.lines[line]), 1000));
        result.point = load;
        notes.take((line, last));
        found.push(result);
    }
    found
}
