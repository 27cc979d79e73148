//! One look at the server.

use crate::sparse::sparse;
use crate::units::Offset;
use serde::{Deserialize, Serialize};

/// Sum and number of what a histogram has taken in since the engine began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Total {
    pub sum: f64,
    pub count: f64,
}

sparse! {
    /// What was seen at one moment. Each source is asked at its own pace, so that a sample mostly
    /// holds one of the three parts.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct Sample {
        /// When the answer was there, on the run's clock.
        #[serde(rename = "at_ns")]
        pub at: Offset,
        /// The engine, from its metrics.
        pub engine: Option<EngineState>,
        /// GPUs or NPUs, by their driver's tool.
        pub devices: Vec<DeviceState>,
        /// The host of this process.
        pub host: Option<HostState>,
    }

    /// Gauges and counters of an engine under our names. Counters count since the engine began;
    /// several replicas behind one address are summed.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct EngineState {
        pub running: Option<f64>,
        pub waiting: Option<f64>,
        /// Share of the KV cache in use, 0 to 1; the mean of several replicas.
        pub kv_use: Option<f64>,
        pub preemptions: Option<f64>,
        /// Prompt tokens looked up in the prefix cache.
        pub prefix_queries: Option<f64>,
        pub prefix_hits: Option<f64>,
        /// The quotient, where the engine gives only that.
        pub prefix_hit_rate: Option<f64>,
        pub prompt_tokens: Option<f64>,
        pub generation_tokens: Option<f64>,
        pub successes: Option<f64>,
        /// Times that tokens were drafted for a sequence.
        pub drafts: Option<f64>,
        pub draft_tokens: Option<f64>,
        pub accepted_tokens: Option<f64>,
        /// The same by their places in the draft.
        pub accepted_by_position: Vec<f64>,
        /// Tokens of a step, and share of drafted tokens that hold, where the engine says only that.
        pub accept_length: Option<f64>,
        pub accept_rate: Option<f64>,
        /// Requests in a step, where the engine says it as a mean.
        pub batch_size: Option<f64>,
        pub step_tokens: Option<Total>,
        /// Seconds before the first step of a request.
        pub queue_s: Option<Total>,
        /// Seconds from its first step to its first token.
        pub prefill_s: Option<Total>,
        /// Seconds from its first token to its last.
        pub decode_s: Option<Total>,
        /// Seconds to the first token as the server sees them.
        pub ttft_s: Option<Total>,
        /// Seconds of the whole request as the server sees them.
        pub e2e_s: Option<Total>,
        /// Seconds of CPU of the process that answers us: the API server, where that is one process.
        pub front_end_cpu_s: Option<f64>,
    }

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct DeviceState {
        pub index: u32,
        pub name: String,
        /// Version of its driver.
        pub driver: Option<String>,
        /// Share of time in which it worked, 0 to 1.
        pub busy: Option<f64>,
        pub memory_used_mib: Option<f64>,
        pub memory_total_mib: Option<f64>,
        /// Memory in use that no listed process holds, in MiB; known where processes are listed.
        pub memory_system_mib: Option<f64>,
        pub power_w: Option<f64>,
        pub temperature_c: Option<f64>,
    }

    /// The host on which we run, which is the server's for an engine that we started.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct HostState {
        /// Share of all cores in use since the sample before, 0 to 1.
        pub cpu: Option<f64>,
        /// Memory that is not available, in MiB.
        pub memory_used_mib: Option<f64>,
        pub memory_total_mib: Option<f64>,
    }
}
