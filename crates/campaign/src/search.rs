//! Searchers: the next point from the space and what is known, and nothing else. A searcher
//! keeps no state, so a resumed study goes on exactly as the first would have.

#[cfg(test)]
mod contract;
pub mod external;
mod grid;
mod halving;
mod prior;
mod random;
mod tpe;

pub use grid::Grid;
pub use halving::{Halving, HalvingError, Race, RungFigure};
pub use prior::{Expected, Prior};
pub use random::Random;
pub use tpe::Tpe;

use crate::space::{Admission, Point, Rules, Space};
use inferometer_core::seed::{Dimension, rng};
use rand::Rng;
use std::collections::HashSet;

/// A point that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The values of the searched flags, as the engine ran with them.
    pub point: Point,
    pub outcome: Outcome,
}

/// What came of a point.
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

/// All that a searcher may look at.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    /// What may be varied.
    pub space: &'a Space,
    pub rules: &'a dyn Rules,
    /// What was tried, in order.
    pub past: &'a [Observation],
    /// What is being tried now.
    pub pending: &'a [Point],
    pub seed: u64,
}

/// A way to choose the next point.
pub trait Searcher: Sync {
    /// Its word in a study.
    fn name(&self) -> &'static str;

    /// The next point to try: in the space, legal, not tried and not pending. Absent if there
    /// is none left.
    fn next(&self, ask: &Ask<'_>) -> Option<Point>;
}

/// Points that are looked at before a space counts as exhausted.
const MOST_LOOKED_AT: u64 = 100_000;

impl Ask<'_> {
    /// The randomness of this question: the same for the same number of earlier ones.
    fn random(&self) -> impl Rng + use<> {
        let asked = self.past.len() + self.pending.len();
        rng(self.seed, Dimension::Search, asked as u64)
    }

    /// Points that are taken already.
    fn taken(&self) -> HashSet<String> {
        let past = self.past.iter().map(|observation| &observation.point);
        past.chain(self.pending).map(Point::to_string).collect()
    }

    /// The point, or the nearest legal one, if that is not taken.
    fn fresh(&self, point: Point, taken: &HashSet<String>) -> Option<Point> {
        let point = self.rules.admit(self.space, point).point()?;
        (!taken.contains(&point.to_string())).then_some(point)
    }

    /// Whether a point may be started as it is.
    fn is_legal(&self, point: &Point) -> bool {
        matches!(
            self.rules.admit(self.space, point.clone()),
            Admission::Legal(_)
        )
    }

    /// The first point of the grid that is not taken.
    fn first_fresh(&self, taken: &HashSet<String>) -> Option<Point> {
        (self.space.grid().take(MOST_LOOKED_AT as usize)).find_map(|point| self.fresh(point, taken))
    }
}

/// Places of the measured observations, the best first: those that meet the SLOs by their
/// objectives, then the others by how far they miss them.
pub fn ranking(past: &[Observation]) -> Vec<usize> {
    let mut measured: Vec<(usize, &[f64], f64)> = (past.iter().enumerate())
        .filter_map(|(at, observation)| match &observation.outcome {
            Outcome::Measured {
                objectives,
                violation,
            } => Some((at, objectives.as_slice(), *violation)),
            Outcome::Dominated | Outcome::Failed => None,
        })
        .collect();
    let feasible: Vec<&[f64]> = (measured.iter())
        .filter(|(_, _, violation)| *violation <= 0.0)
        .map(|(_, objectives, _)| *objectives)
        .collect();
    // With several objectives, those whom fewer dominate come first.
    let dominators = |own: &[f64]| {
        feasible
            .iter()
            .filter(|other| dominates(other, own))
            .count()
    };
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
