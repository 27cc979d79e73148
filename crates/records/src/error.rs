//! What can go wrong with the files of a run, each with its path and a remedy.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Why the files of a run cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// A new run must not mix with what is there.
    #[error("{path} already holds files; choose another folder with --out, or remove it")]
    NotEmpty { path: PathBuf },
    /// Not made by a run.
    #[error(
        "{path} is not a run directory (it has no scenario.toml); `inferometer runs` lists those that are"
    )]
    NotARun { path: PathBuf },
    /// The journal has a writer that may still append.
    #[error("the run in {path} still goes on; wait for its end, or interrupt it first")]
    StillRunning { path: PathBuf },
    /// Nothing to choose from.
    #[error("{folder} holds no readable run; measure one with `inferometer run`")]
    NoRuns { folder: PathBuf },
    /// No space left, or the quota is used up.
    #[error(
        "no space left on the disk for {path}; free some, or choose another disk with --out DIR"
    )]
    DiskFull {
        /// The file that did not fit.
        path: PathBuf,
    },
    /// The limit on the size of files, which the shell sets.
    #[error("{path} would be larger than files may be here; raise the limit with ulimit -f")]
    FileLimit { path: PathBuf },
    #[error("cannot {action} {path}: {source}; {}", remedy(action))]
    Io {
        /// `read`, `write`, …
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The content is not what we write.
    #[error("{path} cannot be understood: {detail}; restore it from a copy, or measure again")]
    Damaged { path: PathBuf, detail: String },
    /// The content is not what we wrote.
    #[error(
        "{path} is not as it was written: its SHA-256 is not that of SHA256SUMS; restore it from a copy or measure again, or remove SHA256SUMS if you changed it on purpose"
    )]
    Altered { path: PathBuf },
    /// Written by a later version.
    #[error(
        "{path} has the form '{found}', and this version reads '{known}'; use a newer Inferometer"
    )]
    Newer {
        path: PathBuf,
        found: String,
        known: String,
    },
}

fn remedy(action: &str) -> &'static str {
    if matches!(action, "read" | "open") {
        "check the path and its permissions"
    } else {
        "choose a folder that you may write to"
    }
}

impl StorageError {
    /// The content of a file is not what was written.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            StorageError::Damaged { .. } | StorageError::Altered { .. }
        )
    }

    /// An error of the system; a full disk is told apart, since its remedy is another.
    pub fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StorageError::DiskFull { path },
            ErrorKind::FileTooLarge => StorageError::FileLimit { path },
            _ => StorageError::Io {
                action,
                path,
                source,
            },
        }
    }

    /// Content that is not what we write.
    pub fn damaged(path: &Path, detail: impl ToString) -> Self {
        StorageError::Damaged {
            path: path.to_owned(),
            detail: detail.to_string(),
        }
    }
}
