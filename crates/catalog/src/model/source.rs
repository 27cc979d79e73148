//! Files of models, and why nothing is known of one.

use std::path::Path;

use thiserror::Error;

use super::ModelError;
use super::safetensors::SafetensorsError;

/// Why nothing is known of a model.
#[derive(Debug, Error)]
pub enum SourceError {
    #[error(
        "nothing is known of the model '{name}'; give a config.json, a model folder, or one of: {known}"
    )]
    Unknown { name: String, known: String },
    #[error("cannot read {path}: {reason}")]
    Read { path: String, reason: String },
    #[error(transparent)]
    Shape(#[from] ModelError),
    #[error(transparent)]
    Safetensors(#[from] SafetensorsError),
    #[error(
        "{folder} lacks {missing} of its {files} weight files, the first {first}; complete the download, or give the config.json alone"
    )]
    Incomplete {
        folder: String,
        missing: usize,
        /// How many there should be.
        files: usize,
        first: String,
    },
    /// Weights without a shape.
    #[error(
        "{path} has {gib:.2} GiB of weights, but headers do not tell heads from widths; put the model's config.json beside it"
    )]
    NoShape {
        path: String,
        /// Its weights, GiB.
        gib: f64,
    },
}

pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> SourceError {
    SourceError::Read {
        path: path.display().to_string(),
        reason: error.to_string(),
    }
}

/// The text of a regular file of at most `most` bytes: a model's folder may be a stranger's, and a
/// pipe in it would be waited for, a device never end.
pub(super) fn read(path: &Path, most: u64) -> Result<String, SourceError> {
    let failed = |error| unreadable(path, &error);
    let refused = |reason: String| SourceError::Read {
        path: path.display().to_string(),
        reason,
    };
    let about = std::fs::metadata(path).map_err(failed)?;
    if !about.is_file() {
        return Err(refused("it is not a regular file".to_owned()));
    }
    if about.len() > most {
        let reason = format!(
            "it has {} bytes, which no file of its kind has",
            about.len()
        );
        return Err(refused(reason));
    }
    std::fs::read_to_string(path).map_err(failed)
}
