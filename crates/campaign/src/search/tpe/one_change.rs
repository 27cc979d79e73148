//! The first trials of a search: the engine's default with one flag changed, each flag once.
//!
//! A default is a good setting of most flags. What a single change brings is the doing of that
//! flag alone, so a few trials tell which flags matter; points by chance change all at once, and
//! most of them for the worse.

use crate::search::ask::{Ask, Observation, Outcome};
use crate::space::{Coordinate, Point, Space, Value};
use rand::{Rng, RngExt};
use std::collections::BTreeSet;

/// Trials after which flags that were not changed yet are left to what was learned.
const MOST: usize = 8;
/// Values of a flag that are drawn until one is legal.
const DRAWS: usize = 16;

/// The first point that was measured with another value of a flag that was not varied by itself
/// yet; of an engine whose defaults are not known at all, that is the middle of the space. Absent
/// once every flag was varied, or if the engine refuses all such changes.
pub(super) fn one_change(ask: &Ask<'_>) -> Option<Point> {
    if ask.past.len() + ask.pending.len() > MOST {
        return None;
    }
    let is_centre = |it: &&Observation| {
        matches!(it.outcome, Outcome::Measured { .. }) && !it.point.0.is_empty()
    };
    let centre = inside(ask.space, &ask.past.iter().find(is_centre)?.point)?;
    let tried = ask.past.iter().map(|it| &it.point).chain(ask.pending);
    let varied: BTreeSet<String> = (tried.filter_map(|point| inside(ask.space, point)))
        .filter_map(|point| only_difference(&centre, &point))
        .collect();
    let mut random = ask.random();
    let mut flags: Vec<_> = (ask.space.dimensions().iter())
        .filter(|dimension| !varied.contains(&dimension.name))
        .collect();
    shuffle(&mut flags, &mut random);
    let taken = ask.taken();
    flags.into_iter().find_map(|dimension| {
        (0..DRAWS).find_map(|_| {
            let mut point = centre.clone();
            let value = dimension.domain.at(random.random());
            let before = point.0.insert(dimension.name.clone(), value)?;
            let other = !before.same(point.get(&dimension.name)?);
            (other && !taken.contains(&point.to_string()) && ask.is_legal(&point)).then_some(point)
        })
    })
}

/// The middle of a space in which nothing was tried yet.
pub(super) fn middle(ask: &Ask<'_>) -> Option<Point> {
    let mut tried = ask.past.iter().map(|it| &it.point).chain(ask.pending);
    let is_untouched = tried.all(|point| ask.space.coordinates(point).is_none());
    let shares = ask.space.dimensions().iter().map(|_| 0.5);
    let middle = is_untouched.then(|| ask.space.at(shares))?;
    ask.fresh(middle, &ask.taken())
}

/// The point with every value that is not of the space moved to the nearest that is.
fn inside(space: &Space, point: &Point) -> Option<Point> {
    (space.dimensions().iter())
        .map(|dimension| {
            let value = point.get(&dimension.name)?;
            let value: Value = match dimension.domain.coordinate(value)? {
                _ if dimension.domain.contains(value) => value.clone(),
                Coordinate::Ordered(at) => dimension.domain.nearest(at),
                Coordinate::Category(_) => value.clone(),
            };
            Some((dimension.name.as_str(), value))
        })
        .collect()
}

/// The flag in which two points differ, if it is one alone.
fn only_difference(a: &Point, b: &Point) -> Option<String> {
    let differs = |(name, value): &(&String, &Value)| !b.get(name).is_some_and(|it| it.same(value));
    let mut differing = a.0.iter().filter(differs);
    let (name, _) = differing.next()?;
    differing.next().is_none().then(|| name.clone())
}

pub(super) fn shuffle<T>(things: &mut [T], random: &mut impl Rng) {
    for at in (1..things.len()).rev() {
        things.swap(at, random.random_range(0..=at));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Searcher;
    use super::*;
    use crate::space::{Dimension, Domain, NoRules, Spacing};

    fn space() -> Space {
        let seqs = Domain::int(16, 256, Spacing::Log(Some(4.0))).unwrap();
        let flags = [
            ("seqs", seqs),
            ("cache", Domain::bool()),
            ("eager", Domain::bool()),
        ];
        let flags = flags.map(Dimension::from);
        Space::new(flags.to_vec(), Vec::new()).unwrap()
    }

    fn measured(point: Point) -> Observation {
        Observation {
            point,
            outcome: Outcome::Measured {
                objectives: vec![1.0],
                violation: 0.0,
            },
        }
    }

    /// The engine's default, whose number of sequences is not in the space.
    fn default() -> Point {
        let values = [
            ("seqs", Value::Int(1000)),
            ("cache", Value::Bool(true)),
            ("eager", Value::Bool(false)),
        ];
        values.into_iter().collect()
    }

    #[test]
    fn every_flag_is_changed_once_and_by_itself() {
        let space = space();
        let centre = inside(&space, &default()).unwrap();
        assert_eq!(centre.get("seqs"), Some(&Value::Int(256)));
        for seed in 0..20 {
            let mut past = vec![measured(default())];
            let mut changed = BTreeSet::new();
            loop {
                let ask = Ask {
                    space: &space,
                    rules: &NoRules,
                    past: &past,
                    pending: &[],
                    seed,
                };
                let Some(point) = one_change(&ask) else { break };
                assert!(space.contains(&point));
                changed.insert(only_difference(&centre, &point).expect("one flag"));
                past.push(measured(point));
            }
            assert_eq!((past.len(), changed.len()), (4, 3));
        }
    }

    #[test]
    fn where_no_default_is_known_the_search_begins_in_the_middle_and_changes_one_flag_each() {
        let space = space();
        let mut past = vec![measured(Point::default())];
        for _ in 0..4 {
            let ask = Ask {
                space: &space,
                rules: &NoRules,
                past: &past,
                pending: &[],
                seed: 1,
            };
            let point = super::super::Tpe.next(&ask).unwrap();
            past.push(measured(point));
        }
        let middle = &past[1].point;
        assert_eq!(middle.get("seqs"), Some(&Value::Int(64)));
        let changed: BTreeSet<String> = (past[2..].iter())
            .map(|trial| only_difference(middle, &trial.point).expect("one flag"))
            .collect();
        assert_eq!(changed.len(), 3);
    }

    #[test]
    fn what_is_being_tried_is_not_changed_again_and_without_a_measurement_there_is_no_centre() {
        let space = space();
        let mut ask = Ask {
            space: &space,
            rules: &NoRules,
            past: &[measured(default())],
            pending: &[],
            seed: 3,
        };
        let first = one_change(&ask).unwrap();
        let pending = [first.clone()];
        ask.pending = &pending;
        let second = one_change(&ask).unwrap();
        let centre = inside(&space, &default()).unwrap();
        assert_ne!(
            only_difference(&centre, &first),
            only_difference(&centre, &second)
        );
        ask.past = &[];
        assert_eq!(one_change(&ask), None);
    }
}
