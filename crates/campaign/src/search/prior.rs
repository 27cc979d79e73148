//! The default searcher with a guess: what a calibrated profile expects of each candidate.
//!
//! The best of the guess come first. Then it takes turns with what was learned by measuring, for
//! a while and as long as the measurements bear it out; so a wrong guess costs a few trials and no
//! more.

use super::{Ask, Outcome, Searcher, Tpe};
use crate::space::Point;
use std::collections::HashMap;

/// A candidate and what is expected of it: larger is better, whatever the unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// The candidate.
    pub point: Point,
    /// What is expected, comparable with that of the others only.
    pub score: f64,
}

/// The default searcher with expectations to begin with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prior {
    /// From the most to the least promising.
    expected: Vec<Expected>,
}

/// Trials that follow the guess before it is judged.
const HEAD: usize = 4;
/// Trials after which only what was measured counts: what the guess knows was tried by then.
const LAST_SAY: usize = 3 * HEAD;
/// A candidate is expected to be no better than another within this share.
const ALIKE: f64 = 0.01;
/// Least agreement of guess and measurements, from −1 to 1, with which the guess has a say.
const AGREEMENT: f64 = 0.3;

impl Prior {
    /// Expectations in any order; those that are no numbers say nothing.
    pub fn new(mut expected: Vec<Expected>) -> Prior {
        expected.retain(|it| !it.score.is_nan());
        expected.sort_by(|a, b| b.score.total_cmp(&a.score));
        Prior { expected }
    }

    /// The expectations, from the most to the least promising.
    pub fn expected(&self) -> &[Expected] {
        &self.expected
    }

    /// The most promising candidate that was not tried. One that is expected to be no better
    /// than what was tried, and differs from it by a flag only, can wait.
    fn promising(&self, ask: &Ask<'_>) -> Option<Point> {
        let taken = ask.taken();
        let tried: Vec<&Expected> = (self.expected.iter())
            .filter(|it| taken.contains(&it.point.to_string()))
            .collect();
        let says_more = |candidate: &&Expected| {
            !tried.iter().any(|known| {
                let alike = (candidate.score - known.score).abs() <= ALIKE * known.score.abs();
                alike && differing(&candidate.point, &known.point) <= 1
            })
        };
        let fresh = |it: &Expected| {
            let known = ask.space.contains(&it.point).then(|| it.point.clone());
            ask.fresh(known?, &taken)
        };
        let first = self.expected.iter().filter(says_more).find_map(fresh);
        first.or_else(|| self.expected.iter().find_map(fresh))
    }

    /// How far the order of what was measured is the expected one; absent while too little was.
    fn agreement(&self, ask: &Ask<'_>) -> Option<f64> {
        let place: HashMap<String, usize> = (self.expected.iter().enumerate())
            .map(|(place, it)| (it.point.to_string(), place))
            .collect();
        let pairs: Vec<(usize, f64)> = (ask.past.iter())
            .filter_map(|observation| {
                let place = *place.get(&observation.point.to_string())?;
                match &observation.outcome {
                    Outcome::Measured {
                        objectives,
                        violation,
                    } => Some((place, objectives.first()? / (1.0 + violation.max(0.0)))),
                    Outcome::Dominated => None,
                    Outcome::Failed => Some((place, 0.0)),
                }
            })
            .collect();
        if pairs.len() < HEAD {
            return None;
        }
        let mut sum = 0.0;
        let mut count = 0.0;
        for (at, a) in pairs.iter().enumerate() {
            for b in &pairs[at + 1..] {
                let expected = (b.0 as f64 - a.0 as f64).signum();
                sum += expected * (a.1 - b.1).signum();
                count += 1.0;
            }
        }
        Some(sum / count)
    }
}

/// Flags in which two points differ.
fn differing(a: &Point, b: &Point) -> usize {
    let other = |(name, value): &(&String, _)| b.get(name) != Some(*value);
    a.0.iter().filter(other).count()
}

impl Searcher for Prior {
    fn name(&self) -> &'static str {
        "prior"
    }

    fn next(&self, ask: &Ask<'_>) -> Option<Point> {
        let begun = ask.past.len() + ask.pending.len();
        let borne_out = || self.agreement(ask).is_none_or(|it| it >= AGREEMENT);
        let has_a_say =
            begun <= HEAD || (begun < LAST_SAY && begun.is_multiple_of(2) && borne_out());
        let promising = has_a_say.then(|| self.promising(ask)).flatten();
        promising.or_else(|| Tpe.next(ask))
    }
}
