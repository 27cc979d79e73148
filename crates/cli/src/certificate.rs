//! The certificate of `doctor`: what this host can do as a client, kept for later runs.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What `doctor` found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// Form of this file.
    pub schema: String,
    /// When it was measured, RFC 3339.
    pub measured: String,
    /// Version that was measured.
    pub inferometer: String,
    /// The processor, so that a copied home folder does not mislead.
    pub cpu: Option<String>,
    /// Cores of the host.
    pub cores: u32,
    /// Token events a second that one worker takes when the server writes one at a time.
    pub ceiling_tokens_per_s: f64,
    /// The same with sixteen events a write.
    pub ceiling_batched_tokens_per_s: f64,
    /// Error of time-stamps at several loads.
    pub errors: Vec<TimingError>,
}

/// Error of the client's time-stamps at one load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimingError {
    /// Concurrent streams.
    pub streams: u32,
    /// Token events a second that were offered.
    pub tokens_per_s: f64,
    /// Mean of (read by us − written by the server).
    pub mean_us: f64,
    /// Its 99th percentile.
    pub p99_us: f64,
    /// Largest.
    pub max_us: f64,
    /// Time-stamps compared.
    pub n: u64,
}

/// Name and version of the certificate's form.
pub const SCHEMA: &str = "inferometer.doctor/1";

impl Certificate {
    /// Where the certificate is kept: the user's cache.
    pub fn path() -> Option<PathBuf> {
        let cache = match std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()) {
            Some(cache) => PathBuf::from(cache),
            None => PathBuf::from(std::env::var_os("HOME")?).join(".cache"),
        };
        Some(cache.join("inferometer").join("doctor.json"))
    }

    /// The certificate of this host, if `doctor` was ever run on it.
    pub fn stored() -> Option<Certificate> {
        let text = std::fs::read_to_string(Self::path()?).ok()?;
        let certificate: Certificate = serde_json::from_str(&text).ok()?;
        let here = crate::host::host();
        (certificate.cpu == here.cpu && certificate.cores == here.cores).then_some(certificate)
    }

    /// Keeps it for later runs.
    pub fn store(&self) -> anyhow::Result<Option<PathBuf>> {
        let Some(path) = Self::path() else {
            return Ok(None);
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, serde_json::to_string_pretty(self)? + "\n")?;
        Ok(Some(path))
    }
}
