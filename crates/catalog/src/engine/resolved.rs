//! Settings that an engine runs with.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{EngineKind, Value, Version};
use crate::with_defaults;

/// The order in which waiting requests are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    Fcfs,
    Priority,
    /// Longest matching prefix first (SGLang).
    LongestPrefix,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Speculative {
    /// Its method, such as `ngram`, `eagle3`, `draft_model`.
    pub method: String,
    pub tokens: u64,
    pub model: Option<String>,
}

with_defaults! {
    /// What an engine runs with. The names are vLLM's; another engine's settings of the same meaning
    /// stand in the same place.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct ResolvedFlags {
        pub engine: EngineKind = EngineKind::Custom,
        pub version: Version = Version::new(0, 0, 0),
        /// The model's folder or hub name.
        pub model: String = String::new(),
        /// Names of the model in the API; never empty.
        pub served_names: Vec<String> = Vec::new(),
        /// Address to listen on; `None` for all.
        pub host: Option<String> = None,
        pub port: u16 = 0,
        /// Keys that clients must present; empty for none.
        #[serde(skip)]
        pub api_keys: Vec<String> = Vec::new(),
        pub seed: i64 = 0,
        pub max_model_len: u64 = 0,
        pub max_num_seqs: u64 = 1,
        pub max_num_batched_tokens: u64 = 0,
        /// Tokens in a KV block.
        pub block_size: u64 = 1,
        pub gpu_memory_utilization: f64 = 1.0,
        /// Bytes of KV cache, in place of the share.
        pub kv_cache_memory_bytes: Option<u64> = None,
        /// Number of KV blocks, in place of what memory allows.
        pub num_gpu_blocks_override: Option<u64> = None,
        /// Format of the KV cache; `auto` is the model's.
        pub kv_cache_dtype: String = "auto".into(),
        /// Format of the weights; `auto` is the model's.
        pub dtype: String = "auto".into(),
        pub quantization: Option<String> = None,
        /// Devices that share each layer.
        pub tensor_parallel: u32 = 1,
        /// Groups that hold successive layers.
        pub pipeline_parallel: u32 = 1,
        pub data_parallel: u32 = 1,
        pub expert_parallel: bool = false,
        /// Prompts run in pieces beside decoding.
        pub chunked_prefill: bool = false,
        pub prefix_caching: bool = false,
        pub enforce_eager: bool = false,
        /// Largest batch with a CUDA graph; 0 without graphs.
        pub max_graph_batch: u64 = 0,
        /// The next step is scheduled while this one runs.
        pub async_scheduling: bool = false,
        /// Prompt tokens of one request in one step; 0 for no limit.
        pub long_prefill_token_threshold: u64 = 0,
        /// Tokens in one streamed chunk.
        pub stream_interval: u64 = 1,
        /// Processes that take requests in and send chunks out.
        pub api_servers: u64 = 1,
        pub policy: Policy = Policy::Fcfs,
        pub speculative: Option<Speculative> = None,
        /// Delay before the next prompt, in lengths of the last prefill (vLLM of 2024).
        pub scheduler_delay_factor: f64 = 0.0,
        /// Forward steps for one call of the scheduler (vLLM of 2024).
        pub scheduler_steps: u64 = 1,
        /// Waiting requests above which new ones are refused.
        pub max_queued_requests: Option<u64> = None,
        /// Everything that was given, by name, as it was read.
        pub given: BTreeMap<String, Value> = BTreeMap::new(),
        /// Given, accepted, and without effect on the simulated engine.
        pub without_effect: Vec<String> = Vec::new(),
        /// What the engine warns of at the start.
        pub warnings: Vec<String> = Vec::new(),
    }
}

impl ResolvedFlags {
    /// One device, first come first served, and no further feature.
    pub(super) fn plain(engine: EngineKind, version: Version) -> ResolvedFlags {
        ResolvedFlags {
            engine,
            version,
            port: engine.default_port(),
            ..ResolvedFlags::default()
        }
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.given.get(name)
    }

    /// Was this switch given, and not switched off?
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name) == Some(&Value::Bool(true))
    }
}
