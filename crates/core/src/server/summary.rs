//! The form of `server` in `summary.json`.

use super::{EnergySummary, Explanation, SpeculationSummary};
use serde::{Deserialize, Serialize};

/// Mean and maximum of a gauge over its samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Level {
    pub mean: f64,
    pub max: f64,
}

/// `server` of `summary.json`. What the server did not say is `null`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerSummary {
    /// Samples of the engine inside the measured part.
    pub samples: u64,
    pub running: Option<Level>,
    pub waiting: Option<Level>,
    /// Share of the KV cache in use.
    pub kv_use: Option<Level>,
    pub preemptions: Option<f64>,
    /// Share of the looked-up prompt tokens that the prefix cache held.
    pub prefix_hit_rate: Option<f64>,
    pub prompt_tokens: Option<f64>,
    pub generation_tokens: Option<f64>,
    /// Drafts of coming tokens, where the engine makes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speculation: Option<SpeculationSummary>,
    /// Mean requests in a step, where the engine says so.
    pub batch_size: Option<f64>,
    pub step_tokens: Option<f64>,
    /// Mean time before the first step of a request.
    pub queue_mean_ms: Option<f64>,
    /// Mean time from its first step to its first token.
    pub prefill_mean_ms: Option<f64>,
    /// Mean time from its first token to its last.
    pub decode_mean_ms: Option<f64>,
    /// Mean time to first token as the server saw it.
    pub ttft_mean_ms: Option<f64>,
    /// Mean latency as the server saw it.
    pub e2e_mean_ms: Option<f64>,
    /// What lies between the engine and the client: their front end, the network, the client.
    pub between: Option<Between>,
    /// Cores that the API server's process used, where it says so: at 1, one in Python is full.
    pub front_end_cores: Option<f64>,
    pub devices: Vec<DeviceSummary>,
    /// What the cards drew, where their driver's tool tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergySummary>,
    /// The host of the client.
    pub host: Option<HostSummary>,
    /// Where the time of the slowest requests went, as far as it can be told.
    pub slowest: Vec<Explanation>,
}

/// Mean times on the client's clock less those on the engine's own, in milliseconds: what the
/// engine's front end (API server, detokeniser) and the network add.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Between {
    pub ttft_ms: Option<f64>,
    /// Of the time per token after the first.
    pub tpot_ms: Option<f64>,
    pub e2e_ms: Option<f64>,
}

/// A GPU or NPU over the measured part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceSummary {
    pub index: u32,
    pub name: String,
    /// Version of its driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Share of time in which it worked.
    pub busy: Option<Level>,
    pub memory_used_mib: Option<Level>,
    pub memory_total_mib: Option<f64>,
    pub power_w: Option<Level>,
    pub temperature_c: Option<Level>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostSummary {
    /// Share of all cores in use.
    pub cpu: Option<Level>,
    pub memory_used_mib: Option<Level>,
}
