//! The last stage: fresh starts, and only these decide. The best of many noisy trials looks
//! better than it is; its repeats do not.
//!
//! First the best few run against each other, each round with prompts of its own, and the first
//! of them becomes the challenger. It then meets the default in rounds of two starts, one right
//! after the other with the same prompts, each going first in every other round. The challenger
//! is chosen before these pairs are run, so that their differences are not flattered by the
//! choice, and what a round's prompts or a drift of the machine do to both cancels out.

use super::goal::Goal;
use super::observations::observations;
use super::series::Series;
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
}

impl Default for LastStage {
    fn default() -> Self {
        LastStage {
            best: 3,
            repeats: 5,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreshStart {
    pub of: u64,
    /// Starts of one round see the same prompts.
    pub round: usize,
}

pub(super) const DEFAULT: u64 = 0;
/// Rounds of the best few among themselves: enough to drop what was luck in the search.
const SELECTION_ROUNDS: usize = 2;

/// Who meets the default, and in which rounds.
pub(super) struct Challenge {
    pub(super) of: u64,
    pub(super) rounds: std::ops::Range<usize>,
}

impl LastStage {
    /// The most fresh starts that a study needs where every one of them holds.
    pub fn starts(&self) -> usize {
        let selection = if self.best > 1 {
            self.best * SELECTION_ROUNDS
        } else {
            0
        };
        selection + 2 * self.repeats
    }

    /// The next fresh start, from the log alone, so that a killed study goes on with it.
    pub fn next(&self, trials: &[Trial], goal: &Goal) -> Option<FreshStart> {
        let candidates = self.candidates(trials, goal);
        let default = candidates.iter().copied().find(|&id| id == DEFAULT);
        let best: Vec<u64> = (candidates.into_iter())
            .filter(|&id| id != DEFAULT)
            .collect();
        let is_left = |start: &FreshStart| ending(trials, *start).is_none();
        let selection = (0..SELECTION_ROUNDS).flat_map(|round| {
            let mut order = best.clone();
            order.rotate_left(round % best.len().max(1));
            order.into_iter().map(move |of| FreshStart { of, round })
        });
        if best.len() > 1
            && let Some(start) = selection.into_iter().find(is_left)
        {
            return Some(start);
        }
        let challenge = self.challenge(trials, goal)?;
        let pairs = challenge.rounds.flat_map(|round| {
            let mut pair = [Some(challenge.of), default];
            pair.rotate_left(round % 2);
            let pair = pair.into_iter().flatten();
            pair.map(move |of| FreshStart { of, round })
        });
        pairs.into_iter().find(is_left)
    }

    /// The best of the selection that held in all its fresh starts so far. Each rank has rounds
    /// of its own: one that takes over meets the default anew.
    pub(super) fn challenge(&self, trials: &[Trial], goal: &Goal) -> Option<Challenge> {
        let best = self.candidates(trials, goal).into_iter();
        let mut ranked: Vec<(u64, f64)> = (best.filter(|&id| id != DEFAULT))
            .map(|id| {
                let rounds = (0..SELECTION_ROUNDS)
                    .filter_map(|round| ending(trials, FreshStart { of: id, round }));
                (id, Series::of(rounds, goal).mean())
            })
            .collect();
        ranked.sort_by(|(a, mean), (b, other)| other.total_cmp(mean).then(a.cmp(b)));
        let holds = |id: u64| Series::of(repeats(trials, id), goal).holds();
        let rank = ranked.iter().position(|&(id, _)| holds(id))?;
        let first = SELECTION_ROUNDS + rank * self.repeats;
        Some(Challenge {
            of: ranked[rank].0,
            rounds: first..first + self.repeats,
        })
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
        .filter(move |trial| trial.proposal.origin.confirms() == Some(of))
        .map(|trial| &trial.ending)
}

/// What came of a fresh start. Logs of earlier versions do not name rounds: there the n-th
/// repeat of a trial is of round n.
pub(super) fn ending(trials: &[Trial], start: FreshStart) -> Option<&Ending> {
    let mut own = (trials.iter())
        .filter(|trial| trial.proposal.origin.confirms() == Some(start.of))
        .enumerate();
    let found = own.find(|(at, trial)| match trial.proposal.origin {
        Origin::Confirm { round, .. } => round.unwrap_or(*at) == start.round,
        _ => false,
    });
    found.map(|(_, trial)| &trial.ending)
}
