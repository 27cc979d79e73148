//! SGLang's scheduler: prompts first. While there is one to compute, nobody decodes, unless
//! chunks may be mixed with decodes.
//!
//! Admission counts the prompt alone; the real one also reserves a share of the answer, which it
//! adapts as it goes. Who does not fit any more while decoding is put back, as there.

use super::{
    Nanos, Order,
    state::{Prompts, State},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SglangPolicy {
    /// `--chunked-prefill-size`: prompt tokens of a step; absent: prompts are computed whole.
    pub chunked_prefill_size: Option<u32>,
    /// `--max-prefill-tokens`: the same where prompts are computed whole.
    pub max_prefill_tokens: u32,
    pub max_running_requests: u32,
    /// `--enable-mixed-chunk`: prompts and decodes share a step.
    pub mixed_chunk: bool,
    /// Without `--disable-overlap-schedule`: a step is planned while the one before it runs.
    pub overlap: bool,
    pub order: Order,
    /// `--scheduler-recv-interval`: steps of decoding after which new requests are looked for.
    pub recv_interval: u32,
}

pub(super) fn plan(policy: &SglangPolicy, state: &mut State, at: Nanos) {
    let most = policy.max_running_requests.max(1) as usize;
    if state.plan_received(policy.order, at, |state| state.running.len() < most) {
        return;
    }
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
    let prompts = match policy.chunked_prefill_size {
        Some(_) => Prompts::Chunked { most: u32::MAX },
        None => Prompts::Whole,
    };
    state.start_waiting(prompts, &mut budget, at, |state| {
        state.running.len() < policy.max_running_requests.max(1) as usize
    });
}

fn decode(policy: &SglangPolicy, state: &mut State, at: Nanos) {
    state.plan_running(policy.order, &mut { u32::MAX }, at, |state, slot| {
        if state.sequence(slot).decodes() {
            state.wanted(slot)
        } else {
            0
        }
    });
}
