//! The trials of a study by what they ran with. Trials whose flags resolve to the same values are
//! one candidate, whatever their numbers: what one of them showed, all of them did.

use crate::space::Point;
use crate::trial::{Ending, Origin, Proposal, State, Trial};
use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;

/// A start of a trial's configuration in the last stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreshStart {
    pub of: u64,
    /// Starts of one round see the same prompts.
    pub round: usize,
}

pub(super) struct Started<'a> {
    trials: &'a [Trial],
    /// The first trial of its configuration, by the trial's own number; of fresh starts by that
    /// of the trial that they repeat.
    first: BTreeMap<u64, u64>,
}

impl Deref for Started<'_> {
    type Target = [Trial];

    fn deref(&self) -> &[Trial] {
        self.trials
    }
}

impl<'a> Started<'a> {
    pub(super) fn of(trials: &'a [Trial]) -> Self {
        let mut chosen: Vec<&Proposal> = (trials.iter())
            .map(|trial| &trial.proposal)
            .filter(|proposal| proposal.origin.confirms().is_none())
            .collect();
        chosen.sort_by_key(|proposal| proposal.id);
        let mut known: HashMap<String, u64> = HashMap::new();
        let mut first = BTreeMap::new();
        for proposal in chosen {
            let values = resolved(proposal).to_string();
            first.insert(proposal.id, *known.entry(values).or_insert(proposal.id));
        }
        Started { trials, first }
    }

    pub(super) fn by_id(&self, id: u64) -> Option<&'a Trial> {
        self.trials.iter().find(|trial| trial.proposal.id == id)
    }

    /// The first trial of the same configuration.
    pub(super) fn first(&self, id: u64) -> u64 {
        self.first.get(&id).copied().unwrap_or(id)
    }

    fn repeats(&self, of: u64) -> impl Iterator<Item = &'a Trial> {
        let of = self.first(of);
        let is_of = move |trial: &&Trial| {
            let confirms = trial.proposal.origin.confirms();
            confirms.is_some_and(|other| self.first(other) == of)
        };
        self.trials.iter().filter(is_of)
    }

    /// What came of the fresh starts of a configuration.
    pub(super) fn repeated(&self, of: u64) -> impl Iterator<Item = &'a Ending> {
        self.repeats(of).map(|trial| &trial.ending)
    }

    /// What came of every start of a configuration that ran to its end.
    pub(super) fn endings(&self, of: u64) -> impl Iterator<Item = &'a Ending> {
        let first = self.first(of);
        let chosen = (self.trials.iter())
            .filter(|trial| trial.proposal.origin.confirms().is_none())
            .filter(move |trial| self.first(trial.proposal.id) == first)
            .map(|trial| &trial.ending);
        let all = chosen.chain(self.repeated(of));
        all.filter(|ending| ending.state != State::Stopped)
    }

    /// A fresh start. Logs of earlier versions do not name rounds: there the n-th repeat of a
    /// trial is of round n.
    pub(super) fn start(&self, start: FreshStart) -> Option<&'a Trial> {
        let mut own = self.repeats(start.of).enumerate();
        let found = own.find(|(at, trial)| match trial.proposal.origin {
            Origin::Confirm { round, .. } => round.unwrap_or(*at) == start.round,
            _ => false,
        });
        found.map(|(_, trial)| trial)
    }

    /// What came of a fresh start.
    pub(super) fn ending(&self, start: FreshStart) -> Option<&'a Ending> {
        self.start(start).map(|trial| &trial.ending)
    }
}

/// The values that an engine runs with: what it has by itself beside the flags that were added, as
/// far as that is known, and these.
pub(super) fn resolved(proposal: &Proposal) -> Point {
    let mut values = proposal.point.clone();
    let given = proposal.flags.0.iter();
    (values.0).extend(given.map(|(name, value)| (name.clone(), value.clone())));
    values
}
