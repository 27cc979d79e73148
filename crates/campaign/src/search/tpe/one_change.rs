//! The first trials of a search: the engine's default with one flag changed, each flag once. What
//! was better is kept while the next flag is changed.
//!
//! A default is a good setting of most flags. What a single change brings is the doing of that
//! flag alone, so a few trials tell which flags matter; points by chance change all at once, and
//! most of them for the worse.
//!
//! Of a default that does not start, as on a card that is too small, or that misses the SLOs, most
//! single changes do so too. Then the first trials are scattered around it until a few of them
//! were measured.

use crate::search::ask::{Ask, ranking};
use crate::space::{Coordinate, Dimension, Point, Space, Value};
use rand::{Rng, RngExt};
use std::collections::BTreeSet;

/// Trials after which flags that were not changed yet are left to what was learned.
const MOST: usize = 8;
/// Values of a flag that are drawn until one is legal.
const DRAWS: usize = 16;
/// Trials to be measured around such a default before anything is learned from them.
const MEASURED_FIRST: usize = 4;
/// Share of the default's values that these keep.
const KEPT: f64 = 0.7;
const SCATTERED_DRAWS: usize = 64;

/// The best point with another value of a flag that was not varied by itself yet. Absent where
/// the first point, which is the default, or the middle of the space where that is not known at
/// all, does not start or misses the SLOs; once every flag was varied; and if the engine refuses
/// all such changes.
pub(super) fn one_change(ask: &Ask<'_>) -> Option<Point> {
    if ask.past.len() + ask.pending.len() > MOST {
        return None;
    }
    let first = ask.past.iter().find(|it| !it.point.0.is_empty())?;
    if !first.meets_slos() {
        return None;
    }
    let best = &ask.past[*ranking(ask.past).first()?];
    let centre = inside(ask.space, &best.point)?;
    let tried = ask.past.iter().map(|it| &it.point).chain(ask.pending);
    let tried: Vec<Point> = tried.filter_map(|point| inside(ask.space, point)).collect();
    let pairs = (tried.iter().enumerate())
        .flat_map(|(at, point)| tried[..at].iter().map(move |earlier| (earlier, point)));
    let varied: BTreeSet<String> = (pairs.filter_map(|(a, b)| only_difference(a, b))).collect();
    // Of numbers one other value tells, of words each is another matter.
    let mut changes: Vec<(&Dimension, Option<Value>)> = Vec::new();
    for dimension in ask.space.dimensions() {
        let is_new = |value: &Value| {
            let had = |point: &Point| point.get(&dimension.name).is_some_and(|it| it.same(value));
            !tried.iter().any(had)
        };
        let own = centre.get(&dimension.name)?;
        if let Coordinate::Category(_) = dimension.domain.coordinate(own)? {
            let words = dimension.domain.levels().into_iter().filter(is_new);
            changes.extend(words.map(|word| (dimension, Some(word))));
        } else if !varied.contains(&dimension.name) {
            changes.push((dimension, None));
        }
    }
    let mut random = ask.random();
    shuffle(&mut changes, &mut random);
    let taken = ask.taken();
    changes.into_iter().find_map(|(dimension, word)| {
        (0..DRAWS).find_map(|_| {
            let mut point = centre.clone();
            let value = (word.clone()).unwrap_or_else(|| dimension.domain.at(random.random()));
            let before = point.0.insert(dimension.name.clone(), value)?;
            let other = !before.same(point.get(&dimension.name)?);
            (other && !taken.contains(&point.to_string()) && ask.is_legal(&point)).then_some(point)
        })
    })
}

/// Where the default does not start or misses the SLOs: points that keep most of its values, and
/// of many such draws the one that is most unlike all that was tried, until a few were measured.
pub(super) fn scattered(ask: &Ask<'_>) -> Option<Point> {
    let measured = ask.past.iter().filter(|it| it.measured().is_some());
    let first = ask.past.iter().find(|it| !it.point.0.is_empty())?;
    if first.meets_slos() || measured.count() >= MEASURED_FIRST {
        return None;
    }
    let centre = inside(ask.space, &first.point)?;
    let tried = ask.past.iter().map(|it| &it.point).chain(ask.pending);
    let tried: Vec<Vec<Coordinate>> = (tried.filter_map(|point| inside(ask.space, point)))
        .filter_map(|point| ask.space.coordinates(&point))
        .collect();
    let taken = ask.taken();
    let mut random = ask.random();
    let draws = (0..SCATTERED_DRAWS).filter_map(|_| {
        let point: Point = (ask.space.dimensions().iter())
            .map(|dimension| {
                let own = centre.get(&dimension.name).cloned();
                let value = own.filter(|_| random.random::<f64>() < KEPT);
                let value = value.unwrap_or_else(|| dimension.domain.at(random.random()));
                (dimension.name.as_str(), value)
            })
            .collect();
        let is_new = !taken.contains(&point.to_string()) && ask.is_legal(&point);
        Some((nearest(&ask.space.coordinates(&point)?, &tried), point)).filter(|_| is_new)
    });
    let furthest = draws.max_by(|(a, _), (b, _)| a.total_cmp(b));
    furthest.map(|(_, point)| point)
}

/// The distance to the nearest of some points: 1 for every flag of which it is all of the range,
/// or another word.
fn nearest(own: &[Coordinate], others: &[Vec<Coordinate>]) -> f64 {
    let distance = |other: &Vec<Coordinate>| -> f64 {
        let parts = own.iter().zip(other).map(|pair| match pair {
            (Coordinate::Ordered(a), Coordinate::Ordered(b)) => (a - b).abs(),
            (a, b) => f64::from(u8::from(a != b)),
        });
        parts.sum()
    };
    others.iter().map(distance).fold(f64::INFINITY, f64::min)
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
    use super::super::super::{Searcher, Tpe};
    use super::*;
    use crate::search::{Observation, Outcome};
    use crate::space::{Domain, Spacing};

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
        Observation::of(point, 1.0, 0.0)
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
            while let Some(point) = one_change(&Ask::free(&space, &past, seed)) {
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
            let point = Tpe.next(&Ask::free(&space, &past, 1)).unwrap();
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
        let past = [measured(default())];
        let mut ask = Ask::free(&space, &past, 3);
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

    #[test]
    fn a_default_that_does_not_start_is_left_in_several_flags_until_some_were_measured() {
        let failed = |point: Point| Observation {
            point,
            outcome: Outcome::Failed,
        };
        let past = [failed(default())];
        let space = space();
        let mut ask = Ask::free(&space, &past, 3);
        assert_eq!(one_change(&ask), None);
        let next = scattered(&ask).unwrap();
        assert_eq!(Tpe.next(&ask), Some(next.clone()));
        let centre = inside(&space, &default()).unwrap();
        assert!(!next.same(&centre) && only_difference(&centre, &next).is_none());
        let some = (0..MEASURED_FIRST).map(|_| measured(next.clone()));
        let past: Vec<Observation> = past.iter().cloned().chain(some).collect();
        ask.past = &past;
        assert_eq!((one_change(&ask), scattered(&ask)), (None, None));
    }
}
