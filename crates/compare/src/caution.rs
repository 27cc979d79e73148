//! What a reader of a comparison should know of its sides, though they may be compared.

use super::{Group, RunSample, Unpaired};
use inferometer_core::doubt::Severity;
use inferometer_core::point::Point;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A group whose runs that count are invalid or have warnings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupDoubts {
    pub group: String,
    pub runs: usize,
    /// Runs that are invalid.
    pub invalid: usize,
    /// Runs at loads that are not compared which are invalid or have warnings, and are not counted
    /// otherwise.
    #[serde(default, skip_serializing_if = "is_none")]
    pub elsewhere: usize,
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

/// An invalid run that does not count beside valid ones of its load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    pub group: String,
    /// Where it is.
    pub run: String,
    pub point: Point,
    /// The doubts that make it invalid.
    pub codes: Vec<String>,
    /// What the first of them saw, and what to do about it.
    pub text: String,
    pub remedy: String,
}

impl LeftOut {
    pub(super) fn of(group: &Group) -> impl Iterator<Item = LeftOut> {
        group.left_out().map(|run| {
            let first = run.invalid_by().next();
            LeftOut {
                group: group.name.clone(),
                run: if run.name.is_empty() {
                    group.name.clone()
                } else {
                    run.name.clone()
                },
                point: run.point.clone(),
                codes: run.invalid_by().map(|it| it.code.to_owned()).collect(),
                text: first.as_ref().map_or("", |it| it.text).to_owned(),
                remedy: first.as_ref().map_or("", |it| it.remedy).to_owned(),
            }
        })
    }
}

/// The models of a group's runs, as far as they say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupModels {
    pub group: String,
    pub models: Vec<String>,
}

/// The cards of a group's runs, as far as they say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupDevices {
    pub group: String,
    pub devices: Vec<String>,
}

/// The tools by whose definitions the figures of a group are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupTools {
    pub group: String,
    pub tools: Vec<String>,
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

/// How many requests a run of a group had.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupLengths {
    pub group: String,
    /// The median of its runs at the load where sides differ most.
    pub requests: u64,
}

/// Runs that are longer by less than this are as long.
const LONGER: f64 = 1.5;

impl GroupDoubts {
    pub(super) fn of(group: &Group, is_compared: impl Fn(&Point) -> bool) -> Option<Self> {
        let mut counts: BTreeMap<(std::cmp::Reverse<Severity>, &str), usize> = BTreeMap::new();
        let (runs, others): (Vec<&RunSample>, Vec<&RunSample>) =
            group.counted().partition(|run| is_compared(&run.point));
        let is_doubted = |run: &&RunSample| run.doubts().any(|it| it.severity > Severity::Note);
        let elsewhere = others.into_iter().filter(is_doubted).count();
        for run in &runs {
            let grave = run.doubts().filter(|it| it.severity > Severity::Note);
            // A run counts once for each, however often it has it.
            let own: BTreeSet<_> = grave
                .map(|it| (std::cmp::Reverse(it.severity), it.code))
                .collect();
            for doubt in own {
                *counts.entry(doubt).or_default() += 1;
            }
        }
        let invalid = runs.iter().filter(|run| !run.summary.valid).count();
        (invalid > 0 || elsewhere > 0 || !counts.is_empty()).then(|| GroupDoubts {
            group: group.name.clone(),
            runs: runs.len(),
            invalid,
            elsewhere,
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

/// Loads at which the server of a group ran out of memory.
pub(super) fn out_of_memory(group: &Group) -> impl Iterator<Item = Unpaired> {
    group.out_of_memory.iter().map(|point| Unpaired {
        group: group.name.clone(),
        point: point.clone(),
    })
}

/// What the runs of each group name, unless all groups name the same: one side alone with several
/// is no difference between the sides. Tests of an import that several sides have are held against
/// each other one by one, since a side may have others beside them.
fn different(
    groups: &[Group],
    named_by: impl Fn(&RunSample) -> Option<String>,
) -> Vec<(String, Vec<String>)> {
    let names = |group: &Group, counts: &dyn Fn(&RunSample) -> bool| -> BTreeSet<String> {
        let runs = group.runs.iter().filter(|run| counts(run));
        runs.filter_map(&named_by).collect()
    };
    let tests = |group: &Group| -> BTreeSet<Option<String>> {
        let tests = group.runs.iter().map(|run| run.point.group());
        tests.map(|test| test.map(str::to_owned)).collect()
    };
    let all: Vec<BTreeSet<Option<String>>> = groups.iter().map(tests).collect();
    let shared = |test: &&Option<String>| all.iter().filter(|it| it.contains(*test)).count() > 1;
    let shared: BTreeSet<&Option<String>> = all.iter().flatten().filter(shared).collect();
    let is_of = |test: &Option<String>, run: &RunSample| run.point.group() == test.as_deref();
    let differ_in = |counts: &dyn Fn(&RunSample) -> bool| {
        let named = groups.iter().map(|group| names(group, counts));
        let plain = named.map(|names| names.iter().map(|it| plain(it)).collect());
        let named: BTreeSet<BTreeSet<String>> = plain
            .filter(|it: &BTreeSet<String>| !it.is_empty())
            .collect();
        named.len() > 1
    };
    let differ = if shared.is_empty() {
        differ_in(&|_| true)
    } else {
        (shared.iter()).any(|test| differ_in(&|run| is_of(test, run)))
    };
    let named = groups.iter().map(|group| {
        let names = names(group, &|_| true);
        (group.name.clone(), Vec::from_iter(names))
    });
    named
        .filter(|(_, names)| differ && !names.is_empty())
        .collect()
}

/// A name as far as it tells one thing from another: `Qwen/Qwen2.5-7B-Instruct` is also written
/// without its owner, in small letters and without what it was tuned for.
fn plain(name: &str) -> String {
    let name = name.trim_end_matches('/').to_lowercase();
    let name = name.rsplit('/').next().unwrap_or(&name);
    let mut tuned = ["-instruct", "-chat"].into_iter();
    let plain = tuned.find_map(|end| name.strip_suffix(end));
    plain.unwrap_or(name).to_owned()
}

/// The models of each group, unless all that are named are one.
pub(super) fn different_models(groups: &[Group]) -> Vec<GroupModels> {
    let named = different(groups, |run| run.system.model.clone()).into_iter();
    let models = |(group, models)| GroupModels { group, models };
    named.map(models).collect()
}

/// The tools of each group, likewise.
pub(super) fn different_tools(groups: &[Group]) -> Vec<GroupTools> {
    let named = different(groups, |run| Some(run.tool().to_owned())).into_iter();
    let tools = |(group, tools)| GroupTools { group, tools };
    named.map(tools).collect()
}

/// The cards of each group, likewise. A name that says less may be that of the same card.
pub(super) fn different_devices(groups: &[Group]) -> Vec<GroupDevices> {
    let runs = groups.iter().flat_map(|group| &group.runs);
    let all: Vec<&String> = runs.filter_map(|run| run.system.device.as_ref()).collect();
    let least = |name: &String| {
        let shorter = all.iter().filter(|it| begins_with(name, it));
        let shortest = shorter.min_by_key(|it| it.len());
        shortest.map_or(name, |it| *it).clone()
    };
    let named = different(groups, |run| run.system.device.as_ref().map(least)).into_iter();
    let devices = |(group, devices)| GroupDevices { group, devices };
    named.map(devices).collect()
}

/// Whether a name is another one with more words: `a100-80g` and `A100`.
fn begins_with(name: &str, shorter: &str) -> bool {
    let (name, shorter) = (name.to_lowercase(), shorter.to_lowercase());
    let rest = name.strip_prefix(&shorter);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
}

/// The requests of each group's runs at the load where some side's are much longer than another's: a
/// start, a queue that grows and slow answers at the end weigh less in a longer run of the same
/// server. Higher loads often have more requests, so that sides are held against each other at each
/// load that all have; where they have none in common, as a whole.
pub(super) fn different_lengths(groups: &[Group]) -> Vec<GroupLengths> {
    let loads = |group: &Group| -> BTreeSet<String> {
        group.runs.iter().map(|run| run.point.key()).collect()
    };
    let shared = groups.iter().map(loads).reduce(|a, b| &a & &b);
    let shared = Vec::from_iter(shared.unwrap_or_default());
    let median = |group: &Group, load: Option<&String>| {
        let runs = group.runs.iter();
        let runs = runs.filter(|run| load.is_none_or(|load| run.point.key() == *load));
        let counts = runs.map(|run| run.summary.requests.ok);
        let mut counts: Vec<u64> = counts.filter(|count| *count > 0).collect();
        counts.sort_unstable();
        counts.get(counts.len() / 2).copied()
    };
    let at = |load: Option<&String>| -> Option<(f64, Vec<GroupLengths>)> {
        let lengths = groups.iter().filter_map(|group| {
            Some(GroupLengths {
                group: group.name.clone(),
                requests: median(group, load)?,
            })
        });
        let lengths = Vec::from_iter(lengths);
        let least = lengths.iter().map(|it| it.requests).min()?;
        let most = lengths.iter().map(|it| it.requests).max()?;
        Some((most as f64 / least as f64, lengths))
    };
    let each = match shared.as_slice() {
        [] => vec![at(None)],
        loads => loads.iter().map(|load| at(Some(load))).collect(),
    };
    let most = each
        .into_iter()
        .flatten()
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let differ = most.filter(|(longer, _)| *longer > LONGER);
    differ.map_or_else(Vec::new, |(_, lengths)| lengths)
}

#[cfg(test)]
mod tests {
    use super::{begins_with, plain};

    #[test]
    fn a_card_may_be_named_with_its_memory_or_without() {
        assert!(begins_with("a100-80g", "A100"));
        assert!(begins_with("H20 (96 GB)", "h20"));
        assert!(!begins_with("h200", "h20"));
        assert!(!begins_with("a100-80g", "a100-40g"));
    }

    #[test]
    fn a_model_is_the_same_however_it_is_written() {
        for name in [
            "Qwen/Qwen2.5-7B-Instruct",
            "qwen2.5-7b",
            "/weights/Qwen2.5-7B-Instruct/",
        ] {
            assert_eq!(plain(name), "qwen2.5-7b");
        }
        assert_ne!(plain("Qwen2.5-7B"), plain("Qwen2.5-14B"));
    }
}
