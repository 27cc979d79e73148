//! Measured load points, wherever they come from, as far as calibration needs them.

mod found;
mod length;
mod points;
mod runs;
mod stragglers;

pub use length::assume_longest_request;
pub use runs::read_sources;

use crate::flags::Flag;
use crate::means::{MeanMetric, Means};
use crate::work::Work;
pub use crate::work::{Load, Start};
use inferometer_catalog::engine::{EngineKind, Version};
use inferometer_core::length::Distribution as Lengths;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use thiserror::Error;

#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    pub name: String,
    pub load: Load,
    pub start: Start,
    /// Requests of the measurement; absent: not known.
    pub requests: Option<u32>,
    /// Seed of its arrivals, where they are known to follow from it.
    pub seed: Option<u64>,
    /// Tokens of prompts; absent: not known.
    pub input: Option<Lengths>,
    /// Tokens of answers; absent: not known.
    pub output: Option<Lengths>,
    /// Relative deviation of the answers' lengths, as the latencies show it: long answers take
    /// long. Absent where nothing shows it.
    pub spread: Option<f64>,
    /// Flags of the engine, where its command is known.
    pub flags: Vec<Flag>,
    pub on: MeasuredOn,
    /// The engine's version, where it is known or follows from the tool's time.
    pub version: Option<Version>,
    pub figures: Means,
    /// Rates that were given and are not among the numbers.
    pub left_out: Option<LeftOut>,
    pub origin: Origin,
    /// Why it is not valid; empty where it is.
    pub invalid: Vec<String>,
}

/// What was measured, as far as the source says it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredOn {
    pub engine: Option<EngineKind>,
    /// As it was named.
    pub model: Option<String>,
    /// The card, as it was named.
    pub card: Option<String>,
}

impl MeasuredOn {
    /// With what another says of what this does not.
    pub fn or(&self, other: &MeasuredOn) -> MeasuredOn {
        MeasuredOn {
            engine: self.engine.or(other.engine),
            model: self.model.clone().or_else(|| other.model.clone()),
            card: self.card.clone().or_else(|| other.card.clone()),
        }
    }
}

/// An engine as people write it.
fn engine_named(text: &str) -> Option<EngineKind> {
    let word = text.split([' ', ':']).next()?.to_lowercase();
    let known = [
        EngineKind::Vllm,
        EngineKind::Sglang,
        EngineKind::Trtllm,
        EngineKind::Mindie,
    ];
    let other = (word == "tensorrt-llm").then_some(EngineKind::Trtllm);
    other.or_else(|| known.into_iter().find(|kind| kind.word() == word))
}

/// Why rates that were given are not used.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LeftOut {
    /// Requests/s contradict tokens/s, which are used.
    OtherTime,
    /// Both rates: with the latency they leave streams idle, which a closed loop does not do.
    Idle {
        /// Requests under way on average, where the latency is known.
        in_flight: Option<f64>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Our own run: definitions are known.
    Run,
    /// Another tool's summary, with its definitions.
    Import,
}

/// What the user says of observations that do not say it themselves.
#[derive(Clone, Debug, Default)]
pub struct Assumed {
    pub input: Option<Lengths>,
    pub output: Option<Lengths>,
    pub flags: Vec<Flag>,
}

#[derive(Debug, Error)]
pub enum ObservationError {
    #[error("cannot read {path}: {reason}")]
    Read { path: PathBuf, reason: String },
    #[error(
        "{path} holds no load point with a concurrency or rate and a throughput or latency; give runs, sweeps, what `import` reads, or a table with columns such as concurrency, requests_per_s, ttft_ms"
    )]
    Nothing { path: PathBuf },
}

impl Observation {
    /// What the simulated engine is sent, with lengths of these.
    pub(crate) fn work(&self, input: Lengths, output: Lengths) -> Work {
        Work {
            load: self.load,
            start: self.start,
            input,
            output,
            requests: match self.requests {
                Some(sent) => sent.min(self.load.most_requests()),
                None => self.load.requests(None),
            },
            trace: None,
        }
    }

    /// Figures of another tool at a load, of which nothing else is known.
    pub fn imported(name: String, load: Load, figures: Means) -> Observation {
        Observation {
            name,
            load,
            start: Start::AtOnce,
            requests: None,
            input: None,
            output: None,
            spread: None,
            seed: None,
            flags: Vec::new(),
            on: MeasuredOn::default(),
            version: None,
            figures,
            left_out: None,
            origin: Origin::Import,
            invalid: Vec::new(),
        }
    }

    /// Whether two are of the same load, work and flags.
    pub fn same_point(&self, other: &Observation) -> bool {
        let near = |a: Option<Lengths>, b: Option<Lengths>| match (a, b) {
            (Some(a), Some(b)) => (a.mean() / b.mean() - 1.0).abs() < 0.05,
            _ => true,
        };
        self.load == other.load
            && self.flags == other.flags
            && near(self.input, other.input)
            && near(self.output, other.output)
    }

    /// The largest ratio between figures that both have.
    pub fn apart(&self, other: &Observation) -> Option<(MeanMetric, f64)> {
        let ratios = MeanMetric::all().filter_map(|metric| {
            let (a, b) = (self.figures.get(metric)?, other.figures.get(metric)?);
            (a > 0.0 && b > 0.0).then(|| (metric, (a / b).max(b / a)))
        });
        ratios.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// How long an answer took on average, ms: as measured, else from its parts.
    pub fn latency_ms(&self) -> Option<f64> {
        let parts = || {
            let tokens = self.output?.mean();
            Some(self.figures.ttft_ms? + self.figures.tpot_ms? * (tokens - 1.0).max(0.0))
        };
        self.figures.e2e_ms.or_else(parts)
    }

    /// Complete answers/s: as measured, else by their tokens.
    pub fn rate(&self) -> Option<f64> {
        let by_tokens = || {
            let tokens = self.output?.mean();
            Some(self.figures.output_tokens_per_s? / tokens.max(1.0))
        };
        self.figures.requests_per_s.or_else(by_tokens)
    }

    /// Requests under way on average, by Little's law.
    pub fn in_flight(&self) -> Option<f64> {
        Some(self.rate()? * self.latency_ms()? / 1e3)
    }

    pub fn richness(&self) -> usize {
        let known = MeanMetric::all().filter(|&metric| self.figures.get(metric).is_some());
        known.count() + usize::from(self.requests.is_some()) + usize::from(self.input.is_some())
    }
}
