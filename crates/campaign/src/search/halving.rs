//! Racing: random points, each measured a little at first, and on only while it is among the
//! best so far.

use super::ask::{Ask, Searcher};
use super::random::Random;
use crate::space::Point;
use inferometer_core::units::Span;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Points by chance, and rungs at which a running trial may be given up.
#[derive(Clone, Debug, PartialEq)]
pub struct Halving {
    rungs: Vec<Span>,
    keep: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RungFigure {
    pub trial: u64,
    /// The rung's place, from 0.
    pub rung: usize,
    /// What is wanted, larger is better.
    pub objective: f64,
    /// By how much the SLOs are missed; 0 where they are met.
    pub violation: f64,
}

/// What becomes of a running trial at a rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Race {
    /// Measure on to the next rung, or to the end.
    GoOn,
    /// Others are better: end the trial as `stopped`.
    Stop,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HalvingError {
    #[error("the rungs of halving must rise, as in [\"20s\", \"60s\"]")]
    NotRising,
}

/// Trials that a rung has seen before it gives any up.
const LEAST_COMPANY: usize = 3;

impl Default for Halving {
    fn default() -> Self {
        Halving {
            rungs: [20, 60]
                .map(|seconds| Span(Duration::from_secs(seconds)))
                .to_vec(),
            keep: 1.0 / 3.0,
        }
    }
}

impl Halving {
    /// With these rungs below the full measurement; a third goes on from each.
    pub fn new(rungs: Vec<Span>) -> Result<Self, HalvingError> {
        let rise = rungs.windows(2).all(|pair| pair[0] < pair[1]);
        if !rise || rungs.iter().any(|rung| rung.0 == Duration::ZERO) {
            return Err(HalvingError::NotRising);
        }
        Ok(Halving {
            rungs,
            ..Self::default()
        })
    }

    /// When a trial is looked at, counted from the beginning of its measurement.
    pub fn rungs(&self) -> &[Span] {
        &self.rungs
    }

    /// Whether a trial goes on, given what earlier trials had at the same rung. Asynchronous:
    /// it waits for nobody, so the first few go on in any case.
    pub fn race(&self, now: RungFigure, earlier: &[RungFigure]) -> Race {
        let same_rung = |other: &&RungFigure| other.rung == now.rung && other.trial != now.trial;
        let company: Vec<&RungFigure> = earlier.iter().filter(same_rung).collect();
        if company.len() < LEAST_COMPANY {
            return Race::GoOn;
        }
        let better = |other: &&&RungFigure| {
            let (theirs, ours) = (other.violation.max(0.0), now.violation.max(0.0));
            theirs < ours || (theirs == ours && other.objective > now.objective)
        };
        let ahead = company.iter().filter(better).count();
        let places = (((company.len() + 1) as f64) * self.keep).ceil() as usize;
        if ahead < places {
            Race::GoOn
        } else {
            Race::Stop
        }
    }
}

impl Searcher for Halving {
    fn name(&self) -> &'static str {
        "halving"
    }

    fn next(&self, ask: &Ask<'_>) -> Option<Point> {
        Random.next(ask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(trial: u64, rung: usize, objective: f64, violation: f64) -> RungFigure {
        RungFigure {
            trial,
            rung,
            objective,
            violation,
        }
    }

    #[test]
    fn only_the_best_third_goes_on_once_there_is_company() {
        let halving = Halving::default();
        let mut seen = Vec::new();
        let mut gone_on = Vec::new();
        for (trial, objective) in [5.0, 4.0, 3.0, 1.0, 9.0, 4.5, 2.0, 8.0]
            .into_iter()
            .enumerate()
        {
            let now = at(trial as u64, 0, objective, 0.0);
            if halving.race(now, &seen) == Race::GoOn {
                gone_on.push(objective);
            }
            seen.push(now);
        }
        assert_eq!(gone_on, [5.0, 4.0, 3.0, 9.0, 8.0]);
    }

    #[test]
    fn a_missed_objective_outweighs_any_speed_and_other_rungs_do_not_count() {
        let halving = Halving::default();
        let seen: Vec<_> = (0..5).map(|trial| at(trial, 1, 1.0, 0.0)).collect();
        assert_eq!(halving.race(at(9, 1, 100.0, 0.2), &seen), Race::Stop);
        assert_eq!(halving.race(at(9, 1, 2.0, 0.0), &seen), Race::GoOn);
        assert_eq!(halving.race(at(9, 0, 0.1, 0.5), &seen), Race::GoOn);
    }

    #[test]
    fn rungs_must_rise() {
        let span = |seconds| Span(Duration::from_secs(seconds));
        assert!(Halving::new(vec![span(60), span(20)]).is_err());
        assert!(Halving::new(vec![span(0), span(20)]).is_err());
        assert!(Halving::new(Vec::new()).is_ok());
    }
}
