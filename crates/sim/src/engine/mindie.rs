//! MindIE's scheduler: a step is either a prefill of whole prompts or a decode of all that run.

use super::{
    Nanos, Order,
    state::{Prompts, State},
};

inferometer_catalog::with_defaults! {
    /// The settings of MindIE's scheduler, by the names of its `config.json`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct MindiePolicy {
        /// maxPrefillBatchSize: prompts of a prefill. A prefill is begun only while fewer than this
        /// many run, which no manual says but users have met: at 1 the batch stays at 1.
        pub max_prefill_batch_size: u32 = 50,
        pub max_prefill_tokens: u32 = 8192,
        /// maxInputTokenLen, where longer prompts are rejected rather than cut.
        pub longest_input: Option<u32> = Some(2048),
        /// maxBatchSize: sequences of a decode.
        pub max_batch_size: u32 = 200,
        /// maxIterTimes: the most tokens of an answer.
        pub max_iter_times: u32 = 512,
        /// maxQueueDelayMicroseconds: how long a prefill that is not full waits for more.
        pub max_queue_delay_us: u64 = 5000,
        /// supportSelectBatch: weigh waiting against running instead of always prefilling first.
        pub select_batch: bool = false,
        /// prefillTimeMsPerReq: what running sequences lose by a prefill.
        pub prefill_time_ms: f64 = 150.0,
        /// decodeTimeMsPerReq: what waiting sequences lose by a decode.
        pub decode_time_ms: f64 = 50.0,
    }
}

/// Plans a step; where nothing can be done yet, when to try again.
pub(super) fn plan(policy: &MindiePolicy, state: &mut State, at: Nanos) -> Option<Nanos> {
    let most = policy.max_batch_size.max(1) as usize;
    if state.plan_received(Order::Arrival, at, |state| state.running.len() < most) {
        return None;
    }
    let due = prefill_due_at(policy, state);
    if due.is_some_and(|due| due <= at) && prefill_pays(policy, state) {
        let mut budget = policy.max_prefill_tokens;
        state.start_waiting(Prompts::Whole, &mut budget, at, |state| {
            state.plan.len() < policy.max_prefill_batch_size.max(1) as usize
                && state.running.len() < policy.max_batch_size.max(1) as usize
        });
    }
    if state.plan.is_empty() {
        state.plan_running(Order::Arrival, &mut { u32::MAX }, at, State::wanted);
    }
    due.filter(|_| state.plan.is_empty())
}

/// When the prefill that could be made of what waits need not wait for more; `None` where there
/// is none to make.
fn prefill_due_at(policy: &MindiePolicy, state: &State) -> Option<Nanos> {
    let most = policy.max_prefill_batch_size.max(1) as usize;
    let room = most.min(policy.max_batch_size.max(1) as usize);
    if state.running.len() >= room {
        return None;
    }
    let oldest = state.sequence(*state.waiting.front()?);
    let candidates = state.waiting.iter().take(most);
    let tokens: u64 = candidates
        .map(|&slot| u64::from(state.sequence(slot).total()))
        .sum();
    let full = state.waiting.len() >= most || tokens >= u64::from(policy.max_prefill_tokens);
    let delay = policy.max_queue_delay_us.saturating_mul(1000);
    Some(if full {
        0
    } else {
        oldest.queued_at.saturating_add(delay)
    })
}

/// Whether those that wait have by now lost more to decodes than those that run would lose to a
/// prefill. The greater prefillTimeMsPerReq / decodeTimeMsPerReq, the more decodes go first.
fn prefill_pays(policy: &MindiePolicy, state: &State) -> bool {
    if !policy.select_batch {
        return true;
    }
    let candidates = state
        .waiting
        .len()
        .min(policy.max_prefill_batch_size.max(1) as usize);
    let waited = candidates as f64 * policy.decode_time_ms * f64::from(state.decode_streak + 1);
    waited >= state.running.len() as f64 * policy.prefill_time_ms
}
