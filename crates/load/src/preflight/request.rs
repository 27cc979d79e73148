//! What the preflight is to find out about, and where it stands, for whoever waits for it.

use crate::api::RequestOptions;
use crate::connect::Network;
use crate::exchange::Timeouts;
use crate::http::Target;
use inferometer_core::api::Api;
use inferometer_core::content::Content;
use inferometer_core::medium::Medium;
use inferometer_core::raw_form::RawForm;
use inferometer_text::secret::Secrets;
use std::time::Duration;
use tokio::sync::watch;

pub struct PreflightRequest {
    pub targets: Vec<Target>,
    pub networks: Vec<Network>,
    pub api: Api,
    /// Of `Api::Raw`.
    pub raw: Option<RawForm>,
    /// The models that will be asked for; the first is tried.
    pub models: Vec<String>,
    pub headers: Vec<(String, String)>,
    /// What will be asked; the preflight takes away what is not understood.
    pub options: RequestOptions,
    /// A prompt like those to come.
    pub content: Content,
    /// What goes with it.
    pub media: Vec<Medium>,
    pub as_token_ids: bool,
    /// Prompt and output tokens of the longest request that is known, to hold against the
    /// context that the server states.
    pub longest: Option<(u32, u32)>,
    pub limit: Option<u32>,
    /// Whether usage comes with each chunk, where an earlier run decided that; else what the
    /// server's chunks hold decides.
    pub chunk_usage: Option<bool>,
    pub timeouts: Timeouts,
    pub secrets: Secrets,
    /// Is told what is waited for.
    pub steps: StepSender,
}

/// What the preflight waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreflightStep {
    pub url: String,
    pub question: Question,
    /// It is given up after this time.
    pub limit: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    Models,
    Answer,
}

/// Hears of every step; the last one counts.
pub type StepSender = watch::Sender<Option<PreflightStep>>;
