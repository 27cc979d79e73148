//! How long things took: samples of a run, and what is told of each.

use crate::slo::{Slo, SloMetric, SloScope};
use serde::{Deserialize, Serialize};

/// Latencies in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latencies {
    /// Time to first token, from due in an open loop, from sent in a closed one.
    pub ttft_ms: Option<Distribution>,
    /// Time to first token from sending, in every loop.
    pub ttft_from_sent_ms: Option<Distribution>,
    /// Time to the first token that is not reasoning; absent where there was no reasoning.
    pub first_answer_ms: Option<Distribution>,
    /// Second token-bearing chunk after the first.
    pub second_token_ms: Option<Distribution>,
    /// Time per output token.
    pub tpot_ms: Option<Distribution>,
    /// Gap between tokens, or between chunks where counts are not known.
    pub itl_ms: Option<Distribution>,
    /// Raw gap between token-bearing chunks.
    pub inter_chunk_ms: Option<Distribution>,
    /// Largest gap of each request.
    pub max_gap_ms: Option<Distribution>,
    pub e2e_ms: Option<Distribution>,
    /// Time to connect, where a connection was opened.
    pub connect_ms: Option<Distribution>,
    pub lag_ms: Option<Distribution>,
    /// Wait at the user's cap.
    pub cap_wait_ms: Option<Distribution>,
    /// Whether `itl_ms` is a gap between tokens or only between chunks.
    pub itl_is_per_token: bool,
}

impl Latencies {
    /// What an objective limits; sessions are not part of this.
    pub fn of(&self, metric: SloMetric) -> Option<&Distribution> {
        let sample = match metric {
            SloMetric::Ttft => &self.ttft_ms,
            SloMetric::FirstAnswer => &self.first_answer_ms,
            SloMetric::Tpot => &self.tpot_ms,
            SloMetric::Itl => &self.itl_ms,
            SloMetric::MaxGap => &self.max_gap_ms,
            SloMetric::E2e => &self.e2e_ms,
            SloMetric::PerUser | SloMetric::Job => return None,
        };
        sample.as_ref()
    }

    /// The percentile that an objective limits and the requests that it would take, where the
    /// sample is too small for it.
    pub fn lacking(&self, slo: &Slo) -> Option<(f64, u64)> {
        let SloScope::Percentile(percent) = slo.scope else {
            return None;
        };
        Some((percent, self.of(slo.metric)?.requests_for(percent)?))
    }

    /// Requests that a claim about a percentile (in percent) would take for all of what is told of
    /// answers, where this run has too few for some of it.
    pub fn requests_for(&self, percent: f64) -> Option<u64> {
        self.neediest(percent).map(|(_, requests)| requests)
    }

    /// The figure for which that takes most requests, and how many: each depends on its neighbours
    /// in its own way.
    pub fn neediest(&self, percent: f64) -> Option<(&'static str, u64)> {
        let of_answers = [
            ("TTFT", &self.ttft_ms),
            ("TTFT", &self.ttft_from_sent_ms),
            ("TTFT", &self.first_answer_ms),
            ("second token", &self.second_token_ms),
            ("TPOT", &self.tpot_ms),
            ("ITL", &self.itl_ms),
            ("ITL", &self.inter_chunk_ms),
            ("max gap", &self.max_gap_ms),
            ("E2E", &self.e2e_ms),
        ];
        let needed = of_answers.into_iter().filter_map(|(name, sample)| {
            let requests = sample.as_ref()?.requests_for(percent)?;
            Some((name, requests))
        });
        // Of equals the first, which readers know best.
        needed.reduce(|most, next| if next.1 > most.1 { next } else { most })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Distribution {
    pub n: u64,
    pub mean: f64,
    /// Standard deviation of the sample; absent for one value.
    pub std: Option<f64>,
    pub min: f64,
    pub p50: f64,
    pub p75: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
    /// Independent values that would tell as much about the tail; absent where it is not known
    /// how far the values depend on each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub independent: Option<u64>,
    /// Answers that the values are of, where each has many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<u64>,
    /// 95 % interval of the mean, by batches of requests.
    pub mean_interval: Option<[f64; 2]>,
    /// 95 % interval of the median.
    pub p50_interval: Option<[f64; 2]>,
    /// 95 % interval of the 99th percentile.
    pub p99_interval: Option<[f64; 2]>,
    /// Requests with which a run like this could state the intervals that are absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_needed: Option<u64>,
}
