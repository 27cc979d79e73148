//! Where in the space of loads a run was measured: what pairs runs of two groups.

use crate::scenario::{Load, Shape};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// Key under which a point says to which group of an import it belongs.
pub const GROUP: &str = "group";

/// Values of the axes by their names, as `{"concurrency": 8}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point(pub BTreeMap<String, Value>);

impl Point {
    /// The load of a run that belongs to no sweep.
    pub fn of_load(load: &Load) -> Self {
        let (axis, value) = match load.shape {
            Shape::Closed { concurrency, .. } => ("concurrency", Value::from(concurrency)),
            Shape::Open { rate, .. } if rate.is_infinite() => ("rate", Value::from("inf")),
            Shape::Open { rate, .. } => ("rate", Value::from(rate.0)),
            Shape::Replay { speed, .. } => ("speed", Value::from(speed)),
        };
        Point(BTreeMap::from([(axis.to_owned(), value)]))
    }

    /// The group of an import that it belongs to.
    pub fn group(&self) -> Option<&str> {
        self.0.get(GROUP)?.as_str()
    }

    /// The same in whatever group.
    pub fn without_group(&self) -> Self {
        let mut point = self.clone();
        point.0.remove(GROUP);
        point
    }

    /// Those axes alone in which the points differ, and what all of them share; all axes where they
    /// differ in none.
    pub fn told_apart(points: &[&Self]) -> (Vec<Self>, Self) {
        let is_shared = |axis: &String, value: &Value| {
            let mut others = points.iter().map(|point| point.0.get(axis));
            points.len() > 1 && others.all(|other| other == Some(value))
        };
        let part = |point: &Self, keep: bool| {
            let parts = point.0.iter();
            let parts = parts.filter(|(axis, value)| is_shared(axis, value) == keep);
            Point(parts.map(|it| (it.0.clone(), it.1.clone())).collect())
        };
        let apart: Vec<Self> = points.iter().map(|point| part(point, false)).collect();
        if apart.iter().any(|point| point.0.is_empty()) {
            return (points.iter().copied().cloned().collect(), Point::default());
        }
        let shared = points.first().map(|point| part(point, true));
        (apart, shared.unwrap_or_default())
    }

    /// A text that is equal for equal points: 8, 8.0 and "8" are one value.
    pub fn key(&self) -> String {
        self.to_string()
    }

    /// Whether arrivals were planned, so that throughput follows the plan and not the server. A
    /// rate without limit plans nothing: other tools call a closed loop so.
    pub fn is_open_loop(&self) -> bool {
        let is_limited = |rate: &Value| rate.as_str() != Some("inf");
        self.0.get("rate").is_some_and(is_limited) || self.0.contains_key("speed")
    }

    /// Order by axis, numbers by their size.
    pub fn order(&self, other: &Self) -> std::cmp::Ordering {
        let number = |value: &Value| match value {
            Value::String(text) => text.parse().unwrap_or(f64::INFINITY),
            value => value.as_f64().unwrap_or(f64::INFINITY),
        };
        for ((axis, value), (other_axis, other_value)) in self.0.iter().zip(&other.0) {
            let order = axis
                .cmp(other_axis)
                .then(number(value).total_cmp(&number(other_value)));
            if order.is_ne() {
                return order;
            }
        }
        self.key().cmp(&other.key())
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (axis, value)) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            let text = match value {
                Value::String(text) => text.parse::<f64>().map_or(text.clone(), |n| n.to_string()),
                Value::Number(number) => number.as_f64().unwrap_or(f64::NAN).to_string(),
                other => other.to_string(),
            };
            write!(f, "{separator}{axis}={text}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(json: &str) -> Point {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn equal_loads_have_equal_keys_however_they_are_written() {
        let key = point(r#"{"concurrency": 8, "input-tokens": "512"}"#).key();
        assert_eq!(key, "concurrency=8, input-tokens=512");
        assert_eq!(
            point(r#"{"input-tokens": 512.0, "concurrency": "8"}"#).key(),
            key
        );
        assert_ne!(point(r#"{"concurrency": 9}"#).key(), key);
    }

    #[test]
    fn points_are_told_apart_by_what_differs_and_share_the_rest() {
        let a = point(r#"{"concurrency": 8, "input-tokens": 512}"#);
        let b = point(r#"{"concurrency": 16, "input-tokens": 512}"#);
        let (apart, shared) = Point::told_apart(&[&a, &b]);
        let names: Vec<String> = apart.iter().map(Point::key).collect();
        assert_eq!(names, ["concurrency=8", "concurrency=16"]);
        assert_eq!(shared.key(), "input-tokens=512");
        for same in [vec![&a], vec![&a, &a]] {
            let (apart, shared) = Point::told_apart(&same);
            assert!(apart.iter().all(|it| *it == a) && shared.0.is_empty());
        }
    }

    #[test]
    fn a_rate_without_limit_is_no_open_loop() {
        assert!(!point(r#"{"concurrency": 4, "rate": "inf"}"#).is_open_loop());
        assert!(point(r#"{"concurrency": 4, "rate": 2.5}"#).is_open_loop());
        assert!(point(r#"{"rate": "8"}"#).is_open_loop());
    }

    #[test]
    fn points_are_ordered_by_number_not_by_letter() {
        let small = point(r#"{"concurrency": 8}"#);
        let large = point(r#"{"concurrency": 16}"#);
        assert!(small.order(&large).is_lt());
    }
}
