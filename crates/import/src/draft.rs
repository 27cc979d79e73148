//! A result while its numbers are being collected.

use crate::found::{Found, Tool};
use crate::label::{Field, Label, Sample};
use crate::quantity::{Quantity, Unit, convert};
use crate::summary::{ImportedSlo, ImportedSummary, Spread, Stat};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Numbers collected so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) summary: ImportedSummary,
    pub(crate) point: BTreeMap<String, Value>,
    pub(crate) assumed: Vec<String>,
    /// `Total requests`: all that ended for one tool, all that were planned for another.
    pub(crate) total: Option<u64>,
    /// Fields with a number, to see that a second block begins.
    seen: Vec<Field>,
    /// The sample that bare percentiles belong to.
    pub(crate) about: Option<Sample>,
    /// Unit of times that have none.
    pub(crate) time_unit: Option<Unit>,
    /// The last concurrency was a bare one, the mean where a configured one is known too.
    bare_concurrency: Option<f64>,
}

/// A count as an integer; absent if it is none.
pub(crate) fn count(value: f64) -> Option<u64> {
    (0.0..9e15).contains(&value).then_some(value.round() as u64)
}

impl Draft {
    /// Whether this field, with the same sample and statistic, has a number already.
    pub(crate) fn has(&self, field: Field) -> bool {
        !matches!(field, Field::Other | Field::Bare(_)) && self.seen.contains(&field)
    }

    /// How many numbers it holds that are results rather than settings.
    pub(crate) fn results(&self) -> usize {
        self.seen.iter().filter(|field| field.is_result()).count()
    }

    /// How many numbers it holds.
    pub(crate) fn numbers(&self) -> usize {
        self.seen.len()
    }

    /// Takes a number in. `name` is kept for those that have no place in a summary.
    pub(crate) fn set(&mut self, name: &str, label: Label, quantity: Quantity) {
        let Label { mut field, unit } = label;
        let unit = quantity.unit.or(unit);
        let value = quantity.value;
        if field == Field::OutputPerS && unit == Some(Unit::RequestsPerSecond) {
            field = Field::RequestsPerS;
        }
        let milliseconds = || {
            let unit = unit
                .filter(|unit| unit.in_ms().is_some())
                .or(self.time_unit);
            convert(value, unit.and_then(Unit::in_ms).unwrap_or(1000.0))
        };
        let summary = &mut self.summary;
        match field {
            Field::Planned => summary.requests.planned = count(value),
            Field::Total => {
                self.total = count(value);
                // `Total: 40[ 80.0% ]`: the share is of what was expected.
                if let Some(share) = quantity.share.filter(|share| *share > 0.0 && *share < 1.0) {
                    summary.requests.planned = count(value / share);
                }
            }
            Field::Ok => summary.requests.ok = count(value),
            Field::Failed => summary.requests.failed = count(value),
            Field::Window => {
                summary.window_s =
                    Some(value * unit.and_then(Unit::in_ms).map_or(1.0, |ms| ms / 1000.0));
            }
            Field::Concurrency => {
                summary.concurrency.configured = count(value);
                self.point.insert("concurrency".into(), number(value));
            }
            Field::BareConcurrency => self.bare_concurrency = Some(value),
            Field::PeakConcurrency => summary.concurrency.peak = count(value),
            Field::Rate => {
                self.point.insert("rate".into(), number(value));
            }
            Field::InputTokens => summary.tokens.input = count(value),
            Field::OutputTokens => summary.tokens.output = count(value),
            Field::RequestsPerS => summary.throughput.requests_per_s = Some(value),
            Field::InputPerS => summary.throughput.input_tokens_per_s = Some(value),
            Field::OutputPerS => summary.throughput.output_tokens_per_s = Some(value),
            Field::TotalPerS => summary.throughput.total_tokens_per_s = Some(value),
            Field::InputCharsPerS => summary.throughput.input_chars_per_s = Some(value),
            Field::OutputCharsPerS => summary.throughput.output_chars_per_s = Some(value),
            Field::Goodput => {
                summary.slo = Some(ImportedSlo {
                    attainment: None,
                    goodput_per_s: Some(value),
                });
            }
            Field::InputChars => {
                self.point.insert("input_chars".into(), number(value));
            }
            Field::AskChars => {
                self.point.insert("ask_chars".into(), number(value));
            }
            Field::OutputCap => summary.tokens.output_asked = Some(value),
            Field::Of(sample, stat) => {
                let value = if sample.is_time() {
                    milliseconds()
                } else {
                    value
                };
                self.spread(sample).set(stat.unwrap_or(Stat::Mean), value);
                self.about = Some(sample);
            }
            Field::Bare(stat) => {
                let Some(sample) = self.about else { return };
                let value = if sample.is_time() {
                    milliseconds()
                } else {
                    value
                };
                self.spread(sample).set(stat, value);
                self.seen.push(Field::Of(sample, Some(stat)));
                return;
            }
            Field::Other => {
                summary.other.insert(name.trim().to_owned(), number(value));
            }
        }
        self.seen.push(field);
    }

    /// The numbers of one sample.
    pub(crate) fn spread(&mut self, sample: Sample) -> &mut Spread {
        let summary = &mut self.summary;
        let place = match sample {
            Sample::Ttft => &mut summary.latency.ttft_ms,
            Sample::SecondToken => &mut summary.latency.second_token_ms,
            Sample::Tpot => &mut summary.latency.tpot_ms,
            Sample::Itl => &mut summary.latency.itl_ms,
            Sample::MaxGap => &mut summary.latency.max_gap_ms,
            Sample::E2e => &mut summary.latency.e2e_ms,
            Sample::PerUserSpeed => &mut summary.speed.per_user_tokens_per_s,
            Sample::InputLength => &mut summary.tokens.input_spread,
            Sample::OutputLength => &mut summary.tokens.output_spread,
        };
        place.get_or_insert_default()
    }

    /// A sample that was read as a whole.
    pub(crate) fn put(&mut self, sample: Sample, spread: Spread) {
        if spread != Spread::default() {
            self.seen.push(Field::Of(sample, None));
            self.spread(sample).fill(spread);
        }
    }

    /// Everything is in: settles what the tool means and divides where only totals are given.
    pub(crate) fn finish(mut self, tool: Tool, lines: (usize, usize)) -> Found {
        let mut found = Found::new(tool, lines);
        let mut summary = self.summary;
        match (self.bare_concurrency, summary.concurrency.configured) {
            (Some(mean), Some(_)) => summary.concurrency.mean = Some(mean),
            (Some(mean), None) if tool == Tool::Sglang => summary.concurrency.mean = Some(mean),
            (Some(configured), None) => {
                summary.concurrency.configured = count(configured);
                self.point.insert("concurrency".into(), number(configured));
            }
            (None, _) => {}
        }
        let requests = &mut summary.requests;
        if requests.planned.is_none() {
            requests.planned = self.total;
        } else if let (Some(total), None, None) = (self.total, requests.ok, requests.failed) {
            requests.ok = Some(total);
        }
        let tokens = &mut summary.tokens;
        tokens.input_mean = tokens.input_spread.as_ref().and_then(|spread| spread.mean);
        tokens.output_mean = tokens.output_spread.as_ref().and_then(|spread| spread.mean);
        // A mean alone is no distribution.
        for spread in [&mut tokens.input_spread, &mut tokens.output_spread] {
            if spread
                .as_ref()
                .is_some_and(|s| s.percentiles().is_empty() && s.max.is_none())
            {
                *spread = None;
            }
        }
        let ok = requests.ok;
        let mut derive = |name, place: &mut Option<f64>, total: Option<u64>, by: Option<f64>| {
            if let (None, Some(total), Some(by)) = (*place, total, by.filter(|by| *by > 0.0)) {
                *place = Some(total as f64 / by);
                found.derived.push(Cow::Borrowed(name));
            }
        };
        let requests_made = ok.map(|ok| ok as f64);
        derive(
            "tokens.input_mean",
            &mut tokens.input_mean,
            tokens.input,
            requests_made,
        );
        derive(
            "tokens.output_mean",
            &mut tokens.output_mean,
            tokens.output,
            requests_made,
        );
        let (throughput, window) = (&mut summary.throughput, summary.window_s);
        derive(
            "throughput.requests_per_s",
            &mut throughput.requests_per_s,
            ok,
            window,
        );
        derive(
            "throughput.input_tokens_per_s",
            &mut throughput.input_tokens_per_s,
            tokens.input,
            window,
        );
        derive(
            "throughput.output_tokens_per_s",
            &mut throughput.output_tokens_per_s,
            tokens.output,
            window,
        );
        for spread in latencies(&mut summary) {
            spread.n = spread.n.or(ok);
        }
        found.point = self.point;
        found.assumed = self.assumed;
        found.summary = Some(summary);
        found
    }
}

/// Samples with one value for each request.
fn latencies(summary: &mut ImportedSummary) -> impl Iterator<Item = &mut Spread> {
    let latency = &mut summary.latency;
    [
        &mut latency.ttft_ms,
        &mut latency.tpot_ms,
        &mut latency.e2e_ms,
    ]
    .into_iter()
    .flatten()
}

/// A JSON number, an integer where it is one.
pub(crate) fn number(value: f64) -> Value {
    if value == f64::INFINITY {
        return json!("inf");
    }
    if value.fract() == 0.0 && value.abs() < 9e15 {
        json!(value as i64)
    } else {
        json!(value)
    }
}
