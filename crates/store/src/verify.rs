//! Whether stored results are still what was written: every run and sweep below a folder, each
//! file against its hash, or read from end to end where there is none.

use crate::error::StorageError;
use crate::run_dir::RunDir;
use crate::sums::Sums;
use crate::sweep_dir::{SweepDir, SweepError};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders inside folders that are looked into: a study holds trials, which hold runs.
const DEPTH: usize = 6;

#[derive(Debug)]
pub struct Verified {
    /// The folder of a run or a sweep.
    pub path: PathBuf,
    pub state: Integrity,
}

#[derive(Debug)]
pub enum Integrity {
    /// All files are as their hashes say.
    Intact { files: usize },
    /// It can be read, but has no hashes: it goes on, was killed, or is of an older version.
    Unhashed,
    /// A line for each file.
    Damaged(Vec<String>),
}

/// Verifies what is at a path and below it; empty if that is no result of ours.
pub fn verify(path: &Path) -> Vec<Verified> {
    let mut found = Vec::new();
    look(path, DEPTH, &mut found);
    found
}

fn look(path: &Path, depth: usize, found: &mut Vec<Verified>) {
    let read = match (SweepDir::is_at(path), RunDir::open(path)) {
        (true, _) => Some(sweep(path)),
        (false, Ok(run)) => Some(records(&run)),
        (false, Err(_)) => None,
    };
    if let Some(read) = read {
        found.push(Verified {
            path: path.to_owned(),
            state: state(path, read),
        });
    }
    if depth == 0 {
        return;
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    // A link could lead out of the folder, or round in it.
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    folders.sort();
    for folder in folders {
        look(&folder, depth - 1, found);
    }
}

fn state(path: &Path, read: Result<(), StorageError>) -> Integrity {
    let sums = match Sums::of(path) {
        Ok(sums) => sums,
        Err(error) => return Integrity::Damaged(vec![error.to_string()]),
    };
    let names: Vec<&str> = sums.iter().flat_map(Sums::names).collect();
    let checked = sums.iter().flat_map(|sums| {
        let check = |name: &&str| sums.check(path, name).err();
        names.iter().filter_map(check)
    });
    let mut damage: Vec<String> = checked.map(|error| error.to_string()).collect();
    let read = read.err().map(|error| error.to_string());
    damage.extend(read.filter(|error| !damage.contains(error)));
    match (damage.is_empty(), names.len()) {
        (false, _) => Integrity::Damaged(damage),
        (true, 0) => Integrity::Unhashed,
        (true, files) => Integrity::Intact { files },
    }
}

fn sweep(path: &Path) -> Result<(), StorageError> {
    match SweepDir::open(path).and_then(|sweep| sweep.trials()) {
        Ok(_) => Ok(()),
        Err(SweepError::Storage(error)) => Err(error),
        Err(other) => Err(StorageError::damaged(path, other)),
    }
}

/// Reads all that a report reads.
fn records(run: &RunDir) -> Result<(), StorageError> {
    run.scenario()?;
    if run.stored_ending()?.is_some() {
        run.environment()?;
    }
    run.samples()?;
    let mut records = run.records()?;
    for record in &mut records {
        record?;
    }
    match records.damage().lines {
        0 => Ok(()),
        lines => Err(StorageError::damaged(
            &run.journal_path(),
            format!("lines that are no record of ours: {lines}"),
        )),
    }
}
