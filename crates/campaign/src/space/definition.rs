//! The flags that are searched, and those that follow from them.

use super::domain::{Coordinate, Domain, DomainError};
use super::value::{Point, Value};
use crate::axes::{Expression, ExpressionError};

#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// The flag's name, without dashes.
    pub name: String,
    pub domain: Domain,
}

impl<N: Into<String>> From<(N, Domain)> for Dimension {
    fn from((name, domain): (N, Domain)) -> Self {
        let name = name.into();
        Dimension { name, domain }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    pub name: String,
    pub expression: Expression,
}

/// The flags that are searched, at least one, and those that follow from them.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    dimensions: Vec<Dimension>,
    derived: Vec<Derived>,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpaceError {
    #[error(
        "the space is empty; give at least one flag with a range, or preset = \"vllm-scheduler\""
    )]
    Empty,
    #[error("'{flag}': {error}")]
    Domain { flag: String, error: DomainError },
    #[error(
        "'{flag}' has no range; write one of {{ int = [16, 1024], log = true }}, {{ float = [0.8, 0.95] }}, {{ bool = true }}, [16, 32] or an expression: \"min(256, max-num-seqs)\""
    )]
    NoRange { flag: String },
    #[error("{engine} has no flag '{flag}'{nearest}")]
    UnknownFlag {
        engine: &'static str,
        flag: String,
        /// `; did you mean …`, or a remedy.
        nearest: String,
    },
    /// A choice that says neither on nor off.
    #[error("'{flag}' is on or off, and '{word}' says neither; write {{ bool = true }}")]
    NoSwitch { flag: String, word: String },
    #[error("there is no preset '{given}'; there are {known}")]
    UnknownPreset { given: String, known: String },
    /// An expression over flags that are not searched.
    #[error("'{flag}' depends on '{on}', which is not searched; give it a range too")]
    NotSearched { flag: String, on: String },
    #[error("'{flag}': {error}")]
    Expression {
        flag: String,
        error: ExpressionError,
    },
}

impl Space {
    /// A space of these flags. A derived flag may use searched ones that are numbers.
    pub fn new(
        mut dimensions: Vec<Dimension>,
        mut derived: Vec<Derived>,
    ) -> Result<Self, SpaceError> {
        if dimensions.is_empty() {
            return Err(SpaceError::Empty);
        }
        for follower in &derived {
            let searched = |on: &&str| dimensions.iter().any(|dimension| dimension.name == **on);
            let mut names = follower.expression.names().into_iter();
            if let Some(on) = names.find(|on| !searched(on)) {
                return Err(SpaceError::NotSearched {
                    flag: follower.name.clone(),
                    on: on.to_owned(),
                });
            }
        }
        dimensions.sort_by(|a, b| a.name.cmp(&b.name));
        derived.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Space {
            dimensions,
            derived,
        })
    }

    /// Sorted by name.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    pub fn derived(&self) -> &[Derived] {
        &self.derived
    }

    /// Number of points; absent where there is no end of them.
    pub fn count(&self) -> Option<u64> {
        (self.dimensions.iter()).try_fold(1u64, |count, dimension| {
            count.checked_mul(dimension.domain.count()?)
        })
    }

    /// Whether a point has a value of its domain for each searched flag, and no other.
    pub fn contains(&self, point: &Point) -> bool {
        point.0.len() == self.dimensions.len()
            && (self.dimensions.iter()).all(|dimension| {
                (point.get(&dimension.name)).is_some_and(|value| dimension.domain.contains(value))
            })
    }

    /// Where a point lies; absent if it lacks a flag, or has a word that is not a choice.
    pub fn coordinates(&self, point: &Point) -> Option<Vec<Coordinate>> {
        (self.dimensions.iter())
            .map(|dimension| dimension.domain.coordinate(point.get(&dimension.name)?))
            .collect()
    }

    /// The point at shares from 0 to 1, one for each dimension.
    pub fn at(&self, shares: impl IntoIterator<Item = f64>) -> Point {
        (self.dimensions.iter().zip(shares))
            .map(|(dimension, share)| (dimension.name.as_str(), dimension.domain.at(share)))
            .collect()
    }

    /// All flags that a point sets: its own and those that follow.
    pub fn flags(&self, point: &Point) -> Result<Point, SpaceError> {
        let mut flags = point.clone();
        for follower in &self.derived {
            let of = |name: &str| point.get(name)?.number();
            let known = point.0.keys().map(String::as_str);
            let number =
                follower
                    .expression
                    .value(of, known)
                    .map_err(|error| SpaceError::Expression {
                        flag: follower.name.clone(),
                        error,
                    })?;
            let is_whole = number.fract() == 0.0 && number.abs() < 1e15;
            let value = if is_whole {
                Value::Int(number as i64)
            } else {
                Value::Float(number)
            };
            flags.0.insert(follower.name.clone(), value);
        }
        Ok(flags)
    }
}

#[cfg(test)]
mod tests {
    use super::super::domain::Spacing;
    use super::*;

    fn space() -> Space {
        let int = |low, high| Domain::int(low, high, Spacing::Log(None)).unwrap();
        let dimensions = [("tokens", int(64, 1024)), ("caching", Domain::bool())];
        let dimensions = dimensions.map(Dimension::from);
        let derived = Derived {
            name: "seqs".into(),
            expression: "min(256, tokens)".parse().unwrap(),
        };
        Space::new(dimensions.to_vec(), vec![derived]).unwrap()
    }

    #[test]
    fn derived_flags_follow_the_point() {
        let point = space().at([0.0, 0.0]);
        assert_eq!(
            space().flags(&point).unwrap().to_string(),
            "caching=false seqs=64 tokens=64"
        );
        let point = space().at([1.0, 1.0]);
        assert_eq!(
            space().flags(&point).unwrap().to_string(),
            "caching=true seqs=256 tokens=1024"
        );
    }

    #[test]
    fn a_derived_flag_needs_what_it_depends_on() {
        let derived = Derived {
            name: "a".into(),
            expression: "b*2".parse().unwrap(),
        };
        let error = Space::new(space().dimensions, vec![derived]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "'a' depends on 'b', which is not searched; give it a range too"
        );
        assert_eq!(Space::new(Vec::new(), Vec::new()), Err(SpaceError::Empty));
    }

    #[test]
    fn a_point_belongs_to_the_space_only_if_it_is_whole() {
        let space = space();
        let mut point = space.at([0.5, 0.5]);
        assert!(space.contains(&point));
        assert_eq!(space.count(), Some(961 * 2));
        point.0.insert("other".into(), Value::Int(1));
        assert!(!space.contains(&point));
        point.0.remove("tokens");
        assert_eq!(space.coordinates(&point), None);
    }
}
