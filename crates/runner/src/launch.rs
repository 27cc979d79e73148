//! Engines that we start ourselves: `-- ENGINE COMMAND`.
//!
//! `EngineOptions → Launcher (described, probed, checked) → LaunchedEngine → stopped`, or an
//! [`EngineFailure`](crate::engine_failure::EngineFailure) with its class.

mod address;
mod inherited;
mod launched;
mod launcher;
mod options;

pub use inherited::{device_variable, with_inherited};
pub use launched::LaunchedEngine;
pub(crate) use launcher::takes_flags;
pub use launcher::{CARDS, Flags, Launcher};
pub use options::EngineOptions;
