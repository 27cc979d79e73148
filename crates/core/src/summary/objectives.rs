//! Objectives, and how a run met them.

use super::JobAttainment;
use serde::{Deserialize, Serialize};

/// Objectives and how they were met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SloResult {
    /// Share of all requests (failed and cut ones are misses) that met every request objective;
    /// absent if that cannot be told of some answer.
    pub attainment: Option<f64>,
    /// 95 % interval of `attainment`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attainment_interval: Option<[f64; 2]>,
    /// Requests a second that did.
    pub goodput_per_s: Option<f64>,
    /// The same of sessions, where an objective is about every one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<JobAttainment>,
    pub objectives: Vec<ObjectiveResult>,
    /// All objectives are met, those of a request by the share of requests that was asked for
    /// (all, unless `--attainment` says otherwise); absent if not decidable.
    pub met: Option<bool>,
}

impl SloResult {
    /// What the objectives say of the run.
    pub fn outcome(&self) -> SloOutcome {
        match self.met {
            Some(true) => SloOutcome::Met,
            Some(false) => SloOutcome::Missed,
            None => SloOutcome::Undecided,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SloOutcome {
    Met,
    Missed,
    /// None is missed for all that is known, and something is not known.
    Undecided,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObjectiveResult {
    /// As given: `ttft.p99=1s`.
    pub objective: String,
    /// The run's value for a percentile or mean objective, in milliseconds.
    pub value_ms: Option<f64>,
    /// Share of requests that met it, for a request objective; of sessions for one of jobs.
    pub share: Option<f64>,
    pub met: Option<bool>,
}
