//! A model from wherever it is: what [`KnownModel`] finds on this machine, or a server's files.

mod remote;

pub use inferometer_catalog::model::{KnownModel, SafetensorsError, Weights};
pub use remote::RemoteError;

use inferometer_catalog::model::ModelError;
use inferometer_fetch::HubAccess;
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

/// A model from a preset's name, a file, a folder, `hf://ORG/NAME` or a URL.
pub fn find(name: &str, hubs: &HubAccess) -> Result<KnownModel, SourceError> {
    if remote::is_address(name) {
        return remote::find(name, hubs);
    }
    Ok(KnownModel::find(name)?)
}
