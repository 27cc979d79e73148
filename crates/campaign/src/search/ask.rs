//! What a searcher is asked, and what it is told of the past.

use crate::space::{Admission, Point, Rules, Space};
use inferometer_core::seed::{Dimension, rng};
use rand::Rng;
use std::collections::HashSet;

#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The values of the searched flags, as the engine ran with them.
    pub point: Point,
    pub outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Measured {
        /// What is wanted, larger is better; as many in every observation.
        objectives: Vec<f64>,
        /// By how much the SLOs are missed, as a share of their limits; 0 where all are met.
        violation: f64,
    },
    /// It was given up early because others were better.
    Dominated,
    /// The engine did not start or did not survive.
    Failed,
}

impl Observation {
    #[cfg(test)]
    pub(crate) fn of(point: Point, objective: f64, violation: f64) -> Self {
        Observation {
            point,
            outcome: Outcome::Measured {
                objectives: vec![objective],
                violation,
            },
        }
    }

    /// Objectives, and by how much the SLOs were missed; absent unless it was measured.
    pub fn measured(&self) -> Option<(&[f64], f64)> {
        match &self.outcome {
            Outcome::Measured {
                objectives,
                violation,
            } => Some((objectives.as_slice(), *violation)),
            Outcome::Dominated | Outcome::Failed => None,
        }
    }

    /// Whether it was measured and met the SLOs.
    pub fn meets_slos(&self) -> bool {
        self.measured()
            .is_some_and(|(_, violation)| violation <= 0.0)
    }
}

#[derive(Clone, Copy)]
pub struct Ask<'a> {
    pub space: &'a Space,
    pub rules: &'a dyn Rules,
    /// What was tried, in order.
    pub past: &'a [Observation],
    /// What is being tried now.
    pub pending: &'a [Point],
    pub seed: u64,
}

pub trait Searcher: Sync {
    /// Its word in a study.
    fn name(&self) -> &'static str;

    /// The next point to try: in the space, legal, not tried and not pending. Absent if there
    /// is none left.
    fn next(&self, ask: &Ask<'_>) -> Option<Point>;
}

/// Points that are looked at before a space counts as exhausted.
const MOST_LOOKED_AT: u64 = 100_000;

impl<'a> Ask<'a> {
    /// A question without rules of which nothing is being tried.
    #[cfg(test)]
    pub(crate) fn free(space: &'a Space, past: &'a [Observation], seed: u64) -> Self {
        Ask {
            space,
            rules: &crate::space::NoRules,
            past,
            pending: &[],
            seed,
        }
    }

    /// The randomness of this question: the same for the same number of earlier ones.
    pub(super) fn random(&self) -> impl Rng + use<> {
        let asked = self.past.len() + self.pending.len();
        rng(self.seed, Dimension::Search, asked as u64)
    }

    /// Points that are taken already.
    pub(super) fn taken(&self) -> HashSet<String> {
        let past = self.past.iter().map(|observation| &observation.point);
        past.chain(self.pending).map(Point::to_string).collect()
    }

    /// The point, or the nearest legal one, if that is not taken.
    pub(super) fn fresh(&self, point: Point, taken: &HashSet<String>) -> Option<Point> {
        let point = self.rules.admit(self.space, point).point()?;
        (!taken.contains(&point.to_string())).then_some(point)
    }

    /// Whether a point may be started as it is.
    pub(super) fn is_legal(&self, point: &Point) -> bool {
        matches!(
            self.rules.admit(self.space, point.clone()),
            Admission::Legal(_)
        )
    }

    /// A point of the grid that is not taken: the first, or of a grid that is too large to be
    /// looked through, one from all over it.
    pub(super) fn first_fresh(&self, taken: &HashSet<String>) -> Option<Point> {
        let mut looked_at: Box<dyn Iterator<Item = Point>> = match self.space.grid_count() {
            Some(..=MOST_LOOKED_AT) => Box::new(self.space.grid()),
            _ => Box::new(self.space.scattered_grid().take(MOST_LOOKED_AT as usize)),
        };
        looked_at.find_map(|point| self.fresh(point, taken))
    }
}

/// Places of the measured observations, the best first: those that meet the SLOs by their
/// objectives, then the others by how far they miss them.
pub fn ranking(past: &[Observation]) -> Vec<usize> {
    let mut measured: Vec<(usize, &[f64], f64)> = (past.iter().enumerate())
        .filter_map(|(at, observation)| {
            let (objectives, violation) = observation.measured()?;
            Some((at, objectives, violation))
        })
        .collect();
    let feasible: Vec<&[f64]> = (past.iter())
        .filter(|observation| observation.meets_slos())
        .filter_map(|observation| Some(observation.measured()?.0))
        .collect();
    // With several objectives, those whom fewer dominate come first.
    let dominators = |own: &[f64]| feasible.iter().filter(|it| dominates(it, own)).count();
    measured.sort_by(|(at, a, missed), (bt, b, lacking)| {
        let (missed, lacking) = (missed.max(0.0), lacking.max(0.0));
        let by_objectives = || match (a, b) {
            ([a], [b]) => b.total_cmp(a),
            _ => dominators(a).cmp(&dominators(b)),
        };
        missed
            .total_cmp(&lacking)
            .then_with(by_objectives)
            .then(at.cmp(bt))
    });
    measured.into_iter().map(|(at, _, _)| at).collect()
}

/// Whether `a` is at least as good in everything, and better in something.
pub fn dominates(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a >= b) && a.iter().zip(b).any(|(a, b)| a > b)
}
