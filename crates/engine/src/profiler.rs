//! The engine's own profiler, around the measured part.

use crate::http::{Access, Client, HttpError, origin};
use inferometer_text::hostile::printable;
use std::time::Duration;

/// Writing a trace takes minutes.
const LIMIT: Duration = Duration::from_secs(600);

/// Why the profiler does not run.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The engine has no profiler, or it is not switched on.
    #[error(
        "{url} answered {status}: {said}; start vLLM with --profiler-config (older: VLLM_TORCH_PROFILER_DIR), SGLang with SGLANG_TORCH_PROFILER_DIR"
    )]
    Refused {
        url: String,
        status: u16,
        /// The beginning of its words.
        said: String,
    },
}

/// The profiler of a server.
#[derive(Debug)]
pub struct Profiler {
    client: Client,
    origin: String,
}

impl Profiler {
    /// That of a measured server.
    pub fn new(measured: &str, access: Access) -> Result<Self, ProfileError> {
        Ok(Profiler {
            client: Client::new(access, LIMIT)?,
            origin: origin(measured).unwrap_or(measured).to_owned(),
        })
    }

    /// Begins; to be called before the first measured request.
    pub fn start(&self) -> Result<(), ProfileError> {
        self.post("/start_profile")
    }

    /// Ends, which lets the engine write its trace.
    pub fn stop(&self) -> Result<(), ProfileError> {
        self.post("/stop_profile")
    }

    fn post(&self, path: &str) -> Result<(), ProfileError> {
        let url = format!("{}{path}", self.origin);
        let reply = self.client.post(&url)?;
        match reply.status {
            200..=299 => Ok(()),
            status => Err(ProfileError::Refused {
                url,
                status,
                said: printable(reply.body.trim(), 200),
            }),
        }
    }
}
