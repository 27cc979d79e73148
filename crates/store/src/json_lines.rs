//! A file with a line of JSON for each thing that happened: one process appends to it, anyone may
//! read it meanwhile, and a kill costs at most the line that was being written. Each line has its
//! number and a checksum, so that none can be lost, doubled or altered unseen; the last ones can.

use crate::error::StorageError;
use crate::whole_file;
use inferometer_core::summed_json::{SumCheck, end_object};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const TRIES: u32 = 5;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// What the lines of a file say; nothing where there is no file. A last line that was cut off is
/// no line.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, StorageError> {
    checked(path).map(|(lines, _)| lines)
}

/// Reads a file only to find damage; whether its lines have checksums.
pub(crate) fn verify(path: &Path) -> Result<bool, StorageError> {
    checked::<IgnoredAny>(path).map(|(_, check)| check.is_summed())
}

fn checked<T: DeserializeOwned>(path: &Path) -> Result<(Vec<T>, SumCheck), StorageError> {
    if fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return Ok((Vec::new(), SumCheck::default()));
    }
    let bytes = whole_file::read(path)?;
    let lines = bytes[..whole_lines(&bytes)].split(|&byte| byte == b'\n');
    let mut check = SumCheck::default();
    let values: Result<_, _> = (lines.enumerate().filter(|(_, line)| !line.is_empty()))
        .map(|(number, line)| {
            let damaged =
                |why: String| StorageError::damaged(path, format!("line {}: {why}", number + 1));
            let mut line = line.to_owned();
            if !check.passes(&mut line) {
                return Err(damaged("its checksum is wrong or missing".to_owned()));
            }
            match take_number(&mut line) {
                Some(written) if written != number as u64 + 1 => {
                    return Err(damaged(format!("it was line {written}; others are lost")));
                }
                _ => {}
            }
            serde_json::from_slice(&line).map_err(|error| damaged(error.to_string()))
        })
        .collect();
    Ok((values?, check))
}

const NUMBER: &[u8] = b",\"line\":";

/// Adds the number of a line as the last member of its object.
fn add_number(object: &mut Vec<u8>, number: u64) {
    if object.len() > 2 && object.ends_with(b"}") {
        object.pop();
        object.extend_from_slice(NUMBER);
        object.extend_from_slice(format!("{number}}}").as_bytes());
    }
}

/// Takes it off; lines of older versions have none.
fn take_number(object: &mut Vec<u8>) -> Option<u64> {
    let at = object.windows(NUMBER.len()).rposition(|it| it == NUMBER)?;
    let digits = object[at + NUMBER.len()..].strip_suffix(b"}")?;
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    object.truncate(at);
    object.push(b'}');
    Some(number)
}

/// Bytes up to the end of the last complete line.
fn whole_lines(bytes: &[u8]) -> usize {
    let end = bytes.iter().rposition(|&byte| byte == b'\n');
    end.map_or(0, |end| end + 1)
}

/// Claims a file for the process that writes it; false where another has it. Whoever only looks
/// whether it is being written holds it for an instant, so this tries more than once. Some network
/// file systems know no locks, and there it is taken as claimed.
pub fn lock(file: &File) -> bool {
    let taken = || matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    for _ in 0..TRIES {
        if !taken() {
            return true;
        }
        std::thread::sleep(BETWEEN_TRIES);
    }
    false
}

/// Such a file, open to be appended to. While it is open, no other process gets it.
#[derive(Debug)]
pub struct JsonLines {
    path: PathBuf,
    file: File,
    /// Bytes of whole lines.
    length: u64,
    lines: u64,
}

impl JsonLines {
    /// Absent where another process has it open.
    pub fn open(path: PathBuf) -> Result<Option<JsonLines>, StorageError> {
        let failed = |error| StorageError::io("open", &path, error);
        let mut file = (OpenOptions::new().read(true).append(true).create(true))
            .open(&path)
            .map_err(failed)?;
        if !lock(&file) {
            return Ok(None);
        }
        // What a killed process left of a line must not spoil the next.
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let length = whole_lines(&bytes) as u64;
        file.set_len(length).map_err(failed)?;
        let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
        Ok(Some(JsonLines {
            path,
            file,
            length,
            lines,
        }))
    }

    /// Adds a line, and sees it on the disk.
    pub fn append(&mut self, line: &impl Serialize) -> Result<(), StorageError> {
        let failed = |error| StorageError::io("write", &self.path, error);
        let mut line = serde_json::to_vec(line).map_err(|e| failed(e.into()))?;
        add_number(&mut line, self.lines + 1);
        end_object(&mut line, 0);
        if let Err(error) = self.file.write_all(&line) {
            // The part that did fit on a full disk must not spoil the next line.
            let _ = self.file.set_len(self.length);
            return Err(failed(error));
        }
        self.length += line.len() as u64;
        self.lines += 1;
        self.file.sync_data().map_err(failed)
    }
}
