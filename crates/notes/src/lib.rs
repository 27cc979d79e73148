//! A text of notes: its lines, which of them readers have taken, and the tables in it as cells.
//! What a table is about, its readers know.

mod notes;
mod table;

pub use notes::{Notes, bare, plain_width};
pub use table::{BARS, TextTable, separated_cells, tables};
