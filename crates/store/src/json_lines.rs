//! A file with a line of JSON for each thing that happened: one process appends to it, anyone may
//! read it meanwhile, and a kill costs at most the line that was being written.

use crate::error::StorageError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// What the lines of a file say; nothing where there is no file. A last line that was cut off is
/// no line.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, StorageError> {
    let mut bytes = Vec::new();
    match File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StorageError::io("read", path, error)),
    }
    let lines = bytes[..whole_lines(&bytes)].split(|&byte| byte == b'\n');
    (lines.enumerate().filter(|(_, line)| !line.is_empty()))
        .map(|(number, line)| {
            serde_json::from_slice(line).map_err(|error| {
                StorageError::damaged(path, format!("line {}: {error}", number + 1))
            })
        })
        .collect()
}

/// Bytes up to the end of the last complete line.
fn whole_lines(bytes: &[u8]) -> usize {
    let end = bytes.iter().rposition(|&byte| byte == b'\n');
    end.map_or(0, |end| end + 1)
}

/// Such a file, open to be appended to. While it is open, no other process gets it.
#[derive(Debug)]
pub struct JsonLines {
    path: PathBuf,
    file: File,
}

impl JsonLines {
    /// Absent where another process has it open.
    pub fn open(path: PathBuf) -> Result<Option<JsonLines>, StorageError> {
        let failed = |error| StorageError::io("open", &path, error);
        let mut file = (OpenOptions::new().read(true).append(true).create(true))
            .open(&path)
            .map_err(failed)?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Ok(None);
        }
        // What a killed process left of a line must not spoil the next.
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let whole = whole_lines(&bytes);
        if whole < bytes.len() {
            file.set_len(whole as u64).map_err(failed)?;
        }
        Ok(Some(JsonLines { path, file }))
    }

    /// Adds a line, and sees it on the disk.
    pub fn append(&mut self, line: &impl Serialize) -> Result<(), StorageError> {
        let failed = |error| StorageError::io("write", &self.path, error);
        let line = serde_json::to_string(line).map_err(|e| failed(e.into()))? + "\n";
        self.file.write_all(line.as_bytes()).map_err(failed)?;
        self.file.sync_data().map_err(failed)
    }
}
