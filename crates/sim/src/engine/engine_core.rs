//! The state machine of one scheduler: takes requests in, plans steps, and says what each brought.

use inferometer_catalog::timing::StepShape;

use super::{
    EngineConfig, Event, EventKind, Finish, Nanos, Order, Policy, Rejection, Request, Stats,
    StepRecord,
    api::{Chunk, TakenIn},
    blocks::BlockPool,
    mindie, nanos,
    noise::{NoiseSource, unit},
    sglang,
    state::{Sequence, Slot, State},
    trtllm, vllm,
};
use crate::random::{Purpose, RandomStream};

/// A step needed more memory than the card has left. The engine does nothing any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Bytes that the step needs.
    pub needed: u64,
    pub left: u64,
}

#[derive(Clone, Copy, Debug)]
struct StepInProgress {
    began_at: Nanos,
    ends_at: Nanos,
    batch: u32,
}

/// What a scheduler does of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    All,
    /// The prompt and the first token.
    Prefill,
    /// All that comes after it.
    Decode,
}

#[derive(Clone, Debug)]
pub(super) struct EngineCore {
    pub(super) config: EngineConfig,
    role: Role,
    state: State,
    noise: NoiseSource,
    acceptance: RandomStream,
    in_progress: Option<StepInProgress>,
    pub(super) died: Option<OutOfMemory>,
    /// When a prefill that waits for more company is due.
    retry_at: Option<Nanos>,
    /// Steps without prefill since the scheduler last looked for new requests.
    decodes_since_look: u32,
    /// Time of the last change.
    clock: Nanos,
    /// What the last call of [`Self::step`] made for the front end to send.
    chunks: Vec<Chunk>,
    /// Prompts that it computed, for another to go on with.
    handed: Vec<Sequence>,
}

impl EngineCore {
    pub(super) fn new(config: EngineConfig, role: Role, seed: u64) -> EngineCore {
        let drafts = config.speculation.map_or(0, |drafted| drafted.tokens);
        let pool = BlockPool::new(config.blocks, config.prefix_caching);
        EngineCore {
            state: State::new(pool, config.block_size, drafts),
            noise: NoiseSource::new(config.noise, seed),
            acceptance: RandomStream::new(seed, 0, Purpose::Length),
            in_progress: None,
            died: None,
            retry_at: None,
            decodes_since_look: 0,
            clock: 0,
            chunks: Vec::new(),
            handed: Vec::new(),
            role,
            config,
        }
    }

    pub(super) fn insert(&mut self, taken_in: TakenIn) {
        self.state.insert(taken_in);
    }

    /// Goes on with what another has computed, which is here at a time.
    pub(super) fn receive(&mut self, handed: Sequence, at: Nanos) {
        self.state.receive(handed, at);
    }

    /// What the last call of [`Self::step`] computed for another, and when.
    pub(super) fn hand_over(&mut self) -> (Nanos, Vec<Sequence>) {
        (self.clock, std::mem::take(&mut self.handed))
    }

    /// Requests that it has, in whatever state.
    pub(super) fn requests(&self) -> usize {
        self.state.requests()
    }

    pub(super) fn knows(&self, id: u64) -> bool {
        self.state.knows(id)
    }

    pub(super) fn cancel(&mut self, id: u64) -> bool {
        self.state.cancel(id)
    }

    pub(super) fn reset_prefix_cache(&mut self) -> bool {
        self.state.pool.reset()
    }

    pub(super) fn wake(&self) -> Option<Nanos> {
        if self.died.is_some() {
            return None;
        }
        if let Some(in_progress) = self.in_progress {
            return Some(in_progress.ends_at);
        }
        let arrival = self.state.arriving.front().map(|&(at, _)| at);
        let next = self.retry_at.into_iter().chain(arrival).min();
        next.map(|at| at.max(self.clock))
    }

    /// Ends the step under way and begins the next, if that is due by now; the step that began.
    pub(super) fn step(&mut self, now: Nanos) -> Option<StepRecord> {
        self.state.events.clear();
        self.chunks.clear();
        let at = self.wake().filter(|at| *at <= now)?;
        self.clock = at;
        let mut began = None;
        if let Some(in_progress) = self.in_progress.take() {
            self.end(in_progress);
            if self.plans_ahead() {
                self.admit(in_progress.began_at);
                began = self.begin(at);
            }
        }
        if self.in_progress.is_none() && self.died.is_none() {
            self.admit(at);
            began = self.begin(at);
        }
        began
    }

    /// Lets the scheduler see what has come; SGLang may look only now and then while it decodes.
    fn admit(&mut self, until: Nanos) {
        if let Policy::Sglang(policy) = &self.config.policy
            && !self.state.running.is_empty()
            && (1..policy.recv_interval).contains(&self.decodes_since_look)
        {
            return;
        }
        self.decodes_since_look = 0;
        self.state.admit(until, self.order());
    }

    /// Hands over what the last call of [`Self::step`] brought, for an empty list.
    pub(super) fn swap_events(&mut self, events: &mut Vec<Event>) {
        std::mem::swap(&mut self.state.events, events);
    }

    pub(super) fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    pub(super) fn stats(&self) -> Stats {
        Stats {
            running: self.state.running.len() as u32,
            waiting: self.state.waiting.len() as u32,
            blocks_used: self.state.pool.used(),
            blocks: self.state.pool.len(),
            ..self.state.stats
        }
    }

    /// The tokens that a request gets, or why it gets none.
    pub(super) fn admissible(&self, request: &Request) -> Result<u32, Rejection> {
        if self.died.is_some() {
            return Err(Rejection::Dead);
        }
        let (prompt, output) = (request.prompt_tokens, request.output_tokens);
        if prompt == 0 || output == 0 {
            return Err(Rejection::Empty { prompt, output });
        }
        let most = self.config.max_model_len;
        if prompt >= most {
            return Err(Rejection::TooLong { prompt, most });
        }
        if let Policy::Mindie(policy) = &self.config.policy
            && let Some(most) = policy.longest_input
            && prompt > most
        {
            return Err(Rejection::InputTooLong { prompt, most });
        }
        let (whole, longest_answer) = match &self.config.policy {
            Policy::Vllm(policy) if policy.chunked_prefill => (None, u32::MAX),
            Policy::Vllm(policy) => (Some(policy.max_num_batched_tokens), u32::MAX),
            Policy::Mindie(policy) => (Some(policy.max_prefill_tokens), policy.max_iter_times),
            Policy::Sglang(policy) => {
                let whole = policy.chunked_prefill_size.is_none();
                (whole.then_some(policy.max_prefill_tokens), u32::MAX)
            }
            Policy::Trtllm(policy) => {
                let whole = !policy.chunked_context;
                (whole.then_some(policy.max_num_tokens), u32::MAX)
            }
        };
        if let Some(most) = whole.filter(|_| self.role != Role::Decode)
            && prompt > most
        {
            return Err(Rejection::TooLongForStep { prompt, most });
        }
        let output = output.min(most - prompt).min(longest_answer.max(1));
        let held = match self.role {
            Role::Prefill => 1,
            Role::All | Role::Decode => output,
        };
        let needed = (prompt + held).div_ceil(self.state.block_size);
        let blocks = self.state.pool.len();
        if needed > blocks {
            return Err(Rejection::TooLargeForCache { needed, blocks });
        }
        Ok(output)
    }

    fn order(&self) -> Order {
        match &self.config.policy {
            Policy::Vllm(policy) => policy.order,
            Policy::Sglang(policy) => policy.order,
            Policy::Mindie(_) | Policy::Trtllm(_) => Order::Arrival,
        }
    }

    fn plans_ahead(&self) -> bool {
        match &self.config.policy {
            Policy::Vllm(policy) => policy.async_scheduling,
            Policy::Sglang(policy) => policy.overlap,
            Policy::Trtllm(policy) => policy.overlap,
            Policy::Mindie(_) => false,
        }
    }

    fn begin(&mut self, at: Nanos) -> Option<StepRecord> {
        self.state.plan.clear();
        self.state.preempted_now = 0;
        self.retry_at = match &self.config.policy {
            Policy::Vllm(policy) => {
                vllm::plan(policy, &mut self.state, at);
                None
            }
            Policy::Mindie(policy) => mindie::plan(policy, &mut self.state, at),
            Policy::Sglang(policy) => {
                sglang::plan(policy, &mut self.state, at);
                None
            }
            Policy::Trtllm(policy) => {
                trtllm::plan(policy, &mut self.state, at);
                None
            }
        };
        if self.state.plan.is_empty() {
            return None;
        }
        let shape = self.shape();
        if let Some(death) = self.too_large(&shape) {
            self.died = Some(death);
            return None;
        }
        let duration = nanos(self.seconds(&shape) * self.noise.step(at)).max(1);
        self.in_progress = Some(StepInProgress {
            began_at: at,
            ends_at: at.saturating_add(duration),
            batch: shape.sequences,
        });
        self.state.stats.steps += 1;
        self.state.decode_streak = match shape.prefill_tokens {
            0 => self.state.decode_streak.saturating_add(1),
            _ => 0,
        };
        self.decodes_since_look = match shape.prefill_tokens {
            0 => self.decodes_since_look.saturating_add(1),
            _ => 0,
        };
        Some(StepRecord {
            at_ns: at,
            duration_ns: duration,
            batch: shape.sequences,
            prefill_tokens: shape.prefill_tokens,
            decode_tokens: shape.decode_tokens,
            running: self.state.running.len() as u32,
            waiting: self.state.waiting.len() as u32,
            blocks_used: self.state.pool.used(),
            preemptions: self.state.preempted_now,
        })
    }

    fn shape(&self) -> StepShape {
        let time = &self.config.step_time;
        let mut shape = StepShape::default();
        for planned in &self.state.plan {
            let computed = u64::from(self.state.sequence(planned.slot).computed);
            let tokens = u64::from(planned.tokens);
            if planned.decodes {
                shape.decode_tokens += planned.tokens;
                shape.decode_context += computed + tokens;
                shape.decode_context_in_window += time.in_window(computed + tokens);
            } else {
                shape.prefill_tokens = shape.prefill_tokens.saturating_add(planned.tokens);
                // Each token attends to all before it and itself: on average to the middle one's.
                let middle = computed + tokens.div_ceil(2);
                shape.prefill_pairs += tokens * middle;
                shape.prefill_pairs_in_window += tokens * time.in_window(middle);
            }
            shape.sequences += 1;
        }
        shape
    }

    /// What a step dies of that takes more than the card has left.
    fn too_large(&self, shape: &StepShape) -> Option<OutOfMemory> {
        let headroom = self.config.headroom?;
        let tokens = shape.prefill_tokens.saturating_add(shape.decode_tokens);
        let needed = headroom.activations.peak(tokens, shape.sequences);
        (needed > headroom.bytes).then_some(OutOfMemory {
            needed: needed as u64,
            left: headroom.bytes.max(0.0) as u64,
        })
    }

    fn seconds(&self, shape: &StepShape) -> f64 {
        let seconds = self.config.step_time.seconds(shape);
        let Some(speculation) = self.config.speculation else {
            return seconds;
        };
        let decoding = self.state.plan.iter().filter(|planned| planned.decodes);
        let decoding = decoding.count() as u32;
        if decoding == 0 {
            return seconds;
        }
        let draft = StepShape {
            decode_tokens: decoding,
            sequences: decoding,
            ..StepShape::default()
        };
        let drafting = f64::from(speculation.tokens) * speculation.draft_cost.max(0.0);
        seconds + drafting * self.config.step_time.seconds(&draft)
    }

    fn end(&mut self, step: StepInProgress) {
        let plan = std::mem::take(&mut self.state.plan);
        let mut left_batch = false;
        for planned in &plan {
            let sequence = &mut self.state.sequences[planned.slot as usize];
            if sequence.cancelled {
                left_batch = true;
                continue;
            }
            if planned.decodes {
                let drafted = planned.tokens - 1;
                let accepted = match drafted {
                    0 => 0,
                    drafted => self.accepted(drafted),
                };
                let sequence = &mut self.state.sequences[planned.slot as usize];
                sequence.computed += 1 + accepted;
                left_batch |= self.produce(planned.slot, 1 + accepted, step);
            } else {
                sequence.computed += planned.tokens;
                let is_read = sequence.computed == sequence.total();
                if is_read && self.role == Role::Prefill && sequence.output > 1 {
                    self.hand(planned.slot, step);
                    left_batch = true;
                } else if is_read {
                    left_batch |= self.produce(planned.slot, 1, step);
                } else if !sequence.hashes.is_empty() {
                    self.state.publish(planned.slot);
                }
            }
        }
        self.state.plan = plan;
        if left_batch || self.state.running.len() > self.state.plan.len() {
            self.leave();
        }
    }

    /// Ends a prompt here with its first token, which goes out where the answer is made.
    fn hand(&mut self, slot: Slot, step: StepInProgress) {
        self.state
            .tell(slot, step.ends_at, EventKind::Made { tokens: 1 });
        if !self.state.sequence(slot).hashes.is_empty() {
            self.state.publish(slot);
        }
        let sequence = &mut self.state.sequences[slot as usize];
        self.state.stats.generation_tokens += 1;
        self.state.stats.prompt_tokens += u64::from(sequence.prompt);
        let table = std::mem::take(&mut sequence.table);
        let handed = Sequence {
            produced: 1,
            unsent: 1,
            ..sequence.clone()
        };
        sequence.table = table;
        sequence.produced = sequence.output;
        self.handed.push(handed);
    }

    /// Takes those out of the batch that are done or cancelled.
    fn leave(&mut self) {
        let state = &mut self.state;
        let gone = |state: &State, slot: Slot| {
            let sequence = state.sequence(slot);
            sequence.cancelled || sequence.produced >= sequence.output
        };
        let mut kept = 0;
        for index in 0..state.running.len() {
            let slot = state.running[index];
            if gone(state, slot) {
                state.vacate(slot);
            } else {
                state.running[kept] = slot;
                kept += 1;
            }
        }
        state.running.truncate(kept);
    }

    /// How many of the drafted tokens hold: each only if all before it do.
    fn accepted(&mut self, drafted: u32) -> u32 {
        let speculation = self.config.speculation;
        let acceptance = speculation.map_or(0.0, |speculation| speculation.acceptance);
        let mut accepted = 0;
        while accepted < drafted && unit(&mut self.acceptance) < acceptance {
            accepted += 1;
        }
        self.state.stats.drafts += 1;
        self.state.stats.draft_tokens += u64::from(drafted);
        self.state.stats.accepted_tokens += u64::from(accepted);
        let places = self.state.stats.accepted_by_position.iter_mut();
        places.take(accepted as usize).for_each(|count| *count += 1);
        accepted
    }

    /// Hands a sequence its new tokens; true where they were its last.
    fn produce(&mut self, slot: Slot, tokens: u32, step: StepInProgress) -> bool {
        let made_at = step.ends_at;
        self.state.tell(slot, made_at, EventKind::Made { tokens });
        let sequence = &mut self.state.sequences[slot as usize];
        let first = sequence.produced == 0;
        sequence.produced += tokens;
        sequence.unsent += tokens;
        let last = sequence.produced >= sequence.output;
        self.state.stats.generation_tokens += u64::from(tokens);
        if first {
            self.state.stats.prompt_tokens += u64::from(sequence.prompt);
        }
        if !sequence.answered || last || sequence.unsent >= self.config.stream_interval {
            sequence.answered = true;
            let finish = if sequence.stops {
                Finish::Stop
            } else {
                Finish::Length
            };
            self.chunks.push(Chunk {
                request: sequence.id,
                ticket: sequence.ticket,
                tokens: std::mem::take(&mut sequence.unsent),
                batch: step.batch,
                finished: last.then_some((finish, sequence.preemptions)),
            });
        }
        if !self.state.sequence(slot).hashes.is_empty() {
            self.state.publish(slot);
        }
        last
    }
}
