//! Engines that we start ourselves: `-- ENGINE COMMAND`.
//!
//! `EngineArguments → Launcher (described, probed, checked) → LaunchedEngine → stopped`, or an
//! [`EngineFailure`] with its class.

mod address;
mod arguments;
mod inherited;
mod launched;
mod launcher;

pub use arguments::EngineArguments;
pub use inherited::{device_variable, with_inherited};
pub use launched::{EngineFailure, LaunchedEngine};
pub use launcher::{CARDS, Flags, Launcher};
