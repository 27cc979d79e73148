//! SGLang's scheduler: prompts first. While there is one to compute, nobody decodes, unless
//! chunks may be mixed with decodes.
//!
//! Admission counts the prompt alone; the real one also reserves a share of the answer, which it
//! adapts as it goes. Who does not fit any more while decoding is put back, as there.

use super::{Nanos, Order, state::State};

/// The settings of SGLang's scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SglangPolicy {
    /// `--chunked-prefill-size`: prompt tokens of a step; absent: prompts are computed whole.
    pub chunked_prefill_size: Option<u32>,
    /// `--max-prefill-tokens`: the same where prompts are computed whole.
    pub max_prefill_tokens: u32,
    /// `--max-running-requests`.
    pub max_running_requests: u32,
    /// `--enable-mixed-chunk`: prompts and decodes share a step.
    pub mixed_chunk: bool,
    /// Without `--disable-overlap-schedule`: a step is planned while the one before it runs.
    pub overlap: bool,
    /// `--schedule-policy`.
    pub order: Order,
}

pub(super) fn plan(policy: &SglangPolicy, state: &mut State, at: Nanos) {
    let mut budget = policy
        .chunked_prefill_size
        .unwrap_or(policy.max_prefill_tokens)
        .max(1);
    if policy.mixed_chunk {
        decode(policy, state, at);
        let decoding: u32 = state.plan.iter().map(|planned| planned.tokens).sum();
        budget = budget.saturating_sub(decoding);
    }
    if state.preempted_now == 0 {
        prefill(policy, state, budget, at);
    }
    if state.plan.is_empty() {
        decode(policy, state, at);
    }
}

/// Goes on with the prompt that was begun, then begins others.
fn prefill(policy: &SglangPolicy, state: &mut State, mut budget: u32, at: Nanos) {
    for index in 0..state.running.len() {
        let slot = state.running[index];
        if state.sequence(slot).decodes() || budget == 0 {
            continue;
        }
        let tokens = state.wanted(slot).min(budget);
        if !state.grow(slot, tokens) {
            return;
        }
        state.plan(slot, tokens);
        budget -= tokens;
    }
    let chunked = policy.chunked_prefill_size.is_some();
    while budget > 0 && state.running.len() < policy.max_running_requests.max(1) as usize {
        let Some(&slot) = state.waiting.front() else {
            return;
        };
        let cached = state.cached(slot);
        let missing = state.sequence(slot).total() - cached;
        if !chunked && missing > budget && !state.plan.is_empty() {
            return;
        }
        let tokens = if chunked {
            missing.min(budget)
        } else {
            missing
        };
        if !state.start_first(cached, tokens, at) {
            return;
        }
        budget = budget.saturating_sub(tokens);
    }
}

fn decode(policy: &SglangPolicy, state: &mut State, at: Nanos) {
    let mut index = 0;
    'sequences: while index < state.running.len() {
        let slot = state.running[index];
        if !state.sequence(slot).decodes() {
            index += 1;
            continue;
        }
        let tokens = state.wanted(slot);
        while !state.grow(slot, tokens) {
            let Some(victim) = state.victim(policy.order) else {
                return;
            };
            state.preempt(victim, policy.order, at);
            if victim == index {
                continue 'sequences;
            }
            index -= usize::from(victim < index);
        }
        state.plan(slot, tokens);
        index += 1;
    }
}
