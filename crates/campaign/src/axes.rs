//! The axes of a sweep and the points that they make.

mod expression;
mod list;
mod order;

pub use expression::{Expression, ExpressionError};
pub use list::{ListError, MOST_VALUES, Values};
pub use order::{Order, Visit, visits};

use inferometer_core::point::Point;
use serde_json::Value;
use std::collections::BTreeMap;

pub const MOST_POINTS: usize = 100_000;

#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The option's name: `concurrency`.
    pub name: String,
    pub values: Values,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Combination {
    #[default]
    Product,
    /// The first values together, then the second.
    Zip,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AxesError {
    #[error("'{0}' is given twice; give all of its values in one list")]
    Twice(String),
    #[error("--zip needs lists of one length: '{a}' has {a_count} values and '{b}' has {b_count}")]
    UnequalZip {
        a: String,
        a_count: usize,
        b: String,
        b_count: usize,
    },
    #[error("'{axis}' depends on '{on}', which is not an option of this sweep")]
    NoSuchAxis { axis: String, on: String },
    #[error("'{0}' depends on itself, directly or through others")]
    Circle(String),
    #[error("'{axis}' has no value for {on}={value}; add a case, or *=VALUE for all others")]
    NoCase {
        axis: String,
        on: String,
        value: String,
    },
    #[error("'{axis}': {error}")]
    Derived {
        axis: String,
        error: ExpressionError,
    },
    #[error("the axes make more than {MOST_POINTS} points; take fewer values, or --zip")]
    TooManyPoints,
}

/// One point of a sweep: the value of every option in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting(pub BTreeMap<String, String>);

impl Setting {
    /// A name that is the same whenever the values are, whatever the order of the options or
    /// the other points: what a resumed sweep finds its finished points by.
    pub fn id(&self) -> String {
        let text: Vec<String> = (self.0.iter())
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        // FNV-1a: fixed for ever, unlike the standard library's hash.
        let hash = text
            .join("\n")
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        let readable: String = (text.join("-").chars())
            .map(|c| match c {
                c if c.is_ascii_alphanumeric() || ".-".contains(c) => c,
                _ => '_',
            })
            .take(60)
            .collect();
        format!("{readable}-{hash:016x}")
    }

    /// As `compare` pairs it: numbers as numbers.
    pub fn point(&self) -> Point {
        let values = self.0.iter().map(|(name, text)| {
            let value = match (text.parse::<i64>(), text.parse::<f64>()) {
                (Ok(whole), _) => Value::from(whole),
                (_, Ok(number)) if number.is_finite() => Value::from(number),
                _ => Value::from(text.as_str()),
            };
            (name.clone(), value)
        });
        Point(values.collect())
    }
}

/// All points of the axes, the last axis changing fastest. Options with one value are in every
/// point, so that others can depend on them.
pub fn settings(axes: &[Axis], combination: Combination) -> Result<Vec<Setting>, AxesError> {
    for (at, axis) in axes.iter().enumerate() {
        if axes[..at].iter().any(|other| other.name == axis.name) {
            return Err(AxesError::Twice(axis.name.clone()));
        }
    }
    let lists: Vec<(&str, &[String])> = (axes.iter())
        .filter_map(|axis| match &axis.values {
            Values::List(values) => Some((axis.name.as_str(), values.as_slice())),
            Values::By { .. } | Values::Derived(_) => None,
        })
        .collect();
    let dependent = in_order(axes)?;
    let mut points = match combination {
        Combination::Product => product(&lists)?,
        Combination::Zip => zip(&lists)?,
    };
    for point in &mut points {
        for axis in &dependent {
            let value = dependent_value(axis, point)?;
            point.0.insert(axis.name.clone(), value);
        }
    }
    // Dependent values may make two points one.
    let mut seen = std::collections::BTreeSet::new();
    points.retain(|point| seen.insert(point.clone()));
    Ok(points)
}

fn product(lists: &[(&str, &[String])]) -> Result<Vec<Setting>, AxesError> {
    let mut points = vec![Setting(BTreeMap::new())];
    for (name, values) in lists {
        if points.len().saturating_mul(values.len()) > MOST_POINTS {
            return Err(AxesError::TooManyPoints);
        }
        let with = |point: &Setting, value: &String| {
            let mut point = point.clone();
            point.0.insert((*name).to_owned(), value.clone());
            point
        };
        points = (points.iter())
            .flat_map(|point| values.iter().map(move |value| with(point, value)))
            .collect();
    }
    Ok(points)
}

fn zip(lists: &[(&str, &[String])]) -> Result<Vec<Setting>, AxesError> {
    // An option with one value goes with every point.
    let longest = lists.iter().filter(|(_, values)| values.len() > 1);
    let Some((first, values)) = longest.clone().next() else {
        return product(lists);
    };
    let mut unequal = longest.filter(|(_, others)| others.len() != values.len());
    if let Some((other, others)) = unequal.next() {
        return Err(AxesError::UnequalZip {
            a: (*first).to_owned(),
            a_count: values.len(),
            b: (*other).to_owned(),
            b_count: others.len(),
        });
    }
    let at = |index: usize| {
        let pairs = lists.iter().filter_map(|(name, values)| {
            let value = values.get(index).or_else(|| values.first())?;
            Some(((*name).to_owned(), value.clone()))
        });
        Setting(pairs.collect())
    };
    Ok((0..values.len()).map(at).collect())
}

/// Dependent axes, each after those that it needs.
fn in_order(axes: &[Axis]) -> Result<Vec<&Axis>, AxesError> {
    let needs = |axis: &Axis| -> Vec<String> {
        match &axis.values {
            Values::List(_) => Vec::new(),
            Values::By { axis, .. } => vec![axis.clone()],
            Values::Derived(expression) => {
                expression.names().into_iter().map(str::to_owned).collect()
            }
        }
    };
    let mut known: Vec<&str> = Vec::new();
    let mut waiting: Vec<&Axis> = Vec::new();
    for axis in axes {
        match axis.values {
            Values::List(_) => known.push(&axis.name),
            Values::By { .. } | Values::Derived(_) => waiting.push(axis),
        }
        for on in needs(axis) {
            if !axes.iter().any(|other| other.name == on) {
                return Err(AxesError::NoSuchAxis {
                    axis: axis.name.clone(),
                    on,
                });
            }
        }
    }
    let mut ordered = Vec::new();
    while !waiting.is_empty() {
        let ready = |axis: &&Axis| needs(axis).iter().all(|on| known.contains(&on.as_str()));
        let Some(at) = waiting.iter().position(ready) else {
            return Err(AxesError::Circle(waiting[0].name.clone()));
        };
        let axis = waiting.remove(at);
        known.push(&axis.name);
        ordered.push(axis);
    }
    Ok(ordered)
}

fn dependent_value(axis: &Axis, point: &Setting) -> Result<String, AxesError> {
    match &axis.values {
        Values::List(values) => Ok(values.first().cloned().unwrap_or_default()),
        Values::By {
            axis: on,
            cases,
            otherwise,
        } => {
            let here = point.0.get(on).cloned().unwrap_or_default();
            let found = cases.iter().find(|(value, _)| same(value, &here));
            let found = found.map(|(_, result)| result).or(otherwise.as_ref());
            found.cloned().ok_or_else(|| AxesError::NoCase {
                axis: axis.name.clone(),
                on: on.clone(),
                value: here,
            })
        }
        Values::Derived(expression) => expression
            .value(
                |name| point.0.get(name)?.parse().ok(),
                point.0.keys().map(String::as_str),
            )
            .map(list::plain)
            .map_err(|error| AxesError::Derived {
                axis: axis.name.clone(),
                error,
            }),
    }
}

fn same(a: &str, b: &str) -> bool {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(name: &str, values: &str) -> Axis {
        Axis {
            name: name.to_owned(),
            values: values.parse().unwrap(),
        }
    }

    fn derived(name: &str, expression: &str) -> Axis {
        Axis {
            name: name.to_owned(),
            values: Values::Derived(expression.parse().unwrap()),
        }
    }

    fn texts(points: &[Setting]) -> Vec<String> {
        points
            .iter()
            .map(|point| point.0.values().cloned().collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn a_product_has_every_combination_and_a_zip_one_after_the_other() {
        let axes = [axis("a", "1,2"), axis("b", "3,4")];
        let all = settings(&axes, Combination::Product).unwrap();
        assert_eq!(texts(&all), ["1 3", "1 4", "2 3", "2 4"]);
        let axes = [axis("a", "1,2"), axis("b", "3,4"), axis("c", "9")];
        let zipped = settings(&axes, Combination::Zip).unwrap();
        assert_eq!(texts(&zipped), ["1 3 9", "2 4 9"]);
    }

    #[test]
    fn an_axis_may_depend_on_another_and_on_a_derived_one() {
        let axes = [
            derived("requests", "concurrency*10"),
            axis("concurrency", "by input-chars: 100=32, 500=25, *=16"),
            axis("input-chars", "100,500,1000"),
        ];
        let points = settings(&axes, Combination::Product).unwrap();
        assert_eq!(texts(&points), ["32 100 320", "25 500 250", "16 1000 160"]);
    }

    #[test]
    fn contradictory_axes_are_refused_with_the_reason() {
        let message = |axes: &[Axis], how| settings(axes, how).unwrap_err().to_string();
        use Combination::{Product, Zip};
        assert!(message(&[axis("a", "1"), axis("a", "2")], Product).contains("twice"));
        assert!(message(&[axis("a", "1,2"), axis("b", "1,2,3")], Zip).contains("one length"));
        assert!(message(&[derived("a", "b*2")], Product).contains("not an option of this sweep"));
        assert!(message(&[derived("a", "b"), derived("b", "a")], Product).contains("itself"));
        let partial = [axis("a", "by b: 1=2"), axis("b", "1,3")];
        assert!(message(&partial, Product).contains("no value for b=3"));
        assert!(message(&[axis("a", "x"), derived("b", "a+1")], Product).contains("not known"));
        let large = ["a", "b", "c"].map(|name| axis(name, "1..100:+1"));
        assert!(message(&large, Product).contains("fewer values"));
    }

    #[test]
    fn the_id_of_a_point_does_not_depend_on_its_neighbours() {
        let few = settings(&[axis("a", "1"), axis("b", "x/y z")], Combination::Product).unwrap();
        let many = settings(
            &[axis("b", "q,x/y z"), axis("a", "5,1")],
            Combination::Product,
        )
        .unwrap();
        let id = few[0].id();
        assert!(many.iter().any(|point| point.id() == id));
        assert_eq!(many.iter().filter(|point| point.id() == id).count(), 1);
        assert!(id.starts_with("a_1-b_x_y_z-"), "{id}");
        assert!(
            id.chars()
                .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        );
    }

    #[test]
    fn a_point_pairs_by_number() {
        let point = settings(
            &[axis("concurrency", "8"), axis("data", "a.json")],
            Combination::Product,
        );
        let json = serde_json::to_value(point.unwrap()[0].point()).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"concurrency": 8, "data": "a.json"})
        );
    }
}
