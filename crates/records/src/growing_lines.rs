//! A file of lines that is only appended to, read as it grows: each look takes what is new.

use crate::error::StorageError;
use crate::whole_file;
use std::fs::{File, Metadata};
use std::io::{BufRead, BufReader, Read, Take};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Bytes that are asked of the system at once.
const BUFFER: usize = 256 * 1024;

#[derive(Debug)]
pub(crate) struct GrowingLines {
    path: PathBuf,
    lines: BufReader<Take<File>>,
    /// Length of the file when it was last looked at: a reader must not run after a writer that is
    /// as fast.
    seen: u64,
    longest: u64,
    line: Vec<u8>,
    /// The line was handed out.
    is_taken: bool,
}

impl GrowingLines {
    /// Opens a file as it is now. A line of more than `longest` bytes is read in pieces.
    pub(crate) fn open(path: &Path, longest: u64) -> Result<Self, StorageError> {
        let file = whole_file::open(path)?;
        let mut lines = GrowingLines {
            path: path.to_owned(),
            lines: BufReader::with_capacity(BUFFER, file.take(0)),
            seen: 0,
            longest,
            line: Vec::new(),
            is_taken: false,
        };
        lines.grow()?;
        Ok(lines)
    }

    /// From now on also what was appended since.
    pub(crate) fn grow(&mut self) -> Result<(), StorageError> {
        let file = self.lines.get_ref().get_ref();
        let length = file.metadata().map_err(|e| self.failed(e))?.len();
        let bytes = self.lines.get_mut();
        bytes.set_limit(bytes.limit() + length.saturating_sub(self.seen));
        self.seen = self.seen.max(length);
        Ok(())
    }

    /// The next line with its line feed; absent where the rest of it, or all of it, is still to
    /// come.
    pub(crate) fn next(&mut self) -> Result<Option<&mut Vec<u8>>, StorageError> {
        if std::mem::take(&mut self.is_taken) {
            self.line.clear();
        }
        let room = self.longest.saturating_sub(self.line.len() as u64);
        let mut bounded = self.lines.by_ref().take(room);
        let read = bounded.read_until(b'\n', &mut self.line);
        read.map_err(|e| self.failed(e))?;
        self.is_taken = self.line.ends_with(b"\n") || self.line.len() as u64 >= self.longest;
        Ok(self.is_taken.then_some(&mut self.line))
    }

    /// What stands behind the last line feed, for who does not wait for the rest of it.
    pub(crate) fn rest(&mut self) -> Option<&mut Vec<u8>> {
        let is_there = !self.is_taken && !self.line.is_empty();
        self.is_taken = true;
        is_there.then_some(&mut self.line)
    }

    /// Whether this is the file at a path, and not one that was there before it; also once there is
    /// none any more.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        let ours = self.lines.get_ref().get_ref().metadata();
        let numbers = |it: &Metadata| (it.dev(), it.ino());
        match (ours, path.symlink_metadata()) {
            (Ok(ours), Ok(there)) => numbers(&ours) == numbers(&there),
            _ => true,
        }
    }

    fn failed(&self, error: std::io::Error) -> StorageError {
        StorageError::io("read", &self.path, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn texts(lines: &mut GrowingLines) -> Vec<String> {
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push(String::from_utf8(line.clone()).unwrap());
        }
        found
    }

    #[test]
    fn each_look_finds_what_is_new_and_half_a_line_waits_for_its_rest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        std::fs::write(&path, "a\nbb").unwrap();
        let mut lines = GrowingLines::open(&path, 100).unwrap();
        assert_eq!(texts(&mut lines), ["a\n"]);
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"b\nc\nd").unwrap();
        assert!(texts(&mut lines).is_empty(), "a look ends where it began");
        lines.grow().unwrap();
        assert_eq!(texts(&mut lines), ["bbb\n", "c\n"]);
        assert_eq!(lines.rest().map(|it| it.clone()), Some(b"d".to_vec()));
        assert_eq!(lines.rest(), None);
        lines.grow().unwrap();
        assert!(texts(&mut lines).is_empty());
    }

    #[test]
    fn a_line_that_never_ends_is_given_in_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        std::fs::write(&path, "0123456789\n").unwrap();
        let mut lines = GrowingLines::open(&path, 4).unwrap();
        assert_eq!(texts(&mut lines), ["0123", "4567", "89\n"]);
    }
}
