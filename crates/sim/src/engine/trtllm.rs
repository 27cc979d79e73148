//! TensorRT-LLM's scheduler: in-flight batching. A step holds one token of all that run and, beside
//! them, prompts that fit into what is left of its tokens. Which requests may run is decided before
//! by the capacity of the cache.

use super::{
    Nanos, Order,
    state::{Prompts, Slot, State},
};

/// When a request may begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Capacity {
    /// When its whole answer has room beside those of all that run: nobody is ever put back.
    #[default]
    GuaranteedNoEvict,
    /// When its prompt has; who came last is put back where the cache is short.
    MaxUtilization,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TrtllmPolicy {
    /// `--max_num_tokens`: tokens of a step.
    pub max_num_tokens: u32,
    /// `--max_batch_size`: requests that run at once.
    pub max_batch_size: u32,
    /// `scheduler_config.capacity_scheduler_policy`.
    pub capacity: Capacity,
    /// `--enable_chunked_prefill`: a prompt may be computed in pieces.
    pub chunked_context: bool,
    /// `batch_wait_timeout_iters`: steps for which prompts wait for more of them.
    pub wait_steps: u32,
    /// `batch_wait_max_tokens_ratio`: the share of a step's tokens from which they do not.
    pub wait_share: f64,
    /// Without `disable_overlap_scheduler`: a step is planned while the one before it runs.
    pub overlap: bool,
}

pub(super) fn plan(policy: &TrtllmPolicy, state: &mut State, at: Nanos) {
    let mut budget = policy.max_num_tokens.max(1);
    state.plan_running(Order::Arrival, &mut budget, at, State::wanted);
    if state.preempted_now > 0 || waits_for_more(policy, state) {
        return;
    }
    let prompts = if policy.chunked_context {
        Prompts::Chunked { most: u32::MAX }
    } else {
        Prompts::Whole
    };
    state.start_waiting(prompts, &mut budget, at, |state| {
        state.running.len() < policy.max_batch_size.max(1) as usize
            && match policy.capacity {
                Capacity::GuaranteedNoEvict => has_room_to_the_end(state),
                Capacity::MaxUtilization => true,
            }
    });
}

/// Whether prompts are held back in this step, so that more of them are computed together.
fn waits_for_more(policy: &TrtllmPolicy, state: &mut State) -> bool {
    let prompts = state.waiting.iter().map(|&slot| state.sequence(slot));
    let prompts: u64 = prompts
        .map(|waiting| u64::from(waiting.total() - waiting.received))
        .sum();
    let tokens = prompts + state.plan.len() as u64;
    let enough = policy.wait_share * f64::from(policy.max_num_tokens);
    let waits = prompts > 0
        && !state.plan.is_empty()
        && state.steps_waited < policy.wait_steps
        && (tokens as f64) < enough;
    state.steps_waited = if waits { state.steps_waited + 1 } else { 0 };
    waits
}

/// Whether the cache holds the whole of all that run and of the first that waits.
fn has_room_to_the_end(state: &State) -> bool {
    let whole = |slot: &Slot| {
        let sequence = state.sequence(*slot);
        u64::from((sequence.prompt + sequence.output).div_ceil(state.block_size))
    };
    let needed: u64 = state
        .running
        .iter()
        .chain(state.waiting.front())
        .map(whole)
        .sum();
    needed <= u64::from(state.pool.len())
}
