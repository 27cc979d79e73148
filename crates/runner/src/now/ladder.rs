//! What a sweep, a search or a study has measured so far.

use super::run::RunNow;
use crate::error::{Context as _, RunnerError};
use crate::sweep::LOAD_AXES;
use crate::{capacity, sweep, tune};
use inferometer_campaign::capacity::Purpose;
use inferometer_campaign::capacity::stored::{MadeProbe, ProbeVerdict, SearchLine};
use inferometer_campaign::study::Study;
use inferometer_campaign::trial::{Origin, State, Trial};
use inferometer_core::point::Point;
use inferometer_core::quantile::{quantile, sort};
use inferometer_core::summary::Summary;
use inferometer_store::json_lines;
use inferometer_store::run_dir::{RunDir, instant, modified};
use inferometer_store::stored::{PROBES_FILE, STUDY_FILE};
use inferometer_store::sweep_dir::{SweepDir, TrialState, Visited, below};
use serde::{Deserialize as _, Serialize};
use std::path::Path;
use std::time::{Duration, SystemTime};

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ladder {
    pub steps: Vec<Step>,
    /// Steps in all, where that is known.
    pub planned: Option<usize>,
    /// Seconds for those to come, at the pace so far.
    pub left_s: Option<f64>,
    /// What the load of a step is: `concurrency`, `rate`; absent where steps differ in other
    /// things.
    pub axis: Option<String>,
    /// The figure that a study raises or lowers, by its path in the summary.
    pub objective: Option<String>,
}

/// How fast steps follow each other, and how many are to come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// Steps to come, the one that is measured included.
    todo: usize,
    /// Seconds of a usual one, once that is known.
    step_s: Option<f64>,
    /// Seconds since the last one ended.
    since_s: Option<f64>,
}

impl Pace {
    /// Seconds that are left: of the step that is measured what its run says, and of a usual step
    /// what is not yet spent.
    pub(super) fn left_s(&self, run: Option<&RunNow>) -> Option<f64> {
        let to_come = self.todo.checked_sub(1)?;
        let run_left_s = run.and_then(|run| run.left_s);
        let run_s = run.and_then(|run| Some(run.elapsed_s + run.left_s?));
        let step_s = self.step_s.or(run_s)?;
        let spent_s = self.since_s.or(run.map(|run| run.elapsed_s));
        let rest_s = (step_s - spent_s.unwrap_or_default()).max(run_left_s.unwrap_or_default());
        Some(step_s * to_come as f64 + rest_s.max(0.0))
    }
}

/// Seconds since a time in nanoseconds since 1970.
fn seconds_since(then: i128) -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    (now.unwrap_or_default().as_nanos() as i128 - then) as f64 / 1e9
}

/// A measurement that has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Step {
    /// Where it stands: the values of the axes, the load, the flags.
    pub place: String,
    /// Why a search probed there.
    pub purpose: Option<Purpose>,
    pub load: Option<f64>,
    pub state: StepState,
    /// Why it is so, where that is told.
    pub why: Option<String>,
    pub requests_per_s: Option<f64>,
    pub output_tokens_per_s: Option<f64>,
    pub ttft_p50_ms: Option<f64>,
    pub ttft_p99_ms: Option<f64>,
    pub tpot_p50_ms: Option<f64>,
    pub failed: Option<u64>,
    /// The figure of a study.
    pub objective: Option<f64>,
    /// Codes of its doubts.
    pub doubts: Vec<String>,
}

/// What became of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, strum::VariantArray)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum StepState {
    #[default]
    Done,
    /// Measured, with a doubt that makes it void.
    Invalid,
    /// A probe whose objectives were met, missed, or neither for certain.
    Met,
    Missed,
    Undecided,
    /// A trial that missed the objectives of its study.
    SloMissed,
    Failed,
    Skipped,
    Refused,
    Crashed,
    Timeout,
    Stopped,
}

impl Ladder {
    pub(super) fn of_sweep(folder: &Path) -> Result<(Ladder, Pace), RunnerError> {
        let opened = SweepDir::open(folder)?;
        let plan = opened.plan();
        let visited = sweep::read(&opened)?;
        let step = |Visited { trial, summary }: &Visited| {
            let planned = plan.points.iter().find(|point| point.id == trial.id);
            let state = match (trial.state, summary) {
                (TrialState::Done, Some(summary)) if !summary.valid => StepState::Invalid,
                (TrialState::Done, _) => StepState::Done,
                (TrialState::Failed, _) => StepState::Failed,
                (TrialState::Skipped, _) => StepState::Skipped,
                (TrialState::Interrupted, _) => StepState::Stopped,
            };
            Step {
                place: planned.map_or_else(String::new, |it| it.point.to_string()),
                load: planned.and_then(|it| load_of(&it.point)),
                state,
                why: trial.reason.clone(),
                ..Step::measured(summary.as_ref())
            }
        };
        let ends = visited.iter().filter_map(|it| instant(&it.trial.ended));
        let ends: Vec<i128> = ends.collect();
        let newest = ends.iter().copied().max();
        let todo = plan.visits.len().saturating_sub(visited.len());
        let mut axes = plan.axes.iter();
        let pace = Pace {
            todo,
            since_s: newest.map(seconds_since),
            step_s: gap_s(ends),
        };
        let ladder = Ladder {
            steps: visited.iter().map(step).collect(),
            planned: Some(plan.visits.len()),
            axis: axes.find(|it| LOAD_AXES.contains(&it.as_str())).cloned(),
            ..Ladder::default()
        };
        Ok((ladder, pace))
    }

    pub(super) fn of_search(folder: &Path) -> Result<(Ladder, Pace), RunnerError> {
        let mut ladder = Ladder::default();
        for line in json_lines::read(&folder.join(PROBES_FILE))? {
            match line {
                SearchLine::Plan(plan) => {
                    let mut words = plan.search.iter().skip_while(|word| *word != "--over");
                    ladder.axis = words.nth(1).cloned();
                }
                SearchLine::Probe(probe) => ladder.steps.push(probe_of(folder, &probe)),
            }
        }
        // Nobody knows how many probes it will take.
        Ok((ladder, Pace::default()))
    }

    pub(super) fn of_study(folder: &Path) -> Result<(Ladder, Pace), RunnerError> {
        let log = tune::read(folder)?;
        let study = Study::of_log(&log, false)
            .with_context(|| format!("the study in {}", folder.display()))?;
        let objective = study.goal.objectives.first();
        let pace = Pace {
            todo: starts_left(&study, &log.trials),
            since_s: modified(&folder.join(STUDY_FILE)).map(seconds_since),
            step_s: mean_s(&log.trials),
        };
        let ladder = Ladder {
            steps: log.trials.iter().map(|it| trial_of(&study, it)).collect(),
            planned: Some(study.budget.trials as usize).filter(|_| !confirms(&log.trials)),
            objective: objective.map(|it| it.path.clone()),
            ..Ladder::default()
        };
        Ok((ladder, pace))
    }
}

impl Step {
    /// The figures of a measurement, if there are any.
    fn measured(summary: Option<&Summary>) -> Self {
        let Some(summary) = summary else {
            return Step::default();
        };
        let (latency, rates) = (&summary.latency, &summary.throughput);
        Step {
            requests_per_s: rates.requests_per_s,
            output_tokens_per_s: rates.output_tokens_per_s,
            ttft_p50_ms: latency.ttft_ms.map(|it| it.p50),
            ttft_p99_ms: latency.ttft_ms.map(|it| it.p99),
            tpot_p50_ms: latency.tpot_ms.map(|it| it.p50),
            failed: Some(summary.requests.failed),
            doubts: (summary.doubts.iter())
                .map(|doubt| doubt.code.to_string())
                .collect(),
            ..Step::default()
        }
    }
}

/// The load of a sweep's point, where that is one of its axes.
pub fn load_of(point: &Point) -> Option<f64> {
    let mut axes = LOAD_AXES.iter().filter_map(|axis| point.0.get(*axis));
    axes.find_map(serde_json::Value::as_f64)
}

/// The usual time between two ends, in seconds: one that lies between two beginnings of a sweep
/// does not count.
fn gap_s(mut ends: Vec<i128>) -> Option<f64> {
    ends.sort_unstable();
    let gaps = ends.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e9);
    let mut gaps: Vec<f64> = gaps.collect();
    sort(&mut gaps);
    quantile(&gaps, 0.5)
}

fn probe_of(folder: &Path, MadeProbe { shown, .. }: &MadeProbe) -> Step {
    let run = below(folder, &shown.directory).and_then(|path| RunDir::open(path).ok());
    let summary = run.and_then(|run| run.summary().ok());
    Step {
        place: capacity::short(shown.level),
        purpose: Some(shown.purpose),
        load: Some(shown.level),
        state: match shown.verdict {
            ProbeVerdict::Met => StepState::Met,
            ProbeVerdict::Missed => StepState::Missed,
            ProbeVerdict::Undecided => StepState::Undecided,
        },
        ..Step::measured(summary.as_ref())
    }
}

fn trial_of(study: &Study, trial: &Trial) -> Step {
    let ending = &trial.ending;
    let first = ending.measurements.first();
    let summary = first.and_then(|it| Summary::deserialize(&it.summary).ok());
    let is_missed = ending.state == State::Done && study.goal.violation(ending) > 0.0;
    Step {
        place: match (&trial.proposal.origin, trial.proposal.flags.to_string()) {
            (Origin::Default, _) => "–".to_owned(),
            (_, flags) => flags,
        },
        state: match ending.state {
            State::Done if !ending.is_valid() => StepState::Invalid,
            State::Done if is_missed => StepState::SloMissed,
            State::Done => StepState::Done,
            State::Refused => StepState::Refused,
            State::Crashed => StepState::Crashed,
            State::Timeout => StepState::Timeout,
            State::Stopped => StepState::Stopped,
        },
        why: ending.class.clone(),
        objective: (study.goal.objectives.first()).and_then(|it| it.of(ending)),
        ..Step::measured(summary.as_ref())
    }
}

fn confirms(trials: &[Trial]) -> bool {
    trials.iter().any(|trial| !trial.is_searched())
}

/// Time left of a study at the pace so far.
pub fn study_time_left(study: &Study, trials: &[Trial]) -> Option<Duration> {
    match (starts_left(study, trials), mean_s(trials)) {
        (0, _) | (_, None) => None,
        (left, Some(mean)) => Some(Duration::from_secs_f64((mean * left as f64).min(1e9))),
    }
}

/// The trials of the budget, then the last stage.
fn starts_left(study: &Study, trials: &[Trial]) -> usize {
    let repeats = trials.iter().filter(|trial| !trial.is_searched()).count();
    let searched = trials.len() - repeats;
    let all = study.last_stage.starts(study.space.dimensions().len());
    let searching = match repeats {
        0 => (study.budget.trials as usize).saturating_sub(searched),
        _ => 0,
    };
    searching + all.saturating_sub(repeats)
}

fn mean_s(trials: &[Trial]) -> Option<f64> {
    let times = trials.iter().filter_map(|trial| trial.ending.total_s);
    (!trials.is_empty()).then(|| times.sum::<f64>() / trials.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_between_two_beginnings_does_not_count_as_pace() {
        let seconds = |ends: &[i128]| gap_s(ends.iter().map(|it| it * 1_000_000_000).collect());
        assert_eq!(seconds(&[10]), None);
        assert_eq!(seconds(&[10, 20, 30, 9_000, 9_010]), Some(10.0));
    }

    #[test]
    fn the_time_left_runs_down_while_a_step_is_measured() {
        let run = |elapsed_s: f64, left_s: Option<f64>| {
            Some(RunNow {
                elapsed_s,
                left_s,
                ..RunNow::default()
            })
        };
        let left = |step_s, since_s, run: Option<RunNow>| {
            let pace = Pace {
                todo: 4,
                step_s,
                since_s,
            };
            pace.left_s(run.as_ref())
        };
        // Before the first has ended, by its own time.
        assert_eq!(left(None, None, run(2.0, None)), None);
        assert_eq!(left(None, None, run(2.0, Some(18.0))), Some(78.0));
        assert_eq!(left(None, None, run(12.0, Some(8.0))), Some(68.0));
        // Then by the usual one.
        assert_eq!(left(Some(30.0), Some(5.0), run(4.0, None)), Some(115.0));
        assert_eq!(left(Some(30.0), Some(20.0), run(19.0, None)), Some(100.0));
        // One that takes longer than usual, and one that begins after a pause.
        assert_eq!(
            left(Some(30.0), Some(60.0), run(59.0, Some(7.0))),
            Some(97.0)
        );
        assert_eq!(left(Some(30.0), Some(9e5), None), Some(90.0));
        assert_eq!(Pace::default().left_s(None), None);
    }
}
