//! Trials as a searcher sees them.

use super::goal::Goal;
use crate::search::{Observation, Outcome};
use crate::trial::{State, Trial};

/// What a searcher is to know of trials that ended.
pub fn observations(trials: &[Trial], goal: &Goal) -> Vec<Observation> {
    (trials.iter().filter(|trial| trial.is_searched()))
        .map(|trial| Observation {
            point: trial.proposal.point.clone(),
            outcome: match trial.ending.state {
                State::Done => match goal.objectives_of(&trial.ending) {
                    Some(objectives) => Outcome::Measured {
                        objectives,
                        violation: goal.violation(&trial.ending),
                    },
                    // It served, and nothing that is wanted could be measured.
                    None => Outcome::Failed,
                },
                State::Stopped => Outcome::Dominated,
                State::Refused | State::Crashed | State::Timeout => Outcome::Failed,
            },
        })
        .collect()
}
