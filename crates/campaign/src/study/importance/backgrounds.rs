//! A flag that does nothing on the whole may do something beside some values of others: a share
//! of the memory means little where the KV cache is small. Every pair of trials that are alike in
//! all else is a background of its own here, and one that shows an effect is enough.

use super::pairs::Run;
use crate::space::{Point, Value};
use std::collections::{BTreeMap, BTreeSet};

/// One pair of many decides here: by chance alone, one of many is some spreads apart.
const CLEAR: f64 = 3.0;

/// What a flag does where it does something.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) worst: Value,
    pub(super) best: Value,
    /// The best's figure against the worst's, as a logarithm.
    pub(super) gain: f64,
    /// Values of other flags that go with every such effect, and never with its absence; empty
    /// where no few values tell.
    pub(super) beside: Point,
}

/// Trials that differ in one flag alone: the values of the others, and from the worst to the best
/// value of this one.
struct Background<'a> {
    others: Point,
    worst: &'a Run,
    best: &'a Run,
}

impl Background<'_> {
    fn gain(&self) -> f64 {
        self.best.log - self.worst.log
    }
}

/// The largest effect of a flag beside any values of the others; absent where there is none.
pub(super) fn seen(name: &str, runs: &[Run], unnoticed: f64) -> Option<Seen> {
    let runs = tied(runs);
    let backgrounds = backgrounds(name, &runs);
    let shows = |it: &&Background<'_>| it.gain() > CLEAR * unnoticed;
    let (with, without): (Vec<_>, Vec<_>) = backgrounds.iter().partition(shows);
    let largest = with.iter().max_by(|a, b| a.gain().total_cmp(&b.gain()))?;
    let value = |run: &Run| run.point.get(name).cloned();
    Some(Seen {
        worst: value(largest.worst)?,
        best: value(largest.best)?,
        gain: largest.gain(),
        beside: telling(&with, &without),
    })
}

/// Runs as if all had seen the prompts of the searched trials: what other prompts do is known of
/// what ran with both. Runs of prompts that nothing ties to those are left out.
fn tied(runs: &[Run]) -> Vec<Run> {
    let Some(first) = runs.iter().map(|run| run.group).min() else {
        return Vec::new();
    };
    let mut shifts: BTreeMap<usize, f64> = BTreeMap::from([(first, 0.0)]);
    let groups: BTreeSet<usize> = runs.iter().map(|run| run.group).collect();
    for group in groups.into_iter().filter(|group| *group != first) {
        let own = runs.iter().filter(|run| run.group == group);
        let shared = own.filter_map(|run| {
            let mut searched = runs.iter().filter(|other| other.group == first);
            let same = searched.find(|other| other.point.same(&run.point))?;
            Some(run.log - same.log)
        });
        let shared: Vec<f64> = shared.collect();
        if !shared.is_empty() {
            shifts.insert(group, shared.iter().sum::<f64>() / shared.len() as f64);
        }
    }
    let tied = runs.iter().filter_map(|run| {
        Some(Run {
            log: run.log - shifts.get(&run.group)?,
            ..run.clone()
        })
    });
    tied.collect()
}

fn backgrounds<'a>(name: &str, runs: &'a [Run]) -> Vec<Background<'a>> {
    let mut alike: BTreeMap<Vec<(String, String)>, Vec<&Run>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.point.get(name).is_some()) {
        let others = run.point.0.iter().filter(|(other, _)| *other != name);
        let others = others.map(|(other, value)| (other.clone(), value.to_string()));
        alike.entry(others.collect()).or_default().push(run);
    }
    let background = |runs: Vec<&'a Run>| {
        let by_log = |a: &&&Run, b: &&&Run| a.log.total_cmp(&b.log);
        let (worst, best) = (runs.iter().min_by(by_log)?, runs.iter().max_by(by_log)?);
        let values: Vec<&Value> = runs.iter().filter_map(|run| run.point.get(name)).collect();
        let is_varied = values.iter().any(|value| !value.same(values[0]));
        let is_pair = !is_same(worst, best, name);
        let mut others = best.point.clone();
        others.0.remove(name);
        // Repeats of one value may be the ends of it: then the values in between show nothing.
        let (worst, best) = if is_pair {
            (*worst, *best)
        } else {
            (*best, *best)
        };
        is_varied.then_some(Background {
            others,
            worst,
            best,
        })
    };
    alike.into_values().filter_map(background).collect()
}

fn is_same(a: &Run, b: &Run, name: &str) -> bool {
    match (a.point.get(name), b.point.get(name)) {
        (Some(a), Some(b)) => a.same(b),
        _ => false,
    }
}

/// Values of others that all backgrounds with an effect have, of which none without one has any,
/// or else has all.
fn telling(with: &[&Background<'_>], without: &[&Background<'_>]) -> Point {
    let has = |it: &Background<'_>, name: &str, value: &Value| {
        it.others.get(name).is_some_and(|own| own.same(value))
    };
    let Some((first, rest)) = with.split_first() else {
        return Point::default();
    };
    let common = first.others.0.iter().filter(|(name, value)| {
        let is_everywhere = without.iter().all(|it| has(it, name, value));
        rest.iter().all(|it| has(it, name, value)) && !is_everywhere
    });
    let common: Vec<(&String, &Value)> = common.collect();
    let alone = common
        .iter()
        .filter(|(name, value)| !without.iter().any(|it| has(it, name, value)));
    let alone: Vec<(&String, &Value)> = alone.copied().collect();
    let told = if alone.is_empty() { common } else { alone };
    let is_told = |it: &&Background<'_>| told.iter().all(|(name, value)| has(it, name, value));
    if without.iter().any(is_told) {
        return Point::default();
    }
    told.into_iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect()
}
