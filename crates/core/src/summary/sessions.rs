//! Sessions of several turns: how long a whole job takes, and what each turn costs.

use serde::{Deserialize, Serialize};

/// The sessions of a run whose work has any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionResult {
    /// Sessions whose first turn is measured: complete + failed + cut. The one that `--requests`
    /// cuts short is none of them.
    pub began: u64,
    /// Every turn was answered.
    pub complete: u64,
    /// A turn failed or was given up.
    pub failed: u64,
    /// Not over when the run ended.
    pub cut: u64,
    /// Sessions that `--requests` cut short.
    pub shortened: u64,
    /// Sessions per hour of the window; each counts by the share of its turns that were answered
    /// inside, unless one of them failed.
    pub per_hour: Option<f64>,
    /// Turns that complete sessions have on average.
    pub turns_mean: Option<f64>,
    pub job: JobTimes,
    /// Measured turns by their place in the session; those beyond the eighth in groups that double.
    pub turns: Vec<TurnResult>,
}

/// Time of a whole session, waits for its user and its tools included: from the start of its
/// first turn to its last answer. Percentiles are of sessions without a failed turn; those that
/// were cut count as longer than they had lasted (Kaplan–Meier).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobTimes {
    /// Absent where sessions were cut: nobody knows how long the longest are.
    pub mean_ms: Option<f64>,
    pub p50_ms: Option<f64>,
    pub p90_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    /// The longest of those that are complete.
    pub max_ms: Option<f64>,
}

/// The measured requests of one turn, or of a few that follow each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnResult {
    /// Counted from 1.
    pub first: u32,
    /// The last turn that these figures are of.
    pub last: u32,
    pub ok: u64,
    pub failed: u64,
    pub ttft_p50_ms: Option<f64>,
    pub ttft_p99_ms: Option<f64>,
    pub e2e_p50_ms: Option<f64>,
    pub e2e_p99_ms: Option<f64>,
    pub input_tokens_mean: Option<f64>,
    /// Prompt tokens that the server had in its cache; none where it says so of others only.
    pub cached_tokens_mean: Option<f64>,
    pub output_tokens_mean: Option<f64>,
    /// Complete answers whose request the engine preempted, where it says so of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preempted: Option<u64>,
}

/// How sessions met the objectives for jobs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobAttainment {
    /// Sessions behind it.
    pub sessions: u64,
    /// Share of sessions that are complete within the limit. A session with a failed turn misses
    /// it; one that was cut counts as longer than it had lasted.
    pub attainment: Option<f64>,
    /// Sessions per hour that are.
    pub goodput_per_hour: Option<f64>,
}
