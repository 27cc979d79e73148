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
mod asked;
mod metric;
mod phases;
mod steps;
mod tables;

use crate::object::Object;
use crate::{DialectError, GoodputMetric, Source, millis, successes};
use answer::Answer;
use asked::Asked;
use inferometer_core::quantile::sort;
use inferometer_core::record::{FailureClass, Record};
use inferometer_core::units::Offset;
use metric::Group::{self, Effective, Export, Main, Usage};
use metric::{Metric, Values};
use std::ops::RangeInclusive;

#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    metrics: Vec<Metric>,
    asked: Asked,
    lasted_s: f64,
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
    Ok(Numbers {
        metrics,
        asked: Asked::of(source, records.len()),
        lasted_s: lasted_s(&done),
    })
}

/// From the first request that was answered to the end of the last one.
fn lasted_s(done: &[Answer<'_>]) -> f64 {
    let begin = done.iter().map(|answer| answer.start).min();
    let end = done.iter().map(|answer| answer.end).max();
    let lasted = end.zip(begin);
    lasted.map_or(0.0, |(end, begin)| end.since(begin).as_secs_f64())
}

/// From the first request, or from where the measured part began, to the end of the last one.
fn window(source: &Source<'_>, records: &[&Record]) -> RangeInclusive<u64> {
    let begin = source.begin(records).unwrap_or_default();
    let end = Offset::after(begin.since(Offset::default()) + source.duration(records));
    begin.0..=end.0.max(begin.0)
}

fn sample<'a>(
    (tag, unit): (&'static str, &'static str),
    group: Group,
    done: &[Answer<'a>],
    value: impl Fn(&Answer<'a>) -> Option<f64>,
) -> Metric {
    let mut values: Vec<f64> = done.iter().filter_map(value).collect();
    sort(&mut values);
    Metric::new((tag, unit), group, Values::Sample(values))
}

fn total(names: (&'static str, &'static str), group: Group, value: f64) -> Metric {
    Metric::new(names, group, Values::Total(value))
}

/// One value for each answer.
fn samples(done: &[Answer<'_>]) -> Vec<Metric> {
    let metric = |group, tag, unit, value: &dyn Fn(&Answer<'_>) -> Option<f64>| {
        sample((tag, unit), group, done, value)
    };
    let ms = |tag, value: &dyn Fn(&Answer<'_>) -> Option<f64>| metric(Main, tag, "ms", value);
    let per_s = |amount: f64, ms: f64| (ms > 0.0).then(|| amount / ms * 1e3);
    let speed = "tokens/sec/user";
    let mut metrics = vec![
        ms("time_to_first_token", &|answer| answer.ttft()),
        ms("time_to_second_token", &|answer| {
            answer.record.second_token().map(millis)
        }),
        ms("time_to_first_output_token", &|answer| {
            let first = answer.record.first_answer.or(answer.first)?;
            Some(millis(first.since(answer.start)))
        }),
        ms("request_latency", &|answer| Some(answer.latency())),
        ms("decode_duration", &|answer| answer.decoding()),
        ms("inter_token_latency", &|answer| answer.itl()),
        metric(Main, "output_token_throughput_per_user", speed, &|answer| {
            per_s(1.0, answer.itl()?)
        }),
        metric(Main, "e2e_output_token_throughput", speed, &|answer| {
            per_s(answer.output?, answer.latency())
        }),
        metric(Main, "output_sequence_length", "tokens", &|it| it.output),
        metric(Main, "input_sequence_length", "tokens", &|it| it.input),
        metric(Export, "prefill_throughput_per_user", speed, &|answer| {
            per_s(answer.input?, answer.ttft()?)
        }),
        metric(Export, "osl_mismatch_diff_pct", "%", &|it| it.mismatch()),
    ];
    // Reasoning is not counted there, and nobody says how many tokens it had.
    if !done.iter().any(Answer::reasons) {
        let count = metric(Export, "output_token_count", "tokens", &|it| it.output);
        metrics.push(count);
    }
    let gaps = done.iter().flat_map(|answer| answer.record.gaps());
    let mut gaps: Vec<f64> = gaps.map(millis).collect();
    sort(&mut gaps);
    let gaps = Values::Sample(gaps);
    metrics.push(Metric::new(("inter_chunk_latency", "ms"), Export, gaps));
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
    let tags = [
        "usage_prompt_tokens",
        "usage_prompt_cache_read_tokens",
        "usage_completion_tokens",
        "usage_total_tokens",
    ];
    let of_all = [
        "total_usage_prompt_tokens",
        "total_usage_prompt_cache_read_tokens",
        "total_usage_completion_tokens",
        "total_usage_total_tokens",
    ];
    let each = |at: usize| sample((tags[at], "tokens"), Usage, done, move |it| counts(it)[at]);
    let mut metrics = [0, 1, 2, 3].map(each).to_vec();
    let sums = [0, 1, 2, 3].map(|at| {
        let values = &metrics[at].values;
        values.statistic("sum").filter(|_| values.is_known())
    });
    let [input, cached, ..] = sums;
    let sums = of_all.into_iter().zip(sums);
    metrics.extend(sums.filter_map(|(tag, sum)| Some(total((tag, "tokens"), Usage, sum?))));
    if let (Some(input), Some(cached)) = (input, cached) {
        let names = ("overall_usage_prompt_cache_read_pct", "%");
        // Between the sums of the cache and of the completions.
        let place = metrics.len() - 2;
        metrics.insert(place, total(names, Usage, cached / input * 100.0));
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
    let export = |tag, unit, value: &dyn Fn(&Answer<'_>) -> Option<f64>| {
        sample((tag, unit), Export, done, value)
    };
    vec![
        export("http_req_connecting", "ms", &connect),
        export("http_req_receiving", "ms", &|answer| {
            Some(millis(answer.record.end?.since(answer.record.first_byte?)))
        }),
        export("http_req_connection_reused", "ratio", &|answer| {
            Some(f64::from(u8::from(answer.record.connect.is_none())))
        }),
        export("http_req_connection_overhead", "ms", &connect),
        export("http_req_duration", "ms", &from_sent),
        export("http_req_total", "ms", &|answer| {
            Some(connect(answer)? + from_sent(answer)?)
        }),
    ]
}

/// From the time that a schedule wanted; a closed loop has none.
fn scheduled(done: &[Answer<'_>]) -> [Metric; 2] {
    [
        sample(("credit_to_start_latency", "ms"), Export, done, |answer| {
            Some(millis(answer.start.since(answer.record.due?)))
        }),
        sample(("effective_latency", "ms"), Effective, done, |answer| {
            Some(millis(answer.closed.since(answer.record.due?)))
        }),
    ]
}

/// Tokens and answers in a second.
fn throughput(done: &[Answer<'_>], seconds: f64) -> [Metric; 4] {
    let [input, output] = tokens(done);
    let of_tokens = |tag, group, tokens: f64| total((tag, "tokens/sec"), group, tokens / seconds);
    let requests = done.len() as f64 / seconds;
    [
        of_tokens("output_token_throughput", Main, output),
        of_tokens("input_token_throughput", Main, input),
        total(("request_throughput", "requests/sec"), Main, requests),
        of_tokens("total_token_throughput", Export, input + output),
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
    let failed_share = failed as f64 / all * 100.0;
    let mut metrics = vec![
        total(("completed_request_count", "requests"), Main, all),
        total(("request_error_rate", "%"), Main, failed_share),
        total(("request_count", "requests"), Main, answered),
        total(("benchmark_duration", "sec"), Export, lasted_s(done)),
        total(("total_isl", "tokens"), Export, input),
        total(("total_osl", "tokens"), Export, output),
    ];
    if !done.iter().any(Answer::reasons) {
        metrics.push(total(("total_output_tokens", "tokens"), Export, output));
    }
    if done.iter().any(|answer| answer.mismatch().is_some()) {
        let count = done.iter().filter(|answer| answer.is_mismatch()).count() as f64;
        metrics.push(total(("osl_mismatch_count", "requests"), Export, count));
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
        total(("goodput", "requests/sec"), Main, good / seconds),
        total(("good_request_count", "requests"), Export, good),
        total(("good_request_fraction", "ratio"), Export, share),
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
    let (all, too_long) = (failed.len() as f64, too_long.count() as f64);
    let adjusted = |tag, value: &dyn Fn(&Answer<'_>) -> Option<f64>| {
        let mut values: Vec<f64> = done.iter().filter_map(value).collect();
        sort(&mut values);
        if !values.is_empty() {
            values.resize(values.len() + failed.len(), f64::INFINITY);
        }
        Metric::new((tag, "ms"), Main, Values::WithFailures(values))
    };
    vec![
        total(("error_request_count", "requests"), Export, all),
        total(("context_overflow_count", "requests"), Export, too_long),
        adjusted("adj_request_latency", &|answer| Some(answer.latency())),
        adjusted("adj_time_to_first_token", &|answer| answer.ttft()),
        adjusted("adj_decode_duration", &|answer| answer.decoding()),
        adjusted("adj_inter_token_latency", &|answer| answer.itl()),
    ]
}

impl Numbers {
    /// The tables with their titles, and what the tool prints below them.
    pub fn text(&self) -> String {
        let tables = tables::text(&self.metrics);
        let (command, lasted_s) = (self.asked.command(), self.lasted_s);
        format!("{tables}\nCLI Command: {command}\nBenchmark Duration: {lasted_s:.2} sec\n")
    }

    /// The metrics of the export file, and the load that was asked for.
    pub fn json(&self) -> String {
        let mut export = Object::default();
        for metric in &self.metrics {
            export.nest(metric.tag, metric.entry());
        }
        export.nest("input_config", self.asked.config());
        export.finished()
    }
}
