//! A load point that is measured now.

use super::course::{Course, Gauges, Middle};
use crate::error::RunnerError;
use crate::measure::read;
use inferometer_analysis::context::RunContext;
use inferometer_core::doubt::DoubtCode;
use inferometer_core::environment::Environment;
use inferometer_core::point::Point;
use inferometer_core::record::{Record, Stage};
use inferometer_core::scenario::Scenario;
use inferometer_core::summary::{Distribution, ObjectiveResult, StatedDoubt, Summary};
use inferometer_core::units::Offset;
use inferometer_core::window::Opening;
use inferometer_load::clock::Clock;
use inferometer_store::run_dir::RunDir;
use inferometer_text::Lang;
use serde::Serialize;
use std::time::Duration;
use strum::VariantArray as _;

/// The journal tells of a request when it ends, or when it is under way for about a second.
const TOLD_AFTER: Duration = Duration::from_millis(1_500);

/// A run that is silent for longer than any request may take has its end in sight; a clock that
/// says so is rather that of another host.
const LONGEST_SILENCE: Duration = Duration::from_secs(3_600);

#[derive(Clone, Debug, PartialEq, Serialize)]
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
    /// Engine, addresses, model and load, as far as they are known.
    pub facts: Vec<String>,
}

impl About {
    fn of(scenario: &Scenario, environment: &Environment) -> Self {
        let is_simulated = scenario.connection.urls.is_empty() && environment.engine.is_none();
        let server = &environment.server;
        let address = server.endpoints.iter().cloned();
        // That of the simulated engine says nothing to anybody.
        let who = (environment.engine_name().into_iter().chain(address)).filter(|_| !is_simulated);
        let load = Point::of_load(&scenario.load).to_string();
        let facts = who.chain([server.model.clone(), load]);
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

impl RunNow {
    pub(super) fn of(directory: &RunDir, is_open_ended: bool) -> Result<Self, RunnerError> {
        let scenario = directory.scenario()?;
        let environment = directory.environment()?;
        let context = RunContext {
            scenario: &scenario,
            environment: &environment,
            ending: &directory.ending()?,
            lang: Lang::En,
        };
        let reading = read(directory, &context)?;
        let [summary, chinese] = [Lang::En, Lang::Zh].map(|lang| reading.folded.summary(lang));
        let mut records = directory.records()?;
        let planned = records.planned().or(scenario.load.extent.requests());
        let planned = planned.filter(|_| !is_open_ended);
        let records: Vec<Record> = records.by_ref().collect::<Result<_, _>>()?;
        let now = now(&environment, &records);
        let phases = phases(&records);
        let course = Course::of(&records, now, now - TOLD_AFTER);
        let name = directory.path().file_name().unwrap_or_default();
        Ok(RunNow {
            name: name.to_string_lossy().into_owned(),
            about: About::of(&scenario, &environment),
            left_s: left(&records, &phases, &scenario, planned, now).map(|left| left.as_secs_f64()),
            phases,
            elapsed_s: now.as_duration().as_secs_f64(),
            planned,
            measured: ended(&records, Stage::Measured),
            failed: summary.requests.failed,
            in_flight: in_flight(&records, now - TOLD_AFTER),
            gauges: Gauges::of(&directory.samples()?, &course),
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
fn now(environment: &Environment, records: &[Record]) -> Offset {
    let ends = records.iter().filter_map(|record| record.end);
    let last = ends.max().unwrap_or_default();
    let ours = Clock::start().origin_monotonic_ns();
    let now = Offset(ours.saturating_sub(environment.origin_monotonic_ns));
    match now.since(last) < LONGEST_SILENCE {
        true => now.max(last),
        false => last,
    }
}

fn phases(records: &[Record]) -> Vec<Phase> {
    let first = |stage: &Stage| {
        let of_stage = records.iter().filter(|record| record.stage == *stage);
        let from = of_stage.filter_map(|record| record.sent).min()?;
        Some(Phase {
            stage: *stage,
            from_s: from.as_duration().as_secs_f64(),
        })
    };
    Stage::VARIANTS.iter().filter_map(first).collect()
}

fn ended(records: &[Record], stage: Stage) -> u64 {
    let of_stage = records.iter().filter(|record| record.stage == stage);
    of_stage.filter(|record| record.end.is_some()).count() as u64
}

fn in_flight(records: &[Record], at: Offset) -> u64 {
    let under_way = |record: &&Record| {
        record.sent.is_some_and(|sent| sent <= at) && record.end.is_none_or(|end| end > at)
    };
    records.iter().filter(under_way).count() as u64
}

fn left(
    records: &[Record],
    phases: &[Phase],
    scenario: &Scenario,
    planned: Option<u64>,
    now: Offset,
) -> Option<Duration> {
    let (phase, load) = (phases.last()?, &scenario.load);
    match phase.stage {
        Stage::Warmup => {
            let opening = Opening::of(load, scenario.work.conversation.as_ref())?;
            opening.time_left(now.as_duration(), ended(records, Stage::Warmup))
        }
        Stage::Measured => {
            let spent = now.as_duration().as_secs_f64() - phase.from_s;
            let spent = Duration::try_from_secs_f64(spent).unwrap_or_default();
            let duration = load.extent.duration().map(|span| span.0);
            time_left(spent, duration, planned, ended(records, Stage::Measured))
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
        let seconds = |records: &[Record], scenario: &Scenario, planned, now| {
            left(records, &phases(records), scenario, planned, now).map(|it| it.as_secs_f64())
        };
        // Two of four streams have had their answer.
        assert_eq!(seconds(&records, &closed, Some(40), at(2_000)), Some(2.0));
        records.extend((0..10).map(|_| sent(Stage::Measured, 2_000, Some(3_000))));
        let stages: Vec<Stage> = phases(&records).iter().map(|it| it.stage).collect();
        assert_eq!(stages, [Stage::Warmup, Stage::Measured]);
        assert_eq!(seconds(&records, &closed, Some(40), at(4_000)), Some(6.0));
        let timed = scenario("concurrency = 4\nduration = '5s'");
        assert_eq!(seconds(&records, &timed, None, at(4_000)), Some(3.0));
        records.push(sent(Stage::Hold, 4_000, None));
        assert_eq!(seconds(&records, &closed, Some(40), at(4_500)), None);
    }

    #[test]
    fn what_was_sent_and_has_not_ended_is_in_flight() {
        let at = |ms: u64| Offset::after(Duration::from_millis(ms));
        let records = [
            sent(Stage::Measured, 0, Some(1_000)),
            sent(Stage::Measured, 500, None),
            sent(Stage::Measured, 3_000, None),
        ];
        assert_eq!(in_flight(&records, at(800)), 2);
        assert_eq!(in_flight(&records, at(2_000)), 1);
    }
}
