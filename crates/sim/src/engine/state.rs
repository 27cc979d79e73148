//! The requests in the engine, where they stand, and the KV blocks that they hold: what
//! schedulers plan on.

use std::collections::{HashMap, VecDeque};

use super::{
    Event, EventKind, Nanos,
    api::{Admitted, TakenIn, Ticket},
    blocks::BlockPool,
};

/// Index of a sequence in [`State::sequences`].
pub(super) type Slot = u32;

/// Who is scheduled first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Arrival,
    /// The lowest priority number, then who arrived first.
    Priority,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    #[default]
    Arriving,
    Waiting,
    Running,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    pub(super) id: u64,
    /// Where the front end keeps it.
    pub(super) ticket: Ticket,
    pub(super) prompt: u32,
    pub(super) output: u32,
    pub(super) produced: u32,
    /// Tokens whose keys and values are in the cache.
    pub(super) computed: u32,
    pub(super) table: Vec<u32>,
    /// Tokens whose keys and values another worker computed and sent.
    pub(super) received: u32,
    /// Blocks of the table that the prefix cache knows.
    pub(super) published: u32,
    pub(super) hashes: Vec<u64>,
    pub(super) priority: i32,
    pub(super) number: u64,
    /// When an API server set about it.
    pub(super) accepted_at: Nanos,
    /// When the scheduler first saw it.
    pub(super) queued_at: Nanos,
    pub(super) place: Place,
    pub(super) started: bool,
    pub(super) stops: bool,
    /// Whether its client has a token.
    pub(super) answered: bool,
    pub(super) cancelled: bool,
    /// Tokens made and not yet sent.
    pub(super) unsent: u32,
    pub(super) preemptions: u32,
}

impl Sequence {
    /// Tokens of prompt and answer so far.
    pub(super) fn total(&self) -> u32 {
        self.prompt + self.produced
    }

    /// Whether it needs nothing but its next token.
    pub(super) fn decodes(&self) -> bool {
        self.produced > 0 && self.computed + 1 == self.total()
    }

    fn rank(&self, order: Order) -> (i32, u64) {
        match order {
            Order::Arrival => (0, self.number),
            Order::Priority => (self.priority, self.number),
        }
    }
}

/// How prompts are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prompts {
    Whole,
    Chunked {
        /// The most tokens of one prompt in a step.
        most: u32,
    },
}

/// A sequence's part of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub(super) slot: Slot,
    pub(super) tokens: u32,
    pub(super) decodes: bool,
}

/// Places of a draft that are counted one by one.
pub(super) const POSITIONS: usize = 16;

/// Counters since the start, and gauges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub running: u32,
    /// Sequences that wait for a place in it.
    pub waiting: u32,
    pub blocks_used: u32,
    pub blocks: u32,
    pub steps: u64,
    pub preemptions: u64,
    /// Prompt tokens of sequences that have their first token.
    pub prompt_tokens: u64,
    pub generation_tokens: u64,
    /// Prompt tokens looked up in the prefix cache.
    pub prefix_queries: u64,
    pub prefix_hits: u64,
    /// Times that tokens were drafted for a sequence.
    pub drafts: u64,
    pub draft_tokens: u64,
    pub accepted_tokens: u64,
    /// The same by their places in the draft, as far as there is room.
    pub accepted_by_position: [u64; POSITIONS],
    /// Time that the API servers have spent, together.
    pub front_end_busy: Nanos,
}

impl Stats {
    pub(super) fn add(&mut self, other: &Stats) {
        self.running += other.running;
        self.waiting += other.waiting;
        self.blocks_used += other.blocks_used;
        self.blocks += other.blocks;
        self.steps += other.steps;
        self.preemptions += other.preemptions;
        self.prompt_tokens += other.prompt_tokens;
        self.generation_tokens += other.generation_tokens;
        self.prefix_queries += other.prefix_queries;
        self.prefix_hits += other.prefix_hits;
        self.drafts += other.drafts;
        self.draft_tokens += other.draft_tokens;
        self.accepted_tokens += other.accepted_tokens;
        for (sum, more) in (self.accepted_by_position.iter_mut()).zip(other.accepted_by_position) {
            *sum += more;
        }
        self.front_end_busy += other.front_end_busy;
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) sequences: Vec<Sequence>,
    vacant: Vec<Slot>,
    by_id: HashMap<u64, Slot>,
    pub(super) pool: BlockPool,
    pub(super) block_size: u32,
    /// Tokens drafted for a sequence that decodes.
    pub(super) drafts: u32,
    /// In the front end, with the time at which the scheduler sees them; in that order.
    pub(super) arriving: VecDeque<(Nanos, Slot)>,
    pub(super) waiting: VecDeque<Slot>,
    pub(super) running: Vec<Slot>,
    pub(super) plan: Vec<Planned>,
    /// Steps in a row without prefill.
    pub(super) decode_streak: u32,
    /// Steps in a row for which prompts were held back.
    pub(super) steps_waited: u32,
    pub(super) preempted_now: u32,
    pub(super) events: Vec<Event>,
    pub(super) stats: Stats,
    numbers: u64,
}

impl State {
    pub(super) fn new(pool: BlockPool, block_size: u32, drafts: u32) -> State {
        State {
            pool,
            block_size: block_size.max(1),
            drafts,
            ..State::default()
        }
    }

    pub(super) fn sequence(&self, slot: Slot) -> &Sequence {
        &self.sequences[slot as usize]
    }

    pub(super) fn tell(&mut self, slot: Slot, at: Nanos, kind: EventKind) {
        let request = self.sequence(slot).id;
        self.events.push(Event { request, at, kind });
    }

    pub(super) fn knows(&self, id: u64) -> bool {
        self.by_id.contains_key(&id)
    }

    /// Takes in a request that an API server lets the scheduler see.
    pub(super) fn insert(&mut self, taken_in: TakenIn) {
        let Admitted {
            request, output, ..
        } = taken_in.admitted;
        let seen_at = taken_in.seen_at;
        let slot = self.vacant_slot();
        let sequence = &mut self.sequences[slot as usize];
        // The table's allocation is worth keeping.
        let mut table = std::mem::take(&mut sequence.table);
        table.clear();
        *sequence = Sequence {
            id: request.id,
            prompt: request.prompt_tokens,
            stops: request.stops && output == request.output_tokens,
            output,
            hashes: request.hashes,
            priority: request.priority,
            number: self.numbers,
            ticket: taken_in.ticket,
            accepted_at: taken_in.begun,
            queued_at: seen_at,
            table,
            ..Sequence::default()
        };
        self.arrive(slot, seen_at);
    }

    /// Takes in what another worker has computed of a request, which is here at a time.
    pub(super) fn receive(&mut self, handed: Sequence, at: Nanos) {
        let slot = self.vacant_slot();
        self.sequences[slot as usize] = Sequence {
            received: handed.computed,
            computed: 0,
            published: 0,
            place: Place::Arriving,
            number: self.numbers,
            ..handed
        };
        self.arrive(slot, at);
    }

    fn vacant_slot(&mut self) -> Slot {
        self.vacant.pop().unwrap_or_else(|| {
            self.sequences.push(Sequence::default());
            (self.sequences.len() - 1) as Slot
        })
    }

    fn arrive(&mut self, slot: Slot, seen_at: Nanos) {
        self.numbers += 1;
        self.by_id.insert(self.sequence(slot).id, slot);
        let before = self.arriving.partition_point(|&(at, _)| at <= seen_at);
        self.arriving.insert(before, (seen_at, slot));
    }

    /// Requests that are here, in whatever state.
    pub(super) fn requests(&self) -> usize {
        self.arriving.len() + self.waiting.len() + self.running.len()
    }

    /// Puts what the front end has let through by now into the queue.
    pub(super) fn admit(&mut self, now: Nanos, order: Order) {
        while let Some(&(at, slot)) = self.arriving.front()
            && at <= now
        {
            self.arriving.pop_front();
            self.enqueue(slot, order);
        }
    }

    fn enqueue(&mut self, slot: Slot, order: Order) {
        self.sequences[slot as usize].place = Place::Waiting;
        let rank = self.sequence(slot).rank(order);
        let sequences = &self.sequences;
        let place = self
            .waiting
            .partition_point(|&other| sequences[other as usize].rank(order) < rank);
        self.waiting.insert(place, slot);
    }

    /// Forgets a request; false where none of this id is under way.
    pub(super) fn cancel(&mut self, id: u64) -> bool {
        let Some(slot) = self.by_id.remove(&id) else {
            return false;
        };
        match self.sequence(slot).place {
            // The step under way computes with it; its end lets it go.
            Place::Running => self.sequences[slot as usize].cancelled = true,
            Place::Waiting => {
                self.waiting.retain(|&other| other != slot);
                self.vacate(slot);
            }
            Place::Arriving => {
                self.arriving.retain(|&(_, other)| other != slot);
                self.vacate(slot);
            }
        }
        true
    }

    /// Lets a sequence go that is in no queue any more.
    pub(super) fn vacate(&mut self, slot: Slot) {
        let sequence = &mut self.sequences[slot as usize];
        self.pool.release(&mut sequence.table);
        sequence.hashes = Vec::new();
        if !sequence.cancelled && self.by_id.get(&sequence.id) == Some(&slot) {
            self.by_id.remove(&sequence.id);
        }
        self.vacant.push(slot);
    }

    /// Tokens that a running sequence could compute next.
    pub(super) fn wanted(&self, slot: Slot) -> u32 {
        let sequence = self.sequence(slot);
        let missing = sequence.total() - sequence.computed;
        if sequence.decodes() {
            // Never drafted past the end: the last token needs no draft.
            let left = sequence.output.saturating_sub(sequence.produced + 1);
            missing + self.drafts.min(left)
        } else {
            missing
        }
    }

    /// Gives a sequence the blocks for `tokens` more; false where they are not free.
    pub(super) fn grow(&mut self, slot: Slot, tokens: u32) -> bool {
        let sequence = &mut self.sequences[slot as usize];
        let tokens = sequence.computed + tokens;
        // Most steps need no further block.
        if sequence.table.len() as u64 * u64::from(self.block_size) >= u64::from(tokens) {
            return true;
        }
        (self.pool).grow(&mut sequence.table, tokens.div_ceil(self.block_size))
    }

    pub(super) fn plan(&mut self, slot: Slot, tokens: u32) {
        let decodes = self.sequence(slot).decodes();
        self.plan.push(Planned {
            slot,
            tokens,
            decodes,
        });
    }

    /// Tokens of a waiting sequence that the prefix cache holds, or another worker sent. The last
    /// token is always computed, since its output is what is wanted.
    fn cached(&self, slot: Slot) -> u32 {
        let received = self.sequence(slot).received;
        if received > 0 {
            return received;
        }
        if !self.pool.caches_prefixes() {
            return 0;
        }
        let (hits, _) = self.pool.hits(self.findable(slot));
        hits * self.block_size
    }

    fn findable(&self, slot: Slot) -> &[u64] {
        let sequence = self.sequence(slot);
        let full = (sequence.total().saturating_sub(1) / self.block_size) as usize;
        &sequence.hashes[..full.min(sequence.hashes.len())]
    }

    /// Moves the first that waits into the batch with `tokens` beyond the cached ones; false
    /// where the blocks are not free.
    fn start_first(&mut self, cached: u32, tokens: u32, at: Nanos) -> bool {
        let Some(&slot) = self.waiting.front() else {
            return false;
        };
        let length = (cached + tokens).div_ceil(self.block_size);
        let hits = match self.sequence(slot).received {
            0 => cached / self.block_size,
            _ => 0,
        };
        // Cached blocks that nobody holds count as free until they are taken.
        let unheld = match hits {
            0 => 0,
            hits => self.pool.hits(&self.findable(slot)[..hits as usize]).1,
        };
        if length - hits + unheld > self.pool.free() {
            return false;
        }
        self.waiting.pop_front();
        self.running.push(slot);
        let sequence = &mut self.sequences[slot as usize];
        self.pool
            .hold(&sequence.hashes[..hits as usize], &mut sequence.table);
        let grown = self.pool.grow(&mut sequence.table, length);
        debug_assert!(grown, "counted above");
        sequence.computed = cached;
        sequence.published = hits;
        sequence.place = Place::Running;
        if self.pool.caches_prefixes() && sequence.received == 0 {
            self.stats.prefix_queries += u64::from(sequence.total());
            self.stats.prefix_hits += u64::from(cached);
        }
        if !sequence.started {
            sequence.started = true;
            let started = EventKind::Started {
                cached_tokens: cached,
                accepted_at: sequence.accepted_at,
                queued_at: sequence.queued_at,
            };
            self.tell(slot, at, started);
        }
        self.plan(slot, tokens);
        true
    }

    /// Starts sequences that wait, in their order and while there is room. A whole prompt that is
    /// larger than the budget by itself goes alone.
    pub(super) fn start_waiting(
        &mut self,
        prompts: Prompts,
        budget: &mut u32,
        at: Nanos,
        has_room: impl Fn(&State) -> bool,
    ) {
        while (*budget > 0 || prompts == Prompts::Whole) && has_room(self) {
            let Some(&slot) = self.waiting.front() else {
                return;
            };
            let cached = self.cached(slot);
            let missing = self.sequence(slot).total() - cached;
            let tokens = match prompts {
                Prompts::Whole if missing > *budget && !self.plan.is_empty() => return,
                Prompts::Whole => missing,
                Prompts::Chunked { most } => missing.min(most).min(*budget),
            };
            if !self.start_first(cached, tokens, at) {
                return;
            }
            *budget = budget.saturating_sub(tokens);
        }
    }

    /// Plans the running sequences in turn, as many tokens of each as `wanted` says (0: none) and
    /// the budget holds. Where blocks are short, others are preempted.
    pub(super) fn plan_running(
        &mut self,
        order: Order,
        budget: &mut u32,
        at: Nanos,
        wanted: impl Fn(&State, Slot) -> u32,
    ) {
        let mut index = 0;
        'sequences: while index < self.running.len() && *budget > 0 {
            let slot = self.running[index];
            let tokens = wanted(self, slot).min(*budget);
            if tokens == 0 {
                index += 1;
                continue;
            }
            while !self.grow(slot, tokens) {
                let Some(victim) = self.victim(order) else {
                    return;
                };
                *budget += self.preempt(victim, order, at);
                if victim == index {
                    continue 'sequences;
                }
                index -= usize::from(victim < index);
            }
            self.plan(slot, tokens);
            *budget -= tokens;
            index += 1;
        }
    }

    /// Where the first that waits was computed by another worker: plans all that decode, and with
    /// them those that wait likewise.
    pub(super) fn plan_received(
        &mut self,
        order: Order,
        at: Nanos,
        has_room: impl Fn(&State) -> bool,
    ) -> bool {
        let is_received = |state: &State| {
            let first = state.waiting.front();
            first.is_some_and(|&slot| state.sequence(slot).received > 0)
        };
        if !is_received(self) {
            return false;
        }
        self.plan_running(order, &mut { u32::MAX }, at, |state, slot| {
            if state.sequence(slot).decodes() {
                state.wanted(slot)
            } else {
                0
            }
        });
        if self.preempted_now == 0 {
            self.start_waiting(Prompts::Whole, &mut { u32::MAX }, at, |state| {
                is_received(state) && has_room(state)
            });
        }
        !self.plan.is_empty()
    }

    /// The place in the batch of the one to preempt: who came last or matters least.
    fn victim(&self, order: Order) -> Option<usize> {
        match order {
            Order::Arrival => self.running.len().checked_sub(1),
            Order::Priority => {
                let ranks = self.running.iter().enumerate();
                let last = ranks.max_by_key(|&(_, &slot)| self.sequence(slot).rank(order));
                last.map(|(place, _)| place)
            }
        }
    }

    /// Takes the blocks of the sequence at `place` in the batch and puts it first in the queue;
    /// the tokens that were planned for it.
    fn preempt(&mut self, place: usize, order: Order, at: Nanos) -> u32 {
        let slot = self.running.remove(place);
        let sequence = &mut self.sequences[slot as usize];
        self.pool.release(&mut sequence.table);
        sequence.computed = 0;
        sequence.received = 0;
        sequence.published = 0;
        sequence.preemptions += 1;
        self.preempted_now += 1;
        self.stats.preemptions += 1;
        self.tell(slot, at, EventKind::Preempted);
        self.enqueue(slot, order);
        match self.plan.iter().position(|planned| planned.slot == slot) {
            Some(index) => self.plan.remove(index).tokens,
            None => 0,
        }
    }

    /// Makes the blocks findable that a sequence has filled.
    pub(super) fn publish(&mut self, slot: Slot) {
        let sequence = &mut self.sequences[slot as usize];
        let full = (sequence.computed / self.block_size).min(sequence.hashes.len() as u32);
        for index in sequence.published..full {
            let (block, hash) = (
                sequence.table[index as usize],
                sequence.hashes[index as usize],
            );
            self.pool.publish(block, hash);
        }
        sequence.published = sequence.published.max(full);
    }
}
