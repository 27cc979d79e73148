//! A file of JSON lines with checksums that is only appended to. Whoever reads it skips a line
//! that is torn or damaged: the last one may be cut by a full disk or a killed process.

use crate::error::StorageError;
use crate::growing_lines::GrowingLines;
use inferometer_core::summed_json::{SumCheck, end_object};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// Writes such a file: into a `File` each line is there for readers at once, into a `BufWriter`
/// after a flush.
#[derive(Debug)]
pub struct LineWriter<T, W> {
    pub file: W,
    path: PathBuf,
    of: PhantomData<fn(&T)>,
}

impl<T> LineWriter<T, File> {
    /// Makes the file, and the folder above it.
    pub fn create(path: &Path) -> Result<Self, StorageError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| StorageError::io("create", folder, e))?;
        }
        let file = File::create(path).map_err(|e| StorageError::io("create", path, e))?;
        Ok(LineWriter {
            file,
            path: path.to_owned(),
            of: PhantomData,
        })
    }
}

impl<T> LineWriter<T, BufWriter<File>> {
    pub fn create(path: &Path) -> Result<Self, StorageError> {
        let LineWriter { file, path, of } = LineWriter::<T, File>::create(path)?;
        let file = BufWriter::new(file);
        Ok(LineWriter { file, path, of })
    }
}

impl<T: Serialize, W: Write> LineWriter<T, W> {
    pub fn push(&mut self, value: &T) -> Result<(), StorageError> {
        let failed = |e| StorageError::io("write", &self.path, e);
        let mut line = serde_json::to_vec(value).map_err(|e| failed(e.into()))?;
        end_object(&mut line, 0);
        self.file.write_all(&line).map_err(failed)
    }

    pub fn flush(&mut self) -> Result<(), StorageError> {
        let failed = |e| StorageError::io("write", &self.path, e);
        self.file.flush().map_err(failed)
    }
}

/// What the lines of a file say, one at a time; of a line no more than `longest` bytes are read.
pub fn read<T: DeserializeOwned>(
    path: &Path,
    longest: u64,
) -> Result<impl Iterator<Item = Result<T, StorageError>> + use<T>, StorageError> {
    let mut lines = SummedLines::open(path, longest)?;
    Ok(std::iter::from_fn(move || match lines.next_value() {
        Ok(None) => lines.torn().map(Ok),
        next => next.transpose(),
    }))
}

/// The values of such a file, as it grows.
#[derive(Debug)]
pub struct SummedLines<T> {
    lines: GrowingLines,
    check: SumCheck,
    of: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> SummedLines<T> {
    pub fn open(path: &Path, longest: u64) -> Result<Self, StorageError> {
        Ok(SummedLines {
            lines: GrowingLines::open(path, longest)?,
            check: SumCheck::default(),
            of: PhantomData,
        })
    }

    /// From now on also what was appended since.
    pub fn grow(&mut self) -> Result<(), StorageError> {
        self.lines.grow()
    }

    /// The next value of a whole line.
    pub fn next_value(&mut self) -> Result<Option<T>, StorageError> {
        while let Some(line) = self.lines.next()? {
            let value = value(&mut self.check, line);
            if value.is_some() {
                return Ok(value);
            }
        }
        Ok(None)
    }

    /// That of a last line without its line feed.
    fn torn(&mut self) -> Option<T> {
        value(&mut self.check, self.lines.rest()?)
    }
}

/// What a line says; nothing if it is damaged.
pub fn value<T: DeserializeOwned>(check: &mut SumCheck, line: &mut Vec<u8>) -> Option<T> {
    let intact = check.passes(line);
    intact.then(|| serde_json::from_slice(line).ok()).flatten()
}
