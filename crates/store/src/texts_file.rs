//! Texts of measured requests, as JSON Lines with checksums: what was answered while the run goes
//! on, and with `--keep-text` all of it afterwards.

use crate::error::StorageError;
use inferometer_records::summed_lines::{self, LineWriter};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// Longest line that is read: an answer of a million tokens, and its prompt.
const LONGEST_LINE: u64 = 64 << 20;

/// What one request said and got.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestText {
    /// Number in the schedule, as in the records.
    pub index: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// What the user said: text, or JSON where it is more than that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What a right answer says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    pub answer: String,
    /// Reasoning and calls of tools, which are no part of the answer.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub aside: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CalledTool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// A call of a tool as the server wrote it: its arguments may be anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CalledTool {
    pub name: String,
    pub arguments: String,
}

pub type TextWriter = LineWriter<RequestText, BufWriter<File>>;

/// The texts of a file, one at a time.
pub fn read_texts(
    path: &Path,
) -> Result<impl Iterator<Item = Result<RequestText, StorageError>> + use<>, StorageError> {
    summed_lines::read(path, LONGEST_LINE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn texts_come_back_and_a_torn_line_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("texts.jsonl");
        let text = |index| RequestText {
            index,
            prompt: Some("why\n\"so\"".to_owned()),
            answer: "因为".to_owned(),
            score: Some(0.5),
            ..RequestText::default()
        };
        let mut writer = TextWriter::create(&path).unwrap();
        writer.push(&text(3)).unwrap();
        writer.push(&text(1)).unwrap();
        writer.flush().unwrap();
        writer.file.write_all(b"{\"index\": 9, \"ans").unwrap();
        writer.flush().unwrap();
        let read: Vec<RequestText> = read_texts(&path).unwrap().map(Result::unwrap).collect();
        assert_eq!(read, [text(3), text(1)]);
    }
}
