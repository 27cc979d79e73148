//! vLLM's scheduler: a budget of tokens for each step, given first to those that run and then
//! to those that wait.

use inferometer_catalog::timing::KernelLaunch;

use super::{
    Nanos, Order,
    state::{Prompts, State},
};

inferometer_catalog::with_defaults! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct VllmPolicy {
        /// `--max-num-batched-tokens`: tokens of a step.
        pub max_num_batched_tokens: u32 = 8192,
        /// `--max-num-seqs`: sequences of a step.
        pub max_num_seqs: u32 = 1024,
        /// `--enable-chunked-prefill`. Off, prompts are computed whole, in steps of their own and
        /// before anybody decodes.
        pub chunked_prefill: bool = true,
        /// `--long-prefill-token-threshold`: the most tokens of one prompt in a step; 0 = no bound.
        pub long_prefill_token_threshold: u32 = 0,
        /// `--async-scheduling`: a step is planned while the one before it runs, so that a request
        /// which arrives meanwhile is seen one step later.
        pub async_scheduling: bool = true,
        pub order: Order = Order::Arrival,
    }
}

impl VllmPolicy {
    /// How kernels are launched: CUDA graphs up to twice the sequences and 512 tokens, where no
    /// other size is asked for.
    pub fn launch(&self, enforce_eager: bool, max_capture_size: Option<u32>) -> KernelLaunch {
        if enforce_eager {
            return KernelLaunch::Eager;
        }
        let usual = self.max_num_seqs.saturating_mul(2).min(512);
        let size = max_capture_size.unwrap_or(usual);
        KernelLaunch::Graphs(size.min(self.max_num_batched_tokens))
    }
}

pub(super) fn plan(policy: &VllmPolicy, state: &mut State, at: Nanos) {
    let has_room = |state: &State| state.running.len() < policy.max_num_seqs.max(1) as usize;
    if !policy.chunked_prefill {
        let mut budget = policy.max_num_batched_tokens;
        state.start_waiting(Prompts::Whole, &mut budget, at, has_room);
        if !state.plan.is_empty() {
            return;
        }
    }
    let mut budget = policy.max_num_batched_tokens.max(1);
    let most = match policy.long_prefill_token_threshold {
        0 => u32::MAX,
        most => most,
    };
    let before = state.preempted_now;
    state.plan_running(policy.order, &mut budget, at, |state, slot| {
        state.wanted(slot).min(most)
    });
    if policy.chunked_prefill && state.preempted_now == before {
        state.start_waiting(Prompts::Chunked { most }, &mut budget, at, has_room);
    }
}
