//! What a search for capacity found, as `capacity.json` holds it.

use super::probe::ProbeOutcome;
pub use super::probe::{ProbeVerdict, Purpose};
use inferometer_core::options::Options;
use inferometer_core::scenario::SimClock;
use inferometer_core::summary::Summary;
use serde::{Deserialize, Serialize};

/// Name and version of the form.
pub const SCHEMA: &str = "inferometer.capacity/1";

/// The file of a search's folder.
pub const FILE: &str = "capacity.json";

/// Name and version of the form of the lines of `probes.jsonl`.
pub const JOURNAL_SCHEMA: &str = "inferometer.capacity-probes/1";

/// A line of `probes.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SearchLine {
    /// The first.
    Plan(Box<SearchPlan>),
    /// A probe that came to its end.
    Probe(Box<MadeProbe>),
}

/// Between the names of objectives that a request must meet together.
pub const TOGETHER: &str = " and ";

/// What must be the same for a search to go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchPlan {
    /// `inferometer.capacity-probes/1`.
    pub schema: String,
    /// The settings of its runs, without secrets.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")
    )]
    pub options: Options,
    /// The words that say what is searched for, and how exactly.
    pub search: Vec<String>,
}

/// What a probe said, as it is shown and as the search takes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MadeProbe {
    pub shown: StoredProbe,
    pub outcome: ProbeOutcome,
}

/// The answer of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capacity {
    /// `inferometer.capacity/1`.
    pub schema: String,
    #[serde(default)]
    pub label: Option<String>,
    /// Whether a server was measured or the simulated engine computed.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub sim_clock: SimClock,
    /// What was raised: `rate` or `concurrency`.
    pub over: String,
    #[serde(flatten)]
    pub answer: TierCapacity,
    /// Requests of the whole search.
    pub requests_spent: u64,
    /// The long run that the answer rests on.
    pub confirmed: Option<Summary>,
    /// The answers of all tiers, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<TierCapacity>,
    /// Words that follow `--config` of a probe's scenario in the command that repeats the search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeat: Vec<String>,
    /// The command as it was typed, without secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub typed: Vec<String>,
    /// All probes, in their order.
    #[serde(default)]
    pub probes: Vec<StoredProbe>,
}

impl Capacity {
    /// Whether it goes on or could go on: it was neither ended nor given up.
    pub fn is_unfinished(&self) -> bool {
        let all = std::iter::once(&self.answer).chain(&self.tiers);
        let open = [SearchEnding::Interrupted, SearchEnding::UnderWay];
        all.into_iter().any(|tier| open.contains(&tier.ending))
    }

    /// Of objectives that a request must meet together, those that it misses at the answer.
    pub fn missed_first<'a>(&self, binding: &'a str) -> Vec<&'a str> {
        /// Less than this part of the misses of the worst is not what binds.
        const PART: f64 = 0.1;
        let names: Vec<&str> = binding.split(TOGETHER).collect();
        let slo = self.confirmed.as_ref().and_then(|it| it.slo.as_ref());
        let misses = |name: &str| {
            let mut all = slo?.objectives.iter();
            Some(1.0 - all.find(|it| it.objective == name)?.share?)
        };
        let worst = names
            .iter()
            .filter_map(|name| misses(name))
            .fold(0.0, f64::max);
        let binds = |name: &&str| misses(name).is_none_or(|it| it >= PART * worst);
        names.into_iter().filter(binds).collect()
    }

    /// The same with those alone as what binds.
    #[must_use]
    pub fn named_by_misses(mut self) -> Self {
        let named = |found: &Capacity, tier: &TierCapacity| {
            let missed = tier.binding.as_deref().map(|it| found.missed_first(it));
            missed.map(|names| names.join(TOGETHER))
        };
        let bindings: Vec<_> = self.tiers.iter().map(|tier| named(&self, tier)).collect();
        self.answer.binding = named(&self, &self.answer);
        for (tier, binding) in self.tiers.iter_mut().zip(bindings) {
            tier.binding = binding;
        }
        self
    }
}

/// The highest load that meets one tier of objectives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TierCapacity {
    /// Its name, where there are several.
    #[serde(default)]
    pub tier: Option<String>,
    /// Its objectives in words, and the share of requests that must meet those of single ones,
    /// as in `attainment=0.9`.
    #[serde(default)]
    pub objectives: Vec<String>,
    /// The load; absent where none can be claimed.
    pub value: Option<f64>,
    /// Low end of its 90 % interval, or the highest load that met the objectives where none
    /// missed them.
    pub low: Option<f64>,
    /// High end, or the lowest load that missed the objectives where none met them; absent where
    /// every load up to the highest met them.
    pub high: Option<f64>,
    /// The objective that is missed first; of several that a request must meet together those
    /// that it misses, with ` and ` between them.
    pub binding: Option<String>,
    /// `slope` or `cliff`.
    pub edge: Option<Edge>,
    pub ending: SearchEnding,
    /// Requests that the long run must have, at least, for its percentile to be claimed or for the
    /// queue to be known, where it had fewer; in the second case with those with which its server
    /// fills.
    #[serde(default)]
    pub needs: Option<u64>,
    /// How long these take at the load of that run, where that is a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_s: Option<f64>,
    /// The long run to go by: the last that met the objectives, else the one that comes nearest to
    /// showing it, else the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_run: Option<LongRun>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LongRun {
    /// The load that was asked for.
    pub level: f64,
    /// The rate at which its arrivals really came, where that is another: random ones are never
    /// quite as many as asked for, and what the run shows holds for those that came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<f64>,
    /// How many runs, where those at this load or above tell together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<u32>,
    /// Requests that count, once the server had settled.
    pub requests: u64,
    /// All requests that were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
    /// The share of those within the limit of the objective that they are farthest from meeting.
    pub within: f64,
    /// The share that must be.
    pub asked: f64,
    /// Every objective was met, by these requests and by the whole run, and it was long enough to
    /// say so.
    pub met: bool,
    /// The least requests that could say so, where it had too few that are independent or was short
    /// beside the memory of its queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<u64>,
}

impl LongRun {
    /// The load that it is evidence for.
    pub fn load(&self) -> f64 {
        self.offered.unwrap_or(self.level)
    }

    /// Requests with which the server filled.
    pub(super) fn filling(&self) -> u64 {
        (self.sent.unwrap_or_default()).saturating_sub(self.requests)
    }
}

/// How attainment falls at the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Edge {
    /// A little more load misses a little more.
    Slope,
    /// 5 % more load misses most of what was met.
    Cliff,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SearchEnding {
    /// The interval is as narrow as asked, and a long run confirmed it.
    Confirmed,
    /// Every long run moved the answer.
    Unconfirmed,
    /// The long runs at the answer missed the objectives.
    Missed,
    /// The requests were spent before.
    BudgetSpent,
    /// Every load up to the highest met the objectives.
    AtCeiling,
    /// No load down to the lowest met them.
    NeverMet,
    /// The long run had fewer requests than the percentile needs.
    TooFewSamples,
    /// The long run met the objectives, and had too few independent requests to show that it lasts.
    TooShort,
    /// A signal stopped it; it can go on.
    #[default]
    Interrupted,
    /// It has not ended: it goes on, or was killed and can go on.
    UnderWay,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoredProbe {
    /// The load that was asked for.
    pub level: f64,
    /// The rate at which its arrivals really came, where that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<f64>,
    pub purpose: Purpose,
    pub requests: u64,
    /// The tier that it was made for, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// Whether the objectives of that tier were met in it.
    pub verdict: ProbeVerdict,
    /// Whether those of the first tier were; the same where it was made for that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_tier: Option<ProbeVerdict>,
    /// Its run, below the search's folder.
    pub directory: String,
}

impl StoredProbe {
    /// The load that it is evidence for.
    pub fn load(&self) -> f64 {
        self.offered.unwrap_or(self.level)
    }
}
