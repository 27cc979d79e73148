//! What a search for capacity found, as `capacity.json` holds it.

use crate::summary::Summary;
use serde::{Deserialize, Serialize};

/// Name and version of the form.
pub const SCHEMA: &str = "inferometer.capacity/1";

/// The file of a search's folder.
pub const FILE: &str = "capacity.json";

/// The answer of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// `inferometer.capacity/1`.
    pub schema: String,
    /// Name of the search.
    #[serde(default)]
    pub label: Option<String>,
    /// What was raised: `rate` or `concurrency`.
    pub over: String,
    /// The answer for the first tier.
    #[serde(flatten)]
    pub answer: TierCapacity,
    /// Requests of the whole search.
    pub requests_spent: u64,
    /// The long run at the answer.
    pub confirmed: Option<Summary>,
    /// The answers of all tiers, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<TierCapacity>,
    /// Words that follow `--config` of a probe's scenario in the command that repeats the search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeat: Vec<String>,
    /// All probes, in their order.
    #[serde(default)]
    pub probes: Vec<ProbeLine>,
}

/// The highest load that meets one tier of objectives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TierCapacity {
    /// Name of the tier.
    #[serde(default)]
    pub tier: Option<String>,
    /// Its objectives in words.
    #[serde(default)]
    pub objectives: Vec<String>,
    /// The load; absent where none can be claimed.
    pub value: Option<f64>,
    /// Low end of its 90 % interval.
    pub low: Option<f64>,
    /// High end; absent where every load up to the highest met the objectives.
    pub high: Option<f64>,
    /// The objective that is missed first.
    pub binding: Option<String>,
    /// `slope` or `cliff`.
    pub edge: Option<Edge>,
    /// How the search ended.
    pub ending: SearchEnding,
    /// Requests that the last run must have for its percentile to be claimed, where it had
    /// fewer.
    #[serde(default)]
    pub needs: Option<u64>,
}

/// How attainment falls at the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Edge {
    /// A little more load misses a little more.
    Slope,
    /// A little more load misses most of what was met.
    Cliff,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchEnding {
    /// The interval is as narrow as asked, and a long run confirmed it.
    Confirmed,
    /// Every long run moved the answer.
    Unconfirmed,
    /// The requests were spent before.
    BudgetSpent,
    /// Every load up to the highest met the objectives.
    AtCeiling,
    /// No load down to the lowest met them.
    NeverMet,
    /// The long run had fewer requests than the percentile needs.
    TooFewSamples,
    /// The user stopped it.
    #[default]
    Interrupted,
}

/// One probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeLine {
    /// The load.
    pub level: f64,
    /// `bracket`, `bisect` or `confirm`.
    pub purpose: String,
    /// Requests sent.
    pub requests: u64,
    /// `meets`, `misses` or `near`.
    pub verdict: String,
    /// Its run, below the search's folder.
    pub directory: String,
}
