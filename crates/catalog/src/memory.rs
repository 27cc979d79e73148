//! What fits on a card: vLLM's budget for the KV cache, and MindIE's.

mod mindie;
mod overhead;
mod spread;

pub use mindie::{MindieMemory, mindie_blocks, mindie_max_batch};
pub use overhead::{ASCEND_SYSTEM, Activations, Overhead, Sampler, overhead, seen_by_framework};
pub use spread::{Dealing, ExpertSplit, Spread, Stage, Tile};

use thiserror::Error;

use crate::{
    device::{Device, Parallel},
    model::{Dtype, Model},
};

/// Bytes in a GiB.
pub const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// The settings of vLLM that decide on memory.
#[derive(Clone, Debug, PartialEq)]
pub struct VllmMemory {
    /// `--gpu-memory-utilization`.
    pub utilization: f64,
    /// `--max-num-batched-tokens`: the profiling run is as large as this.
    pub max_num_batched_tokens: u32,
    /// `--max-num-seqs`: the profiling run samples for as many.
    pub max_num_seqs: u32,
    /// `--max-model-len`.
    pub max_model_len: u32,
    /// `--block-size`.
    pub block_size: u32,
    /// `--kv-cache-dtype`.
    pub kv_dtype: Dtype,
    /// `--enforce-eager`: no memory for CUDA graphs.
    pub enforce_eager: bool,
    /// `--num-gpu-blocks-override`.
    pub blocks_override: Option<u64>,
    /// Out of what activations come.
    pub reserve: Reserve,
    pub sampler: Sampler,
}

/// Out of what the activations of a step come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reserve {
    /// A trial run measures their peak, and the cache gets the rest of the share (vLLM).
    #[default]
    Profiled,
    /// The share is for weights and cache; activations must do with what it leaves (SGLang's
    /// `--mem-fraction-static`).
    Remainder,
}

impl Default for VllmMemory {
    fn default() -> VllmMemory {
        VllmMemory {
            utilization: 0.92,
            max_num_batched_tokens: 8192,
            max_num_seqs: 1024,
            max_model_len: 8192,
            block_size: 16,
            kv_dtype: Dtype::Bf16,
            enforce_eager: false,
            blocks_override: None,
            reserve: Reserve::Profiled,
            sampler: Sampler::default(),
        }
    }
}

/// How a card's memory is divided, in bytes of one card.
#[derive(Clone, Debug, PartialEq)]
pub struct KvBudget {
    pub weights: f64,
    /// Activations at the peak that the settings allow.
    pub activations: f64,
    /// What the card has left for activations.
    pub headroom: f64,
    /// Context and libraries, outside the allocator.
    pub non_torch: f64,
    pub graphs: f64,
    /// What is left for the KV cache.
    pub kv: f64,
    /// Bytes that a token takes.
    pub kv_per_token: f64,
    pub block_size: u32,
    pub blocks: u64,
}

impl KvBudget {
    /// Tokens that the cache holds.
    pub fn tokens(&self) -> u64 {
        self.blocks.saturating_mul(u64::from(self.block_size))
    }

    /// Requests of `tokens` tokens that fit at once.
    pub fn concurrency(&self, tokens: u32) -> f64 {
        let blocks = u64::from(tokens.div_ceil(self.block_size.max(1)).max(1));
        self.blocks as f64 / blocks as f64
    }
}

/// Why a model does not start.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum MemoryError {
    /// The weights alone do not fit on the card.
    #[error(
        "the weights take {weights:.2} GiB of a card that has {total:.2} GiB; use more cards or smaller weights"
    )]
    Weights {
        /// Weights on one card, GiB.
        weights: f64,
        /// The card's memory, GiB.
        total: f64,
    },
    /// A KV cache of the size that was asked for does not fit beside the weights.
    #[error(
        "a KV cache of {cache:.2} GiB does not fit beside {weights:.2} GiB of weights on a card of {total:.2} GiB; ask for less"
    )]
    Cache {
        /// The cache, GiB.
        cache: f64,
        /// Weights on one card, GiB.
        weights: f64,
        /// The card's memory, GiB.
        total: f64,
    },
    /// Nothing is left for the KV cache.
    #[error(
        "nothing is left for the KV cache ({kv:.2} GiB); raise the memory utilization or use more cards"
    )]
    NoCache {
        /// What is left, GiB; not positive.
        kv: f64,
    },
    /// The cache does not hold one request of the greatest length.
    #[error(
        "a request of {max_model_len} tokens needs {needed:.2} GiB of KV cache and {kv:.2} GiB are left; the longest that fits has {fits} tokens"
    )]
    TooLong {
        max_model_len: u32,
        /// What one such request needs, GiB.
        needed: f64,
        /// What is left, GiB.
        kv: f64,
        /// The longest request that fits.
        fits: u64,
    },
}

/// vLLM's division of a card: `utilization × total` less weights, activations, what lies outside
/// the allocator, and CUDA graphs.
pub fn vllm(
    model: &Model,
    device: &Device,
    parallel: &Parallel,
    settings: &VllmMemory,
) -> Result<KvBudget, MemoryError> {
    let total = seen_by_framework(device);
    let weights = model.weight_bytes() / parallel.cards();
    if weights > total {
        return Err(MemoryError::Weights {
            weights: weights / GIB,
            total: total / GIB,
        });
    }
    let over = overhead(model, device, parallel, settings);
    let Overhead {
        activations,
        non_torch,
        graphs,
    } = over;
    let kv = over.cache(settings, total, weights);
    let layers_here = 1.0 / f64::from(parallel.pipeline.max(1));
    let kv_per_token = model.kv_bytes_per_token(parallel.tensor, settings.kv_dtype) * layers_here;
    let block_size = settings.block_size.max(1);
    let block = kv_per_token * f64::from(block_size);
    let blocks = settings
        .blocks_override
        .unwrap_or((kv / block).max(0.0) as u64);
    if blocks == 0 {
        return Err(MemoryError::NoCache { kv: kv / GIB });
    }
    let cache = blocks as f64 * block;
    let headroom = total - weights - non_torch - graphs - cache;
    if headroom < 0.0 {
        return Err(MemoryError::Cache {
            cache: cache / GIB,
            weights: weights / GIB,
            total: total / GIB,
        });
    }
    let budget = KvBudget {
        weights,
        activations,
        headroom,
        non_torch,
        graphs,
        kv,
        kv_per_token,
        block_size,
        blocks,
    };
    if budget.tokens() < u64::from(settings.max_model_len) {
        return Err(MemoryError::TooLong {
            max_model_len: settings.max_model_len,
            needed: f64::from(settings.max_model_len.div_ceil(block_size)) * block / GIB,
            kv: blocks as f64 * block / GIB,
            fits: budget.tokens(),
        });
    }
    Ok(budget)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small_vocabulary() -> Model {
        let mut model = Model::named("qwen2.5-7b").unwrap();
        model.vocabulary = 8192;
        model
    }

    fn device(name: &str) -> &'static Device {
        Device::named(name).unwrap()
    }

    #[test]
    fn an_h200_holds_what_vllm_measured_on_it() {
        let budget = vllm(
            &small_vocabulary(),
            device("h200"),
            &Parallel::default(),
            &VllmMemory::default(),
        )
        .unwrap();
        assert!(
            (budget.weights / GIB / 12.37 - 1.0).abs() < 0.01,
            "{}",
            budget.weights / GIB
        );
        let tokens = budget.tokens() as f64;
        assert!((tokens / 2_152_576.0 - 1.0).abs() < 0.03, "{tokens}");
        assert!((budget.concurrency(8192) - tokens / 8192.0).abs() < 1e-9);
    }

    #[test]
    fn a_larger_token_budget_leaves_less_for_the_cache() {
        let blocks = |tokens| {
            let settings = VllmMemory {
                max_num_batched_tokens: tokens,
                ..VllmMemory::default()
            };
            vllm(
                &small_vocabulary(),
                device("a100-80g"),
                &Parallel::default(),
                &settings,
            )
            .unwrap()
            .blocks
        };
        assert!(blocks(16384) < blocks(2048));
    }

    #[test]
    fn a_model_that_does_not_fit_says_why() {
        let settings = VllmMemory {
            max_num_batched_tokens: 2048,
            max_num_seqs: 256,
            max_model_len: 32768,
            ..VllmMemory::default()
        };
        let large = Model::named("qwen2.5-72b").unwrap();
        let on = |model: &Model, name, tensor| {
            let parallel = Parallel {
                tensor,
                pipeline: 1,
            };
            vllm(model, device(name), &parallel, &settings)
        };
        assert!(matches!(
            on(&large, "a100-80g", 1),
            Err(MemoryError::Weights { .. })
        ));
        assert!(matches!(
            on(&large, "a100-80g", 2),
            Err(MemoryError::TooLong { .. })
        ));
        assert!(on(&large, "a100-80g", 4).is_ok());
        let seven = Model::named("qwen2.5-7b").unwrap();
        assert!(matches!(
            on(&seven, "t4", 1),
            Err(MemoryError::NoCache { .. })
        ));
    }
}
