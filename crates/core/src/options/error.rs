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

type Refused<T> = Result<T, OptionError>;

pub(super) fn conflict<T>(one: &'static str, other: &'static str, why: &'static str) -> Refused<T> {
    Err(OptionError::Conflict(one, other, why))
}

pub(super) fn needs<T>(name: &'static str, needed: &'static str, why: &'static str) -> Refused<T> {
    Err(OptionError::Needs(name, needed, why))
}

pub(super) fn out_of_range<T>(
    name: &'static str,
    given: impl ToString,
    takes: &'static str,
) -> Refused<T> {
    Err(OptionError::Range(name, given.to_string(), takes))
}

pub(super) fn small(name: &'static str, count: Count, most: u32) -> Result<u32, OptionError> {
    match u32::try_from(count.0) {
        Ok(count) if count <= most => Ok(count),
        _ => out_of_range(name, count.0, "that is more than this program can hold"),
    }
}
