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
}

impl Means {
    pub fn of(run: &Run) -> Means {
        Means {
            requests_per_s: Some(run.requests_per_second()),
            output_tokens_per_s: Some(run.tokens_per_second()),
            ttft_ms: run.mean(Served::ttft_ms),
            tpot_ms: run.mean(Served::tpot_ms),
            e2e_ms: run.mean(Served::latency_ms),
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
}

impl MeanMetric {
    pub fn all() -> impl Iterator<Item = MeanMetric> {
        MeanMetric::VARIANTS.iter().copied()
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
        })
    }
}
