//! The measuring instrument: driver, HTTP, SSE, API dialects, snapshots.
//!
//! This is the only hot path of Inferometer, kept small enough to audit.

pub mod api;
pub mod http;
pub mod sse;
