//! Drives the engine in real time.
//!
//! [`EngineDriver`] holds the engine. A connection hands its request in and gets a [`Generation`], from
//! which it takes its tokens; one task ([`EngineDriver::drive`]) takes the engine's steps when they are
//! due and hands out what they made when it is to leave. Nothing that a connection does or
//! suffers holds the engine up.

use std::{
    collections::{HashMap, VecDeque},
    future::pending,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc::Sender},
    time::Duration,
};

use tokio::{
    sync::{Notify, mpsc},
    time::Instant,
};

use crate::{
    clock::Stamp,
    config::EngineSetup,
    engine::{Engine, EventKind, Finish, Nanos, OutOfMemory, Rejection, Request, StepRecord},
    engine_metrics::{EngineMetrics, Quantity},
    profile,
    timer::PreciseTimer,
};

/// Steps taken in one go before connections have their turn, should steps be shorter than the
/// time that it takes to simulate them.
const STEPS_AT_ONCE: usize = 64;

/// Chunks that leave within this time of each other are handed out together: with thousands of
/// streams one is due every few microseconds, and waking costs more than that.
const SHORTEST_WAIT: Duration = Duration::from_micros(200);

/// Tokens that have left the engine for a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    pub(crate) tokens: u32,
    /// Sequences in the batch that made them.
    pub(crate) batch: u32,
    /// When they are to be written.
    pub(crate) at: Nanos,
    pub(crate) finish: Option<Finish>,
    /// Prompt tokens that were in the prefix cache.
    pub(crate) cached_tokens: u32,
    pub(crate) queued: Nanos,
}

/// What an engine died of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// A step took more memory than the card had left.
    OutOfMemory(OutOfMemory),
    /// The same, as the fault `oom-after` wants it, whatever the memory.
    Injected,
}

/// Where requests are handed in.
pub(crate) struct EngineDriver {
    state: Mutex<DriverState>,
    /// Something is due earlier than the driver knows.
    changed: Notify,
    pub(crate) dying: Notify,
    epoch: Instant,
    epoch_stamp: Stamp,
    setup: EngineSetup,
}

struct DriverState {
    engine: Engine,
    died: Option<Death>,
    open: HashMap<u64, OpenRequest>,
    /// Chunks that have not left yet, in the order of their times: the engine's API server
    /// sends one after the other.
    outbox: VecDeque<(u64, PendingChunk)>,
    metrics: EngineMetrics,
    steps: Option<Sender<StepRecord>>,
    profile: Option<Vec<StepRecord>>,
}

#[derive(Clone, Copy)]
struct PendingChunk {
    at: Nanos,
    made_at: Nanos,
    tokens: u32,
    batch: u32,
    /// Why it ended, and how often it was preempted.
    finished: Option<(Finish, u32)>,
}

struct OpenRequest {
    deliveries: mpsc::UnboundedSender<Delivery>,
    arrived: Nanos,
    started: Nanos,
    first: Option<(Nanos, Nanos)>,
    last: Nanos,
    prompt_tokens: u32,
    asked_tokens: u32,
    cached_tokens: u32,
    tokens: u32,
}

impl EngineDriver {
    pub(crate) fn new(
        setup: EngineSetup,
        seed: u64,
        steps: Option<Sender<StepRecord>>,
    ) -> EngineDriver {
        let state = DriverState {
            engine: Engine::new(setup.config.clone(), seed),
            died: None,
            open: HashMap::new(),
            outbox: VecDeque::new(),
            metrics: EngineMetrics::new(setup.kind, setup.version, &setup.config),
            steps,
            profile: None,
        };
        EngineDriver {
            state: Mutex::new(state),
            changed: Notify::new(),
            dying: Notify::new(),
            epoch: Instant::now(),
            epoch_stamp: Stamp::now(),
            setup,
        }
    }

    pub(crate) fn setup(&self) -> &EngineSetup {
        &self.setup
    }

    pub(crate) fn submit(self: &Arc<Self>, request: Request) -> Result<Generation, Rejection> {
        let id = request.id;
        let (deliveries, received) = mpsc::unbounded_channel();
        let now = self.now();
        let open = OpenRequest {
            deliveries,
            arrived: now,
            started: now,
            first: None,
            last: now,
            prompt_tokens: request.prompt_tokens,
            asked_tokens: request.output_tokens,
            cached_tokens: 0,
            tokens: 0,
        };
        let mut state = self.lock();
        if state.died.is_some() {
            return Err(Rejection::Dead);
        }
        state.metrics.received += 1;
        state.take_steps(now);
        state.engine.add(now, request)?;
        state.open.insert(id, open);
        drop(state);
        self.changed.notify_one();
        Ok(Generation {
            driver: Arc::clone(self),
            id,
            deliveries: received,
        })
    }

    pub(crate) fn kill(&self) {
        self.lock().die(Death::Injected);
        self.dying.notify_one();
    }

    /// What the engine died of; `None` while it lives.
    pub(crate) fn died(&self) -> Option<Death> {
        self.lock().died
    }

    /// Forgets all cached prefixes; false where requests hold some.
    pub(crate) fn reset_prefix_cache(&self) -> bool {
        self.lock().engine.reset_prefix_cache()
    }

    pub(crate) fn metrics(&self, model: &str) -> String {
        let state = self.lock();
        let stats = state.engine.stats();
        state.metrics.render(model, &stats, &self.setup.config)
    }

    /// Begins a profile, in place of one that runs.
    pub(crate) fn start_profile(&self) {
        self.lock().profile = Some(Vec::new());
    }

    /// Ends the profile: where it is to go, and its steps. `None` where none runs.
    pub(crate) fn stop_profile(&self) -> Option<(PathBuf, Vec<StepRecord>)> {
        let path = self.setup.profile.clone()?;
        Some((path, self.lock().profile.take()?))
    }

    /// When a time of the engine is by tokio's clock.
    pub(crate) fn instant(&self, at: Nanos) -> Instant {
        self.epoch + Duration::from_nanos(at)
    }

    /// Notes that what was due `at` was written.
    pub(crate) fn written(&self, at: Nanos, written: Stamp) {
        let due = self.epoch_stamp.0.saturating_add(at);
        let late = written.0.saturating_sub(due);
        self.lock().metrics.lateness.observe(late as f64 * 1e-9);
    }

    /// Takes steps as they are due; never returns.
    pub(crate) async fn drive(&self) {
        let timer = PreciseTimer::new();
        loop {
            let now = self.now();
            let next = {
                let mut state = self.lock();
                let next = state.advance(now);
                if state.died.is_some() {
                    self.dying.notify_one();
                }
                next
            };
            let due = async {
                match next {
                    Some(at) if at <= now => tokio::task::yield_now().await,
                    Some(at) => {
                        let wait = Duration::from_nanos(at.saturating_sub(self.now()));
                        timer.sleep(wait.max(SHORTEST_WAIT)).await;
                    }
                    None => pending().await,
                }
            };
            tokio::select! {
                () = due => {}
                () = self.changed.notified() => {}
            }
        }
    }

    fn now(&self) -> Nanos {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, DriverState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DriverState {
    /// Does what is due by now; when to come again.
    fn advance(&mut self, now: Nanos) -> Option<Nanos> {
        self.take_steps(now);
        if self.died.is_some() {
            return None;
        }
        while let Some(&(id, chunk)) = self.outbox.front()
            && chunk.at <= now
        {
            self.outbox.pop_front();
            self.hand_out(id, chunk);
        }
        let leaves = self.outbox.front().map(|(_, chunk)| chunk.at);
        self.engine.wake().into_iter().chain(leaves).min()
    }

    /// Each step is taken at the time it was due, so that a late one delays none after it.
    fn take_steps(&mut self, now: Nanos) {
        for _ in 0..STEPS_AT_ONCE {
            let Some(wake) = self.engine.wake().filter(|wake| *wake <= now) else {
                return;
            };
            let outcome = self.engine.step(wake);
            for event in outcome.events {
                match event.kind {
                    EventKind::Started { cached_tokens } => {
                        if let Some(open) = self.open.get_mut(&event.request) {
                            open.started = event.at;
                            open.cached_tokens = cached_tokens;
                        }
                    }
                    EventKind::Tokens {
                        count,
                        batch,
                        made_at,
                    } => {
                        let chunk = PendingChunk {
                            at: event.at,
                            made_at,
                            tokens: count,
                            batch,
                            finished: None,
                        };
                        self.outbox.push_back((event.request, chunk));
                    }
                    EventKind::Finished {
                        finish,
                        preemptions,
                    } => {
                        // It follows the last tokens of its request.
                        if let Some((_, chunk)) = self.outbox.back_mut() {
                            chunk.finished = Some((finish, preemptions));
                        }
                    }
                    EventKind::Preempted => {}
                }
            }
            let (began, died) = (outcome.began, outcome.died);
            if let Some(step) = began {
                self.note_step(step);
            }
            if let Some(death) = died {
                self.die(Death::OutOfMemory(death));
                return;
            }
        }
    }

    /// Whoever waits for tokens hears of it by the end of its channel; what has not left is lost
    /// with the process that made it.
    fn die(&mut self, death: Death) {
        self.died.get_or_insert(death);
        self.outbox.clear();
        for _ in self.open.drain() {
            self.metrics.finished.add(None);
        }
    }

    fn note_step(&mut self, step: StepRecord) {
        let tokens = f64::from(step.prefill_tokens) + f64::from(step.decode_tokens);
        self.metrics.observe(Quantity::IterationTokens, tokens);
        if let Some(steps) = &self.steps {
            // The log's writer has stopped; closing the log says why.
            let _ = steps.send(step);
        }
        if let Some(profile) = &mut self.profile
            && profile.len() < profile::MOST_STEPS
        {
            profile.push(step);
        }
    }

    fn hand_out(&mut self, id: u64, chunk: PendingChunk) {
        // A request that was cancelled meanwhile is not there any more.
        let Some(open) = self.open.get_mut(&id) else {
            return;
        };
        let PendingChunk { at, made_at, .. } = chunk;
        let metrics = &mut self.metrics;
        let first = open.first.is_none();
        let (first_at, first_made) = *open.first.get_or_insert((at, made_at));
        if first {
            metrics.cached_tokens += u64::from(open.cached_tokens);
            metrics.observe_time(Quantity::FirstToken, at.saturating_sub(open.arrived));
        } else {
            metrics.observe_time(Quantity::BetweenTokens, at.saturating_sub(open.last));
        }
        open.last = at;
        open.tokens += chunk.tokens;
        let delivery = Delivery {
            tokens: chunk.tokens,
            batch: chunk.batch,
            at,
            finish: chunk.finished.map(|(finish, _)| finish),
            cached_tokens: open.cached_tokens,
            queued: open.started.saturating_sub(open.arrived),
        };
        // A connection that has gone cancels by itself.
        let _ = open.deliveries.send(delivery);
        let Some((finish, preemptions)) = chunk.finished else {
            return;
        };
        let Some(open) = self.open.remove(&id) else {
            return;
        };
        let since = |from: Nanos, to: Nanos| to.saturating_sub(from);
        for (quantity, time) in [
            (Quantity::Latency, since(open.arrived, at)),
            (Quantity::QueueTime, since(open.arrived, open.started)),
            (Quantity::PrefillTime, since(open.started, first_made)),
            (Quantity::DecodeTime, since(first_made, made_at)),
            (Quantity::InferenceTime, since(open.started, made_at)),
        ] {
            metrics.observe_time(quantity, time);
        }
        if open.tokens > 1 {
            let mean = since(first_at, at) as f64 * 1e-9 / f64::from(open.tokens - 1);
            metrics.observe(Quantity::PerToken, mean);
        }
        for (quantity, count) in [
            (Quantity::PromptTokens, open.prompt_tokens),
            (
                Quantity::ComputedTokens,
                open.prompt_tokens.saturating_sub(open.cached_tokens),
            ),
            (Quantity::GenerationTokens, open.tokens),
            (Quantity::AskedTokens, open.asked_tokens),
            (Quantity::Choices, 1),
            (Quantity::Preemptions, preemptions),
        ] {
            metrics.observe(quantity, f64::from(count));
        }
        metrics.finished.add(Some(finish));
    }
}

/// The tokens of one request as they come. Dropped before the last, it cancels the request.
pub(crate) struct Generation {
    driver: Arc<EngineDriver>,
    id: u64,
    deliveries: mpsc::UnboundedReceiver<Delivery>,
}

impl Generation {
    /// The next tokens, at the time they leave; `None` after the last.
    pub(crate) async fn next(&mut self) -> Option<Delivery> {
        self.deliveries.recv().await
    }

    pub(crate) fn driver(&self) -> &Arc<EngineDriver> {
        &self.driver
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        let mut state = self.driver.lock();
        if state.open.remove(&self.id).is_some() {
            state.engine.cancel(self.id);
            state.metrics.finished.add(None);
            drop(state);
            self.driver.changed.notify_one();
        }
    }
}
