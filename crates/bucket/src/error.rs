//! Why an object store did not do as it was asked. Each text is one line with a remedy, and holds
//! no secret.

use inferometer_fetch::FetchError;
use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    #[error(
        "{text} is not a place in an object store ({why}); write it like s3://BUCKET/PATH, gs://BUCKET/PATH or az://CONTAINER/PATH"
    )]
    NotALocation { text: String, why: &'static str },
    #[error("{place} needs {variable} in the environment, which is not set; {remedy}")]
    Missing {
        place: String,
        variable: &'static str,
        remedy: &'static str,
    },
    /// Its value is not repeated.
    #[error("the variable {variable} cannot be used: {why}")]
    BadVariable {
        variable: &'static str,
        why: &'static str,
    },
    #[error("{place}: there is no such bucket ({code}); check its name, or make it first")]
    NoBucket { place: String, code: String },
    #[error(
        "{place}: {action} is not allowed ({code}); give the key the rights to list, read and write there, or name another place"
    )]
    Refused {
        place: String,
        action: &'static str,
        code: String,
    },
    #[error("{place}: the store does not accept the key ({code}); check {variables}")]
    WrongKey {
        place: String,
        code: String,
        variables: &'static str,
    },
    #[error("{place}: the bucket is in the region {region}; set AWS_REGION={region}")]
    Elsewhere { place: String, region: String },
    #[error("{place}: the store says that this host's clock is wrong ({code}); set it right")]
    Clock { place: String, code: String },
    /// Something else answered.
    #[error("{place}: what answers at {host} is not an object store ({why}); check {variable}")]
    NotAStore {
        place: String,
        host: String,
        why: String,
        variable: &'static str,
    },
    /// Nobody answered, for as long as it was tried.
    #[error("{place}: no answer from {host} ({why}); check the network and {variable}")]
    Away {
        place: String,
        host: String,
        why: String,
        variable: &'static str,
    },
    #[error("{place}: {action} failed: the store answered {status} {said}")]
    Answered {
        place: String,
        action: &'static str,
        status: u16,
        said: String,
    },
    #[error("{place} holds more than {most} objects; name a place further below")]
    TooMany { place: String, most: usize },
    #[error("{key} of {place} was changed while it was read; try again")]
    Changed { place: String, key: String },
    #[error("cannot {action} {path}: {source}")]
    File {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(transparent)]
    Fetch(#[from] FetchError),
}

impl BucketError {
    /// Whether somebody else wrote or removed an object since it was listed.
    pub fn is_change(&self) -> bool {
        matches!(
            self,
            BucketError::Changed { .. } | BucketError::Answered { status: 404, .. }
        )
    }

    /// Whether the same may work a little later.
    pub(crate) fn passes(&self) -> bool {
        match self {
            BucketError::Away { .. } => true,
            BucketError::Answered { status, .. } => {
                matches!(status, 408 | 429 | 500 | 502 | 503 | 504)
            }
            _ => false,
        }
    }
}
