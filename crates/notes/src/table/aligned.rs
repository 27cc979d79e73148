//! Tables whose columns are set apart by spaces alone, as people type them and programs print them.

use super::text_table::TextTable;
use crate::notes::Notes;
use inferometer_label::quantity::quantity;
use inferometer_label::{Field, label};

const FEWEST_COLUMNS: usize = 3;
const MOST_COLUMNS: usize = 64;

/// The table that begins in a line. Its header must name a load and a figure, and each row must
/// have as many cells, mostly numbers: sentences have two spaces, too.
pub(super) fn table(notes: &Notes<'_>, first: usize) -> Option<TextTable> {
    let header = cells(notes.lines[first]);
    // Names are read slowly, and most lines are no header.
    if !(FEWEST_COLUMNS..=MOST_COLUMNS).contains(&header.len()) {
        return None;
    }
    let fields = header
        .iter()
        .filter_map(|name| label(name))
        .map(|it| it.field);
    let fields = Vec::from_iter(fields);
    let is_load = |field: &Field| {
        matches!(
            field,
            Field::Concurrency | Field::BareConcurrency | Field::Rate
        )
    };
    let has_both = fields.iter().any(is_load) && fields.iter().any(|field| field.is_result());
    if !has_both {
        return None;
    }
    let mut rows = vec![header];
    let mut last = first;
    for line in first + 1..notes.lines.len() {
        // A rule below the header.
        let text = notes.lines[line].trim();
        if rows.len() == 1 && !text.is_empty() && text.chars().all(|c| "-=─ ".contains(c)) {
            continue;
        }
        let row = row(text, rows[0].len());
        let Some(row) = row.filter(|_| !notes.is_taken(line)) else {
            break;
        };
        rows.push(row);
        last = line;
    }
    (rows.len() >= 2).then_some(TextTable { first, last, rows })
}

/// Cells between tabs or two spaces.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim().replace(['\t', '\u{3000}'], "  ");
    let cells = line.split("  ").map(str::trim);
    cells
        .filter(|cell| !cell.is_empty())
        .map(str::to_owned)
        .collect()
}

/// A row of so many cells. Numbers may stand closer than the names above them.
fn row(line: &str, columns: usize) -> Option<Vec<String>> {
    let by_words = || line.split_whitespace().map(str::to_owned).collect();
    let mut ways = [cells(line), by_words()].into_iter();
    let row: Vec<String> = ways.find(|row| row.len() == columns)?;
    let numbers = row.iter().filter(|cell| quantity(cell).is_some()).count();
    (2 * numbers > columns).then_some(row)
}
