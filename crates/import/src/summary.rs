//! An imported result with the keys of `summary.json`; whatever a tool does not say is `null`.

use crate::doubt::StatedImportDoubt;
use crate::label::Stat;
use crate::quantity::{convert, count, finite};
use inferometer_catalog::with_defaults;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

with_defaults! {
    /// The numbers of one result, in the units of `summary.json`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct ImportedSummary {
        /// `inferometer.summary/1`.
        pub schema: Cow<'static, str> = inferometer_core::summary::SCHEMA.into(),
        pub label: Option<String> = None,
        /// `cards`, where the source says how many; an import has no others.
        pub tags: BTreeMap<String, String> = BTreeMap::new(),
        /// No doubt is severe enough to make it invalid.
        pub valid: bool = true,
        pub doubts: Vec<StatedImportDoubt> = Vec::new(),
        pub requests: ImportedRequests = ImportedRequests::default(),
        pub window_s: Option<f64> = None,
        /// Other tools do not look for a steady state.
        pub steady_s: Option<f64> = None,
        pub throughput: ImportedThroughput = ImportedThroughput::default(),
        /// Other tools do not look for a steady state.
        pub steady: Option<Value> = None,
        pub concurrency: ImportedConcurrency = ImportedConcurrency::default(),
        /// Latencies in milliseconds.
        pub latency: ImportedLatencies = ImportedLatencies::default(),
        /// Tokens/s as one user gets them.
        pub speed: ImportedSpeed = ImportedSpeed::default(),
        pub tokens: ImportedTokens = ImportedTokens::default(),
        /// Other tools do not classify failures.
        pub failures: Vec<Value> = Vec::new(),
        /// Goodput, where the tool was given objectives.
        pub slo: Option<ImportedSlo> = None,
        /// Not known of another tool's client.
        pub client: Option<Value> = None,
        /// The server's own view, where the tool asks for it.
        pub server: Option<Value> = None,
        /// Numbers that have no place above, under the tool's own names and in its own units.
        pub other: BTreeMap<String, Value> = BTreeMap::new(),
    }
}

impl ImportedSummary {
    /// Tools write 0 for what they cannot see of answers that were not streamed: their first token,
    /// and gaps, which they have none of.
    pub(crate) fn set_zeros_aside(&mut self) {
        let latency = &mut self.latency;
        for (name, spread) in [
            ("TTFT (ms)", &mut latency.ttft_ms),
            ("TPOT (ms)", &mut latency.tpot_ms),
            ("ITL (ms)", &mut latency.itl_ms),
        ] {
            if spread.take_if(|spread| spread.is_zero()).is_some() {
                self.other.insert(name.to_owned(), 0.0.into());
            }
        }
    }

    /// Takes what another source of the same run knows and this one does not.
    pub(crate) fn fill(&mut self, more: &ImportedSummary) {
        /// Fields of one part, each as it is filled.
        macro_rules! fill {
            ($part:ident: $($field:ident),+; $($spread:ident),*) => {
                let (mine, more) = (&mut self.$part, &more.$part);
                $(mine.$field = mine.$field.or(more.$field);)+
                fill!(mine, more; $($spread),*);
            };
            ($mine:expr, $more:expr; $($spread:ident),*) => {
                $(if let Some(more) = &$more.$spread {
                    $mine.$spread.get_or_insert_default().fill(more.clone());
                })*
            };
        }
        fill!(requests: planned, ok, failed, cut;);
        fill!(throughput: requests_per_s, input_tokens_per_s, output_tokens_per_s, total_tokens_per_s;);
        fill!(concurrency: configured, mean, peak;);
        fill!(tokens: input, output, input_mean, output_mean, output_asked; input_spread, output_spread);
        fill!(self.latency, more.latency; ttft_ms, second_token_ms, tpot_ms, itl_ms, max_gap_ms, e2e_ms);
        fill!(self.speed, more.speed; per_user_tokens_per_s, decode_tokens_per_s);
        self.window_s = self.window_s.or(more.window_s);
        self.slo = self.slo.or(more.slo);
        if self.other.is_empty() {
            self.other = more.other.clone();
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportedRequests {
    pub planned: Option<u64>,
    pub ok: Option<u64>,
    pub failed: Option<u64>,
    /// Share that failed, where the tool gives it in place of counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_share: Option<f64>,
    pub cut: Option<u64>,
    pub unsent: Option<u64>,
}

impl ImportedRequests {
    /// How many are accounted for; what was never sent is where somebody says so.
    pub fn accounted_for(&self) -> Option<u64> {
        let others = [self.failed, self.cut, self.unsent].into_iter().flatten();
        Some(others.fold(self.ok?, u64::saturating_add))
    }

    /// Share of all requests that failed or of which nothing is known.
    pub fn unanswered_share(&self) -> f64 {
        if let (None, Some(share)) = (self.failed, self.failed_share) {
            return share;
        }
        let failed = self.failed.unwrap_or(0);
        let ended = self.accounted_for();
        let lost = self.planned.zip(ended);
        let lost = lost.map_or(0, |(planned, ended)| planned.saturating_sub(ended));
        match self.planned.max(ended) {
            None | Some(0) => 0.0,
            Some(all) => (failed + lost) as f64 / all as f64,
        }
    }

    /// How many were answered: those that are counted so, else all that were planned but for those
    /// that are known to have failed.
    pub fn answered(&self) -> Option<u64> {
        // A product that is whole but for its last binary digit.
        const ROUNDING: f64 = 1e-6;
        let rest = || {
            let planned = self.planned?;
            let share = self.failed_share.unwrap_or(0.0);
            let failed = self
                .failed
                .unwrap_or((share * planned as f64 - ROUNDING).ceil() as u64);
            Some(planned.saturating_sub(failed))
        };
        self.ok.or_else(rest)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportedThroughput {
    pub requests_per_s: Option<f64>,
    pub input_tokens_per_s: Option<f64>,
    pub output_tokens_per_s: Option<f64>,
    pub total_tokens_per_s: Option<f64>,
    pub input_chars_per_s: Option<f64>,
    pub output_chars_per_s: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportedConcurrency {
    pub configured: Option<u64>,
    pub mean: Option<f64>,
    pub peak: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportedLatencies {
    pub ttft_ms: Option<Spread>,
    /// Second token after the first.
    pub second_token_ms: Option<Spread>,
    pub tpot_ms: Option<Spread>,
    pub itl_ms: Option<Spread>,
    /// Largest gap of each request.
    pub max_gap_ms: Option<Spread>,
    pub e2e_ms: Option<Spread>,
    pub lag_ms: Option<Spread>,
    /// Not known of another tool's client.
    pub cap_wait_ms: Option<Spread>,
}

impl ImportedLatencies {
    pub fn known(&self) -> Vec<(&'static str, &Spread)> {
        [
            ("ttft_ms", &self.ttft_ms),
            ("second_token_ms", &self.second_token_ms),
            ("tpot_ms", &self.tpot_ms),
            ("itl_ms", &self.itl_ms),
            ("max_gap_ms", &self.max_gap_ms),
            ("e2e_ms", &self.e2e_ms),
        ]
        .into_iter()
        .filter_map(|(name, spread)| spread.as_ref().map(|spread| (name, spread)))
        .collect()
    }
}

/// Tokens/s as one user gets them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportedSpeed {
    pub per_user_tokens_per_s: Option<Spread>,
    /// 1 / TPOT.
    pub decode_tokens_per_s: Option<Spread>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportedTokens {
    pub input: Option<u64>,
    pub output: Option<u64>,
    /// Other tools do not say where their counts come from.
    pub source: Option<Cow<'static, str>>,
    pub input_mean: Option<f64>,
    pub output_mean: Option<f64>,
    /// Largest output that was allowed.
    pub output_asked: Option<f64>,
    /// Characters for each token of the answers.
    pub chars_per_token: Option<f64>,
    pub input_spread: Option<Spread>,
    pub output_spread: Option<Spread>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportedSlo {
    /// Share of requests that met the objectives.
    pub attainment: Option<f64>,
    /// Requests/s that met the objectives.
    pub goodput_per_s: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    pub n: Option<u64>,
    pub mean: Option<f64>,
    pub std: Option<f64>,
    pub min: Option<f64>,
    pub p50: Option<f64>,
    pub p75: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub max: Option<f64>,
    /// Further percentiles (`p66`, `p99.9`).
    #[serde(flatten)]
    pub further: BTreeMap<String, f64>,
}

impl Spread {
    /// Whether it gives one number for all upper percentiles, three or more: a copy, and not a
    /// distribution.
    pub fn is_one_number(&self) -> bool {
        let mut upper = self.percentiles();
        upper.retain(|(rank, _)| *rank >= 50.0);
        let same = upper.windows(2).all(|pair| pair[0].1 == pair[1].1);
        upper.len() >= 3 && self.n != Some(1) && same && upper[0].1 != 0.0
    }

    /// Without percentiles that were not computed.
    pub(crate) fn without_copies(&self) -> Spread {
        if self.is_one_number() {
            Spread {
                mean: self.mean,
                n: self.n,
                ..Spread::default()
            }
        } else {
            self.clone()
        }
    }

    /// Statistics by their names, also those in a `percentiles` object.
    pub(crate) fn from_json(stats: &Map<String, Value>) -> Spread {
        let mut spread = Spread::default();
        let inner = stats.get("percentiles").and_then(Value::as_object);
        for (name, value) in stats.iter().chain(inner.into_iter().flatten()) {
            let value = finite(Some(value));
            if let (Some(stat), Some(value)) = (Stat::of_word(name), value) {
                spread.set(stat, value);
            } else if name == "count" {
                spread.n = value.and_then(count);
            }
        }
        spread
    }

    /// All its numbers that have a field of their own.
    fn fields_mut(&mut self) -> [&mut Option<f64>; 9] {
        let Spread {
            mean,
            std,
            min,
            p50,
            p75,
            p90,
            p95,
            p99,
            max,
            ..
        } = self;
        [mean, std, min, p50, p75, p90, p95, p99, max]
    }

    /// Whether it has numbers, and all are 0.
    pub(crate) fn is_zero(&mut self) -> bool {
        let further: Vec<f64> = self.further.values().copied().collect();
        let fields = self.fields_mut().into_iter();
        let mut numbers = fields.filter_map(|field| *field).chain(further).peekable();
        numbers.peek().is_some() && numbers.all(|number| number == 0.0)
    }

    /// Sets one number; what is not finite is left unknown.
    pub(crate) fn set(&mut self, stat: Stat, value: f64) {
        if !value.is_finite() {
            return;
        }
        let value = Some(value);
        match stat {
            Stat::Mean => self.mean = value,
            Stat::Std => self.std = value,
            Stat::Min => self.min = value,
            Stat::Max => self.max = value,
            Stat::Percentile(50.0) => self.p50 = value,
            Stat::Percentile(75.0) => self.p75 = value,
            Stat::Percentile(90.0) => self.p90 = value,
            Stat::Percentile(95.0) => self.p95 = value,
            Stat::Percentile(99.0) => self.p99 = value,
            Stat::Percentile(percent) => {
                self.further
                    .extend(value.map(|value| (format!("p{percent}"), value)));
            }
        }
    }

    /// Percentiles that are known, by rank.
    pub fn percentiles(&self) -> Vec<(f64, f64)> {
        let named = [
            (50.0, self.p50),
            (75.0, self.p75),
            (90.0, self.p90),
            (95.0, self.p95),
            (99.0, self.p99),
        ];
        let further = self
            .further
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix('p')?.parse().ok()?, *value)));
        let mut all: Vec<(f64, f64)> = named
            .into_iter()
            .filter_map(|(rank, value)| value.map(|value| (rank, value)))
            .chain(further)
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all
    }

    /// Takes what `other` knows and this does not.
    pub(crate) fn fill(&mut self, mut other: Spread) {
        self.n = self.n.or(other.n);
        for (mine, more) in self.fields_mut().into_iter().zip(other.fields_mut()) {
            *mine = mine.or(*more);
        }
        for (name, value) in other.further {
            self.further.entry(name).or_insert(value);
        }
    }

    /// All its numbers times `factor`.
    pub(crate) fn scaled(mut self, factor: f64) -> Spread {
        for value in self.fields_mut() {
            *value = value.map(|value| convert(value, factor));
        }
        for value in self.further.values_mut() {
            *value = convert(*value, factor);
        }
        self
    }
}
