//! What a server, its devices and its host said of themselves while the client measured.

mod energy;
mod explanation;
mod sample;
mod span;
mod speculation;
mod summary;

pub use energy::{DonePerSecond, EnergySummary, LEAST_COVERAGE};
pub use explanation::{Cause, Evidence, Explained, Explanation, Part};
pub use sample::{DeviceState, EngineState, HostState, Sample, Total};
pub use span::{RequestSpan, Spans};
pub use speculation::{MOST_POSITIONS, SpeculationBasis, SpeculationSummary};
pub use summary::{Between, DeviceSummary, HostSummary, Level, ServerSummary};
