//! What the last stage found: the fresh starts of the best few against those of the default.

use super::confirmation::{DEFAULT, LastStage, repeats};
use super::goal::{Direction, Goal, Objective};
use crate::trial::{Ending, State, Trial};
use inferometer_analysis::statistics::Difference;
use serde::{Deserialize, Serialize};

/// Chance to certify a gain that is not there.
const RISK: f64 = 0.05;
/// Less is certain at best where time is virtual, and worth no flag anywhere.
const LEAST_GAIN: f64 = 0.005;

#[derive(Clone, Debug, PartialEq)]
pub struct StudyVerdict {
    pub finding: Finding,
    /// The best by its repeats.
    pub winner: Option<u64>,
    /// The winner against the default; where that is the default, the best other.
    pub comparison: Option<Comparison>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Finding {
    /// Certainly better than the default in some objective, and certainly worse in none.
    Better,
    /// Certainly better than the default in one objective and worse in another.
    TradeOff,
    /// The default misses the SLOs, and the best meets them.
    DefaultMisses,
    NoCertainGain,
    /// The default came first, and another may be as good.
    DefaultFirst,
    /// No other that meets the SLOs is better.
    DefaultBest,
    /// Nothing but the default could be measured and met the SLOs.
    DefaultAlone,
    /// The default has no valid measurement to compare with.
    NoDefault,
    /// None of the best held in every fresh start.
    NoneHeld,
    /// The last stage is not done.
    Unconfirmed,
    /// No trial was measured and met the SLOs.
    Nothing,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    pub trial: u64,
    /// One for each objective that can be compared, the first objective first.
    pub changes: Vec<Change>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// Its place in the summary.
    pub metric: String,
    /// Relative change of the figure itself: -0.73 where it fell by 73 %.
    pub value: f64,
    /// Low end of its 95 % interval, corrected for the number of candidates and objectives.
    pub low: f64,
    pub high: f64,
    pub effect: ChangeEffect,
}

/// What a change means, as far as it is certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ChangeEffect {
    /// The interval lies beyond the least gain worth a flag.
    Better,
    /// The same, the other way.
    Worse,
    Uncertain,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gain {
    /// Relative change in the wanted direction: 0.11 for 11 % better.
    pub value: f64,
    /// Low end of its 95 % interval.
    pub low: f64,
    pub high: f64,
    /// The interval lies above the least gain worth a flag, and the winner gave valid runs that
    /// met the SLOs in every repeat.
    pub certified: bool,
}

impl Change {
    pub fn gain(&self, direction: Direction) -> Gain {
        let (value, low, high) = match direction {
            Direction::Maximize => (self.value, self.low, self.high),
            Direction::Minimize => (-self.value, -self.high, -self.low),
        };
        Gain {
            value,
            low,
            high,
            certified: self.effect == ChangeEffect::Better,
        }
    }
}

impl LastStage {
    /// What the repeats show, and they alone.
    pub fn verdict(&self, trials: &[Trial], goal: &Goal) -> StudyVerdict {
        let undecided = |finding| StudyVerdict {
            finding,
            winner: None,
            comparison: None,
        };
        let candidates = self.candidates(trials, goal);
        if candidates.iter().all(|&id| id == DEFAULT) {
            let default = trials.iter().find(|trial| trial.proposal.id == DEFAULT);
            let meets = |trial: &Trial| goal.violation(&trial.ending) <= 0.0;
            return undecided(match default.filter(|_| !candidates.is_empty()) {
                Some(default) if meets(default) => Finding::DefaultAlone,
                _ => Finding::Nothing,
            });
        }
        if !self.left(trials, goal).is_empty() {
            return undecided(Finding::Unconfirmed);
        }
        let mut all: Vec<Series> = (candidates.iter())
            .map(|&id| Series::of(id, repeats(trials, id), goal))
            .collect();
        all.sort_by(|a, b| {
            (b.holds().cmp(&a.holds()))
                .then(b.mean().total_cmp(&a.mean()))
                .then(a.trial.cmp(&b.trial))
        });
        let Some(best) = all.first().filter(|best| best.holds()) else {
            return undecided(Finding::NoneHeld);
        };
        let default = all.iter().find(|series| series.trial == DEFAULT);
        let rivals = candidates.iter().filter(|&&id| id != DEFAULT).count();
        let compare = |one: &Series| {
            let changes = one.against(default?, goal, rivals);
            (!changes.is_empty()).then_some(Comparison {
                trial: one.trial,
                changes,
            })
        };
        let (finding, comparison) = if best.trial == DEFAULT {
            let other = all.get(1).filter(|other| other.holds());
            let comparison = other.and_then(compare);
            (
                against_winning_default(comparison.as_ref(), goal),
                comparison,
            )
        } else {
            match default.filter(|default| default.is_steady) {
                None => (Finding::NoDefault, None),
                Some(default) => {
                    let comparison = compare(best);
                    let finding = if default.meets {
                        judged(comparison.as_ref())
                    } else {
                        Finding::DefaultMisses
                    };
                    (finding, comparison)
                }
            }
        };
        StudyVerdict {
            finding,
            winner: Some(best.trial),
            comparison,
        }
    }

    /// How much the first objective differs between fresh starts of one configuration: the
    /// standard deviation of its logarithm. Absent before the last stage.
    pub fn noise(&self, trials: &[Trial], goal: &Goal) -> Option<f64> {
        let (mut squares, mut degrees) = (0.0, 0.0);
        for id in self.candidates(trials, goal) {
            let series = Series::of(id, repeats(trials, id), goal);
            let Some(logs) = series.logs.first().filter(|logs| logs.len() > 1) else {
                continue;
            };
            squares += squared_spread(logs);
            degrees += logs.len() as f64 - 1.0;
        }
        (degrees > 0.0).then(|| (squares / degrees).sqrt())
    }
}

fn judged(comparison: Option<&Comparison>) -> Finding {
    let has = |effect| {
        let changes = comparison.iter().flat_map(|it| &it.changes);
        changes.into_iter().any(|change| change.effect == effect)
    };
    match (has(ChangeEffect::Better), has(ChangeEffect::Worse)) {
        (true, true) => Finding::TradeOff,
        (true, false) => Finding::Better,
        (false, _) => Finding::NoCertainGain,
    }
}

/// Only what is certainly not better leaves the place to the default.
fn against_winning_default(other: Option<&Comparison>, goal: &Goal) -> Finding {
    let first = other.and_then(|other| other.changes.first());
    match (first, goal.objectives.first()) {
        (Some(_), _) if judged(other) == Finding::TradeOff => Finding::TradeOff,
        (Some(change), Some(objective)) if change.gain(objective.direction).high >= 0.0 => {
            Finding::DefaultFirst
        }
        _ => Finding::DefaultBest,
    }
}

struct Series {
    trial: u64,
    /// Logarithms of the figures of each objective.
    logs: Vec<Vec<f64>>,
    /// Which way the first objective is better.
    towards: Direction,
    /// Every repeat was measured, and validly.
    is_steady: bool,
    meets: bool,
}

impl Series {
    fn of<'a>(trial: u64, endings: impl Iterator<Item = &'a Ending>, goal: &Goal) -> Self {
        let endings: Vec<&Ending> = endings.collect();
        let log = |objective: &Objective, ending: &Ending| {
            let figure = objective.of(ending).filter(|&figure| figure > 0.0);
            let is_good = ending.state == State::Done && ending.is_valid();
            figure.filter(|_| is_good).map(f64::ln)
        };
        let logs: Vec<Vec<f64>> = (goal.objectives.iter())
            .map(|objective| endings.iter().filter_map(|it| log(objective, it)).collect())
            .collect();
        let measured = logs.first().map_or(0, Vec::len);
        let first = goal.objectives.first();
        Series {
            trial,
            is_steady: measured > 0 && measured == endings.len(),
            meets: endings.iter().all(|ending| goal.violation(ending) <= 0.0),
            towards: first.map_or(Direction::Maximize, |objective| objective.direction),
            logs,
        }
    }

    fn holds(&self) -> bool {
        self.is_steady && self.meets
    }

    /// The mean of the first objective, larger is better.
    fn mean(&self) -> f64 {
        match (self.logs.first(), self.towards) {
            (Some(logs), _) if logs.is_empty() => f64::NEG_INFINITY,
            (Some(logs), Direction::Maximize) => mean(logs),
            (Some(logs), Direction::Minimize) => -mean(logs),
            (None, _) => f64::NEG_INFINITY,
        }
    }

    /// The change of every objective from `default`. The winner was chosen among `rivals` by
    /// these very figures, so that the intervals are wide enough for all of them at once.
    fn against(&self, default: &Series, goal: &Goal, rivals: usize) -> Vec<Change> {
        let asked = rivals.max(1) * goal.objectives.len().max(1);
        let level = 1.0 - RISK / asked as f64;
        let pairs = self.logs.iter().zip(&default.logs);
        (goal.objectives.iter().zip(pairs))
            .filter_map(|(objective, (own, default))| change(objective, own, default, level))
            .collect()
    }
}

/// One variance for both sides: few repeats leave no choice.
fn change(objective: &Objective, own: &[f64], default: &[f64], level: f64) -> Option<Change> {
    let (n, m) = (own.len() as f64, default.len() as f64);
    if n < 2.0 || m < 2.0 {
        return None;
    }
    let degrees = n + m - 2.0;
    let spread = squared_spread(own) + squared_spread(default);
    let variance = spread / degrees * (1.0 / n + 1.0 / m);
    let difference = Difference {
        value: mean(own) - mean(default),
        // Repeats that agree to the last digit still have some error.
        error: variance.sqrt().max(1e-9),
        degrees,
    };
    let [low, high] = difference.interval(level).map(f64::exp_m1);
    let wanted = match objective.direction {
        Direction::Maximize => [low, high],
        Direction::Minimize => [-high, -low],
    };
    Some(Change {
        metric: objective.path.clone(),
        value: difference.value.exp_m1(),
        low,
        high,
        effect: match wanted {
            [low, _] if low > LEAST_GAIN => ChangeEffect::Better,
            [_, high] if high < -LEAST_GAIN => ChangeEffect::Worse,
            _ => ChangeEffect::Uncertain,
        },
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn squared_spread(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}
