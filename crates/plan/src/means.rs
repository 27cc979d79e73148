//! The means by which a prediction is compared with a measurement.

use inferometer_sim::engine::virtual_time::{Run, Served};
use serde::{Deserialize, Serialize};
use strum::VariantArray as _;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Means {
    pub requests_per_s: Option<f64>,
    pub output_tokens_per_s: Option<f64>,
    pub ttft_ms: Option<f64>,
    pub tpot_ms: Option<f64>,
    pub e2e_ms: Option<f64>,
    /// The same two as the server itself counts them: what is missing from the client's arises in
    /// its front end or on the way.
    pub engine_ttft_ms: Option<f64>,
    pub engine_tpot_ms: Option<f64>,
}

impl Means {
    pub fn of(run: &Run) -> Means {
        Means {
            requests_per_s: Some(run.requests_per_second()),
            output_tokens_per_s: Some(run.tokens_per_second()),
            ttft_ms: run.mean(Served::ttft_ms),
            tpot_ms: run.mean(Served::tpot_ms),
            e2e_ms: run.mean(Served::latency_ms),
            engine_ttft_ms: run.mean(Served::engine_ttft_ms),
            engine_tpot_ms: run.mean(Served::engine_tpot_ms),
        }
    }

    /// Requests under way on average, by Little's law.
    pub fn in_flight(&self) -> Option<f64> {
        Some(self.requests_per_s? * self.e2e_ms? / 1e3)
    }

    pub fn get(&self, metric: MeanMetric) -> Option<f64> {
        match metric {
            MeanMetric::Requests => self.requests_per_s,
            MeanMetric::Throughput => self.output_tokens_per_s,
            MeanMetric::Ttft => self.ttft_ms,
            MeanMetric::Tpot => self.tpot_ms,
            MeanMetric::E2e => self.e2e_ms,
            MeanMetric::EngineTtft => self.engine_ttft_ms,
            MeanMetric::EngineTpot => self.engine_tpot_ms,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum MeanMetric {
    /// Requests/s.
    Requests,
    /// Output tokens/s.
    Throughput,
    Ttft,
    Tpot,
    E2e,
    /// TTFT as the server counts it.
    EngineTtft,
    /// TPOT as the engine counts it.
    EngineTpot,
}

impl MeanMetric {
    /// What a client sees, which is what is predicted.
    pub fn all() -> impl Iterator<Item = MeanMetric> {
        MeanMetric::with_engine().filter(|metric| !metric.is_of_engine())
    }

    /// What a fit may know as well.
    pub fn with_engine() -> impl Iterator<Item = MeanMetric> {
        MeanMetric::VARIANTS.iter().copied()
    }

    fn is_of_engine(self) -> bool {
        matches!(self, MeanMetric::EngineTtft | MeanMetric::EngineTpot)
    }
}

/// For people; files have the word of [`MeanMetric::into_str`].
impl std::fmt::Display for MeanMetric {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(match self {
            MeanMetric::Requests => "req/s",
            MeanMetric::Throughput => "output tok/s",
            MeanMetric::Ttft => "TTFT",
            MeanMetric::Tpot => "TPOT",
            MeanMetric::E2e => "E2E latency",
            MeanMetric::EngineTtft => "TTFT by the server",
            MeanMetric::EngineTpot => "TPOT by the engine",
        })
    }
}
