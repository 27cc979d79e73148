//! Tables: Markdown, ASCII and box drawing, separated values, columns set apart by spaces, and HTML.

mod aligned;
mod decimal;
mod drawn;
mod header;
mod html;
mod joined;
mod separated;
mod text_table;

use crate::notes::Notes;

pub use separated::cells as separated_cells;
pub use text_table::{BARS, TextTable};

pub fn tables(notes: &Notes<'_>) -> Vec<TextTable> {
    let mut tables = html::tables(notes);
    let spans: Vec<(usize, usize)> = tables
        .iter()
        .map(|table| (table.first, table.last))
        .collect();
    let mut of_html = spans.into_iter().peekable();
    let mut at = 0;
    while at < notes.lines.len() {
        if let Some((_, last)) = of_html.next_if(|(first, _)| *first <= at) {
            at = at.max(last + 1);
        } else if notes.is_taken(at) {
            at += 1;
        } else if let Some(table) = separated::table(notes, at) {
            at = table.last + 1;
            tables.push(table);
        } else if let Some(last) = drawn::read(notes, at, &mut tables) {
            at = last + 1;
        } else if let Some(table) = aligned::table(notes, at) {
            at = table.last + 1;
            tables.push(table);
        } else {
            at += 1;
        }
    }
    tables.sort_by_key(|table| table.first);
    for table in &mut tables {
        decimal::with_points(&mut table.rows);
        joined::take_apart(&mut table.rows);
    }
    tables
}
