//! Makes the measurements that a search asks for.

use super::journal::Journal;
use super::objectives::{Counted, Watched};
use super::over::Over;
use super::probe_watcher::ProbeWatcher;
use super::sessions::Sessions;
use crate::error::{Context as _, RunnerError, bail};
use crate::measure::{Measured, Point, PrefixCache};
use crate::observer::{Event, Observer};
use crate::servers::Servers;
use crate::session::Session;
use inferometer_campaign::capacity::stored::{Capacity, MadeProbe, StoredProbe, TierCapacity};
use inferometer_campaign::capacity::{
    Next, Probe, ProbeOutcome, ProbeVerdict, Purpose, Search, Step, stored,
};
use inferometer_core::options::{Count, Options};
use inferometer_core::scenario::{Hold, Rate, SimClock, Warmup};
use inferometer_core::schedule::MOST_ARRIVALS;
use inferometer_core::summary::Summary;
use inferometer_load::instrument::Control;
use inferometer_load::worker::Stop;
use inferometer_store::run_dir::RunDir;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The options of a probe.
pub fn at_level(options: &Options, over: Over, level: f64, requests: u64) -> Options {
    let mut options = options.clone();
    let load = &mut options.load;
    match over {
        Over::Rate => load.rate = Some(Rate(level)),
        Over::Concurrency => load.concurrency = Some(Count(level as u64)),
    }
    load.requests = Some(Count(requests));
    options
}

/// Turns of a session, until some were seen.
pub const USUAL_TURNS: f64 = 16.0;
/// How much longer than their mean sessions of a probe may be.
const LONGER: f64 = 1.5;

pub struct SearchDriver<'a> {
    pub options: Options,
    pub over: Over,
    pub watched: Watched,
    /// Turns of a session, as far as it is known.
    pub turns: f64,
    pub journal: Journal,
    pub control: Control,
    pub servers: &'a mut Servers,
    pub session: &'a Session,
    pub lines: Vec<StoredProbe>,
    /// The levels of the long runs, and their numbers.
    pub confirmed: Vec<(f64, Summary)>,
    /// What was found so far, without the answer itself.
    pub found: Capacity,
}

impl SearchDriver<'_> {
    /// Searches until the answers are known, or until a signal.
    pub fn search(
        mut self,
        mut search: Search,
        observer: &mut dyn Observer,
    ) -> Result<Capacity, RunnerError> {
        loop {
            // While it is told again what it knew, the file knows more.
            if self.journal.made.is_empty() {
                self.keep(search.so_far(), search.spent())?;
            }
            let probe = match search.ask() {
                Next::Done(answers) => return self.keep(answers, search.spent()),
                Next::Probe(probe) => *probe,
            };
            if let Some(made) = self.journal.made.pop_front() {
                self.take_up(&mut search, &probe, made)?;
                continue;
            }
            let (outcome, measured) = self.probe(probe, observer)?;
            let ended = measured.ending.sending_ended;
            let (counted, met) = self.watched.tally(&measured.directory, ended)?;
            let outcome = match counted {
                // All sessions are longer than the run.
                0 if self.watched.counted == Counted::Sessions => outcome,
                counted => outcome.with_stored(counted, met),
            };
            let latency = &measured.summary.latency;
            let needed = (self.watched.needed(latency, outcome.tier))
                .filter(|_| outcome.purpose == Purpose::Confirm);
            let outcome = match needed {
                Some(requests) => outcome.needing(requests),
                None => outcome,
            };
            let outcome = search.judged(outcome);
            let shown = self.shown(&outcome, &search.met(&outcome), &measured);
            observer.event(Event::Probed {
                over: match (self.watched.counted, self.over) {
                    (Counted::Requests, over) => over.word(),
                    (Counted::Sessions, Over::Rate) => "sessions/s",
                    (Counted::Sessions, Over::Concurrency) => "sessions",
                },
                probe: &shown,
            });
            self.lines.push(shown.clone());
            if measured.ending.cause.is_of_all() {
                let spent = search.spent() + outcome.sent;
                return self.keep(search.stop(), spent);
            }
            self.journal.append(MadeProbe {
                shown,
                outcome: outcome.clone(),
            })?;
            if outcome.purpose == Purpose::Confirm {
                self.confirmed.push((outcome.level, measured.summary));
            }
            search.tell(outcome);
        }
    }

    /// Tells the search what a probe said that was made before it was cut off.
    fn take_up(
        &mut self,
        search: &mut Search,
        asked: &Probe,
        made: MadeProbe,
    ) -> Result<(), RunnerError> {
        let outcome = made.outcome;
        if (asked.level, asked.purpose) != (outcome.level, outcome.purpose) {
            bail!(
                "{} holds a search of another version of this program; search again with another --out",
                self.journal.folder.display()
            );
        }
        if outcome.purpose == Purpose::Confirm {
            let run = RunDir::open(self.journal.folder.join(&made.shown.directory))?;
            self.confirmed.push((outcome.level, run.summary()?));
        }
        self.lines.push(made.shown);
        search.tell(outcome);
        Ok(())
    }

    /// Stores what is known by now.
    fn keep(&self, answers: Vec<TierCapacity>, spent: u64) -> Result<Capacity, RunnerError> {
        let answers = self.watched.named(answers);
        // Each tier has long runs; the last at the level that the first tier goes by is shown.
        let level = answers[0].long_run.map(|run| run.level);
        let mut runs = self.confirmed.iter().rev();
        let confirmed = runs.find(|(at, _)| Some(*at) == level);
        let found = Capacity {
            answer: answers[0].clone(),
            requests_spent: spent,
            confirmed: confirmed.map(|(_, summary)| summary.clone()),
            tiers: match answers.len() {
                1 => Vec::new(),
                _ => answers,
            },
            probes: self.lines.clone(),
            ..self.found.clone()
        }
        .named_by_misses();
        self.journal.keep(&found)?;
        Ok(found)
    }

    /// Runs a probe until enough is known.
    fn probe(
        &mut self,
        probe: Probe,
        observer: &mut dyn Observer,
    ) -> Result<(ProbeOutcome, Measured), RunnerError> {
        let level = probe.level;
        let name = format!("{:03}-{}", self.lines.len() + 1, short(level));
        let directory = self.journal.folder.join(self.journal.new_run(&name));
        let most = self.requests_of(probe.most_requests);
        let mut options = at_level(&self.options, self.over, level, most);
        // Each probe has random arrivals of its own: a chance that they shared would be taken for
        // the server's.
        let seed = options.run.seed.unwrap_or_default();
        options.run.seed = Some(seed.wrapping_add(self.lines.len() as u64));
        let load = &mut options.load;
        let fills = self.over == Over::Rate && probe.purpose != Purpose::Confirm;
        if load.warmup.is_none() && fills {
            // A probe of a rate watches how the server fills; only the run that confirms has a
            // window. Streams that all begin at once are never again as they were then.
            load.warmup = Some(Warmup::Requests(0));
            load.hold.get_or_insert(Hold::None);
        }
        if options.connection.sim_clock == Some(SimClock::Virtual) {
            return self.compute(probe, &options, &directory, observer);
        }
        // What the probe before it has sent must not be answered from a cache.
        let mut point = Point::prepare(options, PrefixCache::Emptied, self.session, observer)?;
        self.control.renew();
        let shared = Arc::new(Mutex::new(self.watcher(probe)));
        let (watcher, control) = (Arc::clone(&shared), self.control.clone());
        point.watch = Some(Box::new(move |record| {
            let mut watcher = (watcher.lock()).unwrap_or_else(|poisoned| poisoned.into_inner());
            match watcher.observe(record) {
                // What waits in the queue of an overloaded server would wait for minutes.
                Step::Stop(ProbeVerdict::Missed) => control.enough(Stop::Leave),
                Step::Stop(_) => control.enough(Stop::Drain),
                Step::Continue => {}
            }
        }));
        let measured = self
            .servers
            .measure(point, &directory, &self.control, observer)?;
        let sent = measured.ending.planned - measured.ending.unsent;
        let watcher = (shared.lock()).unwrap_or_else(|poisoned| poisoned.into_inner());
        self.learn_turns(&watcher);
        let sent = watcher.sent(sent);
        Ok((watcher.probe.clone().finish(sent), measured))
    }

    /// Requests that are enough for so many of what counts; the watcher ends a probe that has seen
    /// them.
    fn requests_of(&self, counted: u64) -> u64 {
        match self.watched.counted {
            Counted::Requests => counted,
            Counted::Sessions => {
                ((counted as f64 * self.turns * LONGER).ceil() as u64).min(MOST_ARRIVALS)
            }
        }
    }

    fn learn_turns(&mut self, watcher: &ProbeWatcher) {
        self.turns = watcher.sessions.mean_turns().unwrap_or(self.turns);
    }

    /// The same in virtual time. A run that is computed cannot be stopped, so it is made longer
    /// until it suffices, and then once more with as many requests as were sent by that time: the
    /// same seed gives the same beginning.
    fn compute(
        &mut self,
        probe: Probe,
        options: &Options,
        directory: &Path,
        observer: &mut dyn Observer,
    ) -> Result<(ProbeOutcome, Measured), RunnerError> {
        const SHORTEST: u64 = 1024;
        let most = self.requests_of(probe.most_requests);
        let mut requests = SHORTEST.min(most);
        loop {
            let measured = self.computed(&probe, options, requests, directory, observer)?;
            let mut watcher = self.watcher(probe.clone());
            let sent = watcher.review(&measured.directory)?;
            if sent.is_none() && requests < most {
                requests = (requests * 2).min(most);
                continue;
            }
            let sent = sent.unwrap_or(requests);
            let measured = if sent < requests {
                self.computed(&probe, options, sent, directory, observer)?
            } else {
                measured
            };
            self.learn_turns(&watcher);
            let counted = watcher.sent(sent);
            return Ok((watcher.probe.finish(counted), measured));
        }
    }

    fn watcher(&self, probe: Probe) -> ProbeWatcher {
        ProbeWatcher {
            probe,
            over: self.over,
            watched: self.watched.clone(),
            ends: Vec::new(),
            sessions: Sessions::default(),
        }
    }

    /// Some requests of a probe in virtual time, in place of what is there.
    fn computed(
        &mut self,
        probe: &Probe,
        options: &Options,
        requests: u64,
        directory: &Path,
        observer: &mut dyn Observer,
    ) -> Result<Measured, RunnerError> {
        if directory.exists() {
            std::fs::remove_dir_all(directory)
                .with_context(|| format!("cannot replace {}", directory.display()))?;
        }
        let options = at_level(options, self.over, probe.level, requests);
        let point = Point::prepare(options, PrefixCache::Kept, self.session, observer)?;
        self.servers
            .measure(point, directory, &self.control, observer)
    }

    fn shown(
        &self,
        outcome: &ProbeOutcome,
        met: &[Option<bool>],
        measured: &Measured,
    ) -> StoredProbe {
        let verdict = |tier: usize| match met[tier] {
            Some(true) => stored::ProbeVerdict::Met,
            Some(false) => stored::ProbeVerdict::Missed,
            None => stored::ProbeVerdict::Undecided,
        };
        let (own, first) = (outcome.verdict, verdict(0));
        let directory = measured.directory.path();
        let below = directory.strip_prefix(&self.journal.folder);
        StoredProbe {
            level: outcome.level,
            offered: outcome.offered_instead(),
            purpose: outcome.purpose,
            requests: outcome.sent,
            tier: self.watched.tier_name(outcome.tier),
            verdict: own,
            first_tier: (first != own).then_some(first),
            directory: below.unwrap_or(directory).display().to_string(),
        }
    }
}

/// A level in a few digits.
pub fn short(level: f64) -> String {
    match level {
        level if level.fract() == 0.0 => format!("{level}"),
        level if level >= 10.0 => format!("{level:.1}"),
        level => format!("{level:.3}"),
    }
}
