//! Settings that an engine runs with.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{EngineKind, Value, Version};

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

/// What an engine runs with. The names are vLLM's; another engine's settings of the same meaning
/// stand in the same place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResolvedFlags {
    pub engine: EngineKind,
    pub version: Version,
    /// The model's folder or hub name.
    pub model: String,
    /// Names of the model in the API; never empty.
    pub served_names: Vec<String>,
    /// Address to listen on; `None` for all.
    pub host: Option<String>,
    pub port: u16,
    /// Keys that clients must present; empty for none.
    #[serde(skip)]
    pub api_keys: Vec<String>,
    pub seed: i64,
    pub max_model_len: u64,
    pub max_num_seqs: u64,
    pub max_num_batched_tokens: u64,
    /// Tokens in a KV block.
    pub block_size: u64,
    pub gpu_memory_utilization: f64,
    /// Bytes of KV cache, in place of the share.
    pub kv_cache_memory_bytes: Option<u64>,
    /// Number of KV blocks, in place of what memory allows.
    pub num_gpu_blocks_override: Option<u64>,
    /// Format of the KV cache; `auto` is the model's.
    pub kv_cache_dtype: String,
    /// Format of the weights; `auto` is the model's.
    pub dtype: String,
    pub quantization: Option<String>,
    /// Devices that share each layer.
    pub tensor_parallel: u32,
    /// Groups that hold successive layers.
    pub pipeline_parallel: u32,
    pub data_parallel: u32,
    pub expert_parallel: bool,
    /// Prompts run in pieces beside decoding.
    pub chunked_prefill: bool,
    pub prefix_caching: bool,
    pub enforce_eager: bool,
    /// Largest batch with a CUDA graph; 0 without graphs.
    pub max_graph_batch: u64,
    /// The next step is scheduled while this one runs.
    pub async_scheduling: bool,
    /// Prompt tokens of one request in one step; 0 for no limit.
    pub long_prefill_token_threshold: u64,
    /// Tokens in one streamed chunk.
    pub stream_interval: u64,
    /// Processes that take requests in and send chunks out.
    pub api_servers: u64,
    pub policy: Policy,
    pub speculative: Option<Speculative>,
    /// Delay before the next prompt, in lengths of the last prefill (vLLM of 2024).
    pub scheduler_delay_factor: f64,
    /// Forward steps for one call of the scheduler (vLLM of 2024).
    pub scheduler_steps: u64,
    /// Waiting requests above which new ones are refused.
    pub max_queued_requests: Option<u64>,
    /// Everything that was given, by name, as it was read.
    pub given: BTreeMap<String, Value>,
    /// Given, accepted, and without effect on the simulated engine.
    pub without_effect: Vec<String>,
    /// What the engine warns of at the start.
    pub warnings: Vec<String>,
}

impl ResolvedFlags {
    /// One device, first come first served, and no further feature.
    pub(super) fn plain(engine: EngineKind, version: Version) -> ResolvedFlags {
        ResolvedFlags {
            engine,
            version,
            model: String::new(),
            served_names: Vec::new(),
            host: None,
            port: engine.default_port(),
            api_keys: Vec::new(),
            seed: 0,
            max_model_len: 0,
            max_num_seqs: 1,
            max_num_batched_tokens: 0,
            block_size: 1,
            gpu_memory_utilization: 1.0,
            kv_cache_memory_bytes: None,
            num_gpu_blocks_override: None,
            kv_cache_dtype: "auto".into(),
            dtype: "auto".into(),
            quantization: None,
            tensor_parallel: 1,
            pipeline_parallel: 1,
            data_parallel: 1,
            expert_parallel: false,
            chunked_prefill: false,
            prefix_caching: false,
            enforce_eager: false,
            max_graph_batch: 0,
            async_scheduling: false,
            long_prefill_token_threshold: 0,
            stream_interval: 1,
            api_servers: 1,
            policy: Policy::Fcfs,
            speculative: None,
            scheduler_delay_factor: 0.0,
            scheduler_steps: 1,
            max_queued_requests: None,
            given: BTreeMap::new(),
            without_effect: Vec::new(),
            warnings: Vec::new(),
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
