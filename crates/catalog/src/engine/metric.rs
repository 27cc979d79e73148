//! Names, kinds and buckets of engines' metrics (data/engine/metrics.toml), and the text form in
//! which Prometheus exchanges them.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use strum::VariantArray as _;

use super::{EngineKind, Version};

mod exposition;

pub use exposition::{Sample, read};

/// What a metric is to us, whatever its engine calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Meaning {
    Running,
    Waiting,
    /// Share of the KV cache in use, 0 to 1.
    KvUse,
    /// Prompt tokens looked up in the prefix cache.
    PrefixQueries,
    PrefixHits,
    /// The quotient, where the engine gives only that.
    PrefixHitRate,
    Preemptions,
    PromptTokens,
    GenerationTokens,
    Successes,
    /// Requests in a step, as a mean.
    BatchSize,
    IterationTokens,
    /// Time to first token, as the server saw it.
    FirstToken,
    BetweenTokens,
    /// Time of the whole request.
    Latency,
    /// Time before the first step.
    QueueTime,
    /// Time until the first token from the first step.
    PrefillTime,
    /// Time from the first token to the last.
    DecodeTime,
    Drafts,
    DraftTokens,
    /// Tokens of them that were kept.
    AcceptedTokens,
    /// The same by their places in the draft.
    AcceptedByPosition,
    /// Tokens of a step with a draft, as a mean of the last batches.
    AcceptLength,
    AcceptRate,
    /// Number and size of KV blocks, in labels.
    CacheInfo,
    /// Tokens that the KV cache holds.
    CacheTokens,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, strum::Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// As `/metrics` writes it; a counter with its `_total`.
    pub name: String,
    pub kind: MetricKind,
    pub help: String,
    /// What it is to us.
    pub meaning: Option<Meaning>,
    /// The label that tells its series apart, besides model and engine.
    pub label: Option<String>,
    buckets: Option<String>,
    since: Option<Version>,
    until: Option<Version>,
    /// Only there when the feature is on.
    #[serde(default)]
    pub optional: bool,
}

#[derive(Deserialize)]
struct Table {
    buckets: HashMap<String, Vec<f64>>,
    engine: HashMap<String, Vec<Metric>>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        toml::from_str(include_str!("../../data/engine/metrics.toml"))
            .expect("the shipped table parses: a test reads it")
    })
}

pub fn metrics(engine: EngineKind, version: Version) -> Vec<&'static Metric> {
    let known = table().engine.get(engine.word()).into_iter().flatten();
    known
        .filter(|metric| metric.since.is_none_or(|since| version >= since))
        .filter(|metric| metric.until.is_none_or(|until| version < until))
        .collect()
}

/// The engine and metric of a name, in any version; for a scraper that meets an unknown server.
/// Servers that we only watch are custom.
pub fn find(name: &str) -> Option<(EngineKind, &'static Metric)> {
    // prometheus_client of 2023 wrote `vllm:…`, some gateways turn the colon into an underscore.
    EngineKind::VARIANTS.iter().find_map(|&engine| {
        let key = match engine {
            EngineKind::Custom => "tgi",
            known => known.word(),
        };
        let known = table().engine.get(key)?;
        let metric = known.iter().find(|metric| {
            metric.name == name
                || (metric.name.contains(':') && metric.name.replace(':', "_") == name)
        })?;
        Some((engine, metric))
    })
}

impl Metric {
    /// Upper bounds of its buckets, without infinity; empty if it has none.
    pub fn bounds(&self, max_model_len: u64) -> Vec<f64> {
        match self.buckets.as_deref() {
            None => Vec::new(),
            Some("lengths") => lengths(max_model_len),
            Some(name) => table().buckets.get(name).cloned().unwrap_or_default(),
        }
    }
}

/// 1, 2, 5, 10, … up to the longest sequence.
fn lengths(longest: u64) -> Vec<f64> {
    let mut bounds = Vec::new();
    let mut ten = 1_u64;
    while ten <= longest && bounds.len() < 60 {
        for step in [1, 2, 5] {
            let bound = ten.saturating_mul(step);
            if bound <= longest {
                bounds.push(bound as f64);
            }
        }
        let Some(next) = ten.checked_mul(10) else {
            break;
        };
        ten = next;
    }
    bounds
}

#[cfg(test)]
mod tests;
