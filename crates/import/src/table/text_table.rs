//! A table of a text as its cells.

pub(crate) const BARS: [char; 4] = ['|', '│', '┃', '║'];

pub(crate) struct TextTable {
    /// First and last line, from 0.
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) rows: Vec<Vec<String>>,
}
