//! Names, kinds and buckets of engines' metrics (data/engine/metrics.toml), and the text form in
//! which Prometheus exchanges them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::{EngineKind, Version};

/// What a metric is to us, whatever its engine calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Meaning {
    /// Requests that run.
    Running,
    /// Requests that wait.
    Waiting,
    /// Share of the KV cache in use, 0 to 1.
    KvUse,
    /// Prompt tokens looked up in the prefix cache.
    PrefixQueries,
    /// Prompt tokens found there.
    PrefixHits,
    /// The quotient, where the engine gives only that.
    PrefixHitRate,
    /// Requests thrown back.
    Preemptions,
    /// Prompt tokens.
    PromptTokens,
    /// Generated tokens.
    GenerationTokens,
    /// Requests that ended well.
    Successes,
    /// Tokens of a step.
    IterationTokens,
    /// Time to first token, as the server saw it.
    FirstToken,
    /// Time between tokens.
    BetweenTokens,
    /// Time of the whole request.
    Latency,
    /// Time before the first step.
    QueueTime,
    /// Time until the first token from the first step.
    PrefillTime,
    /// Time from the first token to the last.
    DecodeTime,
    /// Drafts of speculative decoding.
    Drafts,
    /// Tokens in them.
    DraftTokens,
    /// Tokens of them that were kept.
    AcceptedTokens,
    /// Number and size of KV blocks, in labels.
    CacheInfo,
    /// Tokens that the KV cache holds.
    CacheTokens,
}

/// How a metric counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricKind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by bucket.
    Histogram,
}

/// One metric of an engine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// As `/metrics` writes it; a counter with its `_total`.
    pub name: String,
    /// How it counts.
    pub kind: MetricKind,
    /// The engine's own words.
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

/// The metrics that this version of an engine has.
pub fn metrics(engine: EngineKind, version: Version) -> Vec<&'static Metric> {
    let known = table()
        .engine
        .get(engine.word())
        .map(Vec::as_slice)
        .unwrap_or_default();
    known
        .iter()
        .filter(|metric| metric.since.is_none_or(|since| version >= since))
        .filter(|metric| metric.until.is_none_or(|until| version < until))
        .collect()
}

/// The engine and metric of a name, in any version; for a scraper that meets an unknown server.
pub fn find(name: &str) -> Option<(EngineKind, &'static Metric)> {
    // prometheus_client of 2023 wrote `vllm:…`, some gateways turn the colon into an underscore.
    EngineKind::ALL.into_iter().find_map(|engine| {
        let known = table().engine.get(engine.word())?;
        let metric = known
            .iter()
            .find(|metric| metric.name == name || metric.name.replace(':', "_") == name)?;
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

    /// `# HELP` and `# TYPE`.
    pub fn write_head(&self, out: &mut String) {
        let kind = match self.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        let _ = writeln!(
            out,
            "# HELP {} {}\n# TYPE {} {kind}",
            self.name, self.help, self.name
        );
    }

    /// One sample of a counter or gauge.
    pub fn write_value(&self, out: &mut String, labels: &[(&str, &str)], value: f64) {
        let _ = writeln!(
            out,
            "{}{} {}",
            self.name,
            braces(labels, None),
            number(value)
        );
    }

    /// The samples of a histogram: `counts` has one entry a bucket, and one for what is above.
    pub fn write_histogram(
        &self,
        out: &mut String,
        labels: &[(&str, &str)],
        bounds: &[f64],
        counts: &[u64],
        sum: f64,
    ) {
        let mut below = 0;
        let infinity = [f64::INFINITY];
        for (bound, count) in bounds.iter().chain(&infinity).zip(counts) {
            below += count;
            let bound = number(*bound);
            let _ = writeln!(
                out,
                "{}_bucket{} {}",
                self.name,
                braces(labels, Some(&bound)),
                number(below as f64)
            );
        }
        let plain = braces(labels, None);
        let _ = writeln!(out, "{}_count{plain} {}", self.name, number(below as f64));
        let _ = writeln!(out, "{}_sum{plain} {}", self.name, number(sum));
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

fn braces(labels: &[(&str, &str)], bound: Option<&str>) -> String {
    let mut inside: Vec<(&str, &str)> = labels.to_vec();
    if let Some(bound) = bound {
        inside.push(("le", bound));
    }
    // prometheus_client sorts labels by name.
    inside.sort();
    if inside.is_empty() {
        return String::new();
    }
    let pairs: Vec<String> = inside
        .iter()
        .map(|(name, value)| {
            let value = value
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            format!("{name}=\"{value}\"")
        })
        .collect();
    format!("{{{}}}", pairs.join(","))
}

/// As Python writes a float.
fn number(value: f64) -> String {
    if value == f64::INFINITY {
        "+Inf".into()
    } else if value.fract() == 0.0 && value.abs() < 1e16 {
        format!("{value:.1}")
    } else {
        format!("{value}")
    }
}

/// One line of `/metrics`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample<'a> {
    /// The metric, with `_bucket`, `_sum` or `_count` of a histogram.
    pub name: &'a str,
    /// The labels in their order.
    pub labels: Vec<(&'a str, String)>,
    /// The value.
    pub value: f64,
}

impl Sample<'_> {
    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels
            .iter()
            .find(|(had, _)| *had == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Reads the text of `/metrics`; lines that are no samples are passed over.
pub fn read(text: &str) -> impl Iterator<Item = Sample<'_>> {
    text.lines().filter_map(sample)
}

fn sample(line: &str) -> Option<Sample<'_>> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let end = line.find(|c: char| c == '{' || c.is_whitespace())?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            rest = rest.trim_start_matches([',', ' ']);
            if let Some(after) = rest.strip_prefix('}') {
                rest = after;
                break;
            }
            let (label, after) = rest.split_once("=\"")?;
            let (value, after) = quoted(after)?;
            labels.push((label.trim(), value));
            rest = after;
        }
    }
    let value = rest.split_whitespace().next()?;
    let value = match value {
        "+Inf" | "Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        other => other.parse().ok()?,
    };
    Some(Sample {
        name,
        labels,
        value,
    })
}

/// A label's value up to its closing quote, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REAL: &str = include_str!("../../../../fixtures/engine/vllm/metrics.txt");
    const NEW: Version = Version::new(0, 32, 0);

    #[test]
    fn the_tables_metrics_are_those_of_the_real_server() {
        for metric in metrics(EngineKind::Vllm, NEW) {
            if metric.optional {
                continue;
            }
            let mut head = String::new();
            metric.write_head(&mut head);
            assert!(REAL.contains(&head), "{head}");
            let real: Vec<f64> = read(REAL)
                .filter(|s| s.name == format!("{}_bucket", metric.name))
                .filter_map(|s| s.label("le")?.parse().ok())
                .filter(|bound: &f64| bound.is_finite())
                .collect();
            assert_eq!(metric.bounds(4096), real, "{}", metric.name);
        }
    }

    #[test]
    fn a_rendered_histogram_is_the_real_text() {
        let name = "vllm:time_to_first_token_seconds";
        let metric = metrics(EngineKind::Vllm, NEW)
            .into_iter()
            .find(|m| m.name == name)
            .unwrap();
        let labels = [("engine", "0"), ("model_name", "tiny")];
        let below: Vec<u64> = read(REAL)
            .filter(|s| s.name == format!("{name}_bucket"))
            .map(|s| s.value as u64)
            .collect();
        let mut counts = below.clone();
        for index in 1..counts.len() {
            counts[index] = below[index] - below[index - 1];
        }
        let sum = read(REAL)
            .find(|s| s.name == format!("{name}_sum"))
            .unwrap()
            .value;
        let mut text = String::new();
        metric.write_head(&mut text);
        metric.write_histogram(&mut text, &labels, &metric.bounds(4096), &counts, sum);
        assert!(REAL.contains(&text), "{text}");
    }

    #[test]
    fn names_follow_the_version() {
        let has = |version, name: &str| {
            metrics(EngineKind::Vllm, version)
                .iter()
                .any(|m| m.name == name)
        };
        let old = Version::new(0, 6, 3);
        assert!(has(old, "vllm:gpu_cache_usage_perc") && !has(NEW, "vllm:gpu_cache_usage_perc"));
        assert!(!has(old, "vllm:kv_cache_usage_perc") && has(NEW, "vllm:kv_cache_usage_perc"));
    }

    #[test]
    fn what_a_scraper_needs_is_mapped_for_every_engine() {
        for engine in [
            EngineKind::Vllm,
            EngineKind::Sglang,
            EngineKind::Mindie,
            EngineKind::LlamaServer,
        ] {
            let known = metrics(engine, engine.newest());
            for meaning in [
                Meaning::Running,
                Meaning::Waiting,
                Meaning::PromptTokens,
                Meaning::GenerationTokens,
            ] {
                assert_eq!(
                    known.iter().filter(|m| m.meaning == Some(meaning)).count(),
                    1,
                    "{engine} {meaning:?}"
                );
            }
            for metric in known {
                assert_eq!(
                    metric.kind == MetricKind::Histogram,
                    !metric.bounds(4096).is_empty()
                );
            }
        }
        assert_eq!(
            find("sglang:token_usage").unwrap().1.meaning,
            Some(Meaning::KvUse)
        );
    }

    #[test]
    fn block_numbers_are_in_labels() {
        let info = read(REAL)
            .find(|s| s.name == "vllm:cache_config_info")
            .unwrap();
        assert_eq!(info.label("block_size"), Some("128"));
        assert_eq!(info.label("num_gpu_blocks"), Some("8192"));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in any::<String>()) {
            let _ = read(&text).count();
        }

        #[test]
        fn labels_survive(value in "[^\r]*", sum in 0.0..1e9_f64) {
            let metric = metrics(EngineKind::Vllm, NEW)[0];
            let mut text = String::new();
            metric.write_value(&mut text, &[("model_name", &value)], sum);
            // A label with a line separator of Unicode stays one line.
            let samples: Vec<_> = read(&text).collect();
            prop_assert_eq!(samples.len(), 1);
            prop_assert_eq!(samples[0].label("model_name"), Some(value.as_str()));
            prop_assert_eq!(samples[0].value, sum);
        }
    }
}
