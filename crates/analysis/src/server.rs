//! The server's own view of a run: what it, its devices and its host said while the client
//! measured, on the run's clock.
//!
//! The summary and the explanation of the tail are pure functions of samples and records, so
//! that they come out the same from yesterday's run.

mod division;
mod explain;
mod stall;
mod summary;

pub use explain::explain;
pub(crate) use summary::between;
pub use summary::summarize;
