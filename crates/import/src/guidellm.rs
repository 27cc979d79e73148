//! GuideLLM's console tables, CSV, HTML page and `benchmarks.json`.

mod columns;
mod console;
mod csv;
mod early_console;
pub(crate) mod export;
mod page;

pub(crate) use page::{is_page, runs as page_runs};

use crate::notes::Notes;
use crate::result::ImportedResult;

/// All results that GuideLLM printed or wrote as CSV.
pub(crate) fn find(notes: &mut Notes<'_>) -> Vec<ImportedResult> {
    let mut found = csv::find(notes);
    found.extend(console::find(notes));
    found.extend(early_console::find(notes));
    found
}
