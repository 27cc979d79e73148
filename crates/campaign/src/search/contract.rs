//! What every searcher keeps to, written once and run for all of them.

use super::{Ask, Expected, Grid, Halving, Observation, Outcome, Prior, Random, Searcher, Tpe};
use crate::space::{Admission, Dimension, Domain, NoRules, Point, Rules, Space, Spacing, Value};

fn searchers() -> Vec<Box<dyn Searcher>> {
    vec![
        Box::new(Grid),
        Box::new(Random),
        Box::new(Halving::default()),
        Box::new(Tpe),
        Box::new(prior()),
    ]
}

/// Expectations of some points of the small space and of none of the others.
fn prior() -> Prior {
    let space = small();
    let points = space.grid().take(5).zip(1..);
    let expected = points.map(|(point, place)| Expected {
        point,
        objective: f64::from(place),
        strains: vec![1.0 / f64::from(place)],
    });
    Prior::new(expected.collect())
}

fn space(dimensions: Vec<(&str, Domain)>) -> Space {
    let dimensions = dimensions.into_iter().map(Dimension::from);
    Space::new(dimensions.collect(), Vec::new()).unwrap()
}

fn mixed() -> Space {
    let words = ["auto", "fp8", "int8"]
        .map(|word| Value::Text(word.into()))
        .to_vec();
    space(vec![
        ("seqs", Domain::int(16, 1024, Spacing::Log(None)).unwrap()),
        (
            "tokens",
            Domain::int(256, 16384, Spacing::Log(Some(2.0))).unwrap(),
        ),
        (
            "share",
            Domain::float(0.5, 0.95, Spacing::Linear(None)).unwrap(),
        ),
        ("cache", Domain::bool()),
        ("format", Domain::choice(words).unwrap()),
    ])
}

/// 3 × 2 × 2 points.
fn small() -> Space {
    space(vec![
        ("a", Domain::int(1, 4, Spacing::Log(Some(2.0))).unwrap()),
        ("b", Domain::bool()),
        (
            "c",
            Domain::choice(vec![Value::Int(16), Value::Int(32)]).unwrap(),
        ),
    ])
}

/// Refuses what has more sequences than tokens, as vLLM does.
struct SeqsBelowTokens;

impl Rules for SeqsBelowTokens {
    fn admit(&self, _space: &Space, point: Point) -> Admission {
        let number = |flag: &str| point.get(flag).and_then(Value::number);
        if number("seqs") <= number("tokens") {
            return Admission::Legal(point);
        }
        Admission::Refused {
            flag: "tokens".into(),
            because: "too few".into(),
        }
    }

    fn defaults(&self, _space: &Space) -> Point {
        Point::default()
    }
}

/// More sequences are better until a limit is missed; large shares crash.
fn outcome(point: &Point) -> Outcome {
    let number = |flag: &str| point.get(flag).and_then(Value::number).unwrap_or(1.0);
    if number("share") > 0.9 {
        return Outcome::Failed;
    }
    Outcome::Measured {
        objectives: vec![number("seqs").ln() + number("tokens").ln()],
        violation: (number("seqs") / 512.0 - 1.0).max(0.0),
    }
}

fn searched(
    searcher: &dyn Searcher,
    space: &Space,
    rules: &dyn Rules,
    seed: u64,
    most: usize,
    of: fn(&Point) -> Outcome,
) -> Vec<Observation> {
    let mut past: Vec<Observation> = Vec::new();
    while past.len() < most {
        let ask = Ask {
            rules,
            ..Ask::free(space, &past, seed)
        };
        let Some(point) = searcher.next(&ask) else {
            break;
        };
        past.push(Observation {
            outcome: of(&point),
            point,
        });
    }
    past
}

#[test]
fn points_are_legal_and_in_the_space_and_never_repeated() {
    for searcher in searchers() {
        let name = searcher.name();
        let space = mixed();
        let past = searched(&*searcher, &space, &SeqsBelowTokens, 1, 25, outcome);
        assert_eq!(past.len(), 25, "{name}");
        for (at, observation) in past.iter().enumerate() {
            let point = &observation.point;
            assert!(space.contains(point), "{name} {point}");
            assert!(
                SeqsBelowTokens
                    .admit(&space, point.clone())
                    .point()
                    .is_some()
            );
            assert!(
                !past[..at].iter().any(|earlier| earlier.point.same(point)),
                "{name}"
            );
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_points_and_a_resumed_one_goes_on_with_it() {
    for searcher in searchers() {
        let name = searcher.name();
        let space = mixed();
        let whole = searched(&*searcher, &space, &NoRules, 5, 20, outcome);
        let again = |seed| searched(&*searcher, &space, &NoRules, seed, 20, outcome);
        assert_eq!(whole, again(5));
        for cut in [0, 1, 9, 19] {
            let next = searcher.next(&Ask::free(&space, &whole[..cut], 5));
            assert_eq!(next.as_ref(), Some(&whole[cut].point), "{name}");
        }
        if name != "grid" {
            assert_ne!(whole, again(6), "{name}");
        }
    }
}

#[test]
fn a_history_of_crashes_does_not_end_the_search() {
    for searcher in searchers() {
        let name = searcher.name();
        for of in [|_: &Point| Outcome::Failed, |_: &Point| Outcome::Dominated] {
            let past = searched(&*searcher, &mixed(), &NoRules, 2, 20, of);
            assert_eq!(past.len(), 20, "{name}");
        }
    }
}

#[test]
fn several_suggestions_at_once_differ() {
    for searcher in searchers() {
        let name = searcher.name();
        let space = mixed();
        let past = searched(&*searcher, &space, &NoRules, 3, 12, outcome);
        let mut pending: Vec<Point> = Vec::new();
        for _ in 0..6 {
            let ask = Ask {
                pending: &pending,
                ..Ask::free(&space, &past, 3)
            };
            let point = searcher.next(&ask).unwrap();
            assert!(!pending.iter().any(|other| other.same(&point)), "{name}");
            assert!(!past.iter().any(|other| other.point.same(&point)), "{name}");
            pending.push(point);
        }
    }
}

#[test]
fn a_small_space_is_exhausted_and_then_the_search_ends() {
    for searcher in searchers() {
        let name = searcher.name();
        let past = searched(&*searcher, &small(), &NoRules, 4, 100, outcome);
        assert_eq!(past.len(), 12, "{name}");
    }
}

#[test]
fn a_space_of_one_point_is_tried_once() {
    for searcher in searchers() {
        let name = searcher.name();
        for only in [
            Domain::int(7, 7, Spacing::Linear(None)),
            Domain::float(0.5, 0.5, Spacing::Log(None)),
        ] {
            let only = space(vec![("a", only.unwrap())]);
            let past = searched(&*searcher, &only, &NoRules, 4, 10, outcome);
            assert_eq!(past.len(), 1, "{name}");
        }
    }
}

#[test]
fn figures_that_are_no_numbers_harm_nobody() {
    let odd = |point: &Point| Outcome::Measured {
        objectives: vec![if point.to_string().contains("true") {
            f64::NAN
        } else {
            f64::INFINITY
        }],
        violation: f64::NAN,
    };
    for searcher in searchers() {
        let name = searcher.name();
        let past = searched(&*searcher, &mixed(), &NoRules, 2, 15, odd);
        assert_eq!(past.len(), 15, "{name}");
    }
}

#[test]
fn several_objectives_are_searched_together() {
    let two = |point: &Point| {
        let seqs = point.get("seqs").and_then(Value::number).unwrap_or(1.0);
        Outcome::Measured {
            objectives: vec![seqs, -seqs],
            violation: 0.0,
        }
    };
    for searcher in searchers() {
        let name = searcher.name();
        let past = searched(&*searcher, &mixed(), &NoRules, 2, 15, two);
        assert_eq!(past.len(), 15, "{name}");
    }
}
