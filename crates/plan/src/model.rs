//! A model from wherever it is: what [`KnownModel`] finds on this machine, or a server's files.

mod remote;

pub use inferometer_catalog::model::{KnownModel, SafetensorsError, Weights};
pub use remote::RemoteError;

use inferometer_catalog::model::{self as catalog, ModelError};
use inferometer_fetch::HubAccess;
use thiserror::Error;

/// Why nothing is known of a model.
#[derive(Debug, Error)]
pub enum SourceError {
    /// Here a model may also be fetched, unlike where an engine is simulated.
    #[error(
        "nothing is known of the model '{name}'; give a config.json, a model folder, hf://ORG/NAME, the URL of a config.json, or one of: {known}"
    )]
    Unknown { name: String, known: String },
    #[error(transparent)]
    Local(#[from] inferometer_catalog::model::SourceError),
    #[error(transparent)]
    Remote(#[from] RemoteError),
}

impl From<ModelError> for SourceError {
    fn from(error: ModelError) -> SourceError {
        SourceError::Local(error.into())
    }
}

impl From<SafetensorsError> for SourceError {
    fn from(error: SafetensorsError) -> SourceError {
        SourceError::Local(error.into())
    }
}

/// A model from a preset's name, a file, a folder, `hf://ORG/NAME` or a URL.
pub fn find(name: &str, hubs: &HubAccess) -> Result<KnownModel, SourceError> {
    if remote::is_address(name) {
        return remote::find(name, hubs);
    }
    KnownModel::find(name).map_err(|error| match error {
        catalog::SourceError::Unknown { name, known } => SourceError::Unknown { name, known },
        error => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_model_is_told_with_every_way_to_name_one() {
        let error = find("nope", &HubAccess::default()).unwrap_err().to_string();
        for way in ["'nope'", "config.json", "hf://ORG/NAME", "qwen2.5-7b"] {
            assert!(error.contains(way), "{way}: {error}");
        }
    }
}
