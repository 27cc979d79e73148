//! The server's own view of a run: what it, its devices and its host said while the client
//! measured, on the run's clock.
//!
//! The watcher appends [`Sample`]s to a file; the [`ServerSummary`] and the [`Explanation`] of
//! the tail are pure functions of samples and records, so that they come out the same from
//! yesterday's run.

mod division;
mod explain;
mod file;
mod sample;
mod stall;
mod summary;

pub use explain::{Cause, Evidence, Explained, Explanation, Part, explain};
pub use file::{SampleWriter, read_samples};
pub use sample::{DeviceState, EngineState, HostState, Sample, Total};
pub use summary::{DeviceSummary, HostSummary, Level, ServerSummary, summarize};
