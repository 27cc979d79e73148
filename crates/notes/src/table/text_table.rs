//! A table of a text as its cells.

pub const BARS: [char; 4] = ['|', '│', '┃', '║'];

pub struct TextTable {
    /// First and last line, from 0.
    pub first: usize,
    pub last: usize,
    pub rows: Vec<Vec<String>>,
}
