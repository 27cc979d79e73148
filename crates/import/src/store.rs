//! An import that is kept: a folder with `import.json`, which holds what
//! `import --format json` prints.

use crate::result::{Imported, ImportedResult, SCHEMA};
use inferometer_core::slo::Slo;
use inferometer_core::summed_json::{SumCheck, end_object};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Name of the file in the folder of an import.
pub const STORED: &str = "import.json";

/// An import with when it was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stored {
    /// `inferometer.import/1`.
    pub schema: String,
    /// Wall time of the import, RFC 3339.
    pub imported: String,
    /// What was read, as it was named.
    pub source: String,
    /// The first heading of a file of notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub results: Vec<ImportedResult>,
    /// Spans of lines that look like results and could not be read.
    pub unread: Vec<(u64, u64)>,
    /// Objectives that its results are judged by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub slo: Vec<Slo>,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot {doing} {}: {error}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        error: io::Error,
    },
    #[error("{} is damaged: {reason}; import the source again", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("{} is not empty; give another --out", path.display())]
    NotEmpty { path: PathBuf },
}

impl Stored {
    pub fn new(imported: Imported, source: String, time: String) -> Self {
        Stored {
            schema: SCHEMA.to_owned(),
            imported: time,
            source,
            title: imported.title,
            results: imported.results,
            unread: imported.unread,
            slo: Vec::new(),
        }
    }

    #[must_use]
    pub fn judged_by(self, objectives: &[Slo]) -> Self {
        Stored {
            slo: objectives.to_vec(),
            ..self
        }
    }

    pub fn is_at(folder: &Path) -> bool {
        folder.join(STORED).is_file()
    }

    /// Keeps it in a new or empty folder; the file is whole or not there.
    pub fn write(&self, folder: &Path) -> Result<(), StoreError> {
        let path = folder.join(STORED);
        let failed = |error| StoreError::Io {
            doing: "write",
            path: path.clone(),
            error,
        };
        fs::create_dir_all(folder).map_err(failed)?;
        let partial = folder.join(format!("{STORED}.partial"));
        for entry in fs::read_dir(folder).map_err(failed)? {
            // An import that was killed here left no more than this.
            if entry.map_err(failed)?.path() != partial {
                return Err(StoreError::NotEmpty {
                    path: folder.to_owned(),
                });
            }
        }
        let mut text = serde_json::to_vec_pretty(self).map_err(|error| failed(error.into()))?;
        end_object(&mut text, 0);
        fs::File::create(&partial)
            .and_then(|mut file| {
                file.write_all(&text)?;
                file.sync_all()
            })
            .and_then(|()| fs::rename(&partial, &path))
            .map_err(|error| {
                let _ = fs::remove_file(&partial);
                failed(error)
            })
    }

    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(STORED);
        let failed = |error| StoreError::Io {
            doing: "read",
            path: path.clone(),
            error,
        };
        let damaged = |reason: String| StoreError::Damaged {
            path: path.clone(),
            reason,
        };
        // A pipe would be waited for, and a link may lead anywhere.
        if !fs::symlink_metadata(&path).map_err(failed)?.is_file() {
            return Err(damaged("it is not a regular file".to_owned()));
        }
        let mut text = fs::read(&path).map_err(failed)?;
        if !SumCheck::default().passes(&mut text) {
            return Err(damaged("its checksum is wrong".to_owned()));
        }
        let stored: Stored =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if stored.schema != SCHEMA {
            let schema = stored.schema;
            return Err(damaged(format!("its form is {schema}, not {SCHEMA}")));
        }
        Ok(stored)
    }
}
