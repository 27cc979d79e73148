//! Axes that follow others: one that has a single value for each value of another.

use super::{SETTING, is_length, is_load};
use inferometer_core::point::Point;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Whether the second axis has one value for each value of the first.
fn decides(planned: &[&Point], a: &str, b: &str) -> bool {
    let value = |point: &Point, axis: &str| point.0.get(axis).map(ToString::to_string);
    let mut seen = BTreeMap::new();
    planned.iter().all(|point| {
        let (a, b) = (value(point, a), value(point, b));
        *seen.entry(a).or_insert_with(|| b.clone()) == b
    })
}

/// Pairs of axes of which the second follows the first. What a result is called is not varied, and
/// follows nothing: two tests may have no load in common.
pub fn confounded<'a>(axes: &'a [String], planned: &[&Point]) -> Vec<(&'a str, &'a str)> {
    let axes = axes.iter().map(String::as_str);
    let axes = axes.filter(|axis| *axis != SETTING);
    let mut found: Vec<(&str, &str)> = Vec::new();
    for a in axes.clone() {
        for b in axes.clone().filter(|b| *b != a) {
            if decides(planned, a, b) && !found.contains(&(b, a)) {
                found.push((a, b));
            }
        }
    }
    found
}

/// The axes but for those that follow another. Of two that follow each other the length stays,
/// else the load, else the first. Results of different names are never points of one curve.
pub fn independent<'a>(axes: &'a [String], planned: &[&Point]) -> Vec<&'a String> {
    let varies = |axis: &String| {
        let values = planned.iter().map(|point| point.0.get(axis));
        let texts: BTreeSet<Option<String>> =
            values.map(|value| value.map(ToString::to_string)).collect();
        texts.len() > 1
    };
    let rank = |axis: &String| {
        let place = axes.iter().position(|it| it == axis);
        let [length, load] = [is_length(axis), is_load(axis)].map(Reverse);
        (length, load, place)
    };
    let follows = |b: &&String| {
        let mut others = axes.iter().filter(|a| a != b);
        *b != SETTING
            && varies(b)
            && others.any(|a| {
                varies(a)
                    && decides(planned, a, b)
                    && (!decides(planned, b, a) || rank(a) < rank(b))
            })
    };
    axes.iter().filter(|axis| !follows(axis)).collect()
}
