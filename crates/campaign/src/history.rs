//! Since when: runs of one scenario in the order of time, and the lasting changes of each metric.

mod change_point;

use change_point::{ChangePoint, LEAST_RUNS, change_points, least_found};
use inferometer_compare::Metric;
use inferometer_core::doubt::{DoubtCode, Severity};
use inferometer_core::environment::Environment;
use inferometer_core::scenario::{Scenario, SimClock};
use inferometer_core::summary::Summary;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Name and version of the form.
pub const SCHEMA: &str = "inferometer.history/1";

/// Metrics that are followed unless others are named.
pub const METRICS: [Metric; 5] = [
    Metric::OutputTokensPerS,
    Metric::TtftMean,
    Metric::TtftP99,
    Metric::TpotMean,
    Metric::E2eMean,
];

/// Runs that a timeline needs before a change can be seen in it.
pub const LEAST: usize = 2 * LEAST_RUNS;

/// Runs after a change within which it is to be found.
pub const LATELY: usize = 5;

/// One run of the past.
#[derive(Clone, Debug, PartialEq)]
pub struct PastRun {
    /// Its folder.
    pub path: String,
    /// Wall time of its beginning, RFC 3339.
    pub started: String,
    /// The same in nanoseconds since 1970, since texts of several zones do not sort, and what
    /// orders runs that began in the same second.
    pub began: [i128; 2],
    pub summary: Summary,
    /// What runs must share to be of one scenario, by name.
    pub conditions: BTreeMap<String, String>,
    /// What may explain a change: versions, flags, hosts, tags.
    pub facts: BTreeMap<String, String>,
}

impl PastRun {
    pub fn of(
        path: String,
        began: [i128; 2],
        scenario: &Scenario,
        environment: &Environment,
        summary: Summary,
    ) -> Self {
        PastRun {
            path,
            began,
            started: environment.started.clone(),
            conditions: conditions(scenario, environment),
            facts: facts(scenario, environment, &summary),
            summary,
        }
    }

    /// Takes a condition for a fact: what differs in it is of one scenario all the same.
    pub fn across(&mut self, name: &str) {
        if let Some(value) = self.conditions.remove(name) {
            self.facts.insert(name.to_owned(), value);
        }
    }

    /// A condition or a fact, by its name.
    pub fn value(&self, name: &str) -> Option<&str> {
        let known = self.conditions.get(name).or_else(|| self.facts.get(name));
        // Of an engine that somebody else started, the server has told.
        let told = || self.facts.get("server").filter(|_| name == "engine");
        known.or_else(told).map(String::as_str)
    }
}

/// Load, work and model; seeds differ between repeats.
fn conditions(scenario: &Scenario, environment: &Environment) -> BTreeMap<String, String> {
    let options = scenario.options();
    let tables = [
        serde_json::to_value(&options.load),
        serde_json::to_value(&options.work),
    ];
    let named = tables.into_iter().flatten().flat_map(|table| match table {
        Value::Object(table) => table,
        _ => serde_json::Map::new(),
    });
    let mut conditions: BTreeMap<String, String> = named
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name, in_words(&value)))
        .collect();
    let connection = &scenario.connection;
    let mut add = |name: &str, value: String| conditions.insert(name.to_owned(), value);
    add("model", environment.server.model.clone());
    add("api", environment.server.api.clone());
    if !connection.stream {
        add("stream", "false".to_owned());
    }
    if connection.sim_clock == SimClock::Virtual {
        add("sim-clock", "virtual".to_owned());
    }
    // Another address is another server, unless the engine was started for the run.
    let is_started = (environment.engine.as_ref()).is_some_and(|it| !it.command.is_empty());
    if !connection.urls.is_empty() && !is_started {
        add("url", connection.urls.join(" "));
    }
    // Another version of an engine may explain a change; another engine is another thing.
    if let Some(engine) = &environment.engine {
        add("engine-kind", engine.name.clone());
    }
    for (name, value) in [
        ("sim-model", &connection.sim_model),
        ("sim-device", &connection.sim_device),
    ] {
        if let Some(value) = value {
            add(name, value.clone());
        }
    }
    conditions
}

fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn facts(
    scenario: &Scenario,
    environment: &Environment,
    summary: &Summary,
) -> BTreeMap<String, String> {
    let host = &environment.host;
    let mut facts: BTreeMap<String, String> = [
        ("inferometer", Some(environment.inferometer.clone())),
        ("server", environment.server.software.clone()),
        ("label", scenario.label.clone()),
        ("client-system", Some(host.system.clone())),
        ("client-cpu", host.cpu.clone()),
        (
            "max-model-len",
            environment.server.max_model_len.map(|it| it.to_string()),
        ),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
    .filter(|(_, value)| !value.is_empty())
    .collect();
    if let Some(engine) = &environment.engine {
        facts.extend(
            environment
                .engine_name()
                .map(|it| ("engine".to_owned(), it)),
        );
        facts.insert("command".to_owned(), engine.command.join(" "));
        if let Some(tokens) = engine.kv_tokens {
            facts.insert("kv-tokens".to_owned(), tokens.to_string());
        }
    }
    let server = summary.server.as_ref();
    let mut devices = server.into_iter().flat_map(|server| &server.devices);
    if let Some(driver) = devices.find_map(|device| device.driver.clone()) {
        facts.insert("driver".to_owned(), driver);
    }
    let tags = scenario.tags.iter();
    facts.extend(tags.map(|tag| (tag.key.clone(), tag.value.clone())));
    facts
}

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Changes within this of 1 are none: 0.02 for 2 %.
    pub margin: f64,
    /// Chance that a timeline without a change shows one, over all its metrics.
    pub risk: f64,
    pub metrics: Vec<Metric>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            margin: 0.02,
            risk: 0.05,
            metrics: METRICS.to_vec(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct History {
    /// `inferometer.history/1`.
    pub schema: String,
    pub margin: f64,
    pub risk: f64,
    /// One for each scenario, the one with the most runs first.
    pub timelines: Vec<Timeline>,
}

/// Runs of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timeline {
    /// What tells it from the other timelines: options with their values.
    pub differs: BTreeMap<String, String>,
    /// Load, work and model, by the names of options.
    pub conditions: BTreeMap<String, String>,
    /// Valid runs, the oldest first.
    pub runs: Vec<RunOfTimeline>,
    /// Runs that are invalid, and count for nothing.
    pub invalid: u64,
    /// Its latest runs, where they are invalid one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<Broken>,
    pub metrics: Vec<MetricHistory>,
}

/// The latest runs, all of them invalid, or some of them by what the server did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Broken {
    pub runs: u64,
    /// Runs among which they are the invalid ones; absent where they are all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// The beginning of the first of them.
    pub started: String,
    /// Doubts that made them invalid.
    pub doubts: Vec<DoubtCode>,
}

/// Fewer may be an accident of the client.
const LEAST_BROKEN: usize = 2;

impl Broken {
    /// Of all runs of a scenario, the oldest first.
    fn of(all: &[PastRun]) -> Option<Self> {
        let valid = all.iter().rposition(|run| run.summary.valid)?;
        let at_the_end: Vec<&PastRun> = all[valid + 1..].iter().collect();
        if at_the_end.len() >= LEAST_BROKEN {
            return Some(Self::told(&at_the_end, None));
        }
        // A server that fails now and then is measured in between.
        let lately = &all[all.len().saturating_sub(LATELY)..];
        let failing: Vec<&PastRun> = lately
            .iter()
            .filter(|run| run.summary.server_failed())
            .collect();
        let of = Some(lately.len() as u64);
        (failing.len() >= LEAST_BROKEN).then(|| Self::told(&failing, of))
    }

    fn told(broken: &[&PastRun], of: Option<u64>) -> Self {
        let doubts = broken.iter().flat_map(|run| &run.summary.doubts);
        let grave = doubts.filter(|doubt| doubt.severity == Severity::Invalid);
        let mut codes = Vec::new();
        for doubt in grave {
            if !codes.contains(&doubt.code) {
                codes.push(doubt.code);
            }
        }
        Broken {
            runs: broken.len() as u64,
            of,
            started: broken
                .first()
                .map_or_else(String::new, |it| it.started.clone()),
            doubts: codes,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunOfTimeline {
    pub path: String,
    pub started: String,
    /// Facts that are not those of the run before; all of the first run.
    pub new_facts: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricHistory {
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub metric: Metric,
    /// One for each run.
    pub values: Vec<Option<f64>>,
    pub changes: Vec<Change>,
    /// Where no change was found: the least one, as a share, that its last five runs (half of them
    /// where there are fewer than ten) would have shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_from: Option<f64>,
}

/// A lasting change of a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// Places of the last run before and of the first run after it.
    pub between: [usize; 2],
    /// Their beginnings.
    pub started: [String; 2],
    /// After it over before it.
    pub ratio: f64,
    /// Ends of the ratio's 95 % interval.
    pub low: f64,
    pub high: f64,
    pub worse: bool,
    /// Chance that a history without a change shows one as clear.
    pub p: f64,
    /// What is known to have changed between the two runs.
    pub facts: Vec<ChangedFact>,
    /// Where nothing did: what changed within [`NEAR`] runs of them, since noise may move the place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nearby: Vec<ChangedFact>,
}

/// Runs by which the place of a change may well be off.
const NEAR: usize = 2;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangedFact {
    pub name: String,
    pub from: Option<String>,
    pub to: Option<String>,
}

impl History {
    pub fn of(runs: Vec<PastRun>, settings: &Settings) -> Self {
        let mut by_scenario: BTreeMap<BTreeMap<String, String>, Vec<PastRun>> = BTreeMap::new();
        for run in runs {
            by_scenario
                .entry(run.conditions.clone())
                .or_default()
                .push(run);
        }
        let varying = varying(by_scenario.keys());
        let timeline = |(conditions, runs): (BTreeMap<String, String>, Vec<PastRun>)| {
            let differs = conditions
                .iter()
                .filter(|(name, _)| varying.contains(*name));
            let differs = differs.map(|(name, value)| (name.clone(), value.clone()));
            Timeline::of(differs.collect(), conditions, runs, settings)
        };
        let mut timelines: Vec<Timeline> = by_scenario.into_iter().map(timeline).collect();
        let most = |timeline: &Timeline| timeline.runs.len();
        timelines.sort_by_key(|timeline| std::cmp::Reverse(most(timeline)));
        History {
            schema: SCHEMA.to_owned(),
            margin: settings.margin,
            risk: settings.risk,
            timelines,
        }
    }

    /// Whether the present state of any metric is worse than the one before it, or the latest runs
    /// are invalid.
    pub fn is_worse(&self) -> bool {
        if self.timelines.iter().any(|it| it.broken.is_some()) {
            return true;
        }
        let metrics = self.timelines.iter().flat_map(|it| &it.metrics);
        metrics
            .filter_map(|it| it.changes.last())
            .any(|it| it.worse)
    }
}

/// Names of conditions that scenarios do not share.
fn varying<'a>(
    all: impl Iterator<Item = &'a BTreeMap<String, String>> + Clone,
) -> BTreeSet<String> {
    let names: BTreeSet<&String> = all.clone().flat_map(BTreeMap::keys).collect();
    let varies = |name: &&String| {
        let values: BTreeSet<Option<&String>> = all.clone().map(|it| it.get(*name)).collect();
        values.len() > 1
    };
    names.into_iter().filter(varies).cloned().collect()
}

impl Timeline {
    fn of(
        differs: BTreeMap<String, String>,
        conditions: BTreeMap<String, String>,
        mut all: Vec<PastRun>,
        settings: &Settings,
    ) -> Self {
        all.sort_by(|a, b| (a.began, &a.path).cmp(&(b.began, &b.path)));
        let (measured, broken) = (all.len(), Broken::of(&all));
        all.retain(|run| run.summary.valid);
        let at = |level: f64| -> Vec<MetricHistory> {
            let metrics = settings.metrics.iter();
            let metrics =
                metrics.map(|metric| MetricHistory::of(*metric, &all, settings.margin, level));
            let known = metrics.filter(|it| it.values.iter().any(Option::is_some));
            known.collect()
        };
        let level = shared_level(settings.risk, &at(settings.risk));
        let mut metrics = at(level);
        for metric in &mut metrics {
            metric.find_least(settings.margin, level);
        }
        let mut before = BTreeMap::new();
        let run = |run: &PastRun| {
            let is_new = |(name, value): &(&String, &String)| before.get(*name) != Some(*value);
            let new = run.facts.iter().filter(is_new);
            let new_facts = new
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            before = run.facts.clone();
            RunOfTimeline {
                path: run.path.clone(),
                started: run.started.clone(),
                new_facts,
            }
        };
        Timeline {
            differs,
            conditions,
            invalid: (measured - all.len()) as u64,
            broken,
            metrics,
            runs: all.iter().map(run).collect(),
        }
    }
}

/// Several questions are asked of one timeline, which share the risk (Hochberg's procedure): where
/// all metrics show a change, each may take the whole of it; where one alone does, only its part.
fn shared_level(risk: f64, metrics: &[MetricHistory]) -> f64 {
    let clearest = |it: &MetricHistory| it.changes.iter().map(|it| it.p).fold(1.0, f64::min);
    let mut chances: Vec<f64> = metrics.iter().map(clearest).collect();
    chances.sort_by(|a, b| b.total_cmp(a));
    let parts = chances.iter().zip(1..);
    let mut levels = parts.map(|(chance, part)| (*chance, risk / f64::from(part)));
    let found = levels.find(|(chance, level)| chance <= level);
    found.map_or(risk / metrics.len().max(1) as f64, |(_, level)| level)
}

impl MetricHistory {
    fn of(metric: Metric, runs: &[PastRun], margin: f64, level: f64) -> Self {
        let values: Vec<Option<f64>> = runs.iter().map(|run| metric.of(&run.summary)).collect();
        let (places, logs) = logarithms(&values);
        let change = |found: ChangePoint| {
            let between = [places[found.at - 1], places[found.at]];
            let [before, after] = between.map(|place| &runs[place]);
            let facts = changed(&before.facts, &after.facts);
            let first = between[0].saturating_sub(NEAR);
            let last = (between[1] + NEAR).min(runs.len() - 1);
            let nearby = if facts.is_empty() {
                changed(&runs[first].facts, &runs[last].facts)
            } else {
                Vec::new()
            };
            Change {
                between,
                started: [before, after].map(|run| run.started.clone()),
                ratio: found.shift.exp(),
                low: found.interval[0].exp(),
                high: found.interval[1].exp(),
                worse: (found.shift < 0.0) == metric.more_is_better(),
                p: found.p_value,
                facts,
                nearby,
            }
        };
        let found = change_points(&logs, margin.ln_1p(), level);
        MetricHistory {
            metric,
            found_from: None,
            changes: found.into_iter().map(change).collect(),
            values,
        }
    }

    /// The least change that would have been found, where none was.
    fn find_least(&mut self, margin: f64, level: f64) {
        if self.changes.is_empty() {
            let (_, logs) = logarithms(&self.values);
            let lately = LATELY.min(logs.len() / 2);
            let least = least_found(&logs, lately, margin.ln_1p(), level);
            self.found_from = least.map(f64::exp_m1);
        }
    }
}

/// Ratios are what people speak of, and noise grows with the value: places of the known values and
/// their logarithms.
fn logarithms(values: &[Option<f64>]) -> (Vec<usize>, Vec<f64>) {
    let known = values.iter().enumerate();
    let log =
        |(place, value): (usize, &Option<f64>)| Some((place, value.filter(|it| *it > 0.0)?.ln()));
    known.filter_map(log).unzip()
}

fn changed(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<ChangedFact> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differing = names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name));
    let fact = |name: &String| ChangedFact {
        name: name.clone(),
        from: before.get(name).cloned(),
        to: after.get(name).cloned(),
    };
    differing.map(fact).collect()
}
