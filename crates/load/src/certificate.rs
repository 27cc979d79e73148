//! The certificate of `doctor`: what a host can do as a client, and how wrong its time-stamps
//! are.

use serde::{Deserialize, Serialize};

/// Name and version of the certificate's form.
pub const SCHEMA: &str = "inferometer.doctor/1";

/// What `doctor` found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Certificate {
    /// `inferometer.doctor/1`.
    pub schema: String,
    /// When it was measured, RFC 3339.
    pub measured: String,
    pub inferometer: String,
    /// The processor, so that a copied home folder does not mislead.
    pub cpu: Option<String>,
    pub cores: u32,
    /// Token events a second that one worker takes when the server writes them one by one.
    pub ceiling_tokens_per_s: f64,
    /// The same with sixteen events a write.
    pub ceiling_batched_tokens_per_s: f64,
    /// Error of time-stamps at several loads.
    pub errors: Vec<StampError>,
}

/// Error of the client's time-stamps at one load: when a token was read by us after it was
/// written by the server.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StampError {
    pub streams: u32,
    /// Token events a second.
    pub tokens_per_s: f64,
    pub mean_us: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub max_us: f64,
    pub n: u64,
}
