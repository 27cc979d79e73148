//! Copies of results in other places: of which files they consist, in which order these are
//! carried, so that half a copy never passes for a result, and what a copy holds already.

use crate::error::StorageError;
use crate::stored::{CAPACITY_FILE, IMPORT_FILE, PROBES_FILE, STUDY_FILE};
use crate::{sums, whole_file};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What was carried of a result, and where to.
const LOG_FILE: &str = "upload.json";

const LOG_SCHEMA: &str = "inferometer.upload/1";

/// The files by which results are known, in the order in which they are carried after all others
/// beside them: of a sweep without its list of trials nothing wrong can be read, but the list
/// alone would be a study.
const MARKS: [&str; 6] = [
    IMPORT_FILE,
    PROBES_FILE,
    CAPACITY_FILE,
    "scenario.toml",
    "sweep.json",
    STUDY_FILE,
];

const SUMS_FILE: &str = "SHA256SUMS";

/// What a run has when it is over.
const OF_FINISHED: [&str; 4] = ["scenario.toml", "ending.json", "summary.json", SUMS_FILE];

/// Folders inside folders that are looked into: a study holds trials, which hold searches, which
/// hold runs, which hold partitions.
const DEPTH: usize = 8;

/// What an object store has of a result; `upload.json` in the folder of the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UploadLog {
    /// `inferometer.upload/1`.
    pub schema: String,
    /// The place of the result.
    pub url: String,
    /// Files that are there, by their names below the folder.
    pub files: BTreeMap<String, UploadedFile>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UploadedFile {
    pub bytes: u64,
    /// In hexadecimal digits.
    pub sha256: String,
    /// The version that the store gave it.
    pub etag: String,
}

impl UploadLog {
    pub fn new(url: &str) -> Self {
        UploadLog {
            schema: LOG_SCHEMA.to_owned(),
            url: url.to_owned(),
            files: BTreeMap::new(),
        }
    }

    /// That of a folder; absent where nothing was carried.
    pub fn of(folder: &Path) -> Result<Option<Self>, StorageError> {
        let path = folder.join(LOG_FILE);
        if fs::symlink_metadata(&path).is_err() {
            return Ok(None);
        }
        let log: UploadLog = whole_file::read_summed(&path)?;
        if log.schema != LOG_SCHEMA {
            return Err(StorageError::Newer {
                path,
                found: log.schema,
                known: LOG_SCHEMA.to_owned(),
            });
        }
        Ok(Some(log))
    }

    pub fn write(&self, folder: &Path) -> Result<(), StorageError> {
        whole_file::write_summed(folder, LOG_FILE, self)
    }

    /// Whether a file is there as it is here.
    pub fn has(&self, folder: &Path, name: &str) -> Result<bool, StorageError> {
        match self.files.get(name) {
            Some(known) => Ok(known.sha256 == sums::hash_of(&folder.join(name))?),
            None => Ok(false),
        }
    }
}

/// All files of a result as names below its folder, in the order in which they are carried.
pub fn files(folder: &Path) -> Result<Vec<String>, StorageError> {
    let mut found = Vec::new();
    walk(folder, "", DEPTH, &mut |name, is_folder| {
        let is_ours = !name.ends_with(".partial") && name != LOG_FILE;
        if !is_folder && is_ours {
            found.push(name.to_owned());
        }
    })?;
    found.sort_by_key(|name| {
        let depth = name.split('/').count();
        let file = name.rsplit('/').next().unwrap_or_default();
        let mark = MARKS.iter().position(|mark| *mark == file);
        (std::cmp::Reverse(depth), mark, name.clone())
    });
    Ok(found)
}

/// Folders of runs inside a result that are over, as names below its folder.
pub fn finished_runs(folder: &Path) -> Result<Vec<String>, StorageError> {
    let mut found = Vec::new();
    walk(folder, "", DEPTH, &mut |name, is_folder| {
        let run = folder.join(name);
        let is_over = || OF_FINISHED.iter().all(|file| run.join(file).is_file());
        if is_folder && is_over() && !run.join("records/journal.jsonl").exists() {
            found.push(name.to_owned());
        }
    })?;
    Ok(found)
}

/// The files by which a campaign and its progress are known, as they are now, in the order in
/// which they are carried.
pub fn heads(folder: &Path) -> Result<Vec<(String, Vec<u8>)>, StorageError> {
    let names = std::iter::once(SUMS_FILE).chain(MARKS);
    let names = names.filter(|name| folder.join(name).is_file());
    let read = |name: &str| Ok((name.to_owned(), whole_file::read(&folder.join(name))?));
    names.map(read).collect()
}

/// Tells of everything below a folder but links, which could lead anywhere.
fn walk(
    folder: &Path,
    below: &str,
    depth: usize,
    tell: &mut dyn FnMut(&str, bool),
) -> Result<(), StorageError> {
    let place = folder.join(below);
    let failed = |error| StorageError::io("read", &place, error);
    for entry in fs::read_dir(&place).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else {
            continue;
        };
        let name = match below {
            "" => name,
            below => format!("{below}/{name}"),
        };
        if kind.is_dir() || kind.is_file() {
            tell(&name, kind.is_dir());
        }
        if kind.is_dir() && depth > 0 {
            walk(folder, &name, depth - 1, tell)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn made(names: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        let path = folder.path().to_owned();
        (folder, path)
    }

    #[test]
    fn what_makes_it_a_result_is_carried_last() {
        let records = "records/rank=0/records.parquet";
        let (_kept, folder) = made(&[
            "scenario.toml",
            records,
            "summary.json",
            "SHA256SUMS",
            "report.html.partial",
            "upload.json",
        ]);
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/passwd", folder.join("link")).unwrap();
        let last = ["SHA256SUMS", "summary.json", "scenario.toml"];
        assert_eq!(files(&folder).unwrap(), [&[records][..], &last].concat());
        let run = ["records/records.parquet", "summary.json", "scenario.toml"];
        let run = run.map(|file| format!("points/a/{file}"));
        let heads_of_sweep = ["SHA256SUMS", "sweep.json", "trials.jsonl"];
        let all: Vec<&str> = run
            .iter()
            .map(String::as_str)
            .chain(heads_of_sweep)
            .collect();
        let mut names = all.clone();
        names.reverse();
        let (_kept, sweep) = made(&names);
        assert_eq!(files(&sweep).unwrap(), all);
        let heads: Vec<String> = heads(&sweep).unwrap().into_iter().map(|it| it.0).collect();
        assert_eq!(heads, heads_of_sweep);
    }

    #[test]
    fn only_runs_that_are_over_are_finished() {
        let of = |run: &str| OF_FINISHED.map(|file| format!("points/{run}/{file}"));
        let mut names: Vec<String> = [of("a"), of("b")].concat();
        names.push("points/b/records/journal.jsonl".into());
        names.extend(of("c").into_iter().skip(1));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (_kept, folder) = made(&names);
        assert_eq!(finished_runs(&folder).unwrap(), ["points/a"]);
    }

    #[test]
    fn the_log_knows_a_file_only_as_long_as_it_is_the_same() {
        let (_kept, folder) = made(&["a"]);
        let mut log = UploadLog::new("s3://lab/x");
        assert!(!log.has(&folder, "a").unwrap());
        let sha256 = sums::hash_of(&folder.join("a")).unwrap();
        let file = UploadedFile {
            bytes: 1,
            sha256,
            etag: "e".into(),
        };
        log.files.insert("a".into(), file);
        log.write(&folder).unwrap();
        let read = UploadLog::of(&folder).unwrap().unwrap();
        assert_eq!(read, log);
        assert!(read.has(&folder, "a").unwrap());
        fs::write(folder.join("a"), "changed").unwrap();
        assert!(!read.has(&folder, "a").unwrap());
    }
}
