//! vLLM's scheduler: a budget of tokens for each step, given first to those that run and then
//! to those that wait.

use inferometer_catalog::timing::KernelLaunch;

use super::{Nanos, Order, state::State};

/// The settings of vLLM's scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VllmPolicy {
    /// `--max-num-batched-tokens`: tokens of a step.
    pub max_num_batched_tokens: u32,
    /// `--max-num-seqs`: sequences of a step.
    pub max_num_seqs: u32,
    /// `--enable-chunked-prefill`. Off, prompts are computed whole, in steps of their own and
    /// before anybody decodes.
    pub chunked_prefill: bool,
    /// `--long-prefill-token-threshold`: the most tokens of one prompt in a step; 0 = no bound.
    pub long_prefill_token_threshold: u32,
    /// `--async-scheduling`: a step is planned while the one before it runs, so that a request
    /// which arrives meanwhile is seen one step later.
    pub async_scheduling: bool,
    /// `--scheduling-policy`.
    pub order: Order,
}

impl Default for VllmPolicy {
    fn default() -> VllmPolicy {
        VllmPolicy {
            max_num_batched_tokens: 8192,
            max_num_seqs: 1024,
            chunked_prefill: true,
            long_prefill_token_threshold: 0,
            async_scheduling: true,
            order: Order::Arrival,
        }
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

    fn bounded(&self, tokens: u32) -> u32 {
        match self.long_prefill_token_threshold {
            0 => tokens,
            most => tokens.min(most),
        }
    }
}

pub(super) fn plan(policy: &VllmPolicy, state: &mut State, at: Nanos) {
    if !policy.chunked_prefill {
        start_whole(policy, state, at);
        if !state.plan.is_empty() {
            return;
        }
    }
    let mut budget = policy.max_num_batched_tokens.max(1);
    let before = state.preempted_now;
    plan_running(policy, state, &mut budget, at);
    if policy.chunked_prefill && state.preempted_now == before {
        start_waiting(policy, state, &mut budget, at);
    }
}

fn plan_running(policy: &VllmPolicy, state: &mut State, budget: &mut u32, at: Nanos) {
    let mut index = 0;
    'sequences: while index < state.running.len() && *budget > 0 {
        let slot = state.running[index];
        let tokens = policy.bounded(state.wanted(slot)).min(*budget);
        while !state.grow(slot, tokens) {
            let Some(victim) = state.victim(policy.order) else {
                return;
            };
            *budget += state.preempt(victim, policy.order, at);
            if victim == index {
                continue 'sequences;
            }
            index -= usize::from(victim < index);
        }
        state.plan(slot, tokens);
        *budget -= tokens;
        index += 1;
    }
}

fn start_waiting(policy: &VllmPolicy, state: &mut State, budget: &mut u32, at: Nanos) {
    while *budget > 0 && state.running.len() < policy.max_num_seqs.max(1) as usize {
        let Some(&slot) = state.waiting.front() else {
            return;
        };
        let cached = state.cached(slot);
        let missing = state.sequence(slot).total() - cached;
        let tokens = policy.bounded(missing).min(*budget);
        if !state.start_first(cached, tokens, at) {
            return;
        }
        *budget -= tokens;
    }
}

/// Whole prompts, as many as the budget holds. One that is larger than the budget by itself (it
/// was preempted late) goes alone.
fn start_whole(policy: &VllmPolicy, state: &mut State, at: Nanos) {
    let mut budget = policy.max_num_batched_tokens;
    while state.running.len() < policy.max_num_seqs.max(1) as usize {
        let Some(&slot) = state.waiting.front() else {
            return;
        };
        let cached = state.cached(slot);
        let tokens = state.sequence(slot).total() - cached;
        if tokens > budget && !state.plan.is_empty() {
            return;
        }
        if !state.start_first(cached, tokens, at) {
            return;
        }
        budget = budget.saturating_sub(tokens);
    }
}
