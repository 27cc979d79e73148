//! Why an engine that was to be measured is not there.

use inferometer_catalog::engine::FailureClass;
use inferometer_engine::{Failure, StartError};

/// Why there is no engine to measure.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineFailure {
    /// It would not start, and that is known without a try: its own words.
    #[error("{engine} would refuse this command: {message}")]
    Foreseen { engine: String, message: String },
    /// It was started and failed.
    #[error("{0}")]
    Failed(Box<Failure>),
    /// It was not started.
    #[error("{0}")]
    NotStarted(String),
    /// The user wants to leave; it is stopped.
    #[error("the start was interrupted; the engine is stopped")]
    Interrupted,
}

impl EngineFailure {
    /// Its class, as a searcher learns from it; absent where the engine is not to blame.
    pub fn class(&self) -> Option<FailureClass> {
        match self {
            EngineFailure::Foreseen { .. } => Some(FailureClass::IllegalFlags),
            EngineFailure::Failed(failure) => Some(failure.class),
            EngineFailure::NotStarted(_) | EngineFailure::Interrupted => None,
        }
    }
}

impl From<StartError> for EngineFailure {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Failed(failure) => EngineFailure::Failed(failure),
            StartError::Interrupted => EngineFailure::Interrupted,
            other => EngineFailure::NotStarted(other.to_string()),
        }
    }
}
