//! Drives the engine in real time.
//!
//! [`EngineDriver`] holds the engine. A connection hands its request in and gets a [`Generation`], from
//! which it takes its tokens; one task ([`EngineDriver::drive`]) takes the engine's steps when they are
//! due and hands out what they made when it is to leave. Nothing that a connection does or
//! suffers holds the engine up.

use std::{
    collections::{BTreeMap, HashMap},
    future::pending,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc::Sender},
    time::Duration,
};

use inferometer_catalog::engine::EngineKind;
use tokio::{
    sync::{Notify, mpsc},
    time::Instant,
};

use crate::{
    clock::{Stamp, unix_nanos},
    config::EngineSetup,
    engine::{Engine, EventKind, Finish, Nanos, OutOfMemory, Rejection, Request, StepRecord},
    engine_metrics::{EngineMetrics, Quantity},
    profile,
    span_export::{RequestSpan, TraceParent},
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
    /// Known with the last tokens.
    pub(crate) preemptions: u32,
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

/// By which clock an engine's metrics tell the time between tokens. The time to the first and to
/// the last is by that of its API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GapClock {
    /// vLLM stamps outputs in the process of its scheduler.
    Engine,
    /// SGLang counts them where its API server takes them.
    FrontEnd,
}

struct DriverState {
    engine: Engine,
    gap_clock: GapClock,
    died: Option<Death>,
    open: HashMap<u64, OpenRequest>,
    /// Chunks that have not left yet, by their time and request.
    outbox: BTreeMap<(Nanos, u64), PendingChunk>,
    metrics: EngineMetrics,
    steps: Option<Sender<StepRecord>>,
    profile: Option<Vec<StepRecord>>,
    spans: Option<mpsc::UnboundedSender<RequestSpan>>,
    /// Nanoseconds from 1970 to the engine's start.
    epoch_unix: u64,
}

#[derive(Clone, Copy)]
struct PendingChunk {
    picked_up: [Nanos; 2],
    tokens: u32,
    batch: u32,
    /// Why it ended, and how often it was preempted.
    finished: Option<(Finish, u32)>,
}

struct OpenRequest {
    trace: Option<TraceParent>,
    deliveries: mpsc::UnboundedSender<Delivery>,
    arrived: Nanos,
    /// When an API server set about it.
    accepted: Nanos,
    /// When the scheduler first saw it, and took it up.
    queued: Nanos,
    started: Nanos,
    /// When the engine had made the first token and the last.
    made: Option<[Nanos; 2]>,
    /// When an API server took them from the engine.
    picked_up: Option<[Nanos; 2]>,
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
            gap_clock: match setup.kind {
                EngineKind::Sglang => GapClock::FrontEnd,
                _ => GapClock::Engine,
            },
            died: None,
            open: HashMap::new(),
            outbox: BTreeMap::new(),
            metrics: EngineMetrics::new(setup.kind, setup.version, &setup.config),
            steps,
            profile: None,
            spans: None,
            epoch_unix: unix_nanos(),
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

    pub(crate) fn submit(
        self: &Arc<Self>,
        request: Request,
        trace: Option<TraceParent>,
    ) -> Result<Generation, Rejection> {
        let id = request.id;
        let (deliveries, received) = mpsc::unbounded_channel();
        let now = self.now();
        let open = OpenRequest {
            deliveries,
            trace,
            arrived: now,
            accepted: now,
            queued: now,
            started: now,
            made: None,
            picked_up: None,
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

    /// Where spans of requests go from now on.
    pub(crate) fn export_spans(&self, to: mpsc::UnboundedSender<RequestSpan>) {
        self.lock().spans = Some(to);
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
        while let Some((&(at, id), _)) = self.outbox.first_key_value()
            && at <= now
            && let Some((_, chunk)) = self.outbox.pop_first()
        {
            self.hand_out(id, at, chunk);
        }
        let leaves = self.outbox.first_key_value().map(|(&(at, _), _)| at);
        self.engine.wake().into_iter().chain(leaves).min()
    }

    /// Each step is taken at the time it was due, so that a late one delays none after it.
    fn take_steps(&mut self, now: Nanos) {
        let mut steps = 0;
        while steps < STEPS_AT_ONCE {
            if self.engine.wake().is_none_or(|wake| wake > now) {
                return;
            }
            let outcome = self.engine.step(now);
            for event in outcome.events {
                let Some(open) = self.open.get_mut(&event.request) else {
                    continue;
                };
                match event.kind {
                    EventKind::Started {
                        cached_tokens,
                        accepted_at,
                        queued_at,
                    } => {
                        open.accepted = accepted_at;
                        open.queued = queued_at;
                        open.started = event.at;
                        open.cached_tokens = cached_tokens;
                    }
                    EventKind::Made { .. } => {
                        let metrics = &mut self.metrics;
                        if let Some([_, last]) = open.made
                            && self.gap_clock == GapClock::Engine
                        {
                            metrics.observe_time(Quantity::BetweenTokens, event.at - last);
                        }
                        let first = open.made.map_or(event.at, |[first, _]| first);
                        open.made = Some([first, event.at]);
                    }
                    EventKind::Tokens {
                        count,
                        batch,
                        picked_up,
                    } => {
                        let chunk = PendingChunk {
                            picked_up,
                            tokens: count,
                            batch,
                            finished: None,
                        };
                        self.outbox.insert((event.at, event.request), chunk);
                    }
                    EventKind::Finished {
                        finish,
                        preemptions,
                    } => {
                        // It leaves with the last tokens of its request.
                        if let Some(chunk) = self.outbox.get_mut(&(event.at, event.request)) {
                            chunk.finished = Some((finish, preemptions));
                        }
                    }
                    EventKind::Preempted => {}
                }
            }
            let (began, died) = (outcome.began, outcome.died);
            if let Some(step) = began {
                steps += 1;
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

    fn hand_out(&mut self, id: u64, at: Nanos, chunk: PendingChunk) {
        // A request that was cancelled meanwhile is not there any more.
        let Some(open) = self.open.get_mut(&id) else {
            return;
        };
        let metrics = &mut self.metrics;
        let [first, last] = chunk.picked_up;
        match open.picked_up {
            None => {
                metrics.cached_tokens += u64::from(open.cached_tokens);
                metrics.observe_time(Quantity::FirstToken, first.saturating_sub(open.accepted));
            }
            Some([_, before]) if self.gap_clock == GapClock::FrontEnd => {
                metrics.observe_time(Quantity::BetweenTokens, last.saturating_sub(before));
            }
            Some(_) => {}
        }
        let first = open.picked_up.map_or(first, |[first, _]| first);
        open.picked_up = Some([first, last]);
        open.tokens += chunk.tokens;
        let delivery = Delivery {
            tokens: chunk.tokens,
            batch: chunk.batch,
            at,
            finish: chunk.finished.map(|(finish, _)| finish),
            cached_tokens: open.cached_tokens,
            preemptions: chunk.finished.map_or(0, |(_, preemptions)| preemptions),
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
        let [first_made, last_made] = open.made.unwrap_or([at, at]);
        let picked_up = open.picked_up.unwrap_or([at, at]);
        for (quantity, time) in [
            (Quantity::Latency, since(open.accepted, picked_up[1])),
            (Quantity::QueueTime, since(open.queued, open.started)),
            (Quantity::PrefillTime, since(open.started, first_made)),
            (Quantity::DecodeTime, since(first_made, last_made)),
            (Quantity::InferenceTime, since(open.started, last_made)),
        ] {
            metrics.observe_time(quantity, time);
        }
        if let (Some(parent), Some(spans)) = (open.trace, &self.spans) {
            let seconds = |from: Nanos, to: Nanos| since(from, to) as f64 * 1e-9;
            let span = RequestSpan {
                parent,
                number: id,
                began: self.epoch_unix.saturating_add(open.accepted),
                ended: self.epoch_unix.saturating_add(picked_up[1]),
                times: [
                    ("time_to_first_token", seconds(open.accepted, picked_up[0])),
                    ("e2e", seconds(open.accepted, picked_up[1])),
                    ("time_in_queue", seconds(open.queued, open.started)),
                    ("time_in_model_prefill", seconds(open.started, first_made)),
                    ("time_in_model_decode", seconds(first_made, last_made)),
                    ("time_in_model_inference", seconds(open.started, last_made)),
                ],
                prompt_tokens: open.prompt_tokens,
                output_tokens: open.tokens,
            };
            // Nobody exports any more once the server stops.
            let _ = spans.send(span);
        }
        if open.tokens > 1 {
            let [first, last] = match self.gap_clock {
                GapClock::Engine => [first_made, last_made],
                GapClock::FrontEnd => picked_up,
            };
            let mean = since(first, last) as f64 * 1e-9 / f64::from(open.tokens - 1);
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
