//! Where the preflight stands, for whoever waits for it.

use std::time::Duration;
use tokio::sync::watch;

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
