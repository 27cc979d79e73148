//! The default searcher with a guess: what a calibrated profile expects of each candidate.
//!
//! The best of the guess come first. Then a candidate is worth what was learned by measuring and
//! what is expected of it together, the less of the latter the more was measured. What was
//! measured also corrects the guess: by how much it misjudges the SLOs is taken off before the
//! next choice, and a guess whose order the measurements do not confirm is ignored.

use super::ask::{Ask, Observation, Outcome, Searcher, ranking};
use super::tpe::{self, Tpe};
use crate::space::Point;
use inferometer_statistics::normal_tail;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    pub point: Point,
    /// What is expected: above 0, larger is better, whatever the unit.
    pub objective: f64,
    /// The figure of each SLO as a share of its limit: 1.3 misses it by 30 %.
    pub strains: Vec<f64>,
}

/// The default searcher with expectations to begin with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prior {
    expected: Vec<Expected>,
    /// Where each candidate is among them, by its text.
    places: HashMap<String, usize>,
}

// Chosen among a few by hand, on the landscapes of `bench/tune` with seeds from 100 on; on its
// other test beds nothing was chosen.
/// Trials that follow the guess alone.
const HEAD: usize = 2;
/// Trials after which only what was measured counts: what the guess knows was tried by then.
const LAST_SAY: usize = 24;
/// Weight of the guess beside what was learned, over the number of trials.
const WEIGHT: f64 = 16.0;
/// A candidate of which next to nothing is expected counts as this share of the best.
const LEAST: f64 = 1e-3;
/// Standard deviation of the logarithm of a predicted latency: profiles are off by 30 %.
const ERROR: f64 = 0.3;
/// Largest correction that one trial asks for, as a logarithm.
const MOST_OFF: f64 = 1.0;
/// A candidate is expected to be no better than another within this share.
const ALIKE: f64 = 0.01;
/// Measured candidates with which the guess can be judged.
const ENOUGH: usize = 3;
/// Least agreement of guess and measurements, from −1 to 1, with which the guess has a say.
const AGREEMENT: f64 = 0.0;

impl Expected {
    /// The largest strain; absent without SLOs.
    fn worst(&self) -> Option<f64> {
        self.strains.iter().copied().max_by(f64::total_cmp)
    }

    /// The objective times the chance that every SLO is met, if latencies are off by a factor
    /// whose logarithm is `bias`.
    fn score(&self, bias: f64) -> f64 {
        let chance = |strain: &f64| normal_tail((strain.ln() + bias) / ERROR);
        self.objective * self.strains.iter().map(chance).product::<f64>()
    }
}

impl Prior {
    /// Expectations in any order; those that are not finite say nothing.
    pub fn new(mut expected: Vec<Expected>) -> Prior {
        expected.retain(|it| {
            let objective = it.objective.is_finite() && it.objective > 0.0;
            objective && it.strains.iter().all(|strain| *strain >= 0.0)
        });
        let places = expected.iter().enumerate();
        let places = places.map(|(at, it)| (it.point.to_string(), at)).collect();
        Prior { expected, places }
    }

    fn of(&self, point: &Point) -> Option<&Expected> {
        Some(&self.expected[*self.places.get(&point.to_string())?])
    }

    /// By how much strains are misjudged, as a logarithm: the mean over trials that tell, pulled
    /// towards 0 while they are few. A trial tells if it missed the SLOs, or if it met them and
    /// was not expected to.
    fn bias(&self, past: &[Observation]) -> f64 {
        let off = past.iter().filter_map(|observation| {
            let (_, violation) = observation.measured()?;
            let strain = self.of(&observation.point)?.worst()?;
            let off = if violation > 0.0 {
                (1.0 + violation).ln() - strain.ln()
            } else {
                Some(-strain.ln()).filter(|_| strain > 1.0)?
            };
            off.is_finite().then(|| off.clamp(-MOST_OFF, MOST_OFF))
        });
        let (sum, count) = off.fold((0.0, 0.0), |(sum, count), off| (sum + off, count + 1.0));
        sum / (count + 1.0)
    }
}

impl Searcher for Prior {
    fn name(&self) -> &'static str {
        "prior"
    }

    fn next(&self, ask: &Ask<'_>) -> Option<Point> {
        let guess = Guess::of(self, ask);
        let guided = match ask.past.len() + ask.pending.len() {
            0..=HEAD => guess.promising(ask),
            begun if begun < LAST_SAY && guess.is_borne_out(ask) => guess.with_learned(ask, begun),
            _ => None,
        };
        guided.or_else(|| Tpe.next(ask))
    }
}

/// The expectations in the light of what was measured.
struct Guess<'a> {
    prior: &'a Prior,
    bias: f64,
    /// Candidates of the space with their scores, the most promising first.
    candidates: Vec<(&'a Point, f64)>,
    taken: HashSet<String>,
}

impl<'a> Guess<'a> {
    fn of(prior: &'a Prior, ask: &Ask<'_>) -> Self {
        let bias = prior.bias(ask.past);
        let known = prior.expected.iter();
        let mut candidates: Vec<(&Point, f64)> = known
            .filter(|it| ask.space.contains(&it.point))
            .map(|it| (&it.point, it.score(bias)))
            .collect();
        candidates.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        Guess {
            prior,
            bias,
            candidates,
            taken: ask.taken(),
        }
    }

    /// The score of a point, if anything is expected of it.
    fn score(&self, point: &Point) -> Option<f64> {
        Some(self.prior.of(point)?.score(self.bias))
    }

    fn is_fresh(&self, ask: &Ask<'_>, point: &Point) -> bool {
        !self.taken.contains(&point.to_string()) && ask.is_legal(point)
    }

    /// The most promising candidate that was not tried. One that is expected to be no better
    /// than what was tried, and differs from it by a flag only, can wait. Of equals that is
    /// taken which differs least from the first trial, the engine's default: a flag that the
    /// guess does not care about stays as it is.
    fn promising(&self, ask: &Ask<'_>) -> Option<Point> {
        let tried = ask.past.iter().map(|it| &it.point).chain(ask.pending);
        let known: Vec<(&Point, f64)> = tried
            .filter_map(|point| Some((point, self.score(point)?)))
            .collect();
        let says_more = |(point, score): &&(&Point, f64)| {
            !known.iter().any(|(other, of_other)| {
                let alike = (score - of_other).abs() <= ALIKE * of_other;
                alike && differing(point, other) <= 1
            })
        };
        let mut fresh = (self.candidates.iter())
            .filter(says_more)
            .filter(|(point, _)| self.is_fresh(ask, point))
            .peekable();
        let (_, best) = **fresh.peek()?;
        let changes = |point: &Point| {
            let first = ask.past.first();
            first.map_or(0, |first| differing(point, &first.point))
        };
        fresh
            .take_while(|(_, score)| *score >= best * (1.0 - ALIKE))
            .min_by_key(|(point, _)| changes(point))
            .map(|(point, _)| (*point).clone())
    }

    /// The candidate of which most is to be hoped by the guess and by what was learned.
    fn with_learned(&self, ask: &Ask<'_>, begun: usize) -> Option<Point> {
        let (_, best) = *self.candidates.first().filter(|(_, score)| *score > 0.0)?;
        let weight = WEIGHT / begun as f64;
        let learned = tpe::worths(ask, self.candidates.iter().map(|(point, _)| *point));
        let mut hopes: Vec<(f64, &Point)> = (self.candidates.iter().zip(learned))
            .filter_map(|((point, score), learned)| {
                Some((learned? + weight * (score / best).max(LEAST).ln(), *point))
            })
            .collect();
        hopes.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let mut points = hopes.into_iter().map(|(_, point)| point);
        points.find(|point| self.is_fresh(ask, point)).cloned()
    }

    /// Whether the order of what was measured is the expected one, or too little was measured
    /// to tell.
    fn is_borne_out(&self, ask: &Ask<'_>) -> bool {
        let failed = (ask.past.iter().enumerate())
            .filter(|(_, it)| it.outcome == Outcome::Failed)
            .map(|(at, _)| (at, ask.past.len()));
        let places = ranking(ask.past).into_iter().enumerate();
        let pairs: Vec<(f64, usize)> = (places.map(|(place, at)| (at, place)).chain(failed))
            .filter_map(|(at, place)| Some((self.score(&ask.past[at].point)?, place)))
            .collect();
        if pairs.len() < ENOUGH {
            return true;
        }
        let mut agreed = 0.0;
        let mut count = 0.0;
        for (at, (score, place)) in pairs.iter().enumerate() {
            for (of_other, other) in &pairs[at + 1..] {
                let expected = order(score.total_cmp(of_other));
                agreed += expected * order(other.cmp(place));
                count += 1.0;
            }
        }
        agreed / count >= AGREEMENT
    }
}

/// −1, 0 or 1.
fn order(ordering: Ordering) -> f64 {
    f64::from(ordering as i8)
}

fn differing(a: &Point, b: &Point) -> usize {
    let other = |(name, value): &(&String, _)| b.get(name) != Some(*value);
    a.0.iter().filter(other).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Dimension, Domain, Space, Spacing, Value};

    /// Sequences from 1 to 8, and a switch that the guess knows nothing of.
    fn space() -> Space {
        let flags = [
            ("a", Domain::int(1, 8, Spacing::Linear(None)).unwrap()),
            ("switch", Domain::bool()),
        ];
        let flags = flags.map(Dimension::from);
        Space::new(flags.to_vec(), Vec::new()).unwrap()
    }

    fn point(a: i64, switch: bool) -> Point {
        let values = [("a", Value::Int(a)), ("switch", Value::Bool(switch))];
        values.into_iter().collect()
    }

    /// More brings more, and strains the SLO as much more.
    fn prior() -> Prior {
        let expected = |a: i64, switch: bool| Expected {
            point: point(a, switch),
            objective: a as f64,
            strains: vec![a as f64 / 6.0],
        };
        let both = |a: i64| [expected(a, false), expected(a, true)];
        Prior::new((1..=8).flat_map(both).collect())
    }

    fn next(past: &[Observation]) -> Point {
        let left = prior().next(&Ask::free(&space(), past, 1));
        left.expect("candidates are left")
    }

    #[test]
    fn what_may_well_miss_the_limits_is_not_tried_first_and_an_unknown_flag_stays_as_it_is() {
        for switch in [false, true] {
            let first = next(&[Observation::of(point(1, switch), 1.0, 0.0)]);
            let a = first.get("a").and_then(Value::number).unwrap();
            assert!((3.0..6.0).contains(&a), "{first}");
            assert_eq!(first.get("switch"), Some(&Value::Bool(switch)));
        }
    }

    #[test]
    fn limits_that_are_missed_by_more_than_was_expected_make_it_more_careful() {
        let a = |of: &Observation| {
            next(std::slice::from_ref(of))
                .get("a")
                .and_then(Value::number)
        };
        let as_expected = a(&Observation::of(point(8, true), 8.0, 1.0 / 3.0));
        let missed_by_far = a(&Observation::of(point(8, true), 8.0, 3.0));
        assert!(missed_by_far < as_expected);
        let met = a(&Observation::of(point(8, true), 8.0, 0.0));
        assert!(met > as_expected);
    }

    #[test]
    fn a_guess_that_is_refuted_has_no_say() {
        let refuted: Vec<Observation> = [(2, 6.0), (4, 4.0), (6, 2.0), (8, 1.0)]
            .map(|(a, objective)| Observation::of(point(a, true), objective, 0.0))
            .to_vec();
        let space = space();
        let ask = Ask::free(&space, &refuted, 1);
        assert!(!Guess::of(&prior(), &ask).is_borne_out(&ask));
        assert_eq!(prior().next(&ask), Tpe.next(&ask));
    }

    #[test]
    fn expectations_that_are_no_numbers_say_nothing() {
        let odd = [
            (f64::NAN, 1.0),
            (f64::INFINITY, 1.0),
            (-1.0, 1.0),
            (1.0, f64::NAN),
        ];
        let expected = odd.map(|(objective, strain)| Expected {
            point: point(1, true),
            objective,
            strains: vec![strain],
        });
        assert_eq!(Prior::new(expected.to_vec()), Prior::default());
    }
}
