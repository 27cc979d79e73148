//! The tables and the JSON export of AIPerf, as release 0.13 has them with
//! `--use-server-token-count`.
//!
//! - An answer ends with its last message with text; finish and usage are not in the latency.
//! - ITL is (latency − TTFT) / (output − 1), of each request, and the speed of a user is 1 / ITL.
//! - Throughput is that of the successes over the whole window, failures and their time included.
//! - `effective_*` is over the window, `active_*` over the parts of it in which something was in
//!   that phase: values that hold between two events, weighted by their time.
//! - `adj_*` counts every failure as an infinite time, by nearest rank; what is infinite is not
//!   written. There are none where nothing failed.

mod answer;
mod metric;
mod phases;
mod steps;
mod tables;

use crate::object::Object;
use crate::{DialectError, GoodputMetric, Source, millis, successes};
use answer::Answer;
use inferometer_core::quantile::sort;
use inferometer_core::record::{FailureClass, Record};
use inferometer_core::units::Offset;
use metric::{Group, Metric, Values};
use std::ops::RangeInclusive;

/// What the tool has and records do not: bytes and writes of a connection, and counts of a
/// tokenizer of its own beside the server's.
pub const LEFT_OUT: [(&str, &str); 14] = [
    ("http_req_blocked", "no request waits for a connection here"),
    ("http_req_dns_lookup", "names are looked up before the run"),
    ("http_req_sending", "the end of sending is not recorded"),
    ("http_req_waiting", "the end of sending is not recorded"),
    ("http_req_data_sent", "bytes are not recorded"),
    ("http_req_data_received", "bytes are not recorded"),
    ("http_req_chunks_sent", "writes are not recorded"),
    ("http_req_chunks_received", "reads are not recorded"),
    (
        "usage_prompt_tokens_diff_pct",
        "the server's count is the only one",
    ),
    (
        "usage_completion_tokens_diff_pct",
        "the server's count is the only one",
    ),
    (
        "usage_discrepancy_count",
        "the server's count is the only one",
    ),
    ("error_isl", "the server counts no tokens of a failure"),
    (
        "total_error_isl",
        "the server counts no tokens of a failure",
    ),
    (
        "telemetry_data",
        "the server's devices are not in the records",
    ),
];

/// A run in the tool's numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    metrics: Vec<Metric>,
}

/// The run's numbers as the tool would have had them.
pub fn measure(source: &Source<'_>) -> Result<Numbers, DialectError> {
    let records = source.measured();
    let done = successes(&records, "aiperf")?;
    let done: Vec<Answer<'_>> = done.into_iter().map(Answer::of).collect();
    let failed: Vec<&Record> = (records.iter().copied())
        .filter(|record| !record.is_done())
        .collect();
    let window = window(source, &records);
    let mut metrics = samples(&done);
    metrics.extend(usage(&done));
    metrics.extend(connections(&done));
    let seconds = (window.end() - window.start()) as f64 / 1e9;
    metrics.extend(throughput(&done, seconds));
    metrics.extend(goodput(source, &done, failed.len(), seconds));
    metrics.extend(totals(&done, failed.len()));
    metrics.extend(phases::metrics(&done, &failed, &window));
    metrics.extend(scheduled(&done));
    metrics.extend(failures(&done, &failed));
    metrics.retain(|metric| metric.values.is_known());
    Ok(Numbers { metrics })
}

/// From the first request, or from where the measured part began, to the end of the last one.
fn window(source: &Source<'_>, records: &[&Record]) -> RangeInclusive<u64> {
    let begin = source.begin(records).unwrap_or_default();
    let end = Offset::after(begin.since(Offset::default()) + source.duration(records));
    begin.0..=end.0.max(begin.0)
}

fn sample<'a>(
    (tag, header, unit): (&'static str, &'static str, &'static str),
    group: Group,
    done: &[Answer<'a>],
    value: impl Fn(&Answer<'a>) -> Option<f64>,
) -> Metric {
    let mut values: Vec<f64> = done.iter().filter_map(value).collect();
    sort(&mut values);
    Metric {
        tag,
        header,
        unit,
        group,
        values: Values::Sample(values),
    }
}

fn total(
    (tag, header, unit): (&'static str, &'static str, &'static str),
    group: Group,
    value: f64,
) -> Metric {
    Metric {
        tag,
        header,
        unit,
        group,
        values: Values::Total(value),
    }
}

/// One value for each answer.
fn samples(done: &[Answer<'_>]) -> Vec<Metric> {
    let main =
        |names, value: &dyn Fn(&Answer<'_>) -> Option<f64>| sample(names, Group::Main, done, value);
    let export = |names, value: &dyn Fn(&Answer<'_>) -> Option<f64>| {
        sample(names, Group::Export, done, value)
    };
    let per_s = |amount: f64, ms: f64| (ms > 0.0).then(|| amount / ms * 1e3);
    let mut metrics = vec![
        main(
            ("time_to_first_token", "Time to First Token", "ms"),
            &|answer| answer.ttft(),
        ),
        main(
            ("time_to_second_token", "Time to Second Token", "ms"),
            &|answer| answer.record.second_token().map(millis),
        ),
        main(
            (
                "time_to_first_output_token",
                "Time to First Output Token",
                "ms",
            ),
            &|answer| {
                let first = answer.record.first_answer.or(answer.first)?;
                Some(millis(first.since(answer.start)))
            },
        ),
        main(("request_latency", "Request Latency", "ms"), &|answer| {
            Some(answer.latency())
        }),
        main(("decode_duration", "Decode Duration", "ms"), &|answer| {
            answer.decoding()
        }),
        main(
            ("inter_token_latency", "Inter Token Latency", "ms"),
            &|answer| answer.itl(),
        ),
        main(
            (
                "output_token_throughput_per_user",
                "Output Token Throughput Per User",
                "tokens/sec/user",
            ),
            &|answer| per_s(1.0, answer.itl()?),
        ),
        main(
            (
                "e2e_output_token_throughput",
                "E2E Output Token Throughput",
                "tokens/sec/user",
            ),
            &|answer| per_s(answer.output?, answer.latency()),
        ),
        main(
            ("output_sequence_length", "Output Sequence Length", "tokens"),
            &|answer| answer.output,
        ),
        main(
            ("input_sequence_length", "Input Sequence Length", "tokens"),
            &|answer| answer.input,
        ),
        export(
            (
                "prefill_throughput_per_user",
                "Prefill Throughput Per User",
                "tokens/sec/user",
            ),
            &|answer| per_s(answer.input?, answer.ttft()?),
        ),
        export(
            ("osl_mismatch_diff_pct", "OSL Mismatch Diff %", "%"),
            &|answer| answer.mismatch(),
        ),
    ];
    // Reasoning is not counted there, and nobody says how many tokens it had.
    if !done.iter().any(Answer::reasons) {
        let names = ("output_token_count", "Output Token Count", "tokens");
        metrics.push(export(names, &|answer| answer.output));
    }
    let gaps = done.iter().flat_map(|answer| answer.record.gaps());
    let mut gaps: Vec<f64> = gaps.map(millis).collect();
    sort(&mut gaps);
    metrics.push(Metric {
        values: Values::Sample(gaps),
        ..export(
            ("inter_chunk_latency", "Inter Chunk Latency", "ms"),
            &|_| None,
        )
    });
    metrics
}

/// Tokens as the server counts them.
fn usage(done: &[Answer<'_>]) -> Vec<Metric> {
    let counts = |answer: &Answer<'_>| {
        let usage = answer.record.usage.unwrap_or_default();
        let [input, output, cached] =
            [usage.input, usage.output, usage.cached].map(|count| count.map(f64::from));
        let both = input.zip(output).map(|(input, output)| input + output);
        [input, cached, output, both]
    };
    let names = [
        ("usage_prompt_tokens", "Usage Prompt Tokens", "tokens"),
        (
            "usage_prompt_cache_read_tokens",
            "Usage Prompt Cache Read Tokens",
            "tokens",
        ),
        (
            "usage_completion_tokens",
            "Usage Completion Tokens",
            "tokens",
        ),
        ("usage_total_tokens", "Usage Total Tokens", "tokens"),
    ];
    let of_all = [
        (
            "total_usage_prompt_tokens",
            "Total Usage Prompt Tokens",
            "tokens",
        ),
        (
            "total_usage_prompt_cache_read_tokens",
            "Total Usage Prompt Cache Read Tokens",
            "tokens",
        ),
        (
            "total_usage_completion_tokens",
            "Total Usage Completion Tokens",
            "tokens",
        ),
        (
            "total_usage_total_tokens",
            "Total Usage Total Tokens",
            "tokens",
        ),
    ];
    let each = |at: usize| {
        sample(names[at], Group::Usage, done, move |answer| {
            counts(answer)[at]
        })
    };
    let mut metrics = [0, 1, 2, 3].map(each).to_vec();
    let sums = [0, 1, 2, 3].map(|at| {
        let values = &metrics[at].values;
        values.statistic("sum").filter(|_| values.is_known())
    });
    let [input, cached, ..] = sums;
    let sums = of_all.into_iter().zip(sums);
    metrics.extend(sums.filter_map(|(names, sum)| Some(total(names, Group::Usage, sum?))));
    if let (Some(input), Some(cached)) = (input, cached) {
        let names = (
            "overall_usage_prompt_cache_read_pct",
            "Overall Usage Prompt Cache Read %",
            "%",
        );
        // Between the sums of the cache and of the completions.
        let place = metrics.len() - 2;
        metrics.insert(place, total(names, Group::Usage, cached / input * 100.0));
    }
    metrics
}

/// What is known of the connections of answers.
fn connections(done: &[Answer<'_>]) -> Vec<Metric> {
    let connect = |answer: &Answer<'_>| Some(answer.record.connect.map_or(0.0, millis));
    let from_sent = |answer: &Answer<'_>| {
        let record = answer.record;
        Some(millis(record.end?.since(record.sent?)))
    };
    let export = |names, value: &dyn Fn(&Answer<'_>) -> Option<f64>| {
        sample(names, Group::Export, done, value)
    };
    vec![
        export(("http_req_connecting", "HTTP Connecting", "ms"), &connect),
        export(("http_req_receiving", "HTTP Receiving", "ms"), &|answer| {
            Some(millis(answer.record.end?.since(answer.record.first_byte?)))
        }),
        export(
            (
                "http_req_connection_reused",
                "HTTP Connection Reused",
                "ratio",
            ),
            &|answer| Some(f64::from(u8::from(answer.record.connect.is_none()))),
        ),
        export(
            (
                "http_req_connection_overhead",
                "HTTP Connection Overhead",
                "ms",
            ),
            &connect,
        ),
        export(
            ("http_req_duration", "HTTP Duration (excl. conn)", "ms"),
            &from_sent,
        ),
        export(("http_req_total", "HTTP Total Time", "ms"), &|answer| {
            Some(connect(answer)? + from_sent(answer)?)
        }),
    ]
}

/// From the time that a schedule wanted; a closed loop has none.
fn scheduled(done: &[Answer<'_>]) -> [Metric; 2] {
    [
        sample(
            ("credit_to_start_latency", "Credit-to-Start Latency", "ms"),
            Group::Export,
            done,
            |answer| Some(millis(answer.start.since(answer.record.due?))),
        ),
        sample(
            ("effective_latency", "Effective Latency (CO-aware)", "ms"),
            Group::Effective,
            done,
            |answer| Some(millis(answer.closed.since(answer.record.due?))),
        ),
    ]
}

/// Tokens and answers in a second.
fn throughput(done: &[Answer<'_>], seconds: f64) -> [Metric; 4] {
    let [input, output] = tokens(done);
    let of_tokens = |tag, header, group, tokens: f64| {
        total((tag, header, "tokens/sec"), group, tokens / seconds)
    };
    [
        of_tokens(
            "output_token_throughput",
            "Output Token Throughput",
            Group::Main,
            output,
        ),
        of_tokens(
            "input_token_throughput",
            "Input Token Throughput",
            Group::Main,
            input,
        ),
        total(
            ("request_throughput", "Request Throughput", "requests/sec"),
            Group::Main,
            done.len() as f64 / seconds,
        ),
        of_tokens(
            "total_token_throughput",
            "Total Token Throughput",
            Group::Export,
            input + output,
        ),
    ]
}

/// Tokens of all prompts and of all answers.
fn tokens(done: &[Answer<'_>]) -> [f64; 2] {
    let inputs = done.iter().filter_map(|answer| answer.input);
    let outputs = done.iter().filter_map(|answer| answer.output);
    [inputs.sum(), outputs.sum()]
}

/// One number for the run.
fn totals(done: &[Answer<'_>], failed: usize) -> Vec<Metric> {
    let [input, output] = tokens(done);
    let (answered, all) = (done.len() as f64, (done.len() + failed) as f64);
    let begin = done.iter().map(|answer| answer.start).min();
    let end = done.iter().map(|answer| answer.end).max();
    let lasted = end.zip(begin);
    let lasted = lasted.map_or(0.0, |(end, begin)| end.since(begin).as_secs_f64());
    let main = |names, value| total(names, Group::Main, value);
    let export = |names, value| total(names, Group::Export, value);
    let mut metrics = vec![
        main(
            (
                "completed_request_count",
                "Completed Requests (Success + Error)",
                "requests",
            ),
            all,
        ),
        main(
            ("request_error_rate", "Request Error Rate", "%"),
            failed as f64 / all * 100.0,
        ),
        main(("request_count", "Request Count", "requests"), answered),
        export(("benchmark_duration", "Benchmark Duration", "sec"), lasted),
        export(
            ("total_isl", "Total Input Sequence Length", "tokens"),
            input,
        ),
        export(
            ("total_osl", "Total Output Sequence Length", "tokens"),
            output,
        ),
    ];
    if !done.iter().any(Answer::reasons) {
        let names = ("total_output_tokens", "Total Output Tokens", "tokens");
        metrics.push(export(names, output));
    }
    if done.iter().any(|answer| answer.mismatch().is_some()) {
        let count = done.iter().filter(|answer| answer.is_mismatch()).count();
        let names = ("osl_mismatch_count", "OSL Mismatch Count", "requests");
        metrics.push(export(names, count as f64));
    }
    metrics
}

/// Requests that met all objectives of single requests, where there are any.
fn goodput(source: &Source<'_>, done: &[Answer<'_>], failed: usize, seconds: f64) -> Vec<Metric> {
    let objectives = source.goodput().into_iter();
    let objectives: Vec<(GoodputMetric, f64)> = objectives
        .map(|(metric, limit)| (metric, millis(limit)))
        .collect();
    if objectives.is_empty() {
        return Vec::new();
    }
    let good = done
        .iter()
        .filter(|answer| answer.is_good(&objectives))
        .count() as f64;
    let share = good / (done.len() + failed) as f64;
    vec![
        total(
            ("goodput", "Goodput", "requests/sec"),
            Group::Main,
            good / seconds,
        ),
        total(
            ("good_request_count", "Good Request Count", "requests"),
            Group::Export,
            good,
        ),
        total(
            ("good_request_fraction", "GoodRequestFraction", "ratio"),
            Group::Export,
            share,
        ),
    ]
}

/// What is said of failures, and what times are if each is an infinite one.
fn failures(done: &[Answer<'_>], failed: &[&Record]) -> Vec<Metric> {
    if failed.is_empty() {
        return Vec::new();
    }
    let too_long = failed.iter().filter(|record| {
        let class = record.failure().map(|failure| failure.class);
        class == Some(FailureClass::ContextExceeded)
    });
    let mut metrics = vec![
        total(
            ("error_request_count", "Error Request Count", "requests"),
            Group::Export,
            failed.len() as f64,
        ),
        total(
            (
                "context_overflow_count",
                "Context Overflow Count",
                "requests",
            ),
            Group::Export,
            too_long.count() as f64,
        ),
    ];
    let adjusted = |tag, header, value: &dyn Fn(&Answer<'_>) -> Option<f64>| {
        let mut values: Vec<f64> = done.iter().filter_map(value).collect();
        sort(&mut values);
        if !values.is_empty() {
            values.resize(values.len() + failed.len(), f64::INFINITY);
        }
        Metric {
            tag,
            header,
            unit: "ms",
            group: Group::Main,
            values: Values::WithFailures(values),
        }
    };
    metrics.extend([
        adjusted(
            "adj_request_latency",
            "Request Latency (error-adjusted)",
            &|answer| Some(answer.latency()),
        ),
        adjusted(
            "adj_time_to_first_token",
            "Time to First Token (error-adjusted)",
            &|answer| answer.ttft(),
        ),
        adjusted(
            "adj_decode_duration",
            "Decode Duration (error-adjusted)",
            &|answer| answer.decoding(),
        ),
        adjusted(
            "adj_inter_token_latency",
            "Inter Token Latency (error-adjusted)",
            &|answer| answer.itl(),
        ),
    ]);
    metrics
}

impl Numbers {
    /// The tables with their titles.
    pub fn text(&self) -> String {
        tables::text(&self.metrics)
    }

    /// The metrics of the export file.
    pub fn json(&self) -> String {
        let mut export = Object::default();
        for metric in &self.metrics {
            export.nest(metric.tag, metric.entry());
        }
        export.finished()
    }
}
