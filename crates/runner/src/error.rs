//! What goes wrong. Nobody but a reader acts on most of it, so it is text with its causes below;
//! what a driver does act on is found among the causes.

use crate::engine_failure::EngineFailure;
use inferometer_catalog::engine::FailureClass;
use inferometer_catalog::memory::MemoryError;
use inferometer_sim::launch::LaunchError;
use inferometer_store::error::StorageError;
use std::error::Error;
use std::io::{self, ErrorKind};

type Cause = Box<dyn Error + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    #[error("{0}")]
    Message(String),
    #[error("{message}")]
    Context { message: String, source: Cause },
    /// The error of a crate below, in its own words.
    #[error("{0}")]
    Other(#[source] Cause),
}

impl RunnerError {
    pub fn other(error: impl Into<Cause>) -> RunnerError {
        RunnerError::Other(error.into())
    }

    #[must_use]
    pub fn context(self, message: impl Into<String>) -> RunnerError {
        RunnerError::Context {
            message: message.into(),
            source: self.into(),
        }
    }

    /// The failure of the engine, where that is the reason.
    pub fn engine_failure(&self) -> Option<&EngineFailure> {
        causes(self).find_map(|cause| cause.downcast_ref())
    }

    /// What the engine did not like of its setting: it was started and failed, or the simulated one
    /// would not start with it.
    pub fn failure_class(&self) -> Option<FailureClass> {
        let of_started = self.engine_failure().and_then(EngineFailure::class);
        of_started.or_else(|| {
            let launch = causes(self).find_map(|cause| cause.downcast_ref::<LaunchError>())?;
            match launch {
                LaunchError::Refused(_) => Some(FailureClass::IllegalFlags),
                LaunchError::Memory(MemoryError::Weights { .. }, _) => {
                    Some(FailureClass::OutOfMemoryLoading)
                }
                LaunchError::Memory(..) => Some(FailureClass::NoRoomForKvCache),
                LaunchError::Command(_) | LaunchError::Config(_) | LaunchError::Model(_) => None,
            }
        })
    }

    /// A full disk ends every measurement alike.
    pub fn is_disk_full(&self) -> bool {
        let kinds = [
            ErrorKind::StorageFull,
            ErrorKind::QuotaExceeded,
            ErrorKind::FileTooLarge,
        ];
        let is_full = |cause: &(dyn Error + 'static)| {
            let stored = cause.downcast_ref::<StorageError>();
            let full = |error: &StorageError| {
                matches!(
                    error,
                    StorageError::DiskFull { .. } | StorageError::FileLimit { .. }
                )
            };
            let io = cause.downcast_ref::<io::Error>();
            stored.is_some_and(full) || io.is_some_and(|error| kinds.contains(&error.kind()))
        };
        causes(self).any(is_full)
    }
}

/// The error and its causes on one line, each once: many errors repeat their cause in their own
/// words.
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    causes(error)
        .map(ToString::to_string)
        .fold(String::new(), |told, cause| match told.as_str() {
            "" => cause,
            _ if told.contains(&cause) => told,
            _ => format!("{told}: {cause}"),
        })
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}

/// Says what was tried when it failed.
pub(crate) trait Context<T>: Sized {
    fn with_context(self, message: impl FnOnce() -> String) -> Result<T, RunnerError>;

    fn context(self, message: impl Into<String>) -> Result<T, RunnerError> {
        self.with_context(|| message.into())
    }
}

impl<T, E: Into<Cause>> Context<T> for Result<T, E> {
    fn with_context(self, message: impl FnOnce() -> String) -> Result<T, RunnerError> {
        self.map_err(|source| RunnerError::Context {
            message: message(),
            source: source.into(),
        })
    }
}

impl<T> Context<T> for Option<T> {
    fn with_context(self, message: impl FnOnce() -> String) -> Result<T, RunnerError> {
        self.ok_or_else(|| RunnerError::Message(message()))
    }
}

macro_rules! bail {
    ($($text:tt)*) => {
        return Err($crate::error::RunnerError::Message(format!($($text)*)))
    };
}
pub(crate) use bail;

macro_rules! from {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for RunnerError {
            fn from(error: $error) -> RunnerError {
                RunnerError::other(error)
            }
        })*
    };
}

from!(
    EngineFailure,
    io::Error,
    serde_json::Error,
    inferometer_campaign::axes::AxesError,
    inferometer_campaign::capacity::CapacityError,
    inferometer_campaign::search::external::AnswerError,
    inferometer_core::options::OptionError,
    inferometer_engine::ConfigCopyError,
    inferometer_fetch::FetchError,
    inferometer_engine::ProfileError,
    inferometer_load::connect::TlsError,
    inferometer_load::http::url::UrlError,
    inferometer_load::preflight::PreflightError,
    inferometer_sim::launch::LaunchError,
    inferometer_store::error::StorageError,
    inferometer_store::sweep_dir::SweepError,
    inferometer_workload::WorkloadError,
    inferometer_workload::data::DataError,
    inferometer_workload::remote::AddressError,
    inferometer_workload::remote::RemoteError,
);
