//! The records of a finished run in parts, for threads that read at the same time.

use super::{RunDir, ranks};
use crate::error::StorageError;
use crate::parquet_file::RecordsFile;
use crate::sums::Sums;
use inferometer_core::record::Record;
use std::ops::Range;
use std::path::PathBuf;

/// The records of a run, in parts.
pub struct Parts {
    pub records: u64,
    /// Files that are to be as they were written, or no record counts.
    pub checks: Vec<FileCheck>,
    /// In the order of the ranks, and of each in that in which its requests ended. All are about
    /// as large.
    pub parts: Vec<RecordsPart>,
}

/// A file with the hash that it should have.
pub struct FileCheck {
    folder: PathBuf,
    name: String,
    sums: Sums,
}

impl FileCheck {
    /// Reads the whole file.
    pub fn check(&self) -> Result<(), StorageError> {
        self.sums.check(&self.folder, &self.name)
    }
}

/// Records that follow each other, perhaps of several ranks.
#[derive(Debug)]
pub struct RecordsPart {
    ranges: Vec<(RecordsFile, Range<usize>)>,
}

impl RecordsPart {
    /// Shows each record, without what no fold looks at: ids, addresses, ranks, and what a server
    /// said of single tokens.
    pub fn each(&self, mut see: impl FnMut(&Record)) -> Result<(), StorageError> {
        for (file, groups) in &self.ranges {
            file.each(groups.clone(), &mut see)?;
        }
        Ok(())
    }
}

impl RunDir {
    /// The records in about `count` parts; absent where some are still in a journal.
    pub fn parts(&self, count: usize) -> Result<Option<Parts>, StorageError> {
        let own = self.parquet_name();
        if !self.path.join(&own).exists() {
            return Ok(None);
        }
        let sums = Sums::of(&self.path)?;
        let others = self.ranks().into_iter().filter(|&rank| rank > 0);
        let others = others.map(ranks::file);
        let names: Vec<String> = std::iter::once(own)
            // What was not yet received is a file of another name.
            .chain(others.filter(|name| sums.is_some() || self.path.join(name).exists()))
            .collect();
        let mut checks = Vec::new();
        let mut files = Vec::new();
        for name in names {
            let file = RecordsFile::open(&self.path.join(&name));
            if let Some(sums) = &sums {
                sums.require(&self.path, &name)?;
                // What was altered is that, whatever else is wrong with it.
                if file.is_err() {
                    sums.check(&self.path, &name)?;
                }
                checks.push(FileCheck {
                    folder: self.path.clone(),
                    name,
                    sums: sums.clone(),
                });
            }
            files.push(file?);
        }
        let rows = |file: &RecordsFile| (0..file.groups()).map(|it| file.rows_of(it)).sum::<u64>();
        let records = files.iter().map(rows).sum();
        Ok(Some(Parts {
            records,
            checks,
            parts: cut(&files, records.div_ceil(count.max(1) as u64)),
        }))
    }
}

/// Row groups in parts of at least so many records, but for the last.
fn cut(files: &[RecordsFile], least: u64) -> Vec<RecordsPart> {
    let mut parts = Vec::new();
    let (mut ranges, mut records) = (Vec::new(), 0);
    for file in files {
        let mut begin = 0;
        for group in 0..file.groups() {
            records += file.rows_of(group);
            if records >= least {
                ranges.push((file.clone(), begin..group + 1));
                begin = group + 1;
                records = 0;
                parts.push(RecordsPart {
                    ranges: std::mem::take(&mut ranges),
                });
            }
        }
        if begin < file.groups() {
            ranges.push((file.clone(), begin..file.groups()));
        }
    }
    if !ranges.is_empty() {
        parts.push(RecordsPart { ranges });
    }
    parts
}
