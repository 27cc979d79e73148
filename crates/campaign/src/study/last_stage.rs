//! The settings of the last stage, and the fresh starts of it that are done.

use super::goal::Goal;
use super::observations::observations;
use super::series::{Series, squared_spread};
use super::started::{FreshStart, Started};
use crate::search::ranking;
use crate::trial::{Ending, Origin, Trial};
use serde::Deserialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LastStage {
    /// How many of the best, besides the default.
    pub best: usize,
    /// Pairs of the challenger and the default; at least 2, since one shows no spread.
    pub repeats: usize,
    /// Whether the challenger is started without each of its flags before.
    pub trim: bool,
}

impl Default for LastStage {
    fn default() -> Self {
        LastStage {
            best: 3,
            repeats: 5,
            trim: true,
        }
    }
}

pub(super) const DEFAULT: u64 = 0;
/// Less is certain at best where time is virtual, and worth no flag anywhere.
pub(super) const LEAST_GAIN: f64 = 0.005;

impl LastStage {
    /// Rounds of the best few among themselves: enough to drop what was luck in the search.
    pub const SELECTION_ROUNDS: usize = 2;

    /// The default, if it could be measured, and the best few configurations that meet the SLOs.
    /// Those whose figures agree to the last digit are one: the simulated engine did the same in
    /// all of them.
    pub(super) fn candidates(&self, trials: &Started<'_>, goal: &Goal) -> Vec<u64> {
        let searched: Vec<&Trial> = trials.iter().filter(|it| it.is_searched()).collect();
        let observed = observations(trials, goal);
        let ranked = ranking(&observed);
        let id = |at: &usize| searched[*at].proposal.id;
        let default = ranked.iter().map(id).find(|&id| id == DEFAULT);
        let met = ranked.iter().filter(|&&at| observed[at].meets_slos());
        let mut best: Vec<&Trial> = Vec::new();
        for trial in met.map(|&at| searched[at]) {
            if best.len() == self.best {
                break;
            }
            let id = trial.proposal.id;
            let is_new = trials.first(id) == id && id != DEFAULT;
            let is_alike = |other: &&Trial| goal.is_alike(&other.ending, &trial.ending);
            // Earlier versions started them.
            let is_known = trials.repeated(id).next().is_none() && best.iter().any(is_alike);
            if is_new && !is_known {
                best.push(trial);
            }
        }
        let best = best.iter().map(|trial| trial.proposal.id);
        default.into_iter().chain(best).collect()
    }

    /// A round in which another was started afresh and the default was not: until there is none,
    /// the default was not measured as often as what it is held against.
    pub(super) fn round_without_default(&self, trials: &Started<'_>) -> Option<usize> {
        let round = |trial: &Trial| match trial.proposal.origin {
            Origin::Confirm { of, round } if trials.first(of) != DEFAULT => {
                // Logs of earlier versions do not name rounds.
                Some(round.unwrap_or(0))
            }
            _ => None,
        };
        let is_missing = |round: &usize| {
            let of = DEFAULT;
            trials.ending(FreshStart { of, round: *round }).is_none()
        };
        trials.iter().filter_map(round).filter(is_missing).min()
    }

    /// How much the first objective differs between fresh starts of one configuration: the
    /// standard deviation of its logarithm. Absent before the last stage.
    pub fn noise(&self, trials: &[Trial], goal: &Goal) -> Option<f64> {
        let trials = Started::of(trials);
        let candidates = self.candidates(&trials, goal).into_iter();
        spread(candidates.map(|id| Series::of(trials.repeated(id), goal).logs))
    }

    /// The same of any figure between starts with the same prompts, from the rounds of the best few
    /// alone, which later starts do not change. What the prompts of a round do to all of them is
    /// no noise; with one alone it cannot be told apart from noise.
    pub(super) fn selection_noise(
        &self,
        trials: &Started<'_>,
        goal: &Goal,
        log: impl Fn(&Ending) -> Option<f64>,
    ) -> f64 {
        let rounds = || 0..Self::SELECTION_ROUNDS;
        let series = self.candidates(trials, goal).into_iter().map(|of| {
            let ended = rounds().filter_map(|round| trials.ending(FreshStart { of, round }));
            ended.filter_map(&log).collect()
        });
        let is_whole = |logs: &Vec<f64>| logs.len() == Self::SELECTION_ROUNDS;
        let mut series: Vec<Vec<f64>> = series.filter(is_whole).collect();
        let count = series.len() as f64;
        if series.len() < 2 {
            return spread(series.into_iter()).unwrap_or(0.0);
        }
        for round in rounds() {
            let of_all = series.iter().map(|logs| logs[round]).sum::<f64>() / count;
            series.iter_mut().for_each(|logs| logs[round] -= of_all);
        }
        // The means of the rounds took a share of the degrees of freedom.
        spread(series.into_iter()).unwrap_or(0.0) * (count / (count - 1.0)).sqrt()
    }
}

/// The standard deviation within several series.
fn spread(series: impl Iterator<Item = Vec<f64>>) -> Option<f64> {
    let (mut squares, mut degrees) = (0.0, 0.0);
    for logs in series.filter(|logs| logs.len() > 1) {
        squares += squared_spread(&logs);
        degrees += logs.len() as f64 - 1.0;
    }
    (degrees > 0.0).then(|| (squares / degrees).sqrt())
}
