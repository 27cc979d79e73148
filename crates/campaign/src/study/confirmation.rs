//! The last stage: the best few and the default are started afresh, in turns, and only these
//! runs decide. The best of many noisy trials looks better than it is; its repeats do not.

use super::Goal;
use crate::search::{Outcome, ranking};
use crate::trial::{Ending, Origin, State, Trial};
use inferometer_core::statistics::Difference;
use serde::{Deserialize, Serialize};

/// How many are repeated, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastStage {
    /// The best so many, besides the default.
    pub best: usize,
    /// Fresh starts of each; at least 2, since one shows no spread.
    pub repeats: usize,
}

impl Default for LastStage {
    fn default() -> Self {
        LastStage {
            best: 3,
            repeats: 4,
        }
    }
}

/// One fresh start of the last stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confirmation {
    /// The trial that is repeated.
    pub of: u64,
    /// Which repeat it is, from 0.
    pub round: usize,
}

/// The winner against the default.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// Relative change of the first objective in the wanted direction: 0.11 for 11 % better.
    pub value: f64,
    /// Low end of its 95 % interval, corrected for the number of candidates.
    pub low: f64,
    /// High end.
    pub high: f64,
    /// The interval lies above the least gain worth a flag, and the winner met the SLOs in every
    /// repeat.
    pub certified: bool,
}

/// The trial of the default.
const DEFAULT: u64 = 0;
/// Chance to certify a gain that is not there.
const RISK: f64 = 0.05;
/// Less is certain at best where time is virtual, and worth no flag anywhere.
const LEAST_GAIN: f64 = 0.005;

impl LastStage {
    /// All fresh starts, in their order: in every round each candidate once, beginning with
    /// another one each time, so that a drift of the machine hits all alike.
    pub fn plan(&self, trials: &[Trial], goal: &Goal) -> Vec<Confirmation> {
        let candidates = self.candidates(trials, goal);
        (0..self.repeats)
            .flat_map(|round| {
                let mut turn = candidates.clone();
                if !turn.is_empty() {
                    turn.rotate_left(round % candidates.len());
                }
                turn.into_iter().map(move |of| Confirmation { of, round })
            })
            .collect()
    }

    /// What of the plan was not done yet, so that a killed study goes on with it.
    pub fn left(&self, trials: &[Trial], goal: &Goal) -> Vec<Confirmation> {
        let done = |of: u64| repeats(trials, of).count();
        let plan = self.plan(trials, goal).into_iter();
        plan.filter(|one| one.round >= done(one.of)).collect()
    }

    /// The default, if it could be measured, and the best few that meet the SLOs.
    fn candidates(&self, trials: &[Trial], goal: &Goal) -> Vec<u64> {
        let searched: Vec<&Trial> = (trials.iter())
            .filter(|trial| !matches!(trial.proposal.origin, Origin::Confirm { .. }))
            .collect();
        let owned: Vec<Trial> = searched.iter().map(|&trial| trial.clone()).collect();
        let observed = super::observations(&owned, goal);
        let ranked = ranking(&observed);
        let id = |at: &usize| searched[*at].proposal.id;
        let default = ranked.iter().map(id).find(|&id| id == DEFAULT);
        let met = |at: &usize| matches!(observed[*at].outcome, Outcome::Measured { violation, .. } if violation <= 0.0);
        let best = ranked
            .iter()
            .filter(|at| met(at))
            .map(id)
            .filter(|&id| id != DEFAULT);
        default.into_iter().chain(best.take(self.best)).collect()
    }

    /// The best trial by its repeats, and its gain over the default. Absent gain: there is
    /// nothing to compare, or the default itself is the best.
    pub fn verdict(&self, trials: &[Trial], goal: &Goal) -> Verdict {
        let candidates = self.candidates(trials, goal);
        let rivals = candidates.iter().filter(|&&id| id != DEFAULT).count();
        let series = |of: u64| -> Option<Series> { Series::of(repeats(trials, of), goal) };
        let mut all: Vec<(u64, Series)> = (candidates.iter())
            .filter_map(|&id| Some((id, series(id)?)))
            .collect();
        // Whoever missed an SLO in a repeat is behind whoever did not.
        all.sort_by(|(a, x), (b, y)| {
            y.met
                .cmp(&x.met)
                .then(y.mean().total_cmp(&x.mean()))
                .then(a.cmp(b))
        });
        let Some((winner, best)) = all.first() else {
            return Verdict {
                winner: None,
                gain: None,
                runner_up: None,
            };
        };
        let default = all
            .iter()
            .find(|(id, _)| *id == DEFAULT)
            .map(|(_, series)| series);
        let gain = default
            .filter(|_| *winner != DEFAULT)
            .and_then(|default| best.gain_over(default, rivals));
        let second = all.iter().find(|(id, _)| *id != DEFAULT);
        let runner_up = default
            .filter(|_| *winner == DEFAULT)
            .and_then(|default| second?.1.gain_over(default, rivals));
        Verdict {
            winner: Some(*winner),
            gain,
            runner_up,
        }
    }
}

/// What the last stage found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// The best by its repeats.
    pub winner: Option<u64>,
    /// How much better than the default.
    pub gain: Option<Gain>,
    /// Where the default is the best: the best other against it.
    pub runner_up: Option<Gain>,
}

fn repeats(trials: &[Trial], of: u64) -> impl Iterator<Item = &Ending> {
    (trials.iter())
        .filter(move |trial| trial.proposal.origin == Origin::Confirm { of })
        .map(|trial| &trial.ending)
}

/// The repeats of one configuration: logarithms of the first objective, larger is better.
struct Series {
    logs: Vec<f64>,
    met: bool,
}

impl Series {
    /// Absent if there is no repeat, or none that was measured.
    fn of<'a>(endings: impl Iterator<Item = &'a Ending>, goal: &Goal) -> Option<Self> {
        let first = goal.objectives.first()?;
        let (mut logs, mut met) = (Vec::new(), true);
        for ending in endings {
            let figure = first
                .of(ending)
                .filter(|&figure| figure > 0.0 && ending.state == State::Done);
            met &= figure.is_some() && goal.violation(ending) <= 0.0;
            logs.extend(figure.map(|figure| match first.direction {
                super::Direction::Maximize => figure.ln(),
                super::Direction::Minimize => -figure.ln(),
            }));
        }
        (!logs.is_empty()).then_some(Series { logs, met })
    }

    fn mean(&self) -> f64 {
        self.logs.iter().sum::<f64>() / self.logs.len() as f64
    }

    fn squares(&self) -> f64 {
        let mean = self.mean();
        self.logs.iter().map(|log| (log - mean).powi(2)).sum()
    }

    /// One variance for both sides: few repeats leave no choice. The winner was chosen among
    /// `rivals` by these very figures, so the interval is wide enough for all of them at once.
    fn gain_over(&self, default: &Series, rivals: usize) -> Option<Gain> {
        let (n, m) = (self.logs.len() as f64, default.logs.len() as f64);
        let degrees = n + m - 2.0;
        if n < 2.0 || m < 2.0 {
            return None;
        }
        let variance = (self.squares() + default.squares()) / degrees * (1.0 / n + 1.0 / m);
        let difference = Difference {
            value: self.mean() - default.mean(),
            // Repeats that agree to the last digit still have some error.
            error: variance.sqrt().max(1e-9),
            degrees,
        };
        let [low, high] = difference.interval(1.0 - RISK / rivals.max(1) as f64);
        Some(Gain {
            value: difference.value.exp_m1(),
            low: low.exp_m1(),
            high: high.exp_m1(),
            certified: low.exp_m1() > LEAST_GAIN && self.met,
        })
    }
}
