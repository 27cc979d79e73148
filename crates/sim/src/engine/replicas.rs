//! The engine: one scheduler, or as many as it has data-parallel replicas, behind an API server.

use super::{
    EngineConfig, Event, Nanos, OutOfMemory, Rejection, Request, Stats, StepRecord, api::ApiServer,
    engine_core::EngineCore,
};

/// What a call of [`Engine::step`] brought.
#[derive(Debug)]
pub struct StepOutcome<'a> {
    /// What happened, in order; chunks with the time at which they leave, which may be later.
    pub events: &'a [Event],
    pub began: Option<StepRecord>,
    pub died: Option<OutOfMemory>,
}

/// The simulated engine. Requests go to its replicas in turn. There are as many API servers as
/// replicas; here they are one that is as many times as fast.
#[derive(Clone, Debug)]
pub struct Engine {
    cores: Vec<EngineCore>,
    api: ApiServer,
    turn: usize,
}

impl Engine {
    /// An engine at rest. The seed decides on noise and on which drafts are accepted.
    pub fn new(config: EngineConfig, seed: u64) -> Engine {
        let replicas = config.replicas.max(1);
        let core = |rank: u32| EngineCore::new(config.clone(), seed.wrapping_add(u64::from(rank)));
        Engine {
            cores: (0..replicas).map(core).collect(),
            api: ApiServer::new(config.api.divided(replicas)),
            turn: 0,
        }
    }

    pub fn config(&self) -> &EngineConfig {
        &self.cores[0].config
    }

    /// Takes in a request that reaches the server now. Steps that are due earlier should have
    /// been taken, since the API server works in the order of calls.
    pub fn add(&mut self, now: Nanos, request: Request) -> Result<(), Rejection> {
        if self.cores.iter().any(|core| core.knows(request.id)) {
            return Err(Rejection::Duplicate { id: request.id });
        }
        if self.died().is_some() {
            return Err(Rejection::Dead);
        }
        self.cores[self.turn].add(now, request, &mut self.api)?;
        self.turn = (self.turn + 1) % self.cores.len();
        Ok(())
    }

    /// Forgets a request, of which no event comes any more; false where none of this id is
    /// under way. What it holds is free at the end of the step.
    pub fn cancel(&mut self, id: u64) -> bool {
        self.cores.iter_mut().any(|core| core.cancel(id))
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
        let next = self.cores.iter().filter_map(EngineCore::wake).min();
        // One that dies takes the others with it.
        next.filter(|_| self.died().is_none())
    }

    /// Ends the step under way that is due first and begins the next, if that is due by now. It
    /// happens at the time it was due, however late the call is.
    pub fn step(&mut self, now: Nanos) -> StepOutcome<'_> {
        let wakes = self.cores.iter().enumerate();
        let first = wakes.filter_map(|(rank, core)| Some((core.wake()?, rank)));
        let rank = first.min().map_or(0, |(_, rank)| rank);
        let began = self.cores[rank].step(now, &mut self.api);
        StepOutcome {
            began,
            died: self.died(),
            events: self.cores[rank].events(),
        }
    }

    /// Counters and gauges, of all replicas together.
    pub fn stats(&self) -> Stats {
        let mut all = Stats::default();
        for core in &self.cores {
            all.add(&core.stats());
        }
        all
    }

    fn died(&self) -> Option<OutOfMemory> {
        self.cores.iter().find_map(|core| core.died)
    }
}
