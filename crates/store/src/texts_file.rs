//! Texts of measured requests, as JSON Lines with checksums: what was answered while the run goes
//! on, and with `--keep-text` all of it afterwards.

use crate::error::StorageError;
use crate::whole_file;
use inferometer_core::summed_json::{SumCheck, end_object};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

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

#[derive(Debug)]
pub struct TextWriter {
    file: BufWriter<File>,
    path: PathBuf,
}

impl TextWriter {
    pub fn create(path: &Path) -> Result<Self, StorageError> {
        let file = File::create(path).map_err(|e| StorageError::io("create", path, e))?;
        Ok(TextWriter {
            file: BufWriter::new(file),
            path: path.to_owned(),
        })
    }

    pub fn push(&mut self, text: &RequestText) -> Result<(), StorageError> {
        let failed = |e| StorageError::io("write", &self.path, e);
        let mut line = serde_json::to_vec(text).map_err(|e| failed(e.into()))?;
        end_object(&mut line, 0);
        self.file.write_all(&line).map_err(failed)
    }

    pub fn flush(&mut self) -> Result<(), StorageError> {
        let failed = |e| StorageError::io("write", &self.path, e);
        self.file.flush().map_err(failed)
    }
}

/// The texts of a file, one at a time. A line that is torn or damaged is skipped.
pub fn read_texts(
    path: &Path,
) -> Result<impl Iterator<Item = Result<RequestText, StorageError>> + use<>, StorageError> {
    let path = path.to_owned();
    let mut reader = BufReader::new(whole_file::open(&path)?);
    let mut line = Vec::new();
    let mut check = SumCheck::default();
    Ok(std::iter::from_fn(move || {
        loop {
            line.clear();
            let mut bounded = reader.by_ref().take(LONGEST_LINE);
            match bounded.read_until(b'\n', &mut line) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => return Some(Err(StorageError::io("read", &path, error))),
            }
            if check.passes(&mut line)
                && let Ok(text) = serde_json::from_slice(&line)
            {
                return Some(Ok(text));
            }
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

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
