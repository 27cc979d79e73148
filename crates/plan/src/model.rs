//! A model from wherever it is: what [`KnownModel`] finds on this machine, or a server's files.

mod remote;

use inferometer_catalog::model::LARGEST_CONFIG;
pub use inferometer_catalog::model::{KnownModel, SafetensorsError, Weights};
use inferometer_catalog::model::{folder, safetensors};
pub use remote::RemoteError;

use inferometer_catalog::model::ModelError;
use thiserror::Error;

/// Why nothing is known of a model.
#[derive(Debug, Error)]
pub enum SourceError {
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

/// A model from a preset's name, a file, a folder or a URL.
pub fn find(name: &str) -> Result<KnownModel, SourceError> {
    if name.starts_with("http://") || name.starts_with("https://") {
        return remote::find(name);
    }
    Ok(KnownModel::find(name)?)
}
