//! Tokens and sequences in a step: vLLM's defaults fitted to the model, and its checks of them.

use super::super::super::defaults::{DeviceClass, UsageContext, vllm_batch_defaults};
use super::super::super::refusal::{BrokenBound, Refusal, Rule, Voice};
use super::super::super::{Value, Version};
use super::super::given::Given;

/// Tokens and sequences in a step.
pub(super) fn batch(
    given: &Given,
    version: Version,
    device: &DeviceClass,
    world: u64,
    chunked: bool,
    max_model_len: u64,
) -> (u64, u64) {
    let default = vllm_batch_defaults(version, device, UsageContext::ApiServer, world);
    let given_tokens = given.count("max-num-batched-tokens");
    let given_seqs = given.count("max-num-seqs");
    // Throughput mode doubles what the user did not set (source of 0.32).
    let twice = match given.text("performance-mode").as_deref() {
        Some("throughput") => 2,
        _ => 1,
    };
    let mut seqs = given_seqs.unwrap_or(default.seqs * twice);
    let tokens = match given_tokens {
        Some(tokens) => tokens,
        None if version < Version::new(0, 8, 0) => {
            let steps = given.count("num-scheduler-steps").unwrap_or(1);
            if chunked && steps <= 1 {
                default.tokens
            } else {
                max_model_len.max(2048)
            }
        }
        None => {
            let wanted = default.tokens * twice;
            let wanted = if chunked {
                wanted
            } else {
                wanted.max(max_model_len)
            };
            if version >= Version::new(0, 12, 0) {
                wanted.min(seqs.saturating_mul(max_model_len))
            } else {
                wanted
            }
        }
    };
    if given_seqs.is_none() && version >= Version::new(0, 9, 0) {
        seqs = seqs.min(tokens);
    }
    (tokens, seqs)
}

/// Numbers out of range in the scheduler. A zero drags the other default down to zero, so that
/// 0.32 complains of both (run).
pub(super) fn scheduler_bounds(given: &Given, tokens: u64, seqs: u64) -> Vec<BrokenBound> {
    let mut broken = given.out_of_range.clone();
    let touched = |name: &str| broken.iter().any(|bound| bound.flag == name);
    let mut implied = Vec::new();
    for (name, value) in [("max-num-batched-tokens", tokens), ("max-num-seqs", seqs)] {
        if value == 0 && !touched(name) {
            let bound = ("greater than or equal to", "greater_than_equal", 1.0);
            implied.push(BrokenBound::new(
                name,
                "SchedulerConfig",
                &Value::Int(0),
                bound,
            ));
        }
    }
    broken.extend(implied);
    broken
}

pub(super) struct Batch {
    pub tokens: u64,
    pub seqs: u64,
    pub max_model_len: u64,
    pub chunked: bool,
    pub threshold: u64,
}

pub(super) fn check_batch(voice: Voice, batch: Batch) -> Result<(), Refusal> {
    let Batch {
        tokens,
        seqs,
        max_model_len,
        chunked,
        threshold,
    } = batch;
    let refuse =
        |rule, flag, message| Err(voice.value_error(rule, flag, "SchedulerConfig", message));
    if tokens < max_model_len && !chunked {
        return refuse(
            Rule::BatchedTokensBelowModelLen,
            "max-num-batched-tokens",
            format!(
                "max_num_batched_tokens ({tokens}) is smaller than max_model_len ({max_model_len}). \
                 This effectively limits the maximum sequence length to max_num_batched_tokens and \
                 makes vLLM reject longer sequences. Please increase max_num_batched_tokens or \
                 decrease max_model_len."
            ),
        );
    }
    if tokens < seqs {
        return refuse(
            Rule::BatchedTokensBelowSeqs,
            "max-num-batched-tokens",
            format!(
                "max_num_batched_tokens ({tokens}) must be greater than or equal to max_num_seqs \
                 ({seqs})."
            ),
        );
    }
    if threshold > max_model_len {
        return refuse(
            Rule::LongPrefillAboveModelLen,
            "long-prefill-token-threshold",
            format!(
                "long_prefill_token_threshold ({threshold}) cannot be greater than the \
                 max_model_len ({max_model_len})."
            ),
        );
    }
    Ok(())
}
