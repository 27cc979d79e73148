//! One trial: start, measure every load level, stop.

use super::test_bed::{RunningEngine, Slot, StartFailure, TestBed};
use crate::capacity::CapacitySearch;
use crate::error::{Context as _, RunnerError, with_causes};
use crate::measure::{Measured, Point, PrefixCache};
use crate::observer::Observer;
use crate::session::Session;
use inferometer_campaign::capacity::stored::SearchEnding;
use inferometer_campaign::search::{Halving, Race, RungFigure};
use inferometer_campaign::study::{SearcherName, Study};
use inferometer_campaign::trial::{Ending, Level, Measurement, Origin, Proposal, State};
use inferometer_core::environment::EndCause;
use inferometer_core::options::{ConnectionOptions, Count, ObjectiveOptions, Options, RunOptions};
use inferometer_core::scenario::SimClock;
use inferometer_core::slo::{Slo, SloScope};
use inferometer_core::units::Span;
use inferometer_load::instrument::Control;
use inferometer_text::hostile::printable;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The class of a trial whose engine served and could not be measured.
const NOT_MEASURED: &str = "not-measured";
/// Requests of a measurement that says nothing about its length, as a run has.
const USUAL_REQUESTS: u64 = 200;
/// Each rung of a race in virtual time is this much shorter than the next.
const RUNG_RATIO: u64 = 3;

pub struct Job<'a> {
    pub study: &'a Study,
    pub bed: &'a TestBed,
    pub proposal: Proposal,
    /// Its share of the host.
    pub slot: &'a Slot,
    /// Seed of its work: repeats of the last stage see other work in every round.
    pub seed: u64,
    pub rivals: Vec<RungFigure>,
    pub folder: PathBuf,
    pub control: Control,
}

/// What became of a trial.
pub enum Outcome {
    Ended(Box<Ending>),
    /// The user wants to leave: it is run again when the study goes on.
    Interrupted,
    /// No trial would do better: the study stops, and the trial is run again when it goes on.
    Hopeless(RunnerError),
}

/// How a measurement broke off.
enum Aborted {
    Interrupted,
    Error(RunnerError),
}

impl From<RunnerError> for Aborted {
    fn from(error: RunnerError) -> Self {
        Aborted::Error(error)
    }
}

/// What of a study's work, load and goal cannot be measured is said before anything is started.
pub fn check(
    study: &Study,
    clock: SimClock,
    session: &Session,
    observer: &mut dyn Observer,
) -> Result<(), RunnerError> {
    let mut options = options(study, study.seed, clock, "check");
    match study.levels.first() {
        Some(Level::Concurrency(streams)) => {
            options.load.concurrency = Some(Count((*streams).into()));
            Point::prepare(options, PrefixCache::Kept, session, observer)?;
        }
        _ => {
            CapacitySearch::rate(options, &study.goal.slos)?;
        }
    }
    Ok(())
}

impl Job<'_> {
    /// Runs it from the start of the engine to its end.
    pub fn run(self, observer: &mut dyn Observer) -> Outcome {
        let begun = Instant::now();
        self.control.renew();
        // What a killed run left of this trial is measured again.
        if self.folder.exists()
            && let Err(error) = std::fs::remove_dir_all(&self.folder)
        {
            let place = format!("cannot replace {}", self.folder.display());
            return Outcome::Hopeless(RunnerError::from(error).context(place));
        }
        let flags = &self.proposal.flags;
        let started = self.bed.start(
            self.study,
            flags,
            self.slot,
            &self.folder,
            &self.control,
            observer,
        );
        let mut up = match started {
            Ok(up) => up,
            Err(StartFailure::Ended(mut ending)) => {
                ending.total_s = Some(begun.elapsed().as_secs_f64());
                return Outcome::Ended(ending);
            }
            Err(StartFailure::Interrupted) => return Outcome::Interrupted,
            Err(StartFailure::Hopeless(error)) => return Outcome::Hopeless(error),
        };
        let measured = self.measure(&mut up, observer);
        let memory = self.bed.memory_gib(self.slot);
        // A dead engine explains a failed measurement better than the measurement does.
        let died = up.died();
        let start_s = up.start_s;
        up.servers.stop(observer);
        let mut ending = match (measured, died) {
            (Err(Aborted::Interrupted), _) => return Outcome::Interrupted,
            (Err(Aborted::Error(error)), _) if error.is_disk_full() => {
                return Outcome::Hopeless(error);
            }
            (_, Some(death)) => death,
            (Ok(ending), None) => ending,
            (Err(Aborted::Error(error)), None) => {
                let evidence = printable(&with_causes(&error), 1000);
                Ending::failed(State::Crashed, NOT_MEASURED, Some(evidence))
            }
        };
        ending.device_memory_gib = memory;
        ending.start_s = start_s;
        ending.total_s = Some(begun.elapsed().as_secs_f64());
        Outcome::Ended(Box::new(ending))
    }

    fn measure(
        &self,
        up: &mut RunningEngine,
        observer: &mut dyn Observer,
    ) -> Result<Ending, Aborted> {
        let mut rungs = Vec::new();
        if let Some(halving) = self.races() {
            for rung in 0..halving.rungs().len() {
                let length = self.rung_length(halving, rung);
                let measurements = self.levels(up, &format!("rung-{rung}"), length, observer)?;
                let short = Ending::done(measurements);
                let Some(objectives) = self.study.goal.objectives_of(&short) else {
                    break;
                };
                let now = RungFigure {
                    trial: self.proposal.id,
                    rung,
                    objective: objectives[0],
                    violation: self.study.goal.violation(&short),
                };
                rungs.push(now);
                if halving.race(now, &self.rivals) == Race::Stop {
                    return Ok(Ending {
                        rungs,
                        ..Ending::stopped(short.measurements)
                    });
                }
            }
        }
        let measurements = self.levels(up, "full", Length::Full, observer)?;
        Ok(Ending {
            rungs,
            ..Ending::done(measurements)
        })
    }

    /// The race of this trial. The default and the last stage are always measured in full.
    fn races(&self) -> Option<&Halving> {
        match (&self.study.searcher, &self.proposal.origin) {
            (SearcherName::Halving(halving), Origin::Search | Origin::Preset(_)) => Some(halving),
            _ => None,
        }
    }

    fn rung_length(&self, halving: &Halving, rung: usize) -> Length {
        if !self.bed.is_virtual() {
            return Length::Time(halving.rungs()[rung]);
        }
        // Virtual time costs nothing; requests do.
        let load = &self.study.load;
        let all = load.requests.map_or(USUAL_REQUESTS, |count| count.0);
        let below = (halving.rungs().len() - rung) as u32;
        Length::Requests((all / RUNG_RATIO.saturating_pow(below)).max(1))
    }

    /// Measures all load levels on this one start.
    fn levels(
        &self,
        up: &mut RunningEngine,
        name: &str,
        length: Length,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Measurement>, Aborted> {
        let mut measurements = Vec::new();
        for &level in &self.study.levels {
            let begun = Instant::now();
            self.control.renew();
            let summary = match level {
                Level::Concurrency(streams) => {
                    let folder = match length {
                        Length::Full => self.folder.join(format!("concurrency-{streams}")),
                        _ => self.folder.join(format!("{name}-concurrency-{streams}")),
                    };
                    self.point(up, streams, length, &folder, observer)?
                }
                Level::Capacity => self.capacity(up, observer)?,
            };
            measurements.push(Measurement {
                load: level,
                summary,
                seconds: Some(begun.elapsed().as_secs_f64()),
            });
            if up.died().is_some() {
                break;
            }
        }
        Ok(measurements)
    }

    fn point(
        &self,
        up: &mut RunningEngine,
        streams: u32,
        length: Length,
        folder: &Path,
        observer: &mut dyn Observer,
    ) -> Result<serde_json::Value, Aborted> {
        let mut options = self.options(up);
        let load = &mut options.load;
        load.concurrency = Some(Count(streams.into()));
        match length {
            Length::Full => {}
            Length::Time(span) => (load.duration, load.requests) = (Some(span), None),
            Length::Requests(count) => (load.duration, load.requests) = (None, Some(Count(count))),
        }
        // A cache that an earlier level filled would flatter the next.
        let point = Point::prepare(options, PrefixCache::Emptied, self.bed.session(), observer)?;
        let measured: Measured = up.servers.measure(point, folder, &self.control, observer)?;
        if measured.ending.cause == EndCause::Signal {
            return Err(Aborted::Interrupted);
        }
        let summary = serde_json::to_value(&measured.summary);
        Ok(summary.context("the summary cannot be written")?)
    }

    fn capacity(
        &self,
        up: &mut RunningEngine,
        observer: &mut dyn Observer,
    ) -> Result<serde_json::Value, Aborted> {
        let search = CapacitySearch::rate(self.options(up), &self.study.goal.slos)?;
        let journal = search.begin(&self.folder.join("capacity"))?;
        let found = search.find(
            journal,
            self.control.clone(),
            &mut up.servers,
            self.bed.session(),
            observer,
        )?;
        if found.answer.ending == SearchEnding::Interrupted {
            return Err(Aborted::Interrupted);
        }
        Ok(serde_json::to_value(&found).context("the capacity cannot be written")?)
    }

    fn options(&self, up: &RunningEngine) -> Options {
        let label = format!("trial {}", self.proposal.id);
        options(self.study, self.seed, up.clock, &label)
    }
}

/// The options of a measurement but for its load level.
fn options(study: &Study, seed: u64, clock: SimClock, label: &str) -> Options {
    let goal = &study.goal;
    let is_share = |slo: &Slo| matches!(slo.scope, SloScope::Request | SloScope::Session);
    let of_requests = goal.slos.iter().any(is_share);
    Options {
        run: RunOptions {
            label: Some(label.to_owned()),
            seed: Some(seed),
            ..RunOptions::default()
        },
        connection: ConnectionOptions {
            sim_clock: Some(clock),
            ..study.connection.clone()
        },
        load: study.load.clone(),
        work: study.work.clone(),
        objectives: ObjectiveOptions {
            slo: (!goal.slos.is_empty()).then(|| goal.slos.clone()),
            attainment: of_requests.then_some(goal.attainment),
            threshold: Some(goal.thresholds.clone()),
            check: goal.check.clone(),
        },
    }
}

/// How long a level is measured.
#[derive(Clone, Copy)]
enum Length {
    Full,
    Time(Span),
    Requests(u64),
}
