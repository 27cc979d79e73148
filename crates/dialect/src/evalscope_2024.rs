//! The summary block of `evalscope perf` as the releases of 2024 printed it.
//!
//! - A package is a message of the stream, a role-only one and the usage included; without a
//!   stream there is one, and the time to first token is the latency.
//! - An answer ends with the stream, not with its last token.
//! - `Average time per output token` is the wall time over all output tokens: the reciprocal of
//!   the throughput, not what one user waits for.
//! - `Average package latency` leaves out the first package and the last: (last but one − first)
//!   over the packages between them, pooled.
//! - A percentile is the value at index ⌊n·p/100⌋ of the sorted sample, of nine answers or more.

use crate::object::Object;
use crate::python::{mean, rounded};
use crate::{DialectError, Source, all_messages, input_tokens, latency, start, successes};
use inferometer_core::quantile::sort;
use inferometer_core::record::Record;
use inferometer_core::units::Offset;
use std::time::Duration;

const PERCENTILES: [usize; 8] = [50, 66, 75, 80, 90, 95, 98, 99];

#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    duration: Duration,
    expected: u64,
    /// None in an open loop, which the tool itself cannot send: its workers wait for answers.
    concurrency: Option<u32>,
    succeeded: u64,
    failed: u64,
    latencies: Vec<f64>,
    first_packages: Vec<f64>,
    input: u64,
    output: u64,
    packages_per_request: f64,
    package_latency: f64,
}

/// What the tool learns of one answer's packages.
struct Packages {
    first: Duration,
    counted: u64,
    time: Duration,
}

/// The run's numbers as the tool would have had them. The tool breaks off without a success.
pub fn measure(source: &Source<'_>) -> Result<Numbers, DialectError> {
    let records = source.measured();
    let done = successes(&records, "evalscope-2024")?;
    let packages: Vec<Packages> = done.iter().map(|record| packages(record)).collect();
    let counted: u64 = packages.iter().map(|one| one.counted).sum();
    let time: f64 = packages.iter().map(|one| one.time.as_secs_f64()).sum();
    // The tool adds the first and the last package again if the last answer was a stream.
    let streams = done.last().is_some_and(|last| all_messages(last).len() > 1);
    let ends = if streams { 2.0 } else { 0.0 };
    let ascending = |mut values: Vec<f64>| {
        sort(&mut values);
        values
    };
    let total = |count: fn(&Record) -> u32| done.iter().map(|r| u64::from(count(r))).sum();
    Ok(Numbers {
        duration: source.duration(&records),
        expected: source.ending.planned.max(records.len() as u64),
        concurrency: source.max_concurrency(),
        succeeded: done.len() as u64,
        failed: (records.len() - done.len()) as u64,
        latencies: ascending(done.iter().map(|r| latency(r).as_secs_f64()).collect()),
        first_packages: ascending(packages.iter().map(|p| p.first.as_secs_f64()).collect()),
        input: total(input_tokens),
        output: total(|record| record.output_tokens().unwrap_or(0)),
        packages_per_request: counted as f64 / done.len() as f64 + ends,
        // Python would break off here; there is no such number.
        package_latency: match counted {
            0 => f64::NAN,
            counted => time / counted as f64,
        },
    })
}

fn packages(record: &Record) -> Packages {
    let at: Vec<Offset> = all_messages(record);
    match at.as_slice() {
        [first, .., last_but_one, _] | [first @ last_but_one, _] => Packages {
            first: first.since(start(record)),
            counted: at.len() as u64 - 2,
            time: last_but_one.since(*first),
        },
        [] | [_] => Packages {
            first: latency(record),
            counted: 1,
            time: latency(record),
        },
    }
}

/// The tool's percentile; its index stays inside, since no percentile is 100.
fn percentile(ascending: &[f64], percent: usize) -> f64 {
    let index = ascending.len() * percent / 100;
    ascending.get(index).copied().unwrap_or(f64::INFINITY)
}

impl Numbers {
    fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.duration.as_secs_f64()
    }

    fn per_request(&self, count: u64) -> f64 {
        count as f64 / self.succeeded as f64
    }

    fn time_per_token(&self) -> f64 {
        self.duration.as_secs_f64() / self.output as f64
    }

    fn has_percentiles(&self) -> bool {
        self.latencies.len() > PERCENTILES.len()
    }

    pub fn text(&self) -> String {
        let mut lines = vec!["Benchmarking summary: ".to_owned()];
        let mut line = |label: &str, value: String| lines.push(format!(" {label}: {value}"));
        let seconds = self.duration.as_secs_f64();
        line("Time taken for tests", format!("{seconds:.3} seconds"));
        line("Expected number of requests", self.expected.to_string());
        let workers = self
            .concurrency
            .map_or("None".to_owned(), |n| n.to_string());
        line("Number of concurrency", workers);
        line("Total requests", (self.succeeded + self.failed).to_string());
        line("Succeed requests", self.succeeded.to_string());
        line("Failed requests", self.failed.to_string());
        for (label, value) in self.averages() {
            let digits = match label {
                TIME_PER_TOKEN => 5,
                _ => 3,
            };
            line(label, python(value, digits));
        }
        if !self.has_percentiles() {
            lines.push(" Too little data to calculate quantiles!".to_owned());
        } else {
            for (label, sample) in self.samples() {
                lines.push(format!(" {label}: "));
                lines.extend(
                    PERCENTILES.map(|p| format!("     p{p}: {:.4}", percentile(sample, p))),
                );
            }
        }
        lines.push(String::new());
        lines.join("\n")
    }

    fn averages(&self) -> [(&'static str, f64); 9] {
        [
            ("Average QPS", self.per_second(self.succeeded)),
            ("Average latency", mean(&self.latencies)),
            (
                "Throughput(average output tokens per second)",
                self.per_second(self.output),
            ),
            ("Average time to first token", mean(&self.first_packages)),
            (
                "Average input tokens per request",
                self.per_request(self.input),
            ),
            (
                "Average output tokens per request",
                self.per_request(self.output),
            ),
            (TIME_PER_TOKEN, self.time_per_token()),
            ("Average package per request", self.packages_per_request),
            ("Average package latency", self.package_latency),
        ]
    }

    fn samples(&self) -> [(&'static str, &[f64]); 2] {
        [
            ("Percentile of time to first token", &self.first_packages),
            ("Percentile of request latency", &self.latencies),
        ]
    }

    /// The same by the block's labels, one line of JSON; the tool itself wrote a database.
    pub fn json(&self) -> String {
        let mut object = Object::default();
        let seconds = rounded(self.duration.as_secs_f64(), 3);
        object.put("Time taken for tests", seconds);
        object.put("Expected number of requests", self.expected);
        object.put("Number of concurrency", self.concurrency);
        object.put("Total requests", self.succeeded + self.failed);
        object.put("Succeed requests", self.succeeded);
        object.put("Failed requests", self.failed);
        for (label, value) in self.averages() {
            object.put(label, value);
        }
        if self.has_percentiles() {
            for (label, sample) in self.samples() {
                let entries = PERCENTILES
                    .iter()
                    .map(|&p| (format!("p{p}"), percentile(sample, p).into()));
                object.put(label, serde_json::Value::Object(entries.collect()));
            }
        }
        object.finished()
    }
}

const TIME_PER_TOKEN: &str = "Average time per output token";

/// A number as `%.3f` prints it, also where it is none.
fn python(value: f64, digits: usize) -> String {
    match (value.is_nan(), value.is_infinite()) {
        (true, _) => "nan".to_owned(),
        (_, true) => "inf".to_owned(),
        _ => format!("{value:.digits$}"),
    }
}
