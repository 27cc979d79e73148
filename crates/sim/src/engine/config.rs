//! The settings of an engine.

use inferometer_catalog::{
    device::{Device, Parallel},
    memory::{self, Activations, Division, MemoryError, MemorySettings},
    model::Model,
    timing::{ApiCost, StepTime, Timing},
};

use super::{Capacity, MindiePolicy, Noise, SglangPolicy, TrtllmPolicy, VllmPolicy};

#[derive(Clone, Debug, PartialEq)]
pub enum Policy {
    Vllm(VllmPolicy),
    Mindie(MindiePolicy),
    Sglang(SglangPolicy),
    Trtllm(TrtllmPolicy),
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

/// Workers that compute nothing but prompts, and what it takes to hand over what they computed.
#[derive(Clone, Debug, PartialEq)]
pub struct PrefillWorkers {
    /// That of one; its replicas are all of them.
    pub config: EngineConfig,
    /// Seconds to send the keys and values of a token from card to card.
    pub token_s: f64,
    /// Seconds for each prompt beside that.
    pub prompt_s: f64,
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
    /// Bytes of a token in the cache of each card; absent where that is not known.
    pub token_bytes: Option<f64>,
    /// Where prompts are computed; absent: where answers are.
    pub prefill: Option<Box<PrefillWorkers>>,
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
            token_bytes: None,
            prefill: None,
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
            token_bytes: Some(division.layout.token_bytes()),
            ..EngineConfig::new(policy, step_time, cache, longest)
        }
    }

    /// So many workers like this one, to which others hand what they computed of prompts over a
    /// link of so many bytes/s for each card.
    pub fn fed_by(self, prefill: EngineConfig, [x, y]: [u32; 2], link: f64) -> EngineConfig {
        let token_s = prefill.token_bytes.unwrap_or(0.0) / link.max(1.0);
        let times = |config: EngineConfig, workers: u32| EngineConfig {
            replicas: config.replicas.max(1).saturating_mul(workers.max(1)),
            api_servers: config.api_servers.max(1).saturating_mul(workers.max(1)),
            ..config
        };
        let mut prefill = times(prefill, x);
        // Answers are none of its concern.
        if let Policy::Trtllm(policy) = &mut prefill.policy {
            policy.capacity = Capacity::MaxUtilization;
        }
        EngineConfig {
            prefill: Some(Box::new(PrefillWorkers {
                prompt_s: prefill.step_time.handover(),
                config: prefill,
                token_s,
            })),
            ..times(self, y)
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
