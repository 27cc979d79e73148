//! Classes of failure.

use serde::{Deserialize, Serialize};

/// Classes of failure, as a tuner learns from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum FailureClass {
    IllegalFlags,
    /// Somebody else held the device's memory at the start.
    MemoryTakenAtStart,
    /// The weights did not fit.
    OutOfMemoryLoading,
    /// Too little was left for the KV cache.
    NoRoomForKvCache,
    /// An allocation failed, we do not know when.
    OutOfMemory,
    /// An allocation failed while serving.
    OutOfMemoryUnderLoad,
    PortTaken,
    /// The program was not found, or may not be run.
    MissingBinary,
    MissingModel,
    /// It ended by itself, for another reason.
    Crash,
    /// It wrote nothing for too long.
    Hang,
    /// It took longer than was allowed.
    Timeout,
}

impl FailureClass {
    /// The word for it in files and reports.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The setting is to blame: it is refused, or needs more memory than there is. Another setting
    /// may do.
    pub fn is_of_setting(self) -> bool {
        match self {
            FailureClass::IllegalFlags
            | FailureClass::OutOfMemoryLoading
            | FailureClass::NoRoomForKvCache
            | FailureClass::OutOfMemory
            | FailureClass::OutOfMemoryUnderLoad => true,
            FailureClass::MemoryTakenAtStart
            | FailureClass::PortTaken
            | FailureClass::MissingBinary
            | FailureClass::MissingModel
            | FailureClass::Crash
            | FailureClass::Hang
            | FailureClass::Timeout => false,
        }
    }
}
