//! The instrument: workers on their threads, the load that they run together, and the watch
//! over both.

mod hand_out;

use crate::clock::{showing_cpu_time, thread_cpu_time};
use crate::connect::Network;
pub use crate::control::Control;
use crate::flight::Sink;
use crate::flood;
use crate::live::{Snapshot, StageCounters};
use crate::pace::Pacer;
pub use crate::plan::{LoadPlan, Rhythm, Schedule, Share};
use crate::precision::{Precision, Primary};
use crate::recorder::RecorderSender;
use crate::setup::Setup;
use crate::stop_rules::{AbsenceDetector, SilenceDetector, StandstillDetector, StopRules};
pub use crate::team::{Follow, Lead, RankReport, Team};
use crate::wakeup::{WakeupProbe, Wakeups};
use crate::worker::{LoadShare, Stop, Window, Worker};
use hand_out::Started;
use inferometer_core::environment::EndCause;
use inferometer_core::record::Stage;
use inferometer_core::scenario::Hold;
use inferometer_core::slo::Slo;
use inferometer_core::units::Offset;
use inferometer_core::window::LoadSoFar;
use inferometer_text::secret::Secrets;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use strum::VariantArray;
use tokio::runtime::LocalOptions;
use tokio::sync::watch;

const TICK: Duration = Duration::from_millis(25);

/// Time for the workers to hear that the window opens before its first arrival is due.
const OPENING_LEAD: Duration = Duration::from_millis(2);

/// Longest hold, in mean latencies of the measured requests: a straggler must not cost more.
const LONGEST_HOLD: u32 = 2;

/// How long workers may take to leave when told to.
const LEAVING: Duration = Duration::from_secs(5);

/// What an observer hears while a load runs.
pub enum LoadEvent<'a> {
    /// The window is about to open: whatever must run around it may begin. The load goes on
    /// meanwhile.
    Opening,
    Stage(Stage),
    /// Numbers of the stage that the load is in, a few times a second.
    Snapshot(&'a Snapshot),
    /// The user ended the load, which still waits for so many answers; told once.
    Waiting(u64),
}

#[derive(Clone, Debug)]
pub struct LoadReport {
    pub planned: u64,
    /// Of these, never begun.
    pub unsent: u64,
    /// When the window opened.
    pub started: Offset,
    /// When the last measured request was begun, or the time for it was over.
    pub sending_ended: Offset,
    /// The load was up to strength when the window opened.
    pub steady_window: bool,
    pub cause: EndCause,
    /// CPU use of each worker's thread since the window opened, from 0 to 1, and of what showed the
    /// run meanwhile.
    pub cpu_shares: Vec<f64>,
    /// How late this process was woken; absent for a short window.
    pub wakeups: Option<Wakeups>,
    pub totals: Snapshot,
    /// What the ranks did, ourselves included; empty where nobody shared the load.
    pub ranks: BTreeMap<u32, RankReport>,
}

/// Of one kind of transport, so that what is hot is compiled here, as this crate is, and not once
/// more by whoever measures.
pub struct Instrument {
    setup: Arc<Setup<Network>>,
    workers: Vec<Handle>,
    control: Control,
    reports: Receiver<Done>,
    team: Team,
    entries: RecorderSender,
}

struct Handle {
    orders: Sender<LoadShare>,
    live: Arc<StageCounters>,
    thread: JoinHandle<()>,
}

struct Done {
    worker: usize,
    last_sent: Offset,
    /// CPU time since its first measured request.
    busy: Duration,
}

impl Instrument {
    pub fn start(
        setup: Setup<Network>,
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
                let live = Arc::new(StageCounters::new(slos.len()));
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
            team: Team::Alone,
            entries: entries.clone(),
        }
    }

    /// Shares its loads with others.
    #[must_use]
    pub fn with_team(self, team: Team) -> Self {
        Instrument { team, ..self }
    }

    /// Runs a load to its end, and tells what happens.
    pub fn run(
        &mut self,
        plan: LoadPlan,
        rules: &StopRules,
        tell: &mut dyn FnMut(LoadEvent<'_>),
    ) -> LoadReport {
        let stage = plan.stage;
        let before = Stage::VARIANTS
            .iter()
            .map(|&stage| snapshot(&self.workers, stage));
        let before: Vec<Snapshot> = before.collect();
        let decides = self.team.decides();
        let known = plan.requests;
        let (opening, duration, hold) = (plan.opening, plan.duration, plan.hold);
        let mut precision = Precision::new(match plan.rhythm {
            Rhythm::Closed { .. } => Primary::TokenRate,
            Rhythm::Open { .. } => Primary::Latency,
        });
        let Started {
            start,
            window,
            makers,
        } = self.hand_out(plan);
        let begun = Instant::now();
        let mut to_open: Option<Window> = None;
        let mut so_far = LoadSoFar::default();
        let mut opened = None;
        let mut held_since: Option<Instant> = None;
        let mut ending_since: Option<Instant> = None;
        // When measured sending ended because of `--until`.
        let mut known_enough_at = None;
        let mut done: Vec<Done> = Vec::new();
        let mut still = StandstillDetector::new();
        let mut away = AbsenceDetector::new();
        let mut silent = SilenceDetector::new();
        let mut leave_by = None;
        let mut dead = 0;
        let mut is_told_to_wait = false;
        if opening.is_none() {
            opened = Some(self.opened(start, Snapshot::default()));
        } else {
            tell(LoadEvent::Stage(Stage::Warmup));
        }
        while done.len() + dead < self.workers.len() || !self.team.others_are_done() {
            if let Some(open) = to_open.filter(|open| self.is_near(open)) {
                // A load that was ended meanwhile stays so.
                window.send_if_modified(|window| {
                    let opens = *window == Window::Shut;
                    if opens {
                        *window = open;
                    }
                    opens
                });
                to_open = None;
            }
            match self.reports.recv_timeout(self.until_near(to_open.as_ref())) {
                Ok(report) => done.push(report),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let ours = |stage: Stage| snapshot(&self.workers, stage).since(&before[stage as usize]);
            let counts = || Stage::VARIANTS.iter().map(|&stage| ours(stage)).collect();
            let decided = self.team.look(&self.control, counts);
            for told in decided {
                if let Window::Open { from, .. } = told
                    && opened.is_none()
                {
                    opened = Some(self.opened(from, Snapshot::default()));
                    to_open = Some(told);
                } else {
                    window.send_replace(told);
                }
            }
            let of = |stage: Stage| {
                let ours = snapshot(&self.workers, stage).since(&before[stage as usize]);
                match self.team.others(stage) {
                    Some(others) => ours.with(&others),
                    None => ours,
                }
            };
            let now = of(stage);
            let others = Stage::VARIANTS.iter().filter(|&&other| other != stage);
            let all = others.fold(now.clone(), |sum, &other| sum.with(&of(other)));
            match (&opened, held_since) {
                (None, _) => tell(LoadEvent::Snapshot(&of(Stage::Warmup))),
                (Some(_), None) => tell(LoadEvent::Snapshot(&now)),
                (Some(_), Some(_)) => tell(LoadEvent::Snapshot(&of(Stage::Hold))),
            }
            let under_way = all.in_flight();
            if !is_told_to_wait && under_way > 0 && self.control.is_waiting_for_answers() {
                is_told_to_wait = true;
                tell(LoadEvent::Waiting(under_way));
            }
            if let (true, None, Some(opening)) = (decides, &opened, &opening)
                && self.control.state() == Stop::Go
            {
                so_far.advance(begun.elapsed(), all.started, all.ended());
                if opening.is_due(&so_far) {
                    tell(LoadEvent::Opening);
                    let at = self.setup.clock.now() + OPENING_LEAD + self.team.notice();
                    let open = Window::Open {
                        from: at,
                        to: duration.map(|duration| at + duration),
                    };
                    self.team.announce(open, &self.control);
                    to_open = Some(open);
                    opened = Some(self.opened(at, all.clone()));
                    tell(LoadEvent::Stage(stage));
                }
            }
            if decides && stage == Stage::Measured && rules.wants_end(&now, known) {
                self.control.end(Stop::Drain, EndCause::StopCondition);
            }
            if let (true, Some(until), Some(opened), None) =
                (decides, rules.until, &opened, known_enough_at)
            {
                let mut since_opening = now.clone();
                since_opening.tokens = all.tokens - opened.all.tokens;
                precision.see(opened.instant.elapsed(), &since_opening);
                if precision.reaches(until) {
                    let at = self.setup.clock.now() + OPENING_LEAD + self.team.notice();
                    known_enough_at = Some(at);
                    // What is under way is measured under the same load as the rest, if that
                    // can be held.
                    let held = hold == Hold::Auto;
                    let stop = if held { Stop::Go } else { Stop::Drain };
                    self.control.end(stop, EndCause::Precise);
                    window.send_if_modified(|window| window.close_at(at));
                }
            }
            // A load that is held ends with the last measured answer, and at the latest when that
            // has had twice the mean time.
            let stopped = self.control.state() >= Stop::Drain;
            let time_over = (opened.as_ref().zip(duration))
                .is_some_and(|(opened, duration)| opened.instant.elapsed() >= duration);
            let all_sent = known.is_some_and(|known| now.started >= known);
            let measured =
                decides && opened.is_some() && (all_sent || time_over || known_enough_at.is_some());
            if measured && hold == Hold::Auto && held_since.is_none() {
                held_since = Some(Instant::now());
                tell(LoadEvent::Stage(Stage::Hold));
            }
            if decides && (stopped || held_since.is_some()) {
                ending_since.get_or_insert_with(Instant::now);
            }
            // What other ranks have begun just now is not yet told.
            let all_told = ending_since.is_some_and(|since| since.elapsed() >= self.team.delay());
            if all_told && now.in_flight() == 0 {
                window.send_replace(Window::Over);
            } else if let (Some(since), Some(mean)) = (held_since, now.mean_latency())
                && since.elapsed() > mean * LONGEST_HOLD
            {
                window.send_if_modified(|window| {
                    let closes = *window < Window::Closed;
                    *window = (*window).max(Window::Closed);
                    closes
                });
            }
            // A worker that died takes its requests with it: that must end the run, and show.
            let reported = |worker: usize| done.iter().any(|report| report.worker == worker);
            dead = (self.workers.iter().enumerate())
                .filter(|(worker, handle)| handle.thread.is_finished() && !reported(*worker))
                .count();
            if dead > 0 {
                self.control.end(Stop::Leave, EndCause::Watchdog);
            }
            let is_gone = away.longer_than(rules.give_up_after, &all)
                || silent.longer_than(rules.longest_silence, &all);
            if decides && is_gone {
                self.control.end(Stop::Leave, EndCause::ServerAway);
            }
            if decides && still.longer_than(rules.standstill, &all) {
                self.control.end(Stop::Leave, EndCause::Watchdog);
            }
            // An opening that was announced is told before the workers hear of it.
            if to_open.is_none() {
                let told = *window.borrow();
                self.team.announce(told, &self.control);
            }
            if self.control.state() == Stop::Leave {
                let leaving = if decides {
                    LEAVING + self.team.notice()
                } else {
                    LEAVING
                };
                let by = *leave_by.get_or_insert_with(|| Instant::now() + leaving);
                if Instant::now() > by {
                    break;
                }
            }
        }
        let steady_window = opening.is_some() && opened.is_some();
        let opened = opened.unwrap_or_else(|| {
            let never = self.setup.clock.now();
            self.opened(never, Snapshot::default())
        });
        // Over the time since the opening, so that a worker without work does not look busy.
        let wall = opened.instant.elapsed().as_secs_f64();
        let wakeups = opened.wakeups.finish();
        // The maker of a worker that hangs waits for it; it ends with the process.
        if done.len() == self.workers.len() {
            for maker in makers {
                let _ = maker.join();
            }
        }
        done.sort_by_key(|report| report.worker);
        let ours = |stage: Stage| snapshot(&self.workers, stage).since(&before[stage as usize]);
        let last_sent = done.iter().map(|report| report.last_sent).max();
        let share_of_wall =
            |busy: Duration| (busy.as_secs_f64() / wall.max(f64::MIN_POSITIVE)).min(1.0);
        // Whoever looks at the run while it goes on takes part of this machine, too.
        let showing = Some(showing_cpu_time().saturating_sub(opened.showing));
        let showing = showing.filter(|it| !it.is_zero());
        let busy = done.iter().map(|report| report.busy).chain(showing);
        let own = RankReport {
            counts: Stage::VARIANTS.iter().map(|&stage| ours(stage)).collect(),
            last_sent: last_sent.unwrap_or_default(),
            cpu_shares: busy.map(share_of_wall).collect(),
            wakeups,
            lost: None,
        };
        self.team.finish(&own, &self.control);
        let mut ranks = self.team.reports();
        let totals = ranks.values().map(|rank| rank.count(stage));
        let totals = totals.fold(ours(stage), |sum, count| sum.with(&count));
        // Whoever is led knows only its own.
        let planned = known.filter(|_| decides).unwrap_or(totals.started);
        let planned = planned.max(totals.started);
        let last_sent = ranks.values().map(|rank| rank.last_sent).max();
        let last_sent = last_sent
            .unwrap_or_default()
            .max(own.last_sent)
            .max(opened.at);
        let cause = self.control.cause();
        let to_the_end = cause == EndCause::Complete && totals.started < known.unwrap_or(u64::MAX);
        let time_over = duration.filter(|_| to_the_end && steady_window);
        let time_over = time_over.map(|duration| opened.at + duration);
        let known_enough_at =
            known_enough_at.filter(|_| cause == EndCause::Precise && steady_window);
        LoadReport {
            planned,
            unsent: planned - totals.started,
            started: opened.at,
            sending_ended: time_over.or(known_enough_at).unwrap_or(last_sent),
            steady_window,
            cause,
            cpu_shares: own.cpu_shares.clone(),
            wakeups,
            totals,
            ranks: {
                if !ranks.is_empty() {
                    ranks.insert(0, own);
                }
                ranks
            },
        }
    }

    /// Whether it is time for the workers to hear that the window opens.
    fn is_near(&self, open: &Window) -> bool {
        match open {
            Window::Open { from, .. } => self.setup.clock.now() + OPENING_LEAD >= *from,
            Window::Shut | Window::Closed | Window::Over => true,
        }
    }

    /// Time to the next look.
    fn until_near(&self, open: Option<&Window>) -> Duration {
        let Some(Window::Open { from, .. }) = open else {
            return TICK;
        };
        let near = self.setup.clock.instant(*from).into_std() - OPENING_LEAD;
        near.saturating_duration_since(Instant::now()).min(TICK)
    }

    /// Ends the workers; whom the loads were shared with is handed back.
    pub fn finish(self) -> Team {
        for Handle { orders, thread, .. } in self.workers {
            drop(orders);
            // A worker that hangs was given its time already; the process is about to end.
            if self.control.state() != Stop::Leave || thread.is_finished() {
                let _ = thread.join();
            }
        }
        self.team
    }

    fn opened(&self, at: Offset, all: Snapshot) -> Opened {
        Opened {
            at,
            instant: self.setup.clock.instant(at).into_std(),
            all,
            wakeups: WakeupProbe::start(self.entries.clone()),
            showing: showing_cpu_time(),
        }
    }
}

fn snapshot(workers: &[Handle], stage: Stage) -> Snapshot {
    Snapshot::of(workers.iter().map(|worker| worker.live.of(stage)))
}

/// The window since it is open.
struct Opened {
    at: Offset,
    instant: Instant,
    /// What all stages had done by then.
    all: Snapshot,
    wakeups: WakeupProbe,
    /// What showing the run had cost by then.
    showing: Duration,
}

fn work(
    worker: usize,
    setup: Arc<Setup<Network>>,
    sink: Sink,
    parts: &Receiver<LoadShare>,
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
        let sent = this.run(&runtime, part, stop.clone());
        let since_first = |first| thread_cpu_time().saturating_sub(first);
        let _ = report.send(Done {
            worker,
            last_sent: sent.last,
            busy: sent.cpu_at_first.map(since_first).unwrap_or_default(),
        });
    }
}
