//! What fits on a card: how an engine divides its memory, and what the KV cache then holds.
//!
//! [`divide`] is the one place where flags become bytes: the planner shows its answer, and the
//! simulated engine runs with it.

mod division;
mod flag_effects;
mod format;
mod layout;
mod mindie;
mod overhead;
mod profile;
mod spread;

pub use division::{CardStage, Division, Fit, divide, divide_settings};
pub use format::UnknownQuantization;
pub use layout::KvLayout;
pub use mindie::{MindieMemory, mindie_max_batch};
pub use overhead::Activations;
pub use profile::Profile;

use overhead::{ASCEND_SYSTEM, overhead, seen_by_framework};
use thiserror::Error;

use crate::engine::EngineKind;
use crate::model::Dtype;
use crate::with_defaults;

with_defaults! {
    /// The settings of an engine that decide how it divides a card. The names are vLLM's.
    #[derive(Clone, Debug, PartialEq)]
    pub struct MemorySettings {
        /// `--gpu-memory-utilization`.
        pub utilization: f64 = 0.92,
        /// `--max-num-batched-tokens`: the profiling run is as large as this.
        pub max_num_batched_tokens: u32 = 8192,
        /// `--max-num-seqs`: the profiling run samples for as many.
        pub max_num_seqs: u32 = 1024,
        /// `--max-model-len`.
        pub max_model_len: u32 = 8192,
        /// `--block-size`.
        pub block_size: u32 = 16,
        /// `--kv-cache-dtype`.
        pub kv_dtype: Dtype = Dtype::Bf16,
        /// `--enforce-eager`: no memory for CUDA graphs.
        pub enforce_eager: bool = false,
        /// `--num-gpu-blocks-override`; tokens of SGLang's `--max-total-tokens`.
        pub blocks_override: Option<u64> = None,
        /// `--kv-cache-memory-bytes`, per card.
        pub cache_bytes: Option<u64> = None,
        /// Out of what activations come.
        pub reserve: Reserve = Reserve::Profiled,
        pub profile: Profile = Profile::of_vllm(EngineKind::Vllm.newest()),
    }
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
    /// The share is of what weights and activations leave (TensorRT-LLM's
    /// `--kv_cache_free_gpu_memory_fraction`).
    Free,
}

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
        max_model_len: u64,
        /// What one such request needs, GiB.
        needed: f64,
        /// What is left, GiB.
        kv: f64,
        /// The longest request that fits.
        fits: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Device, Parallel};
    use crate::model::Model;
    use crate::units::GIB;

    fn small_vocabulary() -> Model {
        let mut model = Model::named("qwen2.5-7b").unwrap();
        model.vocabulary = 8192;
        model
    }

    fn divided(model: &Model, device: &str, tensor: u32, settings: &MemorySettings) -> Division {
        let parallel = Parallel::tensor(tensor);
        divide_settings(settings, &parallel, model, Device::named(device).unwrap())
    }

    #[test]
    fn an_h200_holds_what_vllm_measured_on_it() {
        let division = divided(&small_vocabulary(), "h200", 1, &MemorySettings::default());
        let weights = division.weights / GIB;
        assert!((weights / 12.37 - 1.0).abs() < 0.01, "{weights}");
        let tokens = division.kv_tokens() as f64;
        assert!((tokens / 2_152_576.0 - 1.0).abs() < 0.03, "{tokens}");
        assert!((division.concurrency(8192) - tokens / 8192.0).abs() < 1e-9);
    }

    #[test]
    fn a_larger_token_budget_leaves_less_for_the_cache() {
        let blocks = |tokens| {
            let settings = MemorySettings {
                max_num_batched_tokens: tokens,
                ..MemorySettings::default()
            };
            divided(&small_vocabulary(), "a100-80g", 1, &settings).blocks
        };
        assert!(blocks(16384) < blocks(2048));
    }

    #[test]
    fn a_model_that_does_not_fit_says_why() {
        let settings = MemorySettings {
            max_num_batched_tokens: 2048,
            max_num_seqs: 256,
            max_model_len: 32768,
            ..MemorySettings::default()
        };
        let large = Model::named("qwen2.5-72b").unwrap();
        let on =
            |model: &Model, name, tensor| divided(model, name, tensor, &settings).check_start();
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
