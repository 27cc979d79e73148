//! Why options do not make a scenario.

use super::*;

/// Options that do not go together, or lack something.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OptionError {
    /// Two options exclude each other.
    #[error("{0} and {1} exclude each other: {2}")]
    Conflict(&'static str, &'static str, &'static str),
    #[error("{0} needs {1}: {2}")]
    Needs(&'static str, &'static str, &'static str),
    #[error("{0} {1} is not possible: {2}")]
    Range(&'static str, String, &'static str),
    /// A stored scenario names a header whose value was not stored.
    #[error(
        "header '{0}' was sent in the stored run; values are never stored, so give it again with --header {0}=VALUE"
    )]
    HeaderValue(String),
    /// A value that cannot be read.
    #[error(transparent)]
    Value(#[from] BadValue),
    #[error("{0}")]
    File(String),
}

pub(super) fn small(name: &'static str, count: Count, most: u32) -> Result<u32, OptionError> {
    u32::try_from(count.0)
        .ok()
        .filter(|&count| count <= most)
        .ok_or_else(|| {
            OptionError::Range(
                name,
                count.0.to_string(),
                "that is more than this program can hold",
            )
        })
}
