//! The latency table of GuideLLM's console and the metrics of its report file, as release 0.7
//! has them.
//!
//! - TPOT is (last token − start) / output tokens: the time to the first token is in it.
//! - ITL is (last token − first token) / (output tokens − 1), of each request.
//! - Both are weighted by tokens, so that a long answer counts more than a short one.
//! - A percentile is the first value at which the weights reach it.
//! - Tokens that nobody counted are the number of messages with text.

use crate::object::Object;
use crate::{DialectError, Source, input_tokens, latency, millis, start, successes};
use inferometer_core::record::{Outcome, Record};
use inferometer_core::scenario::{Arrival, Shape};
use inferometer_core::units::Offset;

/// A run in the tool's numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    strategy: &'static str,
    successful: u64,
    incomplete: u64,
    errored: u64,
    metrics: Vec<(&'static str, Weighted)>,
}

/// Values with weights, ascending, equal ones together; the weights add up to 1.
#[derive(Clone, Debug, Default, PartialEq)]
struct Weighted {
    values: Vec<(f64, f64)>,
    /// What the tool calls the count: the rounded sum of the weights.
    count: u64,
}

impl FromIterator<(f64, f64)> for Weighted {
    fn from_iter<I: IntoIterator<Item = (f64, f64)>>(pairs: I) -> Self {
        let mut pairs: Vec<(f64, f64)> = pairs.into_iter().collect();
        let total: f64 = pairs.iter().map(|(_, weight)| weight).sum();
        let count = total.round() as u64;
        if total > 1e-6 {
            pairs.retain(|(_, weight)| *weight > 0.0);
        } else {
            pairs.iter_mut().for_each(|(_, weight)| *weight = 1.0);
        }
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        pairs.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 += later.1;
            }
            same
        });
        let total: f64 = pairs.iter().map(|(_, weight)| weight).sum();
        pairs.iter_mut().for_each(|(_, weight)| *weight /= total);
        Weighted {
            values: pairs,
            count,
        }
    }
}

impl Weighted {
    fn mean(&self) -> f64 {
        self.values
            .iter()
            .map(|(value, weight)| value * weight)
            .sum()
    }

    fn variance(&self) -> f64 {
        let mean = self.mean();
        let values = self.values.iter();
        values
            .map(|(value, weight)| (value - mean).powi(2) * weight)
            .sum()
    }

    /// The first of the most frequent values.
    fn mode(&self) -> f64 {
        let first = self.values.first().copied().unwrap_or_default();
        let most = self.values.iter().fold(
            first,
            |most, &next| if next.1 > most.1 { next } else { most },
        );
        most.0
    }

    fn percentile(&self, share: f64) -> f64 {
        let mut reached = 0.0;
        for &(value, weight) in &self.values {
            reached += weight;
            if reached >= share {
                return value;
            }
        }
        self.values.last().map_or(0.0, |(value, _)| *value)
    }
}

/// The run's numbers as the tool would have had them.
pub fn measure(source: &Source<'_>) -> Result<Numbers, DialectError> {
    let records = source.measured();
    let done = successes(&records, "guidellm")?;
    let cut = |record: &&&Record| record.outcome == Outcome::Cut;
    let incomplete = records.iter().filter(cut).count() as u64;
    let equal = |value: &dyn Fn(&Record) -> Option<f64>| {
        let values = done.iter().filter_map(|record| value(record));
        values.map(|value| (value, 1.0)).collect::<Weighted>()
    };
    let count = |count: &dyn Fn(&Record) -> u32| equal(&|record| Some(f64::from(count(record))));
    let whole = equal(&|r| Some(latency(r).as_secs_f64()));
    let first = equal(&|r| since(r, r.first_token()));
    let first_output = equal(&|r| since(r, r.first_answer.or(r.first_token())));
    let per_token = done.iter().map(|r| time_per_token(r)).collect();
    let between = done.iter().filter_map(|r| between_tokens(r)).collect();
    Ok(Numbers {
        strategy: match &source.scenario.load.shape {
            Shape::Closed { concurrency: 1, .. } => "synchronous",
            Shape::Closed { .. } => "concurrent",
            Shape::Open { rate, .. } if rate.is_infinite() => "throughput",
            Shape::Open { arrival, .. } => match arrival {
                Arrival::Constant => "constant",
                Arrival::Poisson | Arrival::Gamma(_) => "poisson",
            },
            Shape::Replay { .. } => "replay",
        },
        successful: done.len() as u64,
        incomplete,
        errored: records.len() as u64 - done.len() as u64 - incomplete,
        metrics: vec![
            ("request_latency", whole),
            ("prompt_token_count", count(&input_tokens)),
            ("output_token_count", count(&output)),
            (
                "total_token_count",
                count(&|r| input_tokens(r).saturating_add(output(r))),
            ),
            ("time_to_first_token_ms", first),
            ("time_to_first_output_token_ms", first_output),
            ("time_per_output_token_ms", per_token),
            ("inter_token_latency_ms", between),
        ],
    })
}

fn since(record: &Record, at: Option<Offset>) -> Option<f64> {
    Some(millis(at?.since(start(record))))
}

fn output(record: &Record) -> u32 {
    let chunks = record.chunks.at.len() as u32;
    record.output_tokens().unwrap_or(chunks)
}

fn time_per_token(record: &Record) -> (f64, f64) {
    let tokens = f64::from(output(record));
    let last = record.chunks.at.last().copied().or(record.end);
    match since(record, last).filter(|_| tokens > 0.0) {
        Some(took) => (took / tokens, tokens),
        None => (0.0, tokens),
    }
}

/// With its weight; absent where no token was seen.
fn between_tokens(record: &Record) -> Option<(f64, f64)> {
    let (first, last) = (record.chunks.at.first()?, record.chunks.at.last()?);
    let gaps = f64::from(output(record).saturating_sub(1));
    let gap = if gaps > 0.0 {
        millis(last.since(*first)) / gaps
    } else {
        0.0
    };
    Some((gap, gaps))
}

/// Columns of the table: group, unit, and the metric.
const COLUMNS: [(&str, &str, &str); 5] = [
    ("Request Latency", "Sec", "request_latency"),
    ("TTFT", "ms", "time_to_first_token_ms"),
    ("TTFOT", "ms", "time_to_first_output_token_ms"),
    ("ITL", "ms", "inter_token_latency_ms"),
    ("TPOT", "ms", "time_per_output_token_ms"),
];

const PERCENTILES: [(&str, f64); 11] = [
    ("p001", 0.001),
    ("p01", 0.01),
    ("p05", 0.05),
    ("p10", 0.1),
    ("p25", 0.25),
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p999", 0.999),
];

impl Numbers {
    fn metric(&self, key: &str) -> Option<&Weighted> {
        let found = self.metrics.iter().find(|(name, _)| *name == key);
        found.map(|(_, values)| values)
    }

    pub fn text(&self) -> String {
        table(&[self.row()])
    }

    /// The cells of its row in the latency table.
    pub(super) fn row(&self) -> Vec<String> {
        let mut cells = vec![format!(" {} ", self.strategy)];
        for (_, _, key) in COLUMNS {
            cells.extend([0.5, 0.95].map(|share| match self.metric(key) {
                Some(sample) if !sample.values.is_empty() => {
                    format!(" {:.1} ", sample.percentile(share))
                }
                _ => " 0.0 ".to_owned(),
            }));
        }
        cells
    }

    /// The metrics of the report file, successes only.
    pub fn json(&self) -> String {
        let mut totals = Object::default();
        totals.put("successful", self.successful);
        totals.put("incomplete", self.incomplete);
        totals.put("errored", self.errored);
        totals.put("total", self.successful + self.incomplete + self.errored);
        let mut metrics = Object::default();
        metrics.nest("request_totals", totals);
        for (key, sample) in &self.metrics {
            let mut successful = Object::default();
            successful.put("mean", sample.mean());
            successful.put("median", sample.percentile(0.5));
            successful.put("mode", sample.mode());
            successful.put("variance", sample.variance());
            successful.put("std_dev", sample.variance().sqrt());
            successful.put(
                "min",
                sample.values.first().map_or(0.0, |(value, _)| *value),
            );
            successful.put("max", sample.values.last().map_or(0.0, |(value, _)| *value));
            successful.put("count", sample.count);
            successful.put("total_sum", sample.mean() * sample.count as f64);
            let shares = PERCENTILES.map(|(name, share)| (name, sample.percentile(share).into()));
            successful.nest("percentiles", Object::from_pairs(shares));
            let mut status = Object::default();
            status.nest("successful", successful);
            metrics.nest(key, status);
        }
        let mut benchmark = Object::default();
        benchmark.nest("metrics", metrics);
        let mut report = Object::default();
        report.nest_all("benchmarks", [benchmark]);
        report.finished()
    }
}

/// The latency table, a row a benchmark. A title over two columns leaves an empty cell, as the
/// tool's does.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let widest = |column: usize, head: &str| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(String::len).max().unwrap_or(0).max(head.len())
    };
    let mut widths = vec![widest(0, " Benchmark ")];
    for (at, (group, ..)) in COLUMNS.iter().enumerate() {
        let mut pair = [1, 2].map(|side| widest(2 * at + side, " Mdn "));
        // A title that is too long widens its columns from the left.
        let lacking = (group.len() + 2).saturating_sub(pair.iter().sum());
        pair[0] += lacking.div_ceil(2);
        pair[1] += lacking / 2;
        widths.extend(pair);
    }
    let line = |cells: &[String], widths: &[usize]| {
        let cells = cells.iter().zip(widths);
        let cells: Vec<String> = cells
            .map(|(cell, &width)| format!("{cell:<width$}"))
            .collect();
        format!("|{}|\n", cells.join("|"))
    };
    let rule = |sign: &str| {
        let cells: Vec<String> = widths.iter().map(|&width| sign.repeat(width)).collect();
        format!("|{}|\n", cells.join("|"))
    };
    // Merged cells: the first takes the room of both, the second has none.
    let mut merged = vec![widths[0]];
    for pair in widths[1..].chunks(2) {
        merged.extend([pair.iter().sum(), 0]);
    }
    let spanning = |first: &str, name: &dyn Fn(&(&str, &str, &str)) -> String| {
        let mut cells = vec![format!(" {first} ")];
        for column in &COLUMNS {
            cells.extend([format!(" {} ", name(column)), String::new()]);
        }
        cells
    };
    let groups = spanning("Benchmark", &|column| column.0.to_owned());
    let units = spanning("Strategy", &|column| column.1.to_owned());
    let mut kinds = vec![String::new()];
    kinds.extend(
        COLUMNS
            .iter()
            .flat_map(|_| [" Mdn ", " p95 "].map(str::to_owned)),
    );
    let values: String = rows.iter().map(|row| line(row, &widths)).collect();
    [
        "ℹ Request Latency Statistics (Completed Requests)\n".to_owned(),
        rule("="),
        line(&groups, &merged),
        line(&units, &merged),
        line(&kinds, &widths),
        rule("-"),
        values,
        rule("="),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use crate::guidellm::*;

    #[test]
    fn a_heavy_value_takes_more_percentiles() {
        let sample: Weighted = [(10.0, 1.0), (20.0, 3.0), (10.0, 0.0)]
            .into_iter()
            .collect();
        assert_eq!(sample.mean(), 17.5);
        assert_eq!(sample.percentile(0.25), 10.0);
        assert_eq!(sample.percentile(0.26), 20.0);
        assert_eq!((sample.mode(), sample.count), (20.0, 4));
        let nothing: Weighted = [].into_iter().collect();
        assert_eq!((nothing.mean(), nothing.percentile(0.5)), (0.0, 0.0));
    }
}
