//! What a sweep, a search or a study has measured so far.

use crate::error::{Context as _, RunnerError};
use crate::sweep::LOAD_AXES;
use crate::{capacity, sweep, tune};
use inferometer_campaign::capacity::stored::{MadeProbe, ProbeVerdict, SearchLine};
use inferometer_campaign::study::Study;
use inferometer_campaign::trial::{Origin, State, Trial};
use inferometer_core::point::Point;
use inferometer_core::quantile::{quantile, sort};
use inferometer_core::summary::Summary;
use inferometer_store::json_lines;
use inferometer_store::run_dir::{RunDir, instant};
use inferometer_store::stored::PROBES_FILE;
use inferometer_store::sweep_dir::{SweepDir, TrialState, Visited, below};
use serde::{Deserialize as _, Serialize};
use std::path::Path;
use std::time::Duration;

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

/// A measurement that has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Step {
    /// Where it stands: the values of the axes, the load, the flags.
    pub place: String,
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
    pub(super) fn of_sweep(folder: &Path) -> Result<Ladder, RunnerError> {
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
        let todo = plan.visits.len().saturating_sub(visited.len());
        let mut axes = plan.axes.iter();
        Ok(Ladder {
            left_s: gap_s(ends.collect()).map(|gap| gap * todo as f64),
            steps: visited.iter().map(step).collect(),
            planned: Some(plan.visits.len()),
            axis: axes.find(|it| LOAD_AXES.contains(&it.as_str())).cloned(),
            objective: None,
        })
    }

    pub(super) fn of_search(folder: &Path) -> Result<Ladder, RunnerError> {
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
        Ok(ladder)
    }

    pub(super) fn of_study(folder: &Path) -> Result<Ladder, RunnerError> {
        let log = tune::read(folder)?;
        let study = Study::of_log(&log, false)
            .with_context(|| format!("the study in {}", folder.display()))?;
        let objective = study.goal.objectives.first();
        Ok(Ladder {
            left_s: study_time_left(&study, &log.trials).map(|left| left.as_secs_f64()),
            steps: log.trials.iter().map(|it| trial_of(&study, it)).collect(),
            planned: Some(study.budget.trials as usize).filter(|_| !confirms(&log.trials)),
            axis: None,
            objective: objective.map(|it| it.path.clone()),
        })
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
        place: format!("{} {}", shown.purpose, capacity::short(shown.level)),
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

/// Time left of a study at the pace so far: the trials of the budget, then the last stage.
pub fn study_time_left(study: &Study, trials: &[Trial]) -> Option<Duration> {
    let times = trials.iter().filter_map(|trial| trial.ending.total_s);
    let mean = times.sum::<f64>() / trials.len().max(1) as f64;
    let repeats = trials.iter().filter(|trial| !trial.is_searched()).count();
    let searched = trials.len() - repeats;
    let all = study.last_stage.starts(study.space.dimensions().len());
    let searching = match repeats {
        0 => (study.budget.trials as usize).saturating_sub(searched),
        _ => 0,
    };
    match searching + all.saturating_sub(repeats) {
        0 => None,
        left => Some(Duration::from_secs_f64((mean * left as f64).min(1e9))),
    }
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
}
