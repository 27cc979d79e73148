//! The instrument: workers on their threads, phases that they run together, and the watch
//! over both.

use crate::clock::{lower_priority, thread_cpu_time};
use crate::connect::Transport;
use crate::flight::Sink;
use crate::flood;
use crate::live::{LiveCounters, Snapshot};
use crate::pace::Pacer;
use crate::precision::{Precision, Primary};
use crate::recorder::RecorderSender;
use crate::setup::{PreparedRequest, RequestPlace, Setup};
use crate::stop_rules::{StandstillDetector, StopRules};
use crate::wakeup::WakeupProbe;
use crate::worker::{Pacing, PhaseShare, Stop, Worker};
use inferometer_core::environment::EndCause;
use inferometer_core::slo::Slo;
use inferometer_core::units::Offset;
use inferometer_text::hostile::Secrets;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::LocalOptions;
use tokio::sync::{Semaphore, mpsc, watch};

/// Requests per worker that are made ahead of need: at most this many, and this many bytes of them.
const AHEAD: usize = 1024;
const AHEAD_BYTES: usize = 16 << 20;

/// Requests of each worker that are made before a phase begins.
const FIRST_MADE: usize = 32;

/// Time for the workers to take up their parts before the phase begins.
const LEAD: Duration = Duration::from_millis(5);

const TICK: Duration = Duration::from_millis(25);

/// How long workers may take to leave when told to.
const LEAVING: Duration = Duration::from_secs(5);

/// Stops a run from another thread, such as a signal's.
#[derive(Clone)]
pub struct Control {
    stop: Arc<watch::Sender<Stop>>,
    cause: Arc<Mutex<Option<EndCause>>>,
    measuring: Arc<AtomicBool>,
}

impl Default for Control {
    fn default() -> Self {
        Control {
            stop: Arc::new(watch::Sender::new(Stop::Go)),
            cause: Arc::default(),
            measuring: Arc::default(),
        }
    }
}

impl Control {
    /// Sends nothing more and waits for answers; the second time, leaves at once.
    pub fn interrupt(&self) {
        let next = match *self.stop.borrow() {
            Stop::Go => Stop::Drain,
            Stop::Drain | Stop::Leave => Stop::Leave,
        };
        self.end(next, EndCause::Signal);
    }

    pub fn enough(&self, stop: Stop) {
        self.end(stop, EndCause::Precise);
    }

    /// Leaves at once: the server is known to be gone.
    pub fn abandon(&self) {
        self.end(Stop::Leave, EndCause::Watchdog);
    }

    /// Makes it good for another run, unless the user wants to leave.
    pub fn renew(&self) {
        let mut cause = self.lock_cause();
        if *cause != Some(EndCause::Signal) {
            *cause = None;
            self.stop.send_replace(Stop::Go);
        }
    }

    /// Whether there are workers that a request to stop would reach, and results to keep.
    pub fn is_measuring(&self) -> bool {
        self.measuring.load(Ordering::Relaxed)
    }

    pub fn state(&self) -> Stop {
        *self.stop.borrow()
    }

    fn end(&self, stop: Stop, cause: EndCause) {
        self.lock_cause().get_or_insert(cause);
        self.stop.send_if_modified(|state| {
            let further = stop > *state;
            *state = stop.max(*state);
            further
        });
    }

    fn cause(&self) -> EndCause {
        self.lock_cause().unwrap_or_default()
    }

    fn lock_cause(&self) -> MutexGuard<'_, Option<EndCause>> {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part of the run that all workers begin and end together: warm-up, or measured.
pub struct Phase {
    pub warmup: bool,
    pub load: PhaseLoad,
    pub requests: Option<u64>,
    /// Time of sending, if it limits the phase.
    pub duration: Option<Duration>,
    /// What answers get once sending has ended.
    pub drain: Option<Duration>,
}

pub enum PhaseLoad {
    /// Streams, whose beginnings are spread over a time.
    Closed { streams: u32, stagger: Duration },
    /// Arrivals at due times, with a cap.
    Open {
        /// Due times of the sessions from the beginning of the phase.
        due: Arc<[Offset]>,
        cap: Option<u32>,
    },
}

#[derive(Clone, Debug)]
pub struct PhaseReport {
    pub planned: u64,
    /// Of these, never begun.
    pub unsent: u64,
    pub started: Offset,
    /// When the last request was begun.
    pub sending_ended: Offset,
    pub cause: EndCause,
    /// CPU use of each worker's thread, from 0 to 1.
    pub cpu_shares: Vec<f64>,
    /// How late this process was woken at the 99th percentile; absent for a short phase.
    pub pulse_p99: Option<Duration>,
    pub totals: Snapshot,
}

pub struct Instrument<T: Transport + Send + Sync> {
    setup: Arc<Setup<T>>,
    workers: Vec<Handle>,
    control: Control,
    reports: Receiver<Done>,
}

/// What a maker makes: first turns of sessions, with their due times.
type FirstTurns = Box<dyn Iterator<Item = (RequestPlace, Option<Offset>)> + Send>;

struct Handle {
    orders: Sender<PhaseShare>,
    live: Arc<LiveCounters>,
    thread: JoinHandle<()>,
}

struct Done {
    worker: usize,
    last_sent: Offset,
    busy: Duration,
}

impl<T: Transport + Send + Sync> Instrument<T> {
    pub fn start(
        setup: Setup<T>,
        workers: u32,
        control: Control,
        entries: &RecorderSender,
        slos: &[Slo],
        secrets: &Secrets,
    ) -> Self {
        let setup = Arc::new(setup);
        let slos: Arc<[Slo]> = slos.into();
        let secrets = Arc::new(secrets.clone());
        let (report, reports) = channel();
        control.measuring.store(true, Ordering::Relaxed);
        let workers = (0..workers.max(1) as usize)
            .map(|worker| {
                let live = Arc::new(LiveCounters::new(slos.len()));
                let sink = Sink {
                    entries: entries.clone(),
                    live: Arc::clone(&live),
                    slos: Arc::clone(&slos),
                    secrets: Arc::clone(&secrets),
                };
                let (orders, parts) = channel();
                let setup = Arc::clone(&setup);
                let stop = control.stop.subscribe();
                let report = report.clone();
                let thread = std::thread::Builder::new()
                    .name(format!("worker-{worker}"))
                    .spawn(move || work(worker, setup, sink, &parts, &stop, &report))
                    .expect("the system gives a thread");
                Handle {
                    orders,
                    live,
                    thread,
                }
            })
            .collect();
        Instrument {
            setup,
            workers,
            control,
            reports,
        }
    }

    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of(self.workers.iter().map(|worker| &*worker.live))
    }

    /// Runs a phase to its end. `observe` is shown the phase's numbers a few times a second.
    pub fn run_phase(
        &mut self,
        phase: Phase,
        rules: &StopRules,
        mut observe: impl FnMut(&Snapshot),
    ) -> PhaseReport {
        let before = self.snapshot();
        let known = phase.requests;
        let warmup = phase.warmup;
        let mut precision = Precision::new(match phase.load {
            PhaseLoad::Closed { .. } => Primary::TokenRate,
            PhaseLoad::Open { .. } => Primary::Latency,
        });
        let (start, makers) = self.hand_out(phase);
        let mut done: Vec<Done> = Vec::new();
        let mut still = StandstillDetector::new();
        let mut leave_by = None;
        let begun = Instant::now();
        let wakeups = WakeupProbe::start();
        let mut dead = 0;
        while done.len() + dead < self.workers.len() {
            match self.reports.recv_timeout(TICK) {
                Ok(report) => done.push(report),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = self.snapshot().since(&before);
            observe(&now);
            if !warmup && rules.wants_end(&now, known) {
                self.control.end(Stop::Drain, EndCause::StopCondition);
            }
            if let Some(until) = rules.until.filter(|_| !warmup) {
                precision.see(begun.elapsed(), &now);
                if precision.reaches(until) {
                    self.control.end(Stop::Drain, EndCause::Precise);
                }
            }
            // A worker that died takes its requests with it: that must end the run, and show.
            let reported = |worker: usize| done.iter().any(|report| report.worker == worker);
            dead = (self.workers.iter().enumerate())
                .filter(|(worker, handle)| handle.thread.is_finished() && !reported(*worker))
                .count();
            if dead > 0 {
                self.control.end(Stop::Leave, EndCause::Watchdog);
            }
            if still.longer_than(rules.standstill, &now) {
                self.control.end(Stop::Leave, EndCause::Watchdog);
            }
            if self.control.state() == Stop::Leave {
                let by = *leave_by.get_or_insert_with(|| Instant::now() + LEAVING);
                if Instant::now() > by {
                    break;
                }
            }
        }
        let pulse_p99 = wakeups.finish();
        // The maker of a worker that hangs waits for it; it ends with the process.
        if done.len() == self.workers.len() {
            for maker in makers {
                let _ = maker.join();
            }
        }
        // Over the time of the phase, so that a worker without work does not look busy.
        let wall = begun.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
        done.sort_by_key(|report| report.worker);
        let totals = self.snapshot().since(&before);
        let planned = known.unwrap_or(totals.started).max(totals.started);
        PhaseReport {
            planned,
            unsent: planned - totals.started,
            started: start,
            sending_ended: done
                .iter()
                .map(|report| report.last_sent)
                .max()
                .unwrap_or(start),
            cause: self.control.cause(),
            cpu_shares: done
                .iter()
                .map(|report| (report.busy.as_secs_f64() / wall).min(1.0))
                .collect(),
            pulse_p99,
            totals,
        }
    }

    /// Gives each worker its part, and a thread that makes its requests ahead of need. The phase
    /// begins when the first requests are made, however long that takes.
    fn hand_out(&self, phase: Phase) -> (Offset, Vec<JoinHandle<()>>) {
        let count = self.workers.len() as u64;
        let Phase {
            warmup, requests, ..
        } = phase;
        let first = RequestPlace {
            session: 0,
            turn: 0,
            turns: 1,
            index: 0,
            warmup,
        };
        let size = self.setup.prepare(first, None, &[]).bytes.len();
        let ahead = (AHEAD_BYTES / size.max(1)).clamp(2, AHEAD);
        let cap = match &phase.load {
            PhaseLoad::Open { cap: Some(cap), .. } => Some(Arc::new(Semaphore::new(*cap as usize))),
            _ => None,
        };
        let (made, first_made) = channel();
        let mut supplies = Vec::new();
        for worker in 0..count {
            let (to_worker, requests_made) = mpsc::channel(ahead);
            let sessions = self.sessions(warmup, requests);
            let share: FirstTurns = match &phase.load {
                PhaseLoad::Closed { streams, .. } => {
                    // A session belongs to a stream's place, so that each worker gets requests
                    // in proportion to its streams.
                    let streams = u64::from(*streams);
                    let mine =
                        sessions.filter(move |place| place.session % streams % count == worker);
                    Box::new(mine.map(|place| (place, None)))
                }
                PhaseLoad::Open { due, .. } => {
                    let due = Arc::clone(due);
                    let all = sessions.take(due.len());
                    let mine = all.filter(move |place| place.session % count == worker);
                    Box::new(mine.map(move |place| {
                        let due = due[place.session as usize];
                        (place, Some(due))
                    }))
                }
            };
            let setup = Arc::clone(&self.setup);
            let made = made.clone();
            let first = ahead.min(FIRST_MADE);
            let maker = std::thread::Builder::new()
                .name("maker".into())
                .spawn(move || make(&setup, share, &to_worker, first, &made))
                .expect("the system gives a thread");
            supplies.push((maker, requests_made));
        }
        drop(made);
        // Each maker says once that its first requests are there; one that has none is gone.
        for _ in 0..count {
            let _ = first_made.recv();
        }
        let start = self.setup.clock.now() + LEAD;
        let makers = (self.workers.iter().zip(0u64..).zip(supplies))
            .map(|((handle, worker), (maker, requests))| {
                let pacing = match &phase.load {
                    PhaseLoad::Closed { streams, stagger } => {
                        let streams = u64::from(*streams);
                        let begins = (0..streams)
                            .filter(|slot| slot % count == worker)
                            .map(|slot| start + stagger.mul_f64(slot as f64 / streams as f64));
                        Pacing::Closed(begins.collect())
                    }
                    PhaseLoad::Open { .. } => Pacing::Open { cap: cap.clone() },
                };
                let part = PhaseShare {
                    pacing,
                    requests,
                    start,
                    send_until: phase.duration.map(|duration| start + duration),
                    drain: phase.drain,
                };
                handle
                    .orders
                    .send(part)
                    .expect("a worker lives until it is finished");
                maker
            })
            .collect();
        (start, makers)
    }

    /// The sessions of a phase in their order, each with its turns, until there are enough
    /// requests. The warm-up takes first turns only: it is there to wake the server.
    fn sessions(
        &self,
        warmup: bool,
        requests: Option<u64>,
    ) -> impl Iterator<Item = RequestPlace> + use<T> {
        let setup = Arc::clone(&self.setup);
        let mut next = 0;
        (0..).map_while(move |session| {
            let left = requests.unwrap_or(u64::MAX) - next;
            let turns = match setup.conversation {
                Some(_) if !warmup => setup.jobs.turns(session).max(1),
                _ => 1,
            };
            let turns = u32::try_from(left).unwrap_or(u32::MAX).min(turns);
            let index = next;
            next += u64::from(turns);
            (turns > 0).then_some(RequestPlace {
                session,
                turn: 0,
                turns,
                index,
                warmup,
            })
        })
    }

    pub fn finish(self) {
        for Handle { orders, thread, .. } in self.workers {
            drop(orders);
            // A worker that hangs was given its time already; the process is about to end.
            if self.control.state() != Stop::Leave || thread.is_finished() {
                let _ = thread.join();
            }
        }
    }
}

/// A maker's thread: makes requests ahead of need, and says when the first are there.
fn make<T: Transport + Send + Sync>(
    setup: &Setup<T>,
    share: FirstTurns,
    to_worker: &mpsc::Sender<PreparedRequest>,
    first: usize,
    made: &Sender<()>,
) {
    lower_priority();
    for (number, (place, due)) in share.enumerate() {
        if number == first {
            let _ = made.send(());
        }
        let request = setup.prepare(place, due, &[]);
        if to_worker.blocking_send(request).is_err() {
            return;
        }
    }
    // Of a short share nobody was told yet; of a long one, once more does no harm.
    let _ = made.send(());
}

fn work<T: Transport + Send + Sync>(
    worker: usize,
    setup: Arc<Setup<T>>,
    sink: Sink,
    parts: &Receiver<PhaseShare>,
    stop: &watch::Receiver<Stop>,
    report: &Sender<Done>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_park(flood::before_sleep)
        .build_local(LocalOptions::default())
        .expect("the system gives an event queue");
    let guard = runtime.enter();
    let this = Rc::new(Worker::new(setup, sink, Pacer::precise()));
    drop(guard);
    while let Ok(part) = parts.recv() {
        let before = thread_cpu_time();
        let last_sent = this.run(&runtime, part, stop.clone());
        let _ = report.send(Done {
            worker,
            last_sent,
            busy: thread_cpu_time().saturating_sub(before),
        });
    }
}
