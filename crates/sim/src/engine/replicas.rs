//! The engine: one scheduler, or as many as it has data-parallel replicas, behind a front end;
//! where prompts are computed by workers of their own, those and the ones that decode.

use std::ops::ControlFlow;

use super::{
    EngineConfig, Event, Nanos, OutOfMemory, Rejection, Request, Stats, StepRecord,
    api::{Admitted, FrontEnd, TakenIn},
    engine_core::{EngineCore, Role},
    nanos,
};

/// What a call of [`Engine::step`] brought.
#[derive(Debug)]
pub struct StepOutcome<'a> {
    /// What happened, in order; chunks with the time at which they leave, which may be later.
    pub events: &'a [Event],
    pub began: Option<StepRecord>,
    pub died: Option<OutOfMemory>,
}

/// The simulated engine. Requests go to its replicas in turn; what a prefill worker has computed
/// goes to the replica with the fewest requests.
#[derive(Clone, Debug)]
pub struct Engine {
    /// Those that take requests in first.
    cores: Vec<EngineCore>,
    takers: usize,
    /// Seconds to hand over a prompt, and each token of it.
    handover_s: [f64; 2],
    front_end: FrontEnd,
    turn: usize,
    events: Vec<Event>,
}

impl Engine {
    /// An engine at rest. The seed decides on noise and on which drafts are accepted.
    pub fn new(config: EngineConfig, seed: u64) -> Engine {
        let replicas = config.replicas.max(1);
        let mut cores = Vec::new();
        let mut add = |config: &EngineConfig, role: Role| {
            let seed = seed.wrapping_add(cores.len() as u64);
            cores.push(EngineCore::new(config.clone(), role, seed));
        };
        if let Some(prefill) = &config.prefill {
            (0..prefill.config.replicas.max(1)).for_each(|_| add(&prefill.config, Role::Prefill));
            (0..replicas).for_each(|_| add(&config, Role::Decode));
        } else {
            (0..replicas).for_each(|_| add(&config, Role::All));
        }
        Engine {
            takers: cores.len() - config.prefill.as_ref().map_or(0, |_| replicas as usize),
            handover_s: config
                .prefill
                .as_ref()
                .map_or([0.0; 2], |prefill| [prefill.prompt_s, prefill.token_s]),
            cores,
            front_end: FrontEnd::new(&config),
            turn: 0,
            events: Vec::new(),
        }
    }

    pub fn config(&self) -> &EngineConfig {
        // Those that answer come last.
        &self.cores[self.cores.len() - 1].config
    }

    /// Takes in a request that reaches the server now. What is due earlier should have been done,
    /// since the front end works in the order of calls.
    pub fn add(&mut self, now: Nanos, request: Request) -> Result<(), Rejection> {
        let id = request.id;
        if self.front_end.knows(id) || self.cores.iter().any(|core| core.knows(id)) {
            return Err(Rejection::Duplicate { id });
        }
        if self.died().is_some() {
            return Err(Rejection::Dead);
        }
        let (taker, last) = (&self.cores[self.turn], &self.cores[self.cores.len() - 1]);
        let admitted = Admitted {
            output: taker.admissible(&request)?.min(last.admissible(&request)?),
            request,
            core: self.turn,
        };
        self.turn = (self.turn + 1) % self.takers;
        let taken_in = self.front_end.accept(now, admitted);
        self.hand_on(taken_in);
        Ok(())
    }

    /// Forgets a request, of which no event comes any more; false where none of this id is
    /// under way. What it holds is free at the end of the step.
    pub fn cancel(&mut self, id: u64) -> bool {
        let computed = self.cores.iter_mut().any(|core| core.cancel(id));
        self.front_end.cancel(id) || computed
    }

    /// Forgets all cached prefixes; false where requests are running.
    pub fn reset_prefix_cache(&mut self) -> bool {
        let mut all = true;
        for core in &mut self.cores {
            all &= core.reset_prefix_cache();
        }
        all
    }

    /// When something happens next; `None` while there is nothing to do.
    pub fn wake(&self) -> Option<Nanos> {
        let cores = self.cores.iter().filter_map(EngineCore::wake);
        let next = cores.chain(self.front_end.wake()).min();
        // One that dies takes the others with it.
        next.filter(|_| self.died().is_none())
    }

    /// Does what is due first, if that is due by now: ends the step under way and begins the next,
    /// or lets the front end work until then, until a request is handed to the scheduler, or until
    /// an answer ends, whose client may have more to send. Each thing happens at the time it was
    /// due, however late the call is.
    pub fn step(&mut self, now: Nanos) -> StepOutcome<'_> {
        self.events.clear();
        let wakes = self.cores.iter().enumerate();
        let first = wakes.filter_map(|(rank, core)| Some((core.wake()?, rank)));
        let first = first.min();
        let mut began = None;
        let mut is_first = true;
        let until = first
            .map_or(Nanos::MAX, |(at, _)| at)
            .min(now.saturating_add(1));
        while let Some((at, place)) = self.front_end.next()
            && first.is_none_or(|(step, _)| at < step)
        {
            is_first = false;
            if at > now {
                break;
            }
            if let ControlFlow::Break(taken_in) =
                self.front_end.work(place, until, &mut self.events)
            {
                self.hand_on(taken_in);
                break;
            }
        }
        if is_first {
            let rank = first.map_or(0, |(_, rank)| rank);
            began = self.cores[rank].step(now);
            self.cores[rank].swap_events(&mut self.events);
            if let Some((at, _)) = first {
                self.front_end.hand_over(at, self.cores[rank].chunks());
            }
            self.hand_over(rank);
        }
        StepOutcome {
            began,
            died: self.died(),
            events: &self.events,
        }
    }

    /// Sends what a worker has computed to those who go on with it.
    fn hand_over(&mut self, rank: usize) {
        let (at, prompts) = self.cores[rank].hand_over();
        for handed in prompts {
            let [prompt_s, token_s] = self.handover_s;
            let sent = nanos(prompt_s + f64::from(handed.computed) * token_s);
            let decoders = self.cores[self.takers..].iter_mut();
            if let Some(next) = decoders.min_by_key(|core| core.requests()) {
                next.receive(handed, at.saturating_add(sent));
            }
        }
    }

    fn hand_on(&mut self, taken_in: Option<TakenIn>) {
        if let Some(taken_in) = taken_in {
            self.cores[taken_in.admitted.core].insert(taken_in);
        }
    }

    /// Counters and gauges, of all replicas together.
    pub fn stats(&self) -> Stats {
        let mut all = Stats::default();
        for core in &self.cores {
            all.add(&core.stats());
        }
        all.front_end_busy = self.front_end.busy;
        all
    }

    /// What it died of; absent while it lives.
    pub fn died(&self) -> Option<OutOfMemory> {
        self.cores.iter().find_map(|core| core.died)
    }
}
