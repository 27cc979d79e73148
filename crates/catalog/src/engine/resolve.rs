//! From flags as given to settings as the engine would run with them, or its refusal.

use std::collections::BTreeMap;

use serde::Serialize;

use super::command::LaunchCommand;
use super::defaults::{DeviceClass, ModelLimits};
use super::refusal::{Refusal, Rule, Voice};
use super::{EngineKind, Value, Version};

mod given;
mod llama;
mod sglang;
mod vllm;

pub(super) use vllm::block_unit;

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
    /// Tokens drafted at a time.
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
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.given.get(name)
    }

    /// Was this switch given, and not switched off?
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name) == Some(&Value::Bool(true))
    }
}

/// Settings as this version of the engine would run with them on this device, or its refusal.
///
/// A custom command has no rules: its settings are vLLM's defaults, for lack of any other.
pub fn resolve(
    command: &LaunchCommand,
    version: Version,
    device: &DeviceClass,
    model: &ModelLimits,
) -> Result<ResolvedFlags, Refusal> {
    let voice = Voice {
        engine: command.engine,
        form: command.form,
        version,
    };
    let given = given::read(command, voice)?;
    match command.engine {
        EngineKind::Vllm | EngineKind::Custom => {
            vllm::resolve(command, given, voice, device, model)
        }
        EngineKind::Sglang => sglang::resolve(command, given, voice, device, model),
        EngineKind::LlamaServer => llama::resolve(command, given, voice, model),
        EngineKind::Mindie => Ok(super::mindie::Config::default().resolved(version)),
    }
}

/// The names under which the model is served.
fn served_names(given: &given::Given, flag: &str, model: &str) -> Vec<String> {
    match given.list(flag) {
        names if names.is_empty() => vec![model.to_owned()],
        names => names,
    }
}

fn no_model(voice: Voice, flag: &str) -> Refusal {
    voice.command(
        Rule::NoModel,
        flag,
        format!("the following arguments are required: --{flag}"),
    )
}

/// Which rule a configuration breaks, for those who do not need the settings.
pub fn check(
    command: &LaunchCommand,
    version: Version,
    device: &DeviceClass,
    model: &ModelLimits,
) -> Option<Refusal> {
    resolve(command, version, device, model).err()
}

#[cfg(test)]
mod tests;
