//! AIPerf's `profile_export.jsonl`: one object per request, folded into one result.

use crate::builder::ResultBuilder;
use crate::label::Sample;
use crate::quantity::{Unit, convert, count, finite};
use crate::result::{ImportedResult, Tool};
use crate::summary::Spread;
use inferometer_core::summary::Distribution;
use serde_json::{Map, Value};

pub(crate) const SAMPLES: [(&str, Sample); 6] = [
    ("time_to_first_token", Sample::Ttft),
    ("time_to_second_token", Sample::SecondToken),
    ("inter_token_latency", Sample::Itl),
    ("request_latency", Sample::E2e),
    ("input_sequence_length", Sample::InputLength),
    ("output_sequence_length", Sample::OutputLength),
];

#[derive(Default)]
pub(crate) struct Requests {
    lines: Option<(usize, usize)>,
    ok: u64,
    failed: u64,
    cancelled: u64,
    begin_ns: Option<f64>,
    end_ns: Option<f64>,
    values: [Vec<f64>; SAMPLES.len()],
}

pub(crate) fn is_request(object: &Map<String, Value>) -> bool {
    object
        .get("metadata")
        .is_some_and(|metadata| metadata.get("request_start_ns").is_some())
        && object.contains_key("metrics")
}

impl Requests {
    /// Adds a request. Warm-up is not part of the result.
    pub(crate) fn add(&mut self, object: &Map<String, Value>, lines: (usize, usize)) {
        let (first, _) = *self.lines.get_or_insert(lines);
        self.lines = Some((first, lines.1));
        let metadata = object.get("metadata");
        let fact = |name: &str| metadata.and_then(|metadata| metadata.get(name));
        if fact("benchmark_phase").and_then(Value::as_str) == Some("warmup") {
            return;
        }
        // Somebody wished that.
        if fact("was_cancelled").and_then(Value::as_bool) == Some(true) {
            self.cancelled += 1;
            return;
        }
        if object.get("error").is_some_and(|error| !error.is_null()) {
            self.failed += 1;
            return;
        }
        self.ok += 1;
        let begin = finite(fact("request_start_ns"));
        self.begin_ns = self.begin_ns.into_iter().chain(begin).reduce(f64::min);
        let end = finite(fact("request_end_ns"));
        self.end_ns = self.end_ns.into_iter().chain(end).reduce(f64::max);
        for ((name, sample), values) in SAMPLES.iter().zip(&mut self.values) {
            let metric = object.get("metrics").and_then(|metrics| metrics.get(*name));
            let Some(value) = finite(metric.and_then(|metric| metric.get("value"))) else {
                continue;
            };
            let unit = metric
                .and_then(|metric| metric.get("unit"))
                .and_then(Value::as_str);
            let ms = unit.and_then(Unit::of_word).and_then(Unit::in_ms);
            values.push(if sample.is_time() {
                convert(value, ms.unwrap_or(1.0))
            } else {
                value
            });
        }
    }

    /// `None` where there was no request.
    pub(crate) fn finish(self) -> Option<ImportedResult> {
        let lines = self.lines?;
        let mut builder = ResultBuilder::default();
        builder.summary.requests.ok = Some(self.ok);
        builder.summary.requests.failed = Some(self.failed);
        builder.summary.requests.cut = Some(self.cancelled).filter(|count| *count > 0);
        let window = self
            .end_ns
            .zip(self.begin_ns)
            .map(|(end, begin)| (end - begin) / 1e9);
        builder.summary.window_s = window.filter(|seconds| *seconds > 0.0);
        for ((_, sample), values) in SAMPLES.iter().zip(self.values) {
            let total = count(values.iter().sum());
            match sample {
                Sample::InputLength => builder.summary.tokens.input = total.filter(|n| *n > 0),
                Sample::OutputLength => builder.summary.tokens.output = total.filter(|n| *n > 0),
                _ => {}
            }
            if let Some(distribution) = Distribution::of(values) {
                builder.put(*sample, spread(distribution));
            }
        }
        Some(builder.finish(Tool::Aiperf, lines))
    }
}

fn spread(of: Distribution) -> Spread {
    Spread {
        n: Some(of.n),
        mean: Some(of.mean),
        std: of.std,
        min: Some(of.min),
        p50: Some(of.p50),
        p75: Some(of.p75),
        p90: Some(of.p90),
        p95: Some(of.p95),
        p99: Some(of.p99),
        max: Some(of.max),
        ..Spread::default()
    }
}
