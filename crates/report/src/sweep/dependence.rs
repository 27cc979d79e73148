//! Axes that follow others: one that has a single value for each value of another.

use super::LOAD;
use super::grid::is_length;
use inferometer_core::point::Point;
use inferometer_store::sweep_dir::SweepPlan;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Whether the second axis has one value for each value of the first.
fn decides(plan: &SweepPlan, a: &str, b: &str) -> bool {
    let value = |point: &Point, axis: &str| point.0.get(axis).map(ToString::to_string);
    let mut seen = BTreeMap::new();
    (plan.points.iter()).all(|planned| {
        let (a, b) = (value(&planned.point, a), value(&planned.point, b));
        *seen.entry(a).or_insert_with(|| b.clone()) == b
    })
}

/// Pairs of axes of which the second follows the first.
pub(super) fn confounded(plan: &SweepPlan) -> Vec<(&str, &str)> {
    let axes = plan.axes.iter().map(String::as_str);
    let mut found: Vec<(&str, &str)> = Vec::new();
    for a in axes.clone() {
        for b in axes.clone().filter(|b| *b != a) {
            if decides(plan, a, b) && !found.contains(&(b, a)) {
                found.push((a, b));
            }
        }
    }
    found
}

/// The axes but for those that follow another. Of two that follow each other the length stays,
/// else the load, else the first.
pub(crate) fn independent(plan: &SweepPlan) -> Vec<&String> {
    let varies = |axis: &String| {
        let values = plan.points.iter().map(|it| it.point.0.get(axis));
        let texts: BTreeSet<Option<String>> =
            values.map(|value| value.map(ToString::to_string)).collect();
        texts.len() > 1
    };
    let rank = |axis: &String| {
        let place = plan.axes.iter().position(|it| it == axis);
        let [length, load] = [is_length(axis), LOAD.contains(&axis.as_str())].map(Reverse);
        (length, load, place)
    };
    let follows = |b: &&String| {
        let mut others = plan.axes.iter().filter(|a| a != b);
        varies(b)
            && others.any(|a| {
                varies(a) && decides(plan, a, b) && (!decides(plan, b, a) || rank(a) < rank(b))
            })
    };
    let axes = plan.axes.iter();
    axes.filter(|axis| !follows(axis)).collect()
}
