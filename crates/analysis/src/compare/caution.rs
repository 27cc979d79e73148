//! What a reader of a comparison should know of its sides, though they may be compared.

use super::Group;
use inferometer_core::doubt::Severity;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A group whose runs are invalid or have warnings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupDoubts {
    pub group: String,
    pub runs: usize,
    /// Runs that are invalid.
    pub invalid: usize,
    /// The gravest first; notes are not among them.
    pub doubts: Vec<DoubtCount>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoubtCount {
    pub code: String,
    pub severity: Severity,
    /// Runs of the group that have it.
    pub runs: usize,
}

/// The models of a group's runs, as far as they say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupModels {
    pub group: String,
    pub models: Vec<String>,
}

/// How many requests a run of a group had.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupLengths {
    pub group: String,
    /// The median of its runs.
    pub requests: u64,
}

/// Runs that are longer by less than this are as long.
const LONGER: f64 = 1.5;

impl GroupDoubts {
    pub(super) fn of(group: &Group) -> Option<Self> {
        let mut counts: BTreeMap<(std::cmp::Reverse<Severity>, &str), usize> = BTreeMap::new();
        for run in &group.runs {
            let grave = run
                .doubts()
                .filter(|(_, severity)| *severity > Severity::Note);
            // A run counts once for each, however often it has it.
            let own: BTreeSet<_> = grave
                .map(|(code, it)| (std::cmp::Reverse(it), code))
                .collect();
            for doubt in own {
                *counts.entry(doubt).or_default() += 1;
            }
        }
        let invalid = group.runs.iter().filter(|run| !run.summary.valid).count();
        (invalid > 0 || !counts.is_empty()).then(|| GroupDoubts {
            group: group.name.clone(),
            runs: group.runs.len(),
            invalid,
            doubts: (counts.into_iter())
                .map(|((severity, code), runs)| DoubtCount {
                    code: code.to_owned(),
                    severity: severity.0,
                    runs,
                })
                .collect(),
        })
    }
}

/// The models of each group, unless all that are named are one.
pub(super) fn different_models(groups: &[Group]) -> Vec<GroupModels> {
    let models = |group: &Group| -> BTreeSet<String> {
        let named = group.runs.iter().filter_map(|run| run.system.model.clone());
        named.collect()
    };
    let named: Vec<GroupModels> = (groups.iter())
        .map(|group| GroupModels {
            group: group.name.clone(),
            models: models(group).into_iter().collect(),
        })
        .filter(|it| !it.models.is_empty())
        .collect();
    // One side alone with several models is no difference between the sides.
    let differ = named.iter().any(|it| it.models != named[0].models);
    if differ { named } else { Vec::new() }
}

/// The requests of each group's runs, where some side's are much longer: a start, a queue that grows
/// and slow answers at the end weigh less in a longer run of the same server.
pub(super) fn different_lengths(groups: &[Group]) -> Vec<GroupLengths> {
    let median = |group: &Group| {
        let counts = group.runs.iter().map(|run| run.summary.requests.ok);
        let mut counts: Vec<u64> = counts.filter(|count| *count > 0).collect();
        counts.sort_unstable();
        counts.get(counts.len() / 2).copied()
    };
    let lengths: Vec<GroupLengths> = (groups.iter())
        .filter_map(|group| {
            Some(GroupLengths {
                group: group.name.clone(),
                requests: median(group)?,
            })
        })
        .collect();
    let ends = lengths.iter().map(|it| it.requests);
    let differ = match (ends.clone().min(), ends.max()) {
        (Some(least), Some(most)) => most as f64 > LONGER * least as f64,
        _ => false,
    };
    if differ { lengths } else { Vec::new() }
}
