//! The last stage: fresh starts, and only these decide. The best of many noisy trials looks
//! better than it is; its repeats do not.
//!
//! First the best few run against each other, each round with prompts of its own, and the first
//! of them becomes the challenger. What it does not need of its flags is left out (`trimming`). It
//! then meets the default in rounds of two starts, one right
//! after the other with the same prompts, each going first in every other round. The challenger
//! is chosen before these pairs are run, so that their differences are not flattered by the
//! choice, and what a round's prompts or a drift of the machine do to both cancels out.

use super::goal::Goal;
use super::last_stage::{DEFAULT, LastStage};
use super::series::Series;
use super::started::{FreshStart, Started};
use super::trimming::Trimmed;
use crate::space::Point;
use crate::trial::Trial;

/// What the last stage starts next.
#[derive(Clone, Debug, PartialEq)]
pub enum NextStart {
    Repeat(FreshStart),
    /// An earlier trial with these of its flags only.
    Trim {
        of: u64,
        flags: Point,
    },
}

/// Who meets the default, and in which rounds.
pub(super) struct Challenge {
    /// The trial before its trimming.
    pub(super) whole: u64,
    pub(super) trimmed: Trimmed,
    pub(super) rounds: std::ops::Range<usize>,
}

impl LastStage {
    /// The starts that a study of so many flags usually needs: the first of the best holds, and
    /// each of its flags is left out once.
    pub fn starts(&self, flags: usize) -> usize {
        self.starts_of(flags, 1)
    }

    /// The most starts of all: each of the best fails in its turn and the next takes its place,
    /// flags are tried again whenever another could go, and in the end the default is started in
    /// the rounds that it was not in.
    pub fn most_starts(&self, flags: usize) -> usize {
        let attempts = flags * (flags + 1) / 2 + usize::from(flags > 1);
        let is_selected = self.best > 1 || (self.trim && flags > 1);
        let without_default = usize::from(is_selected) * Self::SELECTION_ROUNDS;
        self.starts_of(attempts, self.best) + without_default
    }

    fn starts_of(&self, attempts: usize, challengers: usize) -> usize {
        let trimming = if self.trim && attempts > 1 {
            attempts
        } else {
            0
        };
        let selection = if self.best > 1 || trimming > 0 {
            self.best * Self::SELECTION_ROUNDS
        } else {
            0
        };
        selection + challengers * (trimming + 2 * self.repeats)
    }

    /// The next start, from the log alone, so that a killed study goes on with it.
    pub fn next(&self, trials: &[Trial], goal: &Goal) -> Option<NextStart> {
        self.next_of(&Started::of(trials), goal)
    }

    pub(super) fn next_of(&self, trials: &Started<'_>, goal: &Goal) -> Option<NextStart> {
        let candidates = self.candidates(trials, goal);
        let default = candidates.iter().copied().find(|&id| id == DEFAULT);
        let best: Vec<u64> = (candidates.into_iter())
            .filter(|&id| id != DEFAULT)
            .collect();
        let is_left = |start: &FreshStart| trials.ending(*start).is_none();
        let selection = (0..Self::SELECTION_ROUNDS).flat_map(|round| {
            let mut order = best.clone();
            order.rotate_left(round % best.len().max(1));
            order.into_iter().map(move |of| FreshStart { of, round })
        });
        let is_selected = best.len() > 1 || best.iter().any(|&of| self.trims(trials, of));
        if is_selected && let Some(start) = selection.into_iter().find(is_left) {
            return Some(NextStart::Repeat(start));
        }
        let Some(challenge) = self.challenge(trials, goal) else {
            // Nobody is left to meet it: whether it held itself where they did not.
            let of = default.filter(|&of| Series::of(trials.endings(of), goal).holds())?;
            let round = self.round_without_default(trials)?;
            return Some(NextStart::Repeat(FreshStart { of, round }));
        };
        if let Some(flags) = challenge.trimmed.next {
            return Some(NextStart::Trim {
                of: challenge.whole,
                flags,
            });
        }
        let pairs = challenge.rounds.flat_map(|round| {
            let mut pair = [Some(challenge.trimmed.of), default];
            pair.rotate_left(round % 2);
            let pair = pair.into_iter().flatten();
            pair.map(move |of| FreshStart { of, round })
        });
        pairs.into_iter().find(is_left).map(NextStart::Repeat)
    }

    /// The best of the selection that held in all its starts so far. Each rank has rounds
    /// of its own: one that takes over meets the default anew. A configuration that failed once
    /// does not come back under another number.
    pub(super) fn challenge(&self, trials: &Started<'_>, goal: &Goal) -> Option<Challenge> {
        let holds = |id: u64| Series::of(trials.endings(id), goal).holds();
        let mut all = self.challenges(trials, goal);
        all.find(|it| holds(it.whole) && holds(it.trimmed.of))
    }

    /// The best of the selection, the first of them first.
    pub(super) fn challenges(
        &self,
        trials: &Started<'_>,
        goal: &Goal,
    ) -> impl Iterator<Item = Challenge> {
        let best = self.candidates(trials, goal).into_iter();
        let mut ranked: Vec<(u64, f64)> = (best.filter(|&id| id != DEFAULT))
            .map(|id| {
                let rounds = (0..Self::SELECTION_ROUNDS)
                    .filter_map(|round| trials.ending(FreshStart { of: id, round }));
                (id, Series::of(rounds, goal).mean())
            })
            .collect();
        ranked.sort_by(|(a, mean), (b, other)| other.total_cmp(mean).then(a.cmp(b)));
        let ranked = ranked.into_iter().enumerate();
        ranked.map(move |(rank, (whole, _))| {
            let first = Self::SELECTION_ROUNDS + rank * self.repeats;
            Challenge {
                whole,
                trimmed: self.trimmed(trials, goal, whole),
                rounds: first..first + self.repeats,
            }
        })
    }
}
