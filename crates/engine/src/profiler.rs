//! The engine's own profiler, around the measured part.

use inferometer_fetch::url::root;
use inferometer_fetch::{Access, Client, FetchError};
use inferometer_text::hostile::printable;
use std::time::Duration;

/// Writing a trace takes minutes.
const LIMIT: Duration = Duration::from_secs(600);

#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error(transparent)]
    Http(#[from] FetchError),
    /// The engine has no profiler, or it is not switched on.
    #[error(
        "{url} answered {status}: {reason}; start vLLM with --profiler-config (older: VLLM_TORCH_PROFILER_DIR), SGLang with SGLANG_TORCH_PROFILER_DIR"
    )]
    Refused {
        url: String,
        status: u16,
        /// The beginning of the body.
        reason: String,
    },
}

#[derive(Debug)]
pub struct Profiler {
    client: Client,
    root: String,
}

impl Profiler {
    pub fn new(measured: &str, access: Access) -> Result<Self, ProfileError> {
        Ok(Profiler {
            client: Client::for_server(access, LIMIT)?,
            root: root(measured).unwrap_or(measured).to_owned(),
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
        let url = format!("{}{path}", self.root);
        let reply = self.client.post(&url)?;
        match reply.status {
            200..=299 => Ok(()),
            status => Err(ProfileError::Refused {
                url,
                status,
                reason: printable(reply.body.trim(), 200),
            }),
        }
    }
}
