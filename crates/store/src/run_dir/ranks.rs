//! The records of a run, of one process or of several that shared the load: each of them has a
//! partition of its own, `records/rank=1/records.parquet`, which DuckDB and Polars read as one.

use super::{RECORDS, RunDir};
use crate::error::StorageError;
use crate::journal::{self, ClientPulse, Damage, JournalRecords};
use crate::parquet_file::{self, ParquetRecords};
use crate::sums::Sums;
use crate::whole_file;
use inferometer_core::record::Record;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

const FOLDER: &str = "rank=";

pub(super) fn folder(rank: u32) -> String {
    format!("{RECORDS}/{FOLDER}{rank}")
}

pub(super) fn file(rank: u32) -> String {
    format!("{}/records.parquet", folder(rank))
}

impl RunDir {
    /// The ranks whose records are here, in order; empty where one process sent all.
    pub fn ranks(&self) -> Vec<u32> {
        let entries = fs::read_dir(self.path.join(RECORDS)).into_iter().flatten();
        let rank = |name: &str| name.strip_prefix(FOLDER)?.parse().ok();
        let mut ranks: Vec<u32> = entries
            .filter_map(|entry| rank(entry.ok()?.file_name().to_str()?))
            .collect();
        ranks.sort_unstable();
        ranks
    }

    /// Begins the file with the records of another rank, which appears when it is complete.
    pub fn receive(&self, rank: u32) -> Result<ReceivedRecords, StorageError> {
        for rank in [0, rank] {
            let folder = self.path.join(folder(rank));
            fs::create_dir_all(&folder).map_err(|e| StorageError::io("create", &folder, e))?;
        }
        let path = self.path.join(file(rank));
        let partial = whole_file::partial(&path);
        let file = whole_file::fresh(&partial);
        let file = file.map_err(|e| StorageError::io("create", &partial, e))?;
        Ok(ReceivedRecords {
            path,
            partial,
            file,
        })
    }

    /// All records, in the order in which they ended; of a run that did not come to its end,
    /// those that there are, and none if it never began to send.
    pub fn records(&self) -> Result<Records, StorageError> {
        let (own, journal) = (self.parquet_path(), self.journal_path());
        let sums = Sums::of(&self.path)?;
        let parquet = |name: &str| {
            if let Some(sums) = &sums {
                sums.require(&self.path, name)?;
                sums.check(&self.path, name)?;
            }
            parquet_file::read_records(&self.path.join(name)).map(Source::Parquet)
        };
        let mut sources = Vec::new();
        if own.exists() {
            sources.push(parquet(&self.parquet_name())?);
        } else if journal.exists() {
            sources.push(journal::read_records(&journal).map(Source::Journal)?);
        }
        for rank in self.ranks().into_iter().filter(|&rank| rank > 0) {
            let name = file(rank);
            // What was not yet received is a file of another name.
            if self.path.join(&name).exists() || sums.is_some() {
                sources.push(parquet(&name)?);
            }
        }
        let parts = sources
            .into_iter()
            .map(|source| Part { source, next: None });
        Ok(Records {
            parts: parts.collect(),
        })
    }
}

/// The records of another rank on their way here.
pub struct ReceivedRecords {
    path: PathBuf,
    partial: PathBuf,
    file: File,
}

impl ReceivedRecords {
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        let written = self.file.write_all(bytes);
        written.map_err(|e| StorageError::io("write", &self.partial, e))
    }

    /// All of it came.
    pub fn finish(self) -> Result<(), StorageError> {
        let kept = (self.file.sync_all()).and_then(|()| fs::rename(&self.partial, &self.path));
        kept.map_err(|e| StorageError::io("write", &self.path, e))
    }
}

impl Drop for ReceivedRecords {
    /// What was not finished leaves nothing behind that looks like records.
    fn drop(&mut self) {
        if fs::remove_file(&self.partial).is_ok() {
            let _ = self.path.parent().map(fs::remove_dir);
        }
    }
}

/// The records of a run.
pub struct Records {
    parts: Vec<Part>,
}

/// Those of one process, in the order in which they ended.
struct Part {
    source: Source,
    /// The next of them, where several parts take turns.
    next: Option<Record>,
}

enum Source {
    /// From the file of a finished run.
    Parquet(ParquetRecords),
    /// From the journal of one that goes on or was killed.
    Journal(JournalRecords),
}

impl Records {
    /// What could not be read so far; the whole of it once the records are used up. Only a
    /// journal can be damaged in part: of a Parquet file, any damage is an error.
    pub fn damage(&self) -> Damage {
        let journal = self.journal();
        journal.map_or(Damage::default(), |records| records.damage())
    }

    /// Planned requests, where the journal's header says so.
    pub fn planned(&self) -> Option<u64> {
        self.journal()?.planned()
    }

    /// What the client told of itself in the part of the journal that was read.
    pub fn client(&self) -> Option<ClientPulse> {
        self.journal()?.client()
    }

    /// There is one journal at most: that of the process whose folder it is.
    fn journal(&self) -> Option<&JournalRecords> {
        self.parts.iter().find_map(|part| match &part.source {
            Source::Journal(records) => Some(records),
            Source::Parquet(_) => None,
        })
    }

    /// The part whose next record ended first. What never ended comes last, as in a journal.
    fn earliest(&mut self) -> Result<Option<usize>, StorageError> {
        for part in &mut self.parts {
            if part.next.is_none() {
                part.next = part.source.next().transpose()?;
            }
        }
        let next = self.parts.iter().enumerate();
        let ends = next.filter_map(|(at, part)| Some((part.next.as_ref()?.end, at)));
        Ok(ends
            .min_by_key(|(end, at)| (end.is_none(), *end, *at))
            .map(|(_, at)| at))
    }
}

impl Iterator for Source {
    type Item = Result<Record, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Source::Parquet(records) => records.next(),
            Source::Journal(records) => records.next(),
        }
    }
}

impl Iterator for Records {
    type Item = Result<Record, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let [part] = &mut self.parts[..] {
            return part.next.take().map(Ok).or_else(|| part.source.next());
        }
        match self.earliest() {
            Ok(at) => self.parts[at?].next.take().map(Ok),
            Err(error) => {
                self.parts.clear();
                Some(Err(error))
            }
        }
    }
}
