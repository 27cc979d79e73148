//! The journal: the records of a run while it goes on, as JSON Lines that are only appended to.
//!
//! The first line is a [`Header`]; each further line is an [`Entry`]. Whatever was flushed
//! survives the death of this process, and a last line that was torn by it is no error. When
//! the run is over, `RunDir::seal` turns the journal into Parquet.

mod read;
#[cfg(test)]
mod tests;

pub use read::{Damage, GrowingJournal, JournalRecords, read_records};

use crate::error::StorageError;
use crate::whole_file;
use inferometer_core::record::{BareChunk, Chunks, Record, Stage};
use inferometer_core::summed_json::end_object;
use inferometer_core::units::Offset;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The form of journals that this version writes and reads. From 2 on, lines have checksums; from 3
/// on, the client tells of itself.
const VERSION: u32 = 3;

/// Bytes that are collected before they are handed to the system.
const BUFFER: usize = 256 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the journal's form.
    #[serde(rename = "journal")]
    version: u32,
    /// Planned requests of the measured part, where their number is known beforehand.
    pub planned: Option<u64>,
}

impl Header {
    pub fn new(planned: Option<u64>) -> Self {
        Header {
            version: VERSION,
            planned,
        }
    }
}

/// What happened to a request, or how the client fares. A request is known by its index and whether
/// it is warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry<'a> {
    /// It began; the record as far as it is known.
    Begin(Cow<'a, Record>),
    /// What came since its last entry.
    Progress(Progress),
    /// It is over; replaces all its earlier entries.
    End(Cow<'a, Record>),
    /// How late the client was woken so far; the last one holds.
    Client(ClientPulse),
}

/// How late a process was woken since the window opened.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientPulse {
    pub p99_ms: f64,
    pub longest_ms: f64,
}

impl<'a> Entry<'a> {
    pub fn begin(record: &'a Record) -> Self {
        Entry::Begin(Cow::Borrowed(record))
    }

    pub fn end(record: &'a Record) -> Self {
        Entry::End(Cow::Borrowed(record))
    }
}

/// What came since the last entry of a request. What is absent has not changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    pub index: u64,
    #[serde(alias = "warmup")]
    pub stage: Stage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<Offset>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<Offset>,
    /// First token that is not reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_answer: Option<Offset>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    pub chunks: Chunks,
    /// Messages without a token that were added.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bare: Vec<BareChunk>,
    /// Characters of the answer that were added.
    pub output_chars: u64,
}

impl Progress {
    fn apply(self, record: &mut Record) {
        record.sent = self.sent.or(record.sent);
        record.first_byte = self.first_byte.or(record.first_byte);
        record.first_answer = self.first_answer.or(record.first_answer);
        record.status = self.status.or(record.status);
        record.chunks.at.extend(self.chunks.at);
        record.chunks.same_read.extend(self.chunks.same_read);
        if let Some(tokens) = self.chunks.tokens {
            let known = record.chunks.tokens.get_or_insert_default();
            known.extend(tokens);
        }
        record.bare.extend(self.bare);
        record.output_chars = record.output_chars.saturating_add(self.output_chars);
    }
}

#[derive(Debug)]
pub struct JournalWriter {
    path: PathBuf,
    file: File,
    /// Whole lines that the system has not yet taken, after `taken` bytes that it has.
    buffer: Vec<u8>,
    taken: usize,
}

impl JournalWriter {
    /// Begins a journal with its header; an existing file is an error. The journal is locked
    /// as long as the writer lives, so that a run that goes on can be told from a killed one.
    pub fn create(path: &Path, header: &Header) -> Result<Self, StorageError> {
        let file = File::create_new(path).map_err(|e| StorageError::io("create", path, e))?;
        // Some network file systems know no locks; the run is none the worse.
        let _ = file.try_lock();
        let mut writer = Self::over(path, file);
        writer.line(header)?;
        writer.flush()?;
        Ok(writer)
    }

    /// Goes on in another file: for tests of what cannot be written.
    #[doc(hidden)]
    pub fn redirect(&mut self, file: File) {
        self.file = file;
    }

    fn over(path: &Path, file: File) -> Self {
        JournalWriter {
            path: path.to_owned(),
            file,
            buffer: Vec::with_capacity(BUFFER + BUFFER / 4),
            taken: 0,
        }
    }

    /// Appends an entry; it is safe after the next `flush`.
    pub fn append(&mut self, entry: &Entry<'_>) -> Result<(), StorageError> {
        self.line(entry)?;
        if self.buffer.len() < BUFFER {
            return Ok(());
        }
        self.flush()
    }

    /// Hands everything to the system. After an error, nothing is lost and the next flush
    /// continues where this one stopped.
    pub fn flush(&mut self) -> Result<(), StorageError> {
        while self.taken < self.buffer.len() {
            match self.file.write(&self.buffer[self.taken..]) {
                Ok(0) => return Err(self.failed(ErrorKind::WriteZero.into())),
                Ok(count) => self.taken += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        self.buffer.clear();
        self.taken = 0;
        Ok(())
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), StorageError> {
        let start = self.buffer.len();
        serde_json::to_writer(&mut self.buffer, value).map_err(|e| self.failed(e.into()))?;
        end_object(&mut self.buffer, start);
        Ok(())
    }

    fn failed(&self, error: io::Error) -> StorageError {
        StorageError::io("write", &self.path, error)
    }
}

impl Drop for JournalWriter {
    /// A last attempt; who wants to know whether it worked calls `flush`. The lock goes with it, also
    /// where a process that is just being started has the file open for a moment more.
    fn drop(&mut self) {
        let _ = self.flush();
        let _ = self.file.unlock();
    }
}

/// Whether a writer, in this process or another, has the journal open.
pub fn is_being_written(path: &Path) -> bool {
    let locked = |file: File| {
        matches!(
            file.try_lock_shared(),
            Err(std::fs::TryLockError::WouldBlock)
        )
    };
    whole_file::open(path).is_ok_and(locked)
}
