//! What a server, its devices and its host said of themselves while the client measured.

mod explanation;
mod sample;
mod span;
mod summary;

pub use explanation::{Cause, Evidence, Explained, Explanation, Part};
pub use sample::{DeviceState, EngineState, HostState, Sample, Total};
pub use span::{RequestSpan, Spans};
pub use summary::{Between, DeviceSummary, HostSummary, Level, ServerSummary};
