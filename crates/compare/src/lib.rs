//! Groups of runs against a baseline: whether they may be compared, and what differs.

mod between;
mod caution;
mod compared;
mod contrast;
mod headline;
mod metric;
mod paired_requests;
mod pairing;
mod pooled;
mod repeated;
mod sample;
mod series;
mod short_run;
#[cfg(test)]
mod tests;
mod told_requests;
mod why_not;
mod why_not_texts;
mod within_slo;

pub use between::Between;
pub use caution::{
    DoubtCount, GroupDevices, GroupDoubts, GroupLengths, GroupModels, GroupTools, LeftOut,
};
pub use headline::Headline;
pub use metric::{BadMetric, Metric};
pub use pooled::Pooled;
pub use repeated::Repeated;
pub use sample::{Definition, ForeignDoubt, RunSample, System};
pub use series::Series;
pub use short_run::{Needed, ShortRun};
pub use why_not::{WhyNot, are_other_lengths};
pub use why_not_texts::WhyNotText;
pub use within_slo::WithinSlo;

use between::between;
use compared::{Compared, judged};
use inferometer_core::point::Point;
use pairing::{aligned, by_point, copies};
use repeated::{Repeats, loads_of_tests};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use strum::VariantArray as _;

/// Name and version of the form.
pub const SCHEMA: &str = "inferometer.compare/1";

/// Runs that belong together: repeats, or a sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    pub name: String,
    pub runs: Vec<RunSample>,
    /// Loads at which its server ran out of memory, and which have no run.
    pub out_of_memory: Vec<Point>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Ratios within this of 1 are the same: 0.03 for 3 %.
    pub margin: f64,
    /// Chance to find a difference that is not there.
    pub risk: f64,
    /// Standard deviation from run to run, as a share, that is assumed where each group has
    /// only one run: a single run cannot show how much the next would differ.
    pub run_deviation: f64,
    /// The metric that decides, tested by itself; the others are tested as a family. Absent:
    /// output tokens a second in a closed loop; mean latency in an open one, whose throughput
    /// is given.
    pub primary: Option<Metric>,
    /// What to compare; the primary is compared in any case.
    pub metrics: Vec<Metric>,
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            margin: 0.03,
            risk: 0.05,
            run_deviation: 0.01,
            primary: None,
            metrics: Metric::VARIANTS.to_vec(),
            seed: 0,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// `inferometer.compare/1`.
    pub schema: String,
    /// The group that the others are compared with.
    pub baseline: String,
    /// Nothing speaks against any comparison.
    pub comparable: bool,
    pub why_not: Vec<String>,
    /// The same, for reports in any language.
    #[serde(skip)]
    pub reasons: Vec<WhyNot>,
    /// Ratios within this of 1 are the same.
    pub margin: f64,
    /// One figure of one group at one point.
    pub rows: Vec<Row>,
    /// The primary metric over all loads of a test, where it has several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pooled: Vec<Pooled>,
    /// The other groups against each other, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub between: Vec<Between>,
    /// Points that only one of two groups has.
    pub unpaired: Vec<Unpaired>,
    /// How far each group's ladders meet their objectives, where they have any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within_slo: Vec<WithinSlo>,
    /// Runs that were there more than once, and count once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<Copies>,
    /// Loads that another tool measured several times, with other results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeated: Vec<Repeated>,
    /// Invalid runs that do not count, since valid ones of their load are there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Groups whose other runs are invalid or have warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<GroupDoubts>,
    /// Loads at which a group's server ran out of memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub out_of_memory: Vec<Unpaired>,
    /// The models of each group, where they are not the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<GroupModels>,
    /// The cards of each group, where they are not the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<GroupDevices>,
    /// The tools of each group, where they are not the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<GroupTools>,
    /// Requests of a run on each side, where these differ much.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lengths: Vec<GroupLengths>,
}

/// A smaller difference is printed as 0.0 %, and is none for anybody, however certain.
const LEAST_TOLD: f64 = 0.0005;

/// One figure of one group against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    pub group: String,
    /// The figure, by its place in the summary.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub metric: Metric,
    pub primary: bool,
    pub point: Point,
    /// The baseline's value (geometric mean over runs).
    pub a: Option<f64>,
    pub b: Option<f64>,
    /// b / a.
    pub ratio: Option<f64>,
    /// Low end of the ratio's interval, on which the verdict rests. With 95 % the intervals of the
    /// primary metric hold at all loads and for `pooled` together, those of the others for all metrics of a load.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Confidence of this interval by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<f64>,
    pub verdict: Verdict,
    /// Which way it differs where that is certain and less than the margin; the verdict is then
    /// `same`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_margin: Option<Direction>,
    /// Chance of a difference as large if there is none, times the number of loads and of `pooled`
    /// (of the primary metric) or of metrics (of the others).
    pub p_value: Option<f64>,
    /// Smallest relative difference that this data would have found four times in five.
    pub minimum_detectable: Option<f64>,
    /// Runs of each group that would decide, where these do not.
    pub repeats_to_decide: Option<u32>,
    /// Requests that a run would need for an interval of its own, where the data do not decide and
    /// it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_needed: Option<u64>,
    /// Requests of a run where these are few for the percentile: the runs show how that of so many
    /// differs, and decide all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_each: Option<u64>,
    /// Runs of the baseline and of the group.
    pub runs: [usize; 2],
    /// What the interval rests on.
    pub basis: Basis,
}

/// What a row means for the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Verdict {
    /// It is better than the baseline.
    Better,
    Worse,
    /// It differs by less than the margin, if at all.
    Same,
    /// The data do not decide.
    Unknown,
    /// Something speaks against the comparison itself.
    NotComparable,
}

/// Which way a group differs from the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Direction {
    Better,
    Worse,
}

/// What an interval and its verdict rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Basis {
    /// Differences between repeated runs and inside each, and by permutation.
    Permutation,
    /// Differences between repeated runs and inside each.
    Runs,
    /// Differences between runs that sent the same, one of each side.
    Pairs,
    /// One run each: noise inside it, and an assumed deviation from run to run.
    OneRunEach,
    /// One run each of the same requests: how these differ, and an assumed deviation from run to run.
    PairedRequests,
    /// Figures alone: an error that is assumed from the number of requests.
    Assumed,
    /// A percentile without its least sample.
    FewSamples,
    /// Runs too short for intervals of their own: a bound from how unlike their requests are, and
    /// how many of them count.
    ShortRuns,
    /// Figures alone, with a mean latency: an error that is assumed from the number of requests, and
    /// from how far concurrency was from what was configured, by Little's law.
    LittlesLaw,
    /// Figures alone, with deviations: a bound from how unlike these say that requests are.
    Deviations,
    /// Requests of one run each, too few to show its own noise.
    FewWaves,
    /// Other figures of a result contradict it.
    Contradicted,
    Nothing,
}

/// A point without a partner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unpaired {
    pub group: String,
    pub point: Point,
}

/// Runs of a group that are one run several times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Copies {
    pub group: String,
    pub point: Point,
    pub runs: usize,
    pub distinct: usize,
}

impl Comparison {
    /// A point of the baseline that one group lacks and another has is not without a partner.
    fn forget_partners_elsewhere(&mut self) {
        let paired: BTreeSet<String> = self.rows.iter().map(|row| row.point.key()).collect();
        let mut seen = BTreeSet::new();
        let baseline = &self.baseline;
        self.unpaired.retain(|alone| {
            let key = alone.point.key();
            let is_paired = alone.group == *baseline && paired.contains(&key);
            !is_paired && seen.insert((alone.group.clone(), key))
        });
    }

    /// Whether a load of a group has no partner, where others have one.
    pub fn is_alone(&self, group: &str, load: &Point) -> bool {
        let is_part = |point: &Point| {
            point
                .0
                .iter()
                .all(|(axis, it)| load.0.get(axis) == Some(it))
        };
        let alone = self.unpaired.iter().filter(|it| it.group == group);
        !self.rows.is_empty() && alone.into_iter().any(|it| is_part(&it.point))
    }

    /// The primary metric of a group over all loads of a test.
    pub fn pooled_of(&self, group: &str, test: Option<&str>) -> Option<&Pooled> {
        let mut pooled = self.pooled.iter();
        pooled.find(|it| it.group == group && it.test.as_deref() == test)
    }

    /// Whether every group may be compared at some load, of each of its tests: what is then left
    /// is undecided at worst.
    pub fn is_answered(&self) -> bool {
        let is_open = |reason: &WhyNot| {
            use WhyNot::*;
            !matches!(
                reason,
                OneGroup
                    | NoRuns { .. }
                    | NothingPaired { .. }
                    | OtherSettings { .. }
                    | OtherGroups { .. }
            )
        };
        let mut tests: BTreeMap<(&str, Option<&str>), bool> = BTreeMap::new();
        for row in &self.rows {
            let test = tests.entry((&row.group, row.point.group())).or_default();
            *test |= row.primary && row.verdict != Verdict::NotComparable;
        }
        self.reasons.iter().all(is_open) && tests.into_values().all(|it| it)
    }

    /// Whether a row is worse: by the primary metrics only, or by any.
    pub fn is_worse(&self, primary_only: bool) -> bool {
        let counts = |row: &&Row| row.primary || !primary_only;
        let mut rows = self.rows.iter().filter(counts);
        rows.any(|row| row.verdict == Verdict::Worse)
    }
}

/// Compares every further group with the first.
pub fn compare(groups: &[Group], settings: &Settings) -> Comparison {
    let mut comparison = Comparison {
        schema: SCHEMA.to_owned(),
        baseline: groups
            .first()
            .map_or(String::new(), |group| group.name.clone()),
        comparable: true,
        why_not: Vec::new(),
        reasons: Vec::new(),
        margin: settings.margin,
        rows: Vec::new(),
        pooled: Vec::new(),
        between: Vec::new(),
        unpaired: Vec::new(),
        within_slo: within_slo::of_groups(groups),
        copies: groups.iter().flat_map(copies).collect(),
        repeated: (groups.iter())
            .flat_map(|group| Repeated::of(group, settings))
            .collect(),
        left_out: groups.iter().flat_map(LeftOut::of).collect(),
        doubts: Vec::new(),
        out_of_memory: groups.iter().flat_map(caution::out_of_memory).collect(),
        models: caution::different_models(groups),
        devices: caution::different_devices(groups),
        tools: caution::different_tools(groups),
        lengths: caution::different_lengths(groups),
    };
    let mut why_not = Vec::new();
    if groups.len() < 2 {
        why_not.push(WhyNot::OneGroup);
    }
    for group in groups.iter().filter(|group| group.runs.is_empty()) {
        why_not.push(WhyNot::NoRuns {
            group: group.name.clone(),
        });
    }
    if why_not.is_empty() {
        for group in &groups[1..] {
            against(&groups[0], group, settings, &mut comparison, &mut why_not);
        }
        comparison.between = between(groups, settings);
    }
    comparison.forget_partners_elsewhere();
    let doubts = (groups.iter())
        .filter_map(|group| GroupDoubts::of(group, |load| !comparison.is_alone(&group.name, load)));
    comparison.doubts = doubts.collect();
    comparison.comparable = why_not.is_empty();
    comparison.why_not = why_not.iter().map(WhyNot::to_string).collect();
    comparison.reasons = why_not;
    comparison
}

fn against(
    baseline: &Group,
    group: &Group,
    settings: &Settings,
    comparison: &mut Comparison,
    why_not: &mut Vec<WhyNot>,
) {
    let aligned = aligned([baseline, group]);
    let [baseline, group] = match &aligned {
        Some(groups) => groups.each_ref(),
        None => [baseline, group],
    };
    let (points_a, points_b) = (by_point(baseline), by_point(group));
    let names = [baseline.name.as_str(), group.name.as_str()];
    // Two runs at different loads are shown side by side, with the reason beside them.
    if let ([(a, runs_a)], [(b, runs_b)]) = (&points_a[..], &points_b[..])
        && a.key() != b.key()
    {
        why_not.push(WhyNot::DifferentLoad {
            a: (*a).clone(),
            b: (*b).clone(),
        });
        let compared = Compared::of(a, runs_a, runs_b, settings, &Repeats::default());
        let rows = compared.rows(&group.name, 1, settings);
        comparison
            .rows
            .extend(rows.into_iter().map(Row::not_comparable));
        return;
    }
    let partner = |points: &[(&Point, Vec<&RunSample>)], point: &Point| {
        points
            .iter()
            .position(|(other, _)| other.key() == point.key())
    };
    for (name, own, others) in [
        (names[0], &points_a, &points_b),
        (names[1], &points_b, &points_a),
    ] {
        let alone = own
            .iter()
            .filter(|(point, _)| partner(others, point).is_none());
        comparison.unpaired.extend(alone.map(|(point, _)| Unpaired {
            group: name.to_owned(),
            point: (*point).clone(),
        }));
    }
    let of_tests = loads_of_tests(&points_a, &points_b);
    let mut compared = Vec::new();
    for (point, runs_a) in &points_a {
        let Some(at) = partner(&points_b, point) else {
            continue;
        };
        let runs_b = &points_b[at].1;
        let repeats = Repeats::around(point, &of_tests);
        let load = Compared::of(point, runs_a, runs_b, settings, &repeats);
        let reasons = why_not::reasons(point, names, runs_a, runs_b, load.primary);
        let is_sound = reasons.is_empty();
        why_not.extend(reasons);
        compared.push((load, is_sound));
    }
    if compared.is_empty() {
        let points =
            [&points_a, &points_b].map(|points| Vec::from_iter(points.iter().map(|it| it.0)));
        why_not.push(why_not::unpaired(
            [baseline, group],
            [&points[0], &points[1]],
        ));
    }
    // At many loads some would differ by chance, so the loads, and their sums, share the risk.
    let sound = compared.iter().filter(|(_, is_sound)| *is_sound);
    let sound: Vec<&Compared<'_>> = sound.map(|(load, _)| load).collect();
    let is_of_test = |a: &&Compared<'_>, b: &&Compared<'_>| {
        (a.point.group(), a.primary) == (b.point.group(), b.primary)
    };
    let ladders = sound.chunk_by(is_of_test).filter(|loads| loads.len() > 1);
    let tests = sound.len() + ladders.clone().count();
    let pooled = ladders.filter_map(|loads| Pooled::of(&group.name, loads, tests, settings));
    comparison.pooled.extend(pooled);
    for (compared, is_sound) in &compared {
        let rows = compared.rows(&group.name, tests, settings);
        if *is_sound {
            comparison.rows.extend(rows)
        } else {
            comparison
                .rows
                .extend(rows.into_iter().map(Row::not_comparable))
        }
    }
}
