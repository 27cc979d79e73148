//! The settings of an engine.

use inferometer_catalog::{
    device::{Device, Parallel},
    memory::{self, Activations, Division, MemoryError, MemorySettings},
    model::Model,
    timing::{ApiCost, StepTime, Timing},
};

use super::{MindiePolicy, Noise, SglangPolicy, VllmPolicy};

#[derive(Clone, Debug, PartialEq)]
pub enum Policy {
    Vllm(VllmPolicy),
    Mindie(MindiePolicy),
    Sglang(SglangPolicy),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speculation {
    /// Tokens drafted for each sequence and step.
    pub tokens: u32,
    /// Probability that a draft is accepted whose predecessors were.
    pub acceptance: f64,
    /// Time to draft a token, as a share of a decode step of the model: 0 for n-grams, about
    /// 0.05 for a small head, more for a draft model.
    pub draft_cost: f64,
}

/// What a card has left for the activations of a step, and what a step takes of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Headroom {
    pub bytes: f64,
    pub activations: Activations,
}

#[derive(Clone, Debug, PartialEq)]
pub struct EngineConfig {
    pub policy: Policy,
    /// The most tokens of prompt and answer.
    pub max_model_len: u32,
    pub blocks: u32,
    pub block_size: u32,
    /// Whether full blocks are kept for later prompts that begin alike.
    pub prefix_caching: bool,
    /// Tokens in a chunk after the first.
    pub stream_interval: u32,
    pub speculation: Option<Speculation>,
    pub step_time: StepTime,
    /// Data-parallel replicas, each with cards and a cache of its own.
    pub replicas: u32,
    pub api: ApiCost,
    /// Processes that take requests in and send chunks out.
    pub api_servers: u32,
    /// What is left of a card for a step; absent where that is not known.
    pub headroom: Option<Headroom>,
    pub noise: Noise,
}

impl EngineConfig {
    /// An engine with this scheduler and these blocks, without prefix cache, speculation and
    /// noise.
    pub fn new(
        policy: Policy,
        step_time: StepTime,
        (blocks, block_size): (u64, u32),
        max_model_len: u32,
    ) -> EngineConfig {
        EngineConfig {
            policy,
            max_model_len,
            blocks: u32::try_from(blocks).unwrap_or(u32::MAX),
            block_size,
            prefix_caching: false,
            stream_interval: 1,
            speculation: None,
            replicas: 1,
            api: step_time.api(),
            api_servers: 1,
            headroom: None,
            step_time,
            noise: Noise::default(),
        }
    }

    /// An engine whose cache and headroom are those of a divided card.
    pub fn divided(policy: Policy, step_time: StepTime, division: &Division) -> EngineConfig {
        let longest = u32::try_from(division.max_model_len).unwrap_or(u32::MAX);
        let parallel = Parallel::tensor(division.layout.tensor);
        let cache = (division.blocks, division.layout.block_size);
        EngineConfig {
            headroom: Some(Headroom {
                bytes: division.headroom(),
                activations: Activations::new(&division.model, &parallel),
            }),
            ..EngineConfig::new(policy, step_time, cache, longest)
        }
    }

    /// vLLM with a model on a device: its cache has what the memory leaves. Token budget and
    /// sequences of `memory` are the scheduler's.
    pub fn vllm(
        model: &Model,
        device: &Device,
        parallel: &Parallel,
        timing: &Timing,
        policy: VllmPolicy,
        memory: &MemorySettings,
    ) -> Result<EngineConfig, MemoryError> {
        let memory = MemorySettings {
            max_num_batched_tokens: policy.max_num_batched_tokens,
            max_num_seqs: policy.max_num_seqs,
            ..memory.clone()
        };
        let division = memory::divide_settings(&memory, parallel, model, device);
        division.check_start()?;
        let time = StepTime::new(model, device, parallel, timing)
            .kv_dtype(memory.kv_dtype)
            .launched(policy.launch(memory.enforce_eager, None));
        Ok(EngineConfig::divided(Policy::Vllm(policy), time, &division))
    }
}
