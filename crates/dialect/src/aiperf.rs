//! The table and the JSON export of AIPerf, as release 0.13 has them.
//!
//! - An answer ends with its last message with text; finish and usage are not in the latency.
//! - ITL is (latency − TTFT) / (output − 1), of each request, and the speed of a user is 1 / ITL.
//! - Throughput is over the successes: from their first start to their last end.
//! - `adj_*` counts every failure as an infinite time, by nearest rank; the tool's JSON has no
//!   infinity and writes `null`. There are none where nothing failed.

use crate::object::Object;
use crate::{DialectError, Source, millis, start, successes};
use inferometer_core::quantile::{quantile, sort};
use inferometer_core::record::Record;
use inferometer_core::units::Offset;

/// A run in the tool's numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    metrics: Vec<Metric>,
}

/// A row of the table and an entry of the export.
#[derive(Clone, Debug, PartialEq)]
struct Metric {
    tag: String,
    header: String,
    unit: &'static str,
    values: Values,
}

#[derive(Clone, Debug, PartialEq)]
enum Values {
    /// One number for the whole run.
    Total(f64),
    Sample(Vec<f64>),
    /// The same with infinite values at its end.
    WithFailures(Vec<f64>),
}

const PERCENTILES: [u32; 9] = [1, 5, 10, 25, 50, 75, 90, 95, 99];

const STATISTICS: [&str; 7] = ["avg", "min", "max", "p99", "p90", "p50", "std"];

impl Values {
    fn percentile(&self, percent: u32) -> Option<f64> {
        let share = f64::from(percent) / 100.0;
        match self {
            Values::Total(_) => None,
            Values::Sample(sample) => quantile(sample, share),
            Values::WithFailures(sample) => {
                let at = share * sample.len().checked_sub(1)? as f64;
                // Half-way ranks go to the even one.
                sample.get(at.round_ties_even() as usize).copied()
            }
        }
    }

    fn statistic(&self, name: &str) -> Option<f64> {
        let sample = match self {
            Values::Total(value) => return (name == "avg").then_some(*value),
            Values::Sample(sample) | Values::WithFailures(sample) => sample,
        };
        let mean = if sample.is_empty() {
            return None;
        } else {
            sample.iter().sum::<f64>() / sample.len() as f64
        };
        match name {
            "avg" => Some(mean),
            "min" => sample.first().copied(),
            "max" => sample.last().copied(),
            "std" if matches!(self, Values::WithFailures(_)) => None,
            "std" => {
                let squares: f64 = sample.iter().map(|value| (value - mean).powi(2)).sum();
                Some((squares / sample.len() as f64).sqrt())
            }
            other => self.percentile(other.strip_prefix('p')?.parse().ok()?),
        }
    }
}

/// The run's numbers as the tool would have had them.
pub fn measure(source: &Source<'_>) -> Result<Numbers, DialectError> {
    let records = source.measured();
    let done = successes(&records, "aiperf")?;
    let failed = records.len() - done.len();
    let sample = |value: &dyn Fn(&Record) -> Option<f64>| {
        let mut values: Vec<f64> = done.iter().filter_map(|record| value(record)).collect();
        sort(&mut values);
        values
    };
    let latencies = sample(&|record| Some(millis(end(record).since(start(record)))));
    let first = sample(&|record| Some(millis(record.first_token()?.since(start(record)))));
    let between = sample(&between_tokens);
    let begin = done.iter().map(|record| start(record)).min();
    let last = done.iter().map(|record| end(record)).max();
    let seconds = last
        .zip(begin)
        .map(|(last, begin)| last.since(begin).as_secs_f64());
    let rate = |amount: f64| seconds.filter(|&all| all > 0.0).map(|all| amount / all);
    let outputs = sample(&|record| record.output_tokens().map(f64::from));
    let total: f64 = outputs.iter().sum();
    let second = sample(&|record| record.second_token().map(millis));
    let first_output = sample(&|record| {
        let answer = record.first_answer.or(record.first_token())?;
        Some(millis(answer.since(start(record))))
    });
    let speeds = sample(&|record| {
        let gap = between_tokens(record).filter(|&gap| gap > 0.0)?;
        Some(1e3 / gap)
    });
    let inputs = sample(&|record| {
        let asked = record.input_tokens_asked;
        record.input_tokens().or(asked).map(f64::from)
    });
    let samples = [
        ("Time to First Token", "ms", first.clone()),
        ("Time to Second Token", "ms", second),
        ("Time to First Output Token", "ms", first_output),
        ("Request Latency", "ms", latencies.clone()),
        ("Inter Token Latency", "ms", between.clone()),
        (
            "Output Token Throughput Per User",
            "tokens/sec/user",
            speeds,
        ),
        ("Output Sequence Length", "tokens", outputs),
        ("Input Sequence Length", "tokens", inputs),
    ];
    let totals = [
        ("Output Token Throughput", "tokens/sec", rate(total)),
        (
            "Request Throughput",
            "requests/sec",
            rate(done.len() as f64),
        ),
        ("Request Count", "requests", Some(done.len() as f64)),
    ];
    let samples = samples.into_iter();
    let samples =
        samples.map(|(header, unit, values)| metric(header, unit, Values::Sample(values)));
    let totals = totals.into_iter();
    let totals = totals
        .filter_map(|(header, unit, value)| Some(metric(header, unit, Values::Total(value?))));
    let mut metrics: Vec<Metric> = samples.chain(totals).collect();
    if failed > 0 {
        let adjusted = [
            ("Time to First Token", first),
            ("Request Latency", latencies),
            ("Inter Token Latency", between),
        ];
        metrics.extend(adjusted.into_iter().map(|(header, mut values)| {
            values.resize(values.len() + failed, f64::INFINITY);
            Metric {
                tag: format!("adj_{}", tag(header)),
                header: format!("{header} (error-adjusted)"),
                unit: "ms",
                values: Values::WithFailures(values),
            }
        }));
    }
    // The tool has no row for what no request has.
    metrics.retain(|metric| metric.values.statistic("avg").is_some());
    Ok(Numbers { metrics })
}

fn metric(header: &str, unit: &'static str, values: Values) -> Metric {
    Metric {
        tag: tag(header),
        header: header.to_owned(),
        unit,
        values,
    }
}

/// `Request Latency` as `request_latency`.
fn tag(header: &str) -> String {
    header.to_lowercase().replace(' ', "_")
}

/// The last message with text; without a stream, the end.
fn end(record: &Record) -> Offset {
    let last = record.chunks.at.last().copied();
    last.or(record.end).unwrap_or_else(|| start(record))
}

fn between_tokens(record: &Record) -> Option<f64> {
    let further = record.output_tokens()?.checked_sub(1).filter(|&n| n > 0)?;
    let decoding = end(record).since(record.first_token()?);
    Some(millis(decoding) / f64::from(further))
}

/// Two decimals, and a comma between thousands.
fn shown(value: Option<f64>) -> String {
    match value {
        Some(value) if value.is_infinite() => "inf".to_owned(),
        Some(value) => inferometer_page::number::grouped(value, 2),
        None => "N/A".to_owned(),
    }
}

impl Numbers {
    /// The table with its title.
    pub fn text(&self) -> String {
        let mut heads = vec!["Metric".to_owned()];
        heads.extend(STATISTICS.map(str::to_owned));
        let mut rows: Vec<Vec<String>> = Vec::new();
        for metric in &self.metrics {
            let unit = format!("({})", metric.unit);
            let numbers = STATISTICS.map(|name| shown(metric.values.statistic(name)));
            // A long name has its unit in a line of its own.
            let (first, second) = if metric.header.len() > 30 {
                (metric.header.clone(), Some(unit))
            } else {
                (format!("{} {unit}", metric.header), None)
            };
            rows.push([vec![first], numbers.to_vec()].concat());
            rows.extend(second.map(|unit| {
                let mut row = vec![String::new(); heads.len()];
                row[0] = unit;
                row
            }));
        }
        crate::outline::heavy_head("NVIDIA AIPerf | LLM Metrics", &heads, &rows)
    }

    /// The metrics of the export file.
    pub fn json(&self) -> String {
        let mut export = Object::default();
        for metric in &self.metrics {
            let mut entry = Object::default();
            entry.put("unit", metric.unit);
            let value = |name: &str| metric.values.statistic(name);
            entry.put("avg", value("avg"));
            if let Values::Sample(sample) | Values::WithFailures(sample) = &metric.values {
                for percent in PERCENTILES {
                    entry.put(&format!("p{percent}"), metric.values.percentile(percent));
                }
                for name in ["min", "max", "std"] {
                    entry.put(name, value(name));
                }
                entry.put("count", sample.len());
                entry.put("sum", sample.iter().sum::<f64>());
            }
            export.nest(&metric.tag, entry);
        }
        export.finished()
    }
}
