//! The fewest flags that keep the gain. A search changes many flags at once and most of them do
//! nothing; the challenger of the last stage is started without each of them, and what costs
//! nothing stays out before it meets the default.

use super::goal::{Direction, Figure, Goal, Objective};
use super::last_stage::{DEFAULT, LEAST_GAIN, LastStage};
use super::series::log_figure;
use super::started::{FreshStart, Started};
use crate::space::{Point, Value};
use crate::trial::{Ending, Origin, Proposal, State, Trial};
use inferometer_catalog::engine::{EngineKind, flag};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Share of the gain that may be lost for fewer flags.
const LOST_GAIN: f64 = 0.25;
/// A change of a figure that is not an objective is notable from here on, as a logarithm, and
/// from twice what fresh starts differ by.
const NOTABLE: f64 = 0.095;
const NOTABLE_SPREADS: f64 = 2.0;

/// Figures that a reader wants to know of, whatever the goal.
const USUAL: [(&str, Direction); 6] = [
    ("throughput.output_tokens_per_s", Direction::Maximize),
    ("latency.ttft_ms.p50", Direction::Minimize),
    ("latency.ttft_ms.p99", Direction::Minimize),
    ("latency.tpot_ms.p50", Direction::Minimize),
    ("latency.tpot_ms.p99", Direction::Minimize),
    ("latency.e2e_ms.p99", Direction::Minimize),
];

/// Which of its flags a gain needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trimming {
    /// The trial that was started with fewer flags.
    pub of: u64,
    /// What could be left out without loss in the objectives and in what the SLOs and requirements
    /// are about.
    pub left_out: Point,
    /// Other figures that changed notably without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<FigureChange>,
    /// What could not be left out.
    pub needed: Vec<NeededFlag>,
}

/// How much a figure changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureChange {
    /// Its place in the summary, or an SLO's words for it.
    pub metric: String,
    /// Relative change: 1.04 where it doubled and more.
    pub value: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NeededFlag {
    pub flag: String,
    pub value: Value,
    /// Relative change of the first objective without it; absent where that was not measured, as
    /// of the only flag that is left, which `gain` is of.
    pub without: Option<f64>,
    /// What an SLO or a requirement is about, where that became notably worse without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worsens: Option<FigureChange>,
    /// Without it the engine did not serve.
    pub fails_without: bool,
    /// Without it an SLO or a requirement was missed.
    #[serde(default)]
    pub misses_without: bool,
}

/// How far the trimming of a trial has come.
pub(super) struct Trimmed {
    /// The trial with the fewest flags that is as good.
    pub(super) of: u64,
    /// The flags to start next, in their stead.
    pub(super) next: Option<Point>,
    pub(super) trimming: Trimming,
}

impl LastStage {
    /// Whether a trial has flags of which some might go.
    pub(super) fn trims(&self, trials: &Started<'_>, of: u64) -> bool {
        let several = trials.by_id(of);
        let several = several.is_some_and(|trial| trial.proposal.flags.0.len() > 1);
        // Logs of earlier versions have pairs with all flags: they stay as they were decided.
        let began = trials.iter().any(is_part);
        let is_pair = |trial: &Trial| match trial.proposal.origin {
            Origin::Confirm { of: other, round } => {
                other == of && round.is_none_or(|it| it >= Self::SELECTION_ROUNDS)
            }
            _ => false,
        };
        self.trim && several && (began || !trials.iter().any(is_pair))
    }

    /// What is left of a trial without the flags that do nothing. One that cannot go is tried
    /// again whenever a later one could: it may have been needed for that one only.
    pub(super) fn trimmed(&self, trials: &Started<'_>, goal: &Goal, of: u64) -> Trimmed {
        let mut found = Trimmed {
            of,
            next: None,
            trimming: Trimming {
                of,
                left_out: Point::default(),
                also: Vec::new(),
                needed: Vec::new(),
            },
        };
        let Some(whole) = trials.by_id(of).filter(|_| self.trims(trials, of)) else {
            return found;
        };
        let reference = trials.ending(FreshStart { of, round: 0 });
        let reference = reference.unwrap_or(&whole.ending);
        let tolerance = self.tolerance(trials, goal, whole);
        let watched = |after: &Ending| {
            let limits = self.notable(trials, goal, &goal.limited(), reference, after);
            let worse = limits.into_iter().filter(|(_, is_worse)| *is_worse);
            let worse = worse.map(|(change, _)| change);
            worse.max_by(|a, b| a.value.abs().total_cmp(&b.value.abs()))
        };
        let is_enough = |attempt: &Trial| {
            is_as_good(&attempt.ending, reference, goal, tolerance)
                && watched(&attempt.ending).is_none()
        };
        let defaults = trials.by_id(DEFAULT).map(|default| &default.proposal.point);
        let mut groups = groups(&whole.proposal, defaults);
        let mut kept = whole.proposal.flags.clone();
        loop {
            let mut needed = Vec::new();
            let mut changed = false;
            let mut left_to_try = VecDeque::from(std::mem::take(&mut groups));
            while let Some(group) = left_to_try.pop_front() {
                let mut left = kept.clone();
                left.0.retain(|name, _| !group.contains(name));
                // One that another of the best was trimmed to is not started again.
                let is_attempt = |trial: &&Trial| is_part(trial) && trial.proposal.flags == left;
                let attempt = trials.iter().find(is_attempt);
                if let Some(attempt) = attempt.filter(|attempt| is_enough(attempt)) {
                    found.of = attempt.proposal.id;
                    let others = goal.others(&USUAL);
                    let also = self.notable(trials, goal, &others, reference, &attempt.ending);
                    found.trimming.also = also.into_iter().map(|(change, _)| change).collect();
                    let gone = kept.0.iter().filter(|(name, _)| group.contains(*name));
                    let gone = gone.map(|(name, value)| (name.clone(), value.clone()));
                    found.trimming.left_out.0.extend(gone);
                    kept = left;
                    changed = true;
                } else if attempt.is_some() && group.len() > 1 {
                    // What cannot go at once may go one by one.
                    for name in group.into_iter().rev() {
                        left_to_try.push_front(vec![name]);
                    }
                } else if left.0.is_empty() || attempt.is_some() {
                    let without =
                        attempt.and_then(|attempt| change(&attempt.ending, reference, goal));
                    let failed = |attempt: &Trial| attempt.ending.state != State::Done;
                    let misses = |attempt: &Trial| goal.violation(&attempt.ending) > 0.0;
                    let worsens = attempt.and_then(|attempt| watched(&attempt.ending));
                    needed.extend(group.iter().filter_map(|name| {
                        Some(NeededFlag {
                            flag: name.clone(),
                            value: kept.get(name)?.clone(),
                            without,
                            worsens: worsens.clone(),
                            fails_without: attempt.is_some_and(failed),
                            misses_without: attempt.is_some_and(misses),
                        })
                    }));
                    groups.push(group);
                } else {
                    // Until it is tried again, what an earlier turn found stands.
                    let is_kept = |it: &NeededFlag| kept.0.contains_key(&it.flag);
                    found.trimming.needed.retain(is_kept);
                    found.next = Some(left);
                    return found;
                }
            }
            found.trimming.needed = needed;
            if !changed || groups.is_empty() {
                return found;
            }
        }
    }

    /// How much worse the objectives may be, as logarithms: what fresh starts differ by anyway,
    /// or what is worth no flag, and never much of the gain.
    pub(super) fn tolerance(&self, trials: &Started<'_>, goal: &Goal, whole: &Trial) -> f64 {
        let first = goal.objectives.first();
        let log = |ending: &Ending| log_figure(first?, ending);
        let noise = self.selection_noise(trials, goal, log) * std::f64::consts::SQRT_2;
        let default = trials.by_id(DEFAULT);
        let default = default.filter(|default| goal.violation(&default.ending) <= 0.0);
        let gain = default.zip(goal.objectives.first());
        let gain = gain.and_then(|(default, objective)| {
            Some(-loss(objective, &whole.ending, &default.ending)?)
        });
        let most = gain.filter(|gain| *gain > 0.0);
        let most = most.map_or(f64::INFINITY, |gain| gain * LOST_GAIN);
        noise.max(LEAST_GAIN).min(most)
    }

    /// Figures that differ by more than fresh starts do, and whether they are worse.
    fn notable(
        &self,
        trials: &Started<'_>,
        goal: &Goal,
        figures: &[Figure<'_>],
        before: &Ending,
        after: &Ending,
    ) -> Vec<(FigureChange, bool)> {
        let changed = figures.iter().filter_map(|figure| {
            let log = |ending: &Ending| figure.log(ending);
            let noise = self.selection_noise(trials, goal, log) * std::f64::consts::SQRT_2;
            let change = log(after)? - log(before)?;
            let is_notable = change.abs() > NOTABLE.max(NOTABLE_SPREADS * noise);
            is_notable.then(|| {
                let value = change.exp_m1();
                let metric = figure.name();
                let is_worse = (change < 0.0) == (figure.direction() == Direction::Maximize);
                (FigureChange { metric, value }, is_worse)
            })
        });
        changed.collect()
    }
}

/// A start of an earlier trial with fewer flags.
fn is_part(trial: &Trial) -> bool {
    matches!(trial.proposal.origin, Origin::Trim { .. })
}

/// What is left out at once: first the flags that say what the engine does by itself, then each
/// of the others; those that may change the answers before those that only change the speed.
fn groups(whole: &Proposal, defaults: Option<&Point>) -> Vec<Vec<String>> {
    let is_default = |name: &String, value: &Value| match &whole.implied {
        Some(implied) => implied.contains(name),
        None => {
            let default = defaults.and_then(|defaults| defaults.get(name));
            default.is_some_and(|default| default.same(value))
        }
    };
    let (same, mut changed): (Vec<_>, Vec<_>) =
        (whole.flags.0.iter()).partition(|(name, value)| is_default(name, value));
    changed.sort_by_key(|(name, value)| !changes_answers(name, value));
    let same: Vec<String> = same.into_iter().map(|(name, _)| name.clone()).collect();
    let each = changed.into_iter().map(|(name, _)| vec![name.clone()]);
    let groups = std::iter::once(same).chain(each);
    groups.filter(|group| !group.is_empty()).collect()
}

/// Whether a flag may change what the model answers, and not only how fast.
pub fn changes_answers(name: &str, value: &Value) -> bool {
    let engines = [
        EngineKind::Vllm,
        EngineKind::Sglang,
        EngineKind::LlamaServer,
        EngineKind::Mindie,
    ];
    let value = value.to_string();
    engines.into_iter().any(|engine| {
        let known = flag::table(engine).iter().find(|flag| flag.name == name);
        known.is_some_and(|flag| flag.changes_answers_at(&value))
    })
}

fn is_as_good(ending: &Ending, reference: &Ending, goal: &Goal, tolerance: f64) -> bool {
    let close = |objective: &Objective| {
        loss(objective, reference, ending).is_some_and(|loss| loss <= tolerance)
    };
    goal.violation(ending) <= 0.0 && goal.objectives.iter().all(close)
}

/// How much worse an objective is than before, as a logarithm.
fn loss(objective: &Objective, before: &Ending, after: &Ending) -> Option<f64> {
    let lower = log_figure(objective, before)? - log_figure(objective, after)?;
    Some(match objective.direction {
        Direction::Maximize => lower,
        Direction::Minimize => -lower,
    })
}

/// Relative change of the first objective.
fn change(ending: &Ending, reference: &Ending, goal: &Goal) -> Option<f64> {
    let first = goal.objectives.first()?;
    Some((log_figure(first, ending)? - log_figure(first, reference)?).exp_m1())
}
