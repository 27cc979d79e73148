//! A file of JSON lines with checksums that is only appended to. Whoever reads it skips a line
//! that is torn or damaged: the last one may be cut by a full disk or a killed process.

use crate::error::StorageError;
use crate::whole_file;
use inferometer_core::summed_json::{SumCheck, end_object};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// Writes such a file: into a `File` each line is there for readers at once, into a `BufWriter`
/// after a flush.
#[derive(Debug)]
pub struct LineWriter<T, W> {
    pub(crate) file: W,
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
pub(crate) fn read<T: DeserializeOwned>(
    path: &Path,
    longest: u64,
) -> Result<impl Iterator<Item = Result<T, StorageError>> + use<T>, StorageError> {
    let path = path.to_owned();
    let mut reader = BufReader::new(whole_file::open(&path)?);
    let mut line = Vec::new();
    let mut check = SumCheck::default();
    Ok(std::iter::from_fn(move || {
        loop {
            line.clear();
            let mut bounded = reader.by_ref().take(longest);
            match bounded.read_until(b'\n', &mut line) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => return Some(Err(StorageError::io("read", &path, error))),
            }
            if check.passes(&mut line)
                && let Ok(value) = serde_json::from_slice(&line)
            {
                return Some(Ok(value));
            }
        }
    }))
}
