//! A plain text file, one prompt a line (`--data FILE`).
//!
//! The file is held once, with the place of each line, so that a long list of short prompts
//! costs little more than its text.

use crate::{Prompt, Prompts, WorkloadError};
use std::collections::HashSet;
use std::fs;
use std::ops::Range;
use std::path::Path;

/// The lines of a file in order, again from the first when they are used up.
#[derive(Clone, Debug)]
pub struct Lines {
    text: Box<str>,
    prompts: Vec<Range<usize>>,
    distinct: u64,
}

/// The mark that some editors put before UTF-8 text.
const BYTE_ORDER_MARK: char = '\u{feff}';

impl Lines {
    /// Reads a file. Blank lines are no prompts.
    pub fn open(path: &Path) -> Result<Self, WorkloadError> {
        let bytes = fs::read(path).map_err(|source| WorkloadError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let text = String::from_utf8(bytes).map_err(|bad| {
            let good = &bad.as_bytes()[..bad.utf8_error().valid_up_to()];
            WorkloadError::NotText {
                path: path.to_owned(),
                line: memchr::memchr_iter(b'\n', good).count() as u64 + 1,
            }
        })?;
        let lines = Self::of_text(text);
        if lines.prompts.is_empty() {
            return Err(WorkloadError::Empty {
                path: path.to_owned(),
            });
        }
        Ok(lines)
    }

    fn of_text(text: String) -> Self {
        let text = text.into_boxed_str();
        let mark = text.starts_with(BYTE_ORDER_MARK);
        let mut begin = if mark { BYTE_ORDER_MARK.len_utf8() } else { 0 };
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]);
        let mut prompts = Vec::new();
        for end in ends {
            let line = text.get(begin..end).unwrap_or_default();
            if !line.trim().is_empty() {
                let line = line.strip_suffix('\r').unwrap_or(line);
                prompts.push(begin..begin + line.len());
            }
            begin = end + 1;
        }
        let different: HashSet<&str> = prompts.iter().map(|line| &text[line.clone()]).collect();
        let distinct = different.len() as u64;
        Lines {
            text,
            prompts,
            distinct,
        }
    }
}

impl Prompts for Lines {
    fn prompt(&self, index: u64, _turn: u32) -> Prompt {
        let line = &self.prompts[(index % self.prompts.len() as u64) as usize];
        Prompt::of_text(self.text[line.clone()].into())
    }

    fn distinct(&self) -> Option<u64> {
        Some(self.distinct)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn opened(bytes: &[u8]) -> Result<Lines, WorkloadError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        Lines::open(file.path())
    }

    fn texts(bytes: &[u8], count: u64) -> Vec<String> {
        let lines = opened(bytes).unwrap();
        (0..count)
            .map(|index| lines.prompt(index).text.to_string())
            .collect()
    }

    #[test]
    fn lines_are_prompts_in_order_and_begin_again() {
        assert_eq!(texts(b"one\ntwo\n", 5), ["one", "two", "one", "two", "one"]);
    }

    #[test]
    fn blank_lines_carriage_returns_and_a_byte_order_mark_are_no_prompt_text() {
        let file = "\u{feff}first\r\n\r\n  \t\n  second \r\nthird".as_bytes();
        assert_eq!(texts(file, 3), ["first", "  second ", "third"]);
        assert_eq!(opened(file).unwrap().prompts.len(), 3);
    }

    #[test]
    fn equal_lines_count_once_as_distinct() {
        assert_eq!(opened(b"a\nb\na\r\n").unwrap().distinct(), Some(2));
    }

    #[test]
    fn what_is_no_text_is_refused_with_its_line() {
        let message = opened(b"good\n\nb\xffd\n").unwrap_err().to_string();
        assert!(message.starts_with("line 3 of /"), "{message}");
    }

    #[test]
    fn a_file_without_prompts_is_refused() {
        for file in [&b""[..], b"\n\n  \r\n", b"\xef\xbb\xbf"] {
            assert!(matches!(opened(file), Err(WorkloadError::Empty { .. })));
        }
    }
}
