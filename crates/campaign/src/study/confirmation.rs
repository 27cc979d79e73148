//! The last stage: the best few and the default are started afresh, in turns, and only these
//! runs decide. The best of many noisy trials looks better than it is; its repeats do not.

use super::goal::Goal;
use super::observations::observations;
use crate::search::ranking;
use crate::trial::{Ending, Origin, Trial};
use serde::Deserialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LastStage {
    /// How many of the best, besides the default.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreshStart {
    pub of: u64,
    /// Which repeat it is, from 0.
    pub round: usize,
}

pub(super) const DEFAULT: u64 = 0;
impl LastStage {
    /// All fresh starts, in their order: in every round each candidate once, beginning with
    /// another one each time, so that a drift of the machine hits all alike.
    pub fn plan(&self, trials: &[Trial], goal: &Goal) -> Vec<FreshStart> {
        let candidates = self.candidates(trials, goal);
        (0..self.repeats)
            .flat_map(|round| {
                let mut order = candidates.clone();
                order.rotate_left(round % candidates.len().max(1));
                order.into_iter().map(move |of| FreshStart { of, round })
            })
            .collect()
    }

    /// What of the plan was not done yet, so that a killed study goes on with it.
    pub fn left(&self, trials: &[Trial], goal: &Goal) -> Vec<FreshStart> {
        let done = |of: u64| repeats(trials, of).count();
        let plan = self.plan(trials, goal).into_iter();
        plan.filter(|one| one.round >= done(one.of)).collect()
    }

    /// The default, if it could be measured, and the best few that meet the SLOs.
    pub(super) fn candidates(&self, trials: &[Trial], goal: &Goal) -> Vec<u64> {
        let searched: Vec<&Trial> = trials.iter().filter(|it| it.is_searched()).collect();
        let observed = observations(trials, goal);
        let ranked = ranking(&observed);
        let id = |at: &usize| searched[*at].proposal.id;
        let default = ranked.iter().map(id).find(|&id| id == DEFAULT);
        let met = ranked.iter().filter(|&&at| observed[at].meets_slos());
        let best = met.map(id).filter(|&id| id != DEFAULT);
        default.into_iter().chain(best.take(self.best)).collect()
    }
}

pub(super) fn repeats(trials: &[Trial], of: u64) -> impl Iterator<Item = &Ending> {
    (trials.iter())
        .filter(move |trial| trial.proposal.origin == Origin::Confirm { of })
        .map(|trial| &trial.ending)
}
