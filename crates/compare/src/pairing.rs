//! Which runs of two groups meet: those of one load, each run once.

use super::{Copies, Group, RunSample};
use inferometer_core::point::Point;
use std::collections::{BTreeMap, BTreeSet};

impl Group {
    /// Its runs but for invalid ones of a load that has valid ones too. What the server failed at
    /// is no accident of the measurement: such runs stay, and forbid a verdict.
    pub fn counted(&self) -> impl Iterator<Item = &RunSample> {
        let counts = self.counts();
        self.runs.iter().filter(move |run| counts(run))
    }

    pub(super) fn left_out(&self) -> impl Iterator<Item = &RunSample> {
        let counts = self.counts();
        self.runs.iter().filter(move |run| !counts(run))
    }

    fn counts(&self) -> impl Fn(&RunSample) -> bool + use<> {
        let valid = self.runs.iter().filter(|run| run.summary.valid);
        let valid: BTreeSet<String> = valid.map(|run| run.point.key()).collect();
        move |run| run.summary.valid || run.server_failed() || !valid.contains(&run.point.key())
    }
}

/// Runs that count by point, in the order of the points. Copies of a run tell nothing that it does not.
pub(super) fn by_point(group: &Group) -> Vec<(&Point, Vec<&RunSample>)> {
    let mut points: BTreeMap<String, (&Point, Vec<&RunSample>)> = BTreeMap::new();
    for run in group.counted() {
        let entry = points.entry(run.point.key());
        let (_, runs) = entry.or_insert((&run.point, Vec::new()));
        if !runs.iter().any(|other| run.is_copy_of(other)) {
            runs.push(run);
        }
    }
    let mut points: Vec<_> = points.into_values().collect();
    // Loads of one test stand together.
    points.sort_by(|a, b| (a.0.group().cmp(&b.0.group())).then_with(|| a.0.order(b.0)));
    points
}

/// What tells measurements apart even where only one side names it.
const KEPT: [&str; 6] = ["concurrency", "rate", "speed", "group", "name", "row"];

/// Two groups of which one names a setting that is the same in all of its runs and that the other
/// does not name at all: without it their loads can meet. Absent where there is no need.
pub(super) fn aligned(groups: [&Group; 2]) -> Option<[Group; 2]> {
    let keys = groups.map(|group| -> BTreeSet<String> {
        group.runs.iter().map(|run| run.point.key()).collect()
    });
    if groups.iter().any(|group| group.runs.len() < 2) || !keys[0].is_disjoint(&keys[1]) {
        return None;
    }
    let axes = groups.map(|group| -> BTreeMap<&String, BTreeSet<String>> {
        let mut axes: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (axis, value) in group.runs.iter().flat_map(|run| &run.point.0) {
            axes.entry(axis).or_default().insert(value.to_string());
        }
        axes
    });
    let constant = |at: usize| -> BTreeSet<String> {
        let own = axes[at].iter();
        own.filter(|(axis, values)| values.len() == 1 && !axes[1 - at].contains_key(*axis))
            .filter(|(axis, _)| !KEPT.contains(&axis.as_str()))
            .map(|(axis, _)| (*axis).clone())
            .collect()
    };
    let constant = [constant(0), constant(1)];
    let mut aligned = groups.map(Group::clone);
    for (group, constant) in aligned.iter_mut().zip(&constant) {
        for run in &mut group.runs {
            run.point.0.retain(|axis, _| !constant.contains(axis));
        }
    }
    constant.iter().any(|it| !it.is_empty()).then_some(aligned)
}

pub(super) fn copies(group: &Group) -> Vec<Copies> {
    let mut given: BTreeMap<String, usize> = BTreeMap::new();
    for run in group.counted() {
        *given.entry(run.point.key()).or_default() += 1;
    }
    let of = |(point, distinct): (&Point, Vec<&RunSample>)| Copies {
        group: group.name.clone(),
        point: point.clone(),
        runs: given.get(&point.key()).copied().unwrap_or_default(),
        distinct: distinct.len(),
    };
    let points = by_point(group).into_iter().map(of);
    points.filter(|it| it.runs > it.distinct).collect()
}
