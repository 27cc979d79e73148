//! The visits of a sweep, one after the other: measured, passed over or failed, each kept when it
//! ends.

use super::pace::Pace;
use super::plan::PlannedSweep;
use super::{LOAD_AXES, read};
use crate::error::{RunnerError, with_causes};
use crate::host;
use crate::measure::{Measured, Point, PrefixCache};
use crate::observer::{Event, Observer};
use crate::servers::Servers;
use crate::session::Session;
use inferometer_campaign::ladder::{Rung, ended};
use inferometer_catalog::engine::FailureClass;
use inferometer_core::environment::Health;
use inferometer_core::point::Point as Place;
use inferometer_core::seed::repeat_seed;
use inferometer_core::summary::{SloOutcome, Summary};
use inferometer_load::instrument::Control;
use inferometer_load::worker::Stop;
use inferometer_store::json_lines::JsonLines;
use inferometer_store::sweep_dir::{SweepDir, SweepPlan, Trial, TrialState, Visited};
use inferometer_text::hostile::printable;
use std::time::{Duration, Instant};

/// Points in a row that could not be measured before the sweep gives up.
const HOPELESS: usize = 3;

/// Which visits of a sweep that is taken up are made again, beside those that have no end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Again {
    #[default]
    Unfinished,
    /// Also those whose measurement is INVALID.
    Invalid,
}

pub struct SweepDriver<'a> {
    planned: &'a PlannedSweep,
    sweep: &'a SweepDir,
    /// Pause between points.
    pub rest: Duration,
    pub cache: PrefixCache,
    pub again: Again,
    control: Control,
    servers: Servers,
    session: &'a Session,
    pace: Pace,
    /// All that is known, also from before.
    visited: Vec<Visited>,
    /// Open from the beginning, so that everybody sees that the sweep goes on.
    log: JsonLines,
}

impl<'a> SweepDriver<'a> {
    /// A sweep that begins in its directory, or goes on with what is stored there.
    pub fn new(
        planned: &'a PlannedSweep,
        sweep: &'a SweepDir,
        servers: Servers,
        control: Control,
        session: &'a Session,
    ) -> Result<Self, RunnerError> {
        Ok(SweepDriver {
            planned,
            sweep,
            rest: Duration::ZERO,
            cache: PrefixCache::Emptied,
            again: Again::default(),
            control,
            servers,
            session,
            pace: Pace::default(),
            visited: read(sweep)?,
            log: sweep.log()?,
        })
    }

    /// Measures every visit that is not final yet, and stops the servers.
    pub fn run(mut self, observer: &mut dyn Observer) -> Result<(), RunnerError> {
        let ran = self.visit_all(observer);
        self.servers.stop(observer);
        ran
    }

    fn visit_all(&mut self, observer: &mut dyn Observer) -> Result<(), RunnerError> {
        let plan = self.sweep.plan();
        let todo: Vec<(usize, u32)> = (plan.visits.iter().copied())
            .filter(|(point, repeat)| !self.is_final(&plan.points[*point].id, *repeat))
            .collect();
        let mut failures: Vec<String> = Vec::new();
        observer.event(Event::SweepBegins {
            done: plan.visits.len() - todo.len(),
            todo: todo.len(),
        });
        for (number, &(point, repeat)) in todo.iter().enumerate() {
            self.control.renew();
            if number > 0 {
                self.rest();
            }
            if self.control.state() != Stop::Go {
                break;
            }
            let (trial, summary) = self.paced_visit(point, repeat, observer);
            self.log.append(&trial)?;
            let stopped = trial.state == TrialState::Interrupted;
            let failed = (trial.state == TrialState::Failed).then(|| trial.reason.clone());
            // A setting that does not fit says nothing of the next.
            let is_of_setting = (trial.class.as_deref())
                .and_then(|class| class.parse().ok())
                .is_some_and(FailureClass::is_of_setting);
            observer.event(Event::Visited {
                point: &plan.points[point].point,
                trial: &trial,
                summary: summary.as_ref(),
                left: self.time_left(point, &todo[number + 1..]),
            });
            self.visited.push(Visited { trial, summary });
            if stopped {
                break;
            }
            match failed.flatten() {
                None => failures.clear(),
                Some(_) if is_of_setting => failures.clear(),
                Some(reason) => failures.push(reason),
            }
            if let [.., a, b, c] = failures.as_slice()
                && a == b
                && b == c
                && failures.len() >= HOPELESS
            {
                observer.event(Event::GivingUp { reason: c });
                break;
            }
        }
        Ok(())
    }

    fn is_final(&self, id: &str, repeat: u32) -> bool {
        let stands = |visited: &Visited| match self.again {
            Again::Unfinished => true,
            Again::Invalid => visited.summary.as_ref().is_none_or(|it| it.valid),
        };
        (self.visited.iter()).any(|visited| {
            let trial = &visited.trial;
            trial.id == id && trial.repeat == repeat && trial.is_final() && stands(visited)
        })
    }

    /// Waits between points, but not for a user who wants to leave.
    fn rest(&self) {
        let until = Instant::now() + self.rest;
        while Instant::now() < until && self.control.state() == Stop::Go {
            std::thread::sleep(Duration::from_millis(50).min(until - Instant::now()));
        }
    }

    /// A visit whose time is taken.
    fn paced_visit(
        &mut self,
        point: usize,
        repeat: u32,
        observer: &mut dyn Observer,
    ) -> (Trial, Option<Summary>) {
        let begun = Instant::now();
        let started = self.servers.starting();
        let visited = self.visit(point, repeat, observer);
        let starting = self.servers.starting() - started;
        if starting > Duration::ZERO {
            self.pace.start(starting);
        }
        if visited.1.is_some() {
            self.pace.point(begun.elapsed().saturating_sub(starting));
        }
        visited
    }

    /// Time for the visits to come, after one of a point: the engine is started anew where its
    /// flags change.
    fn time_left(&self, after: usize, todo: &[(usize, u32)]) -> Option<Duration> {
        let flags = |point: usize| &self.sweep.plan().points[point].flags;
        let to_measure: Vec<usize> = (todo.iter().map(|(point, _)| *point))
            .filter(|point| !self.servers.is_known_to_fail(flags(*point)))
            .collect();
        let before = std::iter::once(&after).chain(&to_measure);
        let starts = (before.zip(&to_measure))
            .filter(|(before, point)| flags(**before) != flags(**point))
            .count();
        let resting =
            (self.rest).saturating_mul(u32::try_from(to_measure.len()).unwrap_or(u32::MAX));
        let left = self.pace.left(to_measure.len(), starts)?;
        Some(left.saturating_add(resting))
    }

    /// Measures a point, or says why not.
    fn visit(
        &mut self,
        point: usize,
        repeat: u32,
        observer: &mut dyn Observer,
    ) -> (Trial, Option<Summary>) {
        let planned = &self.sweep.plan().points[point];
        let trial = |state, directory, reason| Trial {
            id: planned.id.clone(),
            repeat,
            state,
            directory,
            reason,
            class: None,
            ended: host::now(),
        };
        let foreseen = self.servers.objection(&planned.flags);
        let passed_over = || self.passed_over(&planned.point);
        if let Some(reason) = foreseen.map(|it| it.to_string()).or_else(passed_over) {
            return (trial(TrialState::Skipped, None, Some(reason)), None);
        }
        let directory = self.sweep.new_run(&planned.id, repeat);
        match self.measure((point, repeat), &directory, observer) {
            Ok(measured) if measured.ending.cause.is_of_all() => (
                trial(TrialState::Interrupted, Some(directory), None),
                Some(measured.summary),
            ),
            Ok(measured) => {
                let died = match &measured.ending.health {
                    Health::Dead(said) => Some(format!("the server died: {said}")),
                    _ => None,
                };
                (
                    trial(TrialState::Done, Some(directory), died),
                    Some(measured.summary),
                )
            }
            Err(error) => {
                let reason = printable(&with_causes(&error), 1000);
                let class = error.failure_class().map(|class| class.to_string());
                let failed = trial(TrialState::Failed, None, Some(reason));
                (Trial { class, ..failed }, None)
            }
        }
    }

    fn measure(
        &mut self,
        (point, repeat): (usize, u32),
        directory: &str,
        observer: &mut dyn Observer,
    ) -> Result<Measured, RunnerError> {
        let mut options = self.planned.options[point].clone();
        let seed = options.run.seed.unwrap_or_default();
        options.run.seed = Some(repeat_seed(seed, repeat));
        let mut prepared = Point::prepare(options, self.cache, self.session, observer)?;
        prepared
            .flags
            .clone_from(&self.sweep.plan().points[point].flags);
        let out = self.sweep.path().join(directory);
        self.servers
            .measure(prepared, &out, &self.control, observer)
    }

    /// Why a point need not be measured: a lower load of its ladder ended it.
    fn passed_over(&self, place: &Place) -> Option<String> {
        let axis = LOAD_AXES.iter().find(|axis| place.0.contains_key(**axis))?;
        let (load, others) = split(place, axis)?;
        let plan: &SweepPlan = self.sweep.plan();
        let rungs: Vec<Rung> = (self.visited.iter())
            .filter_map(|visited| {
                let planned = plan
                    .points
                    .iter()
                    .find(|point| point.id == visited.trial.id)?;
                let (load, ladder) = split(&planned.point, axis)?;
                (ladder == others).then_some(())?;
                Some(rung(load, visited.summary.as_ref()?))
            })
            .collect();
        let (condition, from) = ended(&self.planned.stop_when, &rungs)?;
        (load > from).then(|| format!("{condition} ended this ladder at {axis} {from}"))
    }
}

/// The load of a point, and the ladder that it belongs to.
fn split(place: &Place, axis: &str) -> Option<(f64, Place)> {
    let mut ladder = place.clone();
    let load = match ladder.0.remove(axis)? {
        serde_json::Value::String(text) => text.parse().ok()?,
        value => value.as_f64()?,
    };
    Some((load, ladder))
}

fn rung(load: f64, summary: &Summary) -> Rung {
    let requests = summary.requests;
    let ended = requests.ok + requests.failed;
    Rung {
        load,
        failed: requests.failed as f64 / ended.max(1) as f64,
        met: summary
            .slo
            .as_ref()
            .map(|slo| slo.outcome() == SloOutcome::Met),
        throughput: summary.throughput.output_tokens_per_s,
    }
}
