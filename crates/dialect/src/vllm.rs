//! The numbers, the text block and the result file of `vllm bench serve`, as release 0.32 has
//! them.
//!
//! What differs from ours: the clock starts after the concurrency gate and before connecting;
//! any message with `choices` is a token, an empty one too; gaps are raw and pooled; a stream
//! that turns into an error after its first message is a success; what is not known is 0.

use crate::block::{Sample, TextBlock};
use crate::object::Object;
use crate::{Answer, Source, input_tokens, peaks, per_second, start};
use inferometer_core::record::{BareKind, FailureClass, Outcome, Record};
use inferometer_core::scenario::Shape;
use inferometer_core::units::Offset;
use std::time::Duration;

/// The sections that the tool shows unless told otherwise: their title, the name of their lines, and
/// part of their keys.
const SECTIONS: [[&str; 3]; 3] = [
    ["Time to First Token", "TTFT", "ttft"],
    ["Time per Output Token (excl. 1st token)", "TPOT", "tpot"],
    ["Inter-token Latency", "ITL", "itl"],
];

/// Percentiles of each, in percent.
const PERCENTILES: [f64; 1] = [99.0];

#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    date: String,
    backend: &'static str,
    label: Option<String>,
    model: String,
    prompts: u64,
    rate: f64,
    burstiness: f64,
    max_concurrency: Option<u32>,
    completed: u64,
    failed: u64,
    duration: Duration,
    input: u64,
    output: u64,
    good: Option<u64>,
    peak_messages: u64,
    peak_requests: u64,
    /// Of every request in order of sending; nought for failures.
    latencies: Vec<Duration>,
    queue_times: Vec<Duration>,
    samples: [Sample; SECTIONS.len()],
}

/// The run's numbers as the tool would have had them.
pub fn measure(source: &Source<'_>) -> Numbers {
    let records = source.measured();
    let seen: Vec<Option<Answer>> = (records.iter()).map(|record| answer(record)).collect();
    let queue_times: Vec<Duration> = (records.iter())
        .map(|record| queue_time(source, record))
        .collect();
    let latencies = (seen.iter())
        .map(|seen| seen.as_ref().map_or(Duration::ZERO, |a| a.latency))
        .collect();
    let answers: Vec<Answer> = seen.into_iter().flatten().collect();
    let limits = source.goodput();
    let good =
        |answer: &&Answer| (limits.iter()).all(|&(metric, limit)| answer.meets(metric, limit));
    let (peak_messages, peak_requests) = peaks(&answers);
    Numbers {
        date: date(&source.environment.started),
        backend: if source.is_chat() {
            "openai-chat"
        } else {
            "openai"
        },
        label: source.scenario.label.clone(),
        model: source.model(),
        prompts: source.ending.planned.max(records.len() as u64),
        rate: source.rate(),
        burstiness: source.burstiness(),
        max_concurrency: source.max_concurrency(),
        completed: answers.len() as u64,
        failed: (records.len() - answers.len()) as u64,
        duration: source.duration(&records),
        input: answers.iter().map(|answer| u64::from(answer.input)).sum(),
        output: answers.iter().map(|answer| u64::from(answer.output)).sum(),
        good: (!limits.is_empty()).then(|| answers.iter().filter(good).count() as u64),
        peak_messages,
        peak_requests,
        latencies,
        queue_times,
        samples: [
            answers.iter().map(|answer| answer.ttft).collect(),
            answers.iter().filter_map(Answer::tpot).collect(),
            answers.iter().flat_map(Answer::gaps).collect(),
        ],
    }
}

/// `2026-11-15T02:23:34+08:00` as `20261115-022334`. The tool writes the time of the end; only
/// the beginning is stored.
fn date(started: &str) -> String {
    let digits: String = started
        .chars()
        .filter(char::is_ascii_digit)
        .take(14)
        .collect();
    match (digits.get(..8), digits.get(8..14)) {
        (Some(day), Some(time)) => format!("{day}-{time}"),
        _ => digits,
    }
}

/// The request as the tool sees it, where the tool takes it for a success.
fn answer(record: &Record) -> Option<Answer> {
    let success = match &record.outcome {
        Outcome::Done => true,
        // The tool does not look into the messages, so it sees nothing wrong here. A cut
        // stream is left a failure: the tool knows only of cuts that break the transport.
        Outcome::Failed(failure) => matches!(
            failure.class,
            FailureClass::InBandError | FailureClass::EmptyStream
        ),
        Outcome::Cut | Outcome::Cancelled => false,
    };
    let messages = messages(record);
    let (first, last) = (*messages.first()?, *messages.last()?);
    let start = start(record);
    success.then(|| Answer {
        start,
        ttft: first.since(start),
        latency: last.since(start),
        messages,
        output: output_length(record),
        input: input_tokens(record),
    })
}

/// Messages with choices, in order. An answer without a stream is one message.
fn messages(record: &Record) -> Vec<Offset> {
    if !record.streamed {
        return record.end.into_iter().collect();
    }
    let bare = record.bare.iter();
    let bare = bare.filter(|chunk| match chunk.kind {
        BareKind::Empty | BareKind::Finish => true,
        BareKind::NoChoice => false,
    });
    let mut messages: Vec<Offset> = record.chunks.at.clone();
    messages.extend(bare.map(|chunk| chunk.at));
    messages.sort();
    messages
}

/// The server's count, else ours; the tool says 1 where it has neither.
fn output_length(record: &Record) -> u32 {
    let said = record
        .usage
        .and_then(|usage| usage.output)
        .filter(|&count| count > 0);
    said.or(record.retokenized).unwrap_or(1)
}

/// The wait at the gate. The tool's closed loop puts all requests before the gate at once.
fn queue_time(source: &Source<'_>, record: &Record) -> Duration {
    let created = match source.scenario.load.shape {
        Shape::Closed { .. } => source.ending.measured_from,
        Shape::Open { .. } | Shape::Replay { .. } => record.due.unwrap_or_else(|| start(record)),
    };
    start(record).since(created)
}

impl Numbers {
    fn per_second(&self, count: u64) -> f64 {
        per_second(count as f64, self.duration)
    }

    /// The text block, to the column.
    pub fn text(&self) -> String {
        let mut block = TextBlock::titled();
        block.whole("Successful requests:", self.completed);
        block.whole("Failed requests:", self.failed);
        if let Some(limit) = self.max_concurrency {
            block.whole("Maximum request concurrency:", u64::from(limit));
        }
        if self.rate.is_finite() {
            block.real("Request rate configured (RPS):", self.rate);
        }
        block.real("Benchmark duration (s):", self.duration.as_secs_f64());
        block.whole("Total input tokens:", self.input);
        block.whole("Total generated tokens:", self.output);
        block.real(
            "Request throughput (req/s):",
            self.per_second(self.completed),
        );
        if let Some(good) = self.good {
            block.real("Request goodput (req/s):", self.per_second(good));
        }
        block.real(
            "Output token throughput (tok/s):",
            self.per_second(self.output),
        );
        block.real(
            "Peak output token throughput (tok/s):",
            self.peak_messages as f64,
        );
        block.real("Peak concurrent requests:", self.peak_requests as f64);
        let total = self.per_second(self.input + self.output);
        block.real("Total token throughput (tok/s):", total);
        for ([title, label, _], sample) in SECTIONS.iter().zip(&self.samples) {
            block.sample(title, label, sample, &PERCENTILES);
        }
        block.finished()
    }

    /// The object that `--save-result` writes (without `--save-detailed`).
    pub fn json(&self) -> String {
        let seconds =
            |spans: &[Duration]| -> Vec<f64> { spans.iter().map(Duration::as_secs_f64).collect() };
        let mut object = Object::default();
        object.put("date", self.date.as_str());
        object.put("endpoint_type", self.backend);
        object.put("backend", self.backend);
        object.put("label", self.label.clone());
        object.put("model_id", self.model.as_str());
        object.put("tokenizer_id", serde_json::Value::Null);
        object.put("num_prompts", self.prompts);
        if self.rate.is_finite() {
            object.put("request_rate", self.rate)
        } else {
            object.put("request_rate", "inf")
        }
        object.put_unbounded("burstiness", self.burstiness);
        object.put("max_concurrency", self.max_concurrency);
        object.put("duration", self.duration.as_secs_f64());
        object.put("completed", self.completed);
        object.put("failed", self.failed);
        object.put("total_input_tokens", self.input);
        object.put("total_output_tokens", self.output);
        object.put("request_throughput", self.per_second(self.completed));
        object.put(
            "request_goodput",
            self.good.map(|good| self.per_second(good)),
        );
        object.put("output_throughput", self.per_second(self.output));
        object.put(
            "total_token_throughput",
            self.per_second(self.input + self.output),
        );
        object.put("latencies", seconds(&self.latencies));
        object.put("queue_times", seconds(&self.queue_times));
        object.put("max_output_tokens_per_s", self.peak_messages as f64);
        object.put("max_concurrent_requests", self.peak_requests);
        object.put("rtfx", 0.0);
        for ([_, _, key], sample) in SECTIONS.iter().zip(&self.samples) {
            sample.put(&mut object, key, &PERCENTILES);
        }
        object.finished()
    }
}
