//! GuideLLM's console tables, CSV, HTML page and `benchmarks.json`.

mod columns;
mod console;
mod csv;
mod early_console;
pub(crate) mod export;
mod page;

pub(crate) use page::{is_page, runs as page_runs};

use crate::result::ImportedResult;
use inferometer_notes::Notes;

/// All results that GuideLLM printed or wrote as CSV.
pub(crate) fn find(notes: &mut Notes<'_>) -> Vec<ImportedResult> {
    if is_yaml(notes) {
        notes.fail((0, notes.lines.len().saturating_sub(1)));
        return Vec::new();
    }
    let mut found = csv::find(notes);
    found.extend(console::find(notes));
    found.extend(early_console::find(notes));
    found
}

/// `benchmarks.yaml` holds what `benchmarks.json` does, which is read.
fn is_yaml(notes: &Notes<'_>) -> bool {
    let has = |key: &str| notes.lines.iter().any(|line| line.trim_start() == key);
    notes.lines.contains(&"benchmarks:") && has("time_to_first_token_ms:") && has("metrics:")
}
