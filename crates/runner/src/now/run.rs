//! A load point that is measured now.

use super::course::{Course, Gathering, Gauges, Middle};
use crate::error::RunnerError;
use crate::measure::server_view;
use inferometer_analysis::context::RunContext;
use inferometer_analysis::fold::Folding;
use inferometer_core::doubt::DoubtCode;
use inferometer_core::environment::{EndCause, Ending, Environment};
use inferometer_core::point::Point;
use inferometer_core::record::{Record, Stage};
use inferometer_core::scenario::Scenario;
use inferometer_core::server::Spans;
use inferometer_core::summary::{Distribution, ObjectiveResult, StatedDoubt, Summary};
use inferometer_core::units::Offset;
use inferometer_core::window::Opening;
use inferometer_load::clock::Clock;
use inferometer_store::journal::GrowingJournal;
use inferometer_store::run_dir::{RunDir, Unended};
use inferometer_store::samples_file::GrowingSamples;
use inferometer_text::Lang;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use strum::VariantArray as _;

/// The journal tells of a request when it ends, or when it is under way for about a second.
const TOLD_AFTER: Duration = Duration::from_millis(1_500);

/// A run that is silent for longer than any request may take has its end in sight; a clock that
/// says so is rather that of another host.
const LONGEST_SILENCE: Duration = Duration::from_secs(3_600);

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunNow {
    /// Of its folder, or its place in a sweep.
    pub name: String,
    pub about: About,
    /// Those that have begun.
    pub phases: Vec<Phase>,
    /// Seconds of the last phase that are left, where that can be told.
    pub left_s: Option<f64>,
    /// Seconds since the beginning.
    pub elapsed_s: f64,
    /// Requests that are to be measured, where their number is known.
    pub planned: Option<u64>,
    /// Measured requests that have ended.
    pub measured: u64,
    /// Of these, failed.
    pub failed: u64,
    /// Requests under way a moment ago.
    pub in_flight: u64,
    pub course: Course,
    pub gauges: Gauges,
    /// Of measured requests.
    pub ttft_ms: Option<Middle>,
    pub tpot_ms: Option<Middle>,
    /// How they stand so far.
    pub objectives: Vec<ObjectiveResult>,
    pub doubts: Doubts,
}

/// What is measured, for one line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct About {
    pub is_simulated: bool,
    /// Engine, addresses, model, load and the flags that a study tries, as far as they are known.
    pub facts: Vec<String>,
}

impl About {
    fn of(scenario: &Scenario, environment: &Environment) -> Self {
        let is_simulated = scenario.connection.urls.is_empty() && environment.engine.is_none();
        let server = &environment.server;
        let address = server.endpoints.iter().cloned();
        // That of the simulated engine says nothing to anybody.
        let who = (environment.engine_name().into_iter().chain(address)).filter(|_| !is_simulated);
        let mut load = Point::of_load(&scenario.load);
        // A search chooses rates of more digits than anybody reads.
        for value in load.0.values_mut() {
            if let Some(long) = value.as_f64().filter(|it| it.fract() != 0.0) {
                *value = ((long * 100.0).round() / 100.0).into();
            }
        }
        let load = load.to_string();
        let chosen = environment.engine.iter().flat_map(|it| &it.flags);
        let chosen = chosen.map(|(flag, value)| format!("{flag}={value}"));
        let facts = who.chain([server.model.clone(), load]).chain(chosen);
        About {
            is_simulated,
            facts: facts.filter(|it| !it.is_empty()).collect(),
        }
    }
}

/// A stage of the load, and when its first request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Phase {
    pub stage: Stage,
    pub from_s: f64,
}

/// What is to be doubted so far, in both languages: a page switches between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Doubts {
    pub en: Vec<StatedDoubt>,
    pub zh: Vec<StatedDoubt>,
}

impl Doubts {
    pub fn in_language(&self, lang: Lang) -> &[StatedDoubt] {
        match lang {
            Lang::En => &self.en,
            Lang::Zh => &self.zh,
        }
    }
}

/// A run that is looked at again and again: what was read of it, so that a look reads only what is
/// new, however long it goes on.
#[derive(Debug)]
pub(super) struct Follower {
    directory: RunDir,
    scenario: Scenario,
    environment: Environment,
    has_window: bool,
    /// The end is decided by what it shows, not by the most requests that it may have.
    is_open_ended: bool,
    journal: GrowingJournal,
    samples: Option<GrowingSamples>,
    /// When the window opened, as far as was known when the fold began.
    opening: Offset,
    folding: Folding,
    unended: Unended,
    stages: Stages,
    gathering: Gathering,
}

impl Follower {
    pub(super) fn of(directory: RunDir, is_open_ended: bool) -> Result<Self, RunnerError> {
        Self::with(Offset::default(), directory, is_open_ended)
    }

    fn with(opening: Offset, directory: RunDir, is_open_ended: bool) -> Result<Self, RunnerError> {
        let (scenario, environment) = (directory.scenario()?, directory.environment()?);
        let has_window = directory.has_window()?;
        let ending = Ending {
            measured_from: opening,
            // As long as it goes on, whatever ends does so inside the window.
            sending_ended: Offset(u64::MAX),
            steady_window: has_window,
            ..Ending::default()
        };
        let context = RunContext {
            scenario: &scenario,
            environment: &environment,
            ending: &ending,
            lang: Lang::En,
        };
        Ok(Follower {
            folding: Folding::live(&context),
            journal: GrowingJournal::open(&directory.journal_path())?,
            samples: None,
            opening,
            unended: Unended::default(),
            stages: Stages::default(),
            gathering: Gathering::default(),
            directory,
            scenario,
            environment,
            has_window,
            is_open_ended,
        })
    }

    pub(super) fn is_of(&self, run: &Path) -> bool {
        self.directory.path() == run && self.journal.is_at(&self.directory.journal_path())
    }

    /// Takes the records that ended since. The fold needs to know when the window opened: it begins
    /// again once that is known.
    fn read(&mut self) -> Result<(), RunnerError> {
        self.journal.each_new(|record| {
            self.folding.add(record);
            self.unended.add(record);
            self.stages.add(record);
            self.gathering.add(record);
        })?;
        Ok(())
    }

    /// What is known with the requests under way.
    fn so_far(&self) -> (Unended, Stages) {
        let (mut unended, mut stages) = (self.unended.clone(), self.stages.clone());
        for record in self.journal.under_way() {
            unended.add(record);
            stages.add(record);
        }
        (unended, stages)
    }

    pub(super) fn look(&mut self) -> Result<RunNow, RunnerError> {
        self.read()?;
        let opening = self.so_far().0.opening();
        if opening != self.opening {
            *self = Self::with(opening, self.directory.clone(), self.is_open_ended)?;
            self.read()?;
        }
        let (unended, stages) = self.so_far();
        let load = &self.scenario.load;
        let planned = self.journal.planned().or(load.extent.requests());
        let ending = Ending {
            steady_window: self.has_window,
            ..unended.ending(EndCause::Running, planned, self.journal.client())
        };
        let planned = planned.filter(|_| !self.is_open_ended);
        let context = RunContext {
            scenario: &self.scenario,
            environment: &self.environment,
            ending: &ending,
            lang: Lang::En,
        };
        if self.samples.is_none() {
            // It may be watched from a later moment on.
            self.samples = GrowingSamples::open(&self.directory.samples_path()).ok();
        }
        let samples = (self.samples.as_mut()).map_or(Ok(&[][..]), GrowingSamples::all)?;
        let mut folding = self.folding.clone();
        self.journal.under_way().for_each(|it| folding.add(it));
        let folded = folding.finish(&context);
        let summary = folded.summary(Lang::En);
        // What explains single requests is left to the report.
        let server = server_view(samples, &Spans::default(), &[], &ending, &summary);
        let folded = folded.with_server(server);
        let [summary, chinese] = [Lang::En, Lang::Zh].map(|lang| folded.summary(lang));
        let now = now(&self.environment, stages.last_end);
        let told_until = now - TOLD_AFTER;
        let under_way = || self.journal.under_way();
        let in_flight = self.gathering.in_flight(under_way(), told_until);
        let course = self.gathering.course(under_way(), now, told_until);
        let phases = stages.phases();
        let name = self.directory.path().file_name().unwrap_or_default();
        Ok(RunNow {
            name: name.to_string_lossy().into_owned(),
            about: About::of(&self.scenario, &self.environment),
            left_s: left(&stages, &self.scenario, planned, now).map(|left| left.as_secs_f64()),
            phases,
            elapsed_s: now.as_duration().as_secs_f64(),
            planned,
            measured: stages.ended(Stage::Measured),
            failed: summary.requests.failed,
            in_flight,
            gauges: Gauges::of(samples, &course),
            course,
            ttft_ms: summary.latency.ttft_ms.as_ref().map(middle),
            tpot_ms: summary.latency.tpot_ms.as_ref().map(middle),
            objectives: (summary.slo.as_ref()).map_or_else(Vec::new, |slo| slo.objectives.clone()),
            doubts: Doubts {
                en: news(summary),
                zh: news(chinese),
            },
        })
    }
}

/// When the stages of a load began, and how many of their requests ended.
#[derive(Clone, Debug, Default)]
struct Stages {
    began: BTreeMap<Stage, Offset>,
    ended: BTreeMap<Stage, u64>,
    last_end: Offset,
}

impl Stages {
    fn add(&mut self, record: &Record) {
        if let Some(sent) = record.sent {
            let began = self.began.entry(record.stage).or_insert(sent);
            *began = sent.min(*began);
        }
        if let Some(end) = record.end {
            *self.ended.entry(record.stage).or_default() += 1;
            self.last_end = self.last_end.max(end);
        }
    }

    /// In their order.
    fn phases(&self) -> Vec<Phase> {
        let began = |stage: &Stage| {
            Some(Phase {
                stage: *stage,
                from_s: self.began.get(stage)?.as_duration().as_secs_f64(),
            })
        };
        Stage::VARIANTS.iter().filter_map(began).collect()
    }

    fn ended(&self, stage: Stage) -> u64 {
        self.ended.get(&stage).copied().unwrap_or_default()
    }
}

fn middle(of: &Distribution) -> Middle {
    Middle {
        p50: of.p50,
        p99: of.p99,
    }
}

/// That it has not ended is no news, nor that the first answer has yet to come: if none comes,
/// failures are told.
fn news(mut summary: Summary) -> Vec<StatedDoubt> {
    let doubts = &mut summary.doubts;
    let is_old = [DoubtCode::Interrupted, DoubtCode::NothingMeasured];
    doubts.retain(|doubt| !is_old.contains(&doubt.code));
    std::mem::take(doubts)
}

/// The present on the run's clock.
fn now(environment: &Environment, last_end: Offset) -> Offset {
    let ours = Clock::start().origin_monotonic_ns();
    let now = Offset(ours.saturating_sub(environment.origin_monotonic_ns));
    if now.since(last_end) < LONGEST_SILENCE {
        now.max(last_end)
    } else {
        last_end
    }
}

fn left(
    stages: &Stages,
    scenario: &Scenario,
    planned: Option<u64>,
    now: Offset,
) -> Option<Duration> {
    let (phases, load) = (stages.phases(), &scenario.load);
    let phase = phases.last()?;
    match phase.stage {
        Stage::Warmup => {
            let opening = Opening::of(load, scenario.work.conversation.as_ref())?;
            opening.time_left(now.as_duration(), stages.ended(Stage::Warmup))
        }
        Stage::Measured => {
            let spent = now.as_duration().as_secs_f64() - phase.from_s;
            let spent = Duration::try_from_secs_f64(spent).unwrap_or_default();
            let duration = load.extent.duration().map(|span| span.0);
            time_left(spent, duration, planned, stages.ended(Stage::Measured))
        }
        // It lasts until the last measured answer.
        Stage::Hold => None,
    }
}

/// Time left of a phase: what remains of its time, or of its requests at the pace so far.
pub fn time_left(
    spent: Duration,
    duration: Option<Duration>,
    requests: Option<u64>,
    ended: u64,
) -> Option<Duration> {
    let by_time = duration.map(|all| all.saturating_sub(spent));
    let by_count = requests.filter(|_| ended > 0).map(|all| {
        let share = all.saturating_sub(ended) as f64 / ended as f64;
        Duration::from_secs_f64((spent.as_secs_f64() * share).min(1e9))
    });
    match (by_time, by_count) {
        (Some(time), Some(count)) => Some(time.min(count)),
        (time, count) => time.or(count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::options::Options;
    use inferometer_core::record::Outcome;
    use inferometer_store::journal::{Entry, Header};

    fn sent(stage: Stage, from_ms: u64, end_ms: Option<u64>) -> Record {
        let at = |ms: u64| Offset::after(Duration::from_millis(ms));
        Record {
            stage,
            sent: Some(at(from_ms)),
            end: end_ms.map(at),
            outcome: if end_ms.is_some() {
                Outcome::Done
            } else {
                Outcome::Cut
            },
            ..Record::default()
        }
    }

    fn scenario(toml: &str) -> Scenario {
        let options = Options::from_toml(&format!("[load]\n{toml}")).unwrap();
        options.resolve().unwrap()
    }

    #[test]
    fn phases_follow_each_other_and_the_time_left_is_that_of_the_last() {
        let at = |ms: u64| Offset::after(Duration::from_millis(ms));
        let mut records = vec![
            sent(Stage::Warmup, 0, Some(1_000)),
            sent(Stage::Warmup, 100, Some(1_100)),
        ];
        let closed = scenario("concurrency = 4\nrequests = 40");
        let stages = |records: &[Record]| {
            let mut stages = Stages::default();
            records.iter().for_each(|record| stages.add(record));
            stages
        };
        let seconds = |records: &[Record], scenario: &Scenario, planned, now| {
            left(&stages(records), scenario, planned, now).map(|it| it.as_secs_f64())
        };
        // Two of four streams have had their answer.
        assert_eq!(seconds(&records, &closed, Some(40), at(2_000)), Some(2.0));
        records.extend((0..10).map(|_| sent(Stage::Measured, 2_000, Some(3_000))));
        let phases = stages(&records).phases();
        let begun: Vec<Stage> = phases.iter().map(|it| it.stage).collect();
        assert_eq!(begun, [Stage::Warmup, Stage::Measured]);
        assert_eq!(seconds(&records, &closed, Some(40), at(4_000)), Some(6.0));
        let timed = scenario("concurrency = 4\nduration = '5s'");
        assert_eq!(seconds(&records, &timed, None, at(4_000)), Some(3.0));
        records.push(sent(Stage::Hold, 4_000, None));
        assert_eq!(seconds(&records, &closed, Some(40), at(4_500)), None);
    }

    #[test]
    fn a_look_reads_what_is_new_and_says_what_a_first_look_would() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDir::create(folder.path().join("run")).unwrap();
        let scenario = scenario("concurrency = 4\nrequests = 400\nhold = 'none'");
        directory.write_scenario(&scenario).unwrap();
        let environment = Environment::default();
        directory.write_environment(&environment).unwrap();
        let mut journal = directory.start_journal(&Header::new(Some(400))).unwrap();
        let mut write = |from: u64, to: u64| {
            for index in from..to {
                let stage = match index {
                    0..8 => Stage::Warmup,
                    _ => Stage::Measured,
                };
                let mut record = sent(stage, 100 * index, Some(100 * index + 400));
                record.index = index;
                record.streamed = true;
                let first = Duration::from_millis(100 * index + 50 + index % 30);
                record.chunks.at = vec![Offset::after(first), record.end.unwrap()];
                record.chunks.same_read = vec![false; 2];
                journal.append(&Entry::end(&record)).unwrap();
            }
            let begun = sent(Stage::Measured, 100 * to, None);
            journal.append(&Entry::begin(&begun)).unwrap();
            journal.flush().unwrap();
        };
        let open = || Follower::of(directory.clone(), false).unwrap();
        write(0, 100);
        let mut follower = open();
        let first = follower.look().unwrap();
        assert_eq!((first.measured, first.planned), (92, Some(400)));
        write(100, 300);
        let fresh = open().look().unwrap();
        // What was read before is not read again.
        let path = directory.journal_path();
        let mut lines = std::fs::read(&path).unwrap();
        lines[..20_000].fill(b'#');
        std::fs::write(&path, &lines).unwrap();
        let again = follower.look().unwrap();
        assert_eq!(again.measured, 292);
        assert!(open().look().unwrap().measured < fresh.measured);
        let lasting = |now: RunNow| RunNow {
            elapsed_s: 0.0,
            left_s: None,
            course: Course {
                parts: now.course.parts[..29].to_vec(),
                whole: 29,
                ..now.course
            },
            ..now
        };
        assert_eq!(lasting(again), lasting(fresh));
    }
}
