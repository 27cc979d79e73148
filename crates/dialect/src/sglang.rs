//! The numbers, the text block and the JSON line of `sglang.bench_serving`, as release 0.5.23
//! has them.
//!
//! What differs from ours: a chunk with text is a token; an answer ends with the last line of
//! the stream; output tokens that the server does not count are the requested ones; input
//! tokens are the data set's own count; failures have no line.

use crate::block::{Sample, TextBlock};
use crate::object::Object;
use crate::{
    Answer, DialectError, GoodputMetric, Source, latency, millis, peaks, per_second, start,
    successes,
};
use inferometer_core::length::{Distribution, LengthSpec};
use inferometer_core::record::Record;
use inferometer_core::work::{Output, PromptSource, SyntheticLengths, Work};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    tag: Option<String>,
    backend: &'static str,
    dataset: &'static str,
    rate: f64,
    max_concurrency: Option<u32>,
    input_length: Option<u32>,
    output_length: Option<u32>,
    range_ratio: Option<f64>,
    completed: u64,
    duration: Duration,
    input: u64,
    output: u64,
    retokenized: u64,
    peak_messages: u64,
    peak_requests: u64,
    /// Σ latencies / duration.
    concurrency: f64,
    e2e: Sample,
    ttft: Sample,
    tpot: Sample,
    itl: Sample,
    goodput: Option<Goodput>,
}

#[derive(Clone, Debug, PartialEq)]
struct Goodput {
    good: u64,
    sent: u64,
    limits: Vec<(GoodputMetric, Duration, u64)>,
}

impl Goodput {
    /// The share of every request that was sent; failures are misses.
    fn share(&self, count: u64) -> f64 {
        match self.sent {
            0 => 0.0,
            sent => count as f64 / sent as f64,
        }
    }
}

/// The run's numbers as the tool would have had them. The tool breaks off without a success.
pub fn measure(source: &Source<'_>) -> Result<Numbers, DialectError> {
    let records = source.measured();
    let done = successes(&records, "sglang")?;
    let answers: Vec<Answer> = done.iter().map(|record| answer(record)).collect();
    let duration = source.duration(&records);
    let latencies: Duration = answers.iter().map(|answer| answer.latency).sum();
    let (peak_messages, peak_requests) = peaks(&answers);
    let total = |count: fn(&Answer) -> u32| answers.iter().map(|a| u64::from(count(a))).sum();
    let work = &source.scenario.work;
    let [input, output] = lengths(work);
    Ok(Numbers {
        tag: source.scenario.label.clone(),
        backend: if source.is_chat() {
            "sglang-oai-chat"
        } else {
            "sglang-oai"
        },
        dataset: match work.prompts {
            PromptSource::Synthetic(_) => "random",
            _ => "custom",
        },
        rate: source.rate(),
        max_concurrency: source.max_concurrency(),
        input_length: input.and_then(longest),
        output_length: output.and_then(longest),
        range_ratio: input.and_then(range_ratio),
        completed: answers.len() as u64,
        duration,
        input: total(|answer| answer.input),
        output: total(|answer| answer.output),
        // The tool counts the text itself; where we have not, the server's count stands in.
        retokenized: (done.iter().zip(&answers))
            .map(|(record, answer)| u64::from(record.retokenized.unwrap_or(answer.output)))
            .sum(),
        peak_messages,
        peak_requests,
        concurrency: per_second(latencies.as_secs_f64(), duration),
        e2e: answers.iter().map(|answer| answer.latency).collect(),
        ttft: answers.iter().map(|answer| answer.ttft).collect(),
        tpot: answers.iter().filter_map(Answer::tpot).collect(),
        itl: answers.iter().flat_map(Answer::gaps).collect(),
        goodput: goodput(source, &answers, records.len() as u64),
    })
}

fn answer(record: &Record) -> Answer {
    let start = start(record);
    let latency = latency(record);
    Answer {
        start,
        // Without a stream, the tool's TTFT is the latency.
        ttft: record
            .first_token()
            .map_or(latency, |first| first.since(start)),
        latency,
        messages: record.chunks.at.clone(),
        output: (record.usage.and_then(|usage| usage.output))
            .or(record.output_tokens_asked)
            .unwrap_or(0),
        input: record
            .input_tokens_asked
            .or(record.input_tokens())
            .unwrap_or(0),
    }
}

fn goodput(source: &Source<'_>, answers: &[Answer], sent: u64) -> Option<Goodput> {
    let limits = source.goodput();
    let meets_all =
        |answer: &&Answer| (limits.iter()).all(|&(metric, limit)| answer.meets(metric, limit));
    (!limits.is_empty()).then(|| Goodput {
        good: answers.iter().filter(meets_all).count() as u64,
        sent,
        limits: (limits.iter())
            .map(|&(metric, limit)| {
                let met = answers.iter().filter(|answer| answer.meets(metric, limit));
                (metric, limit, met.count() as u64)
            })
            .collect(),
    })
}

/// How the lengths of prompts and of answers are drawn, where they are.
fn lengths(work: &Work) -> [Option<Distribution>; 2] {
    let input = match &work.prompts {
        PromptSource::Synthetic(synthetic) => match &synthetic.lengths {
            SyntheticLengths::Input(length) => drawn(length),
            SyntheticLengths::Pairs(_) => None,
        },
        PromptSource::Text(_) | PromptSource::Data(_) | PromptSource::Continuation(_) => None,
    };
    let output = match &work.output {
        Output::Tokens(length) => drawn(length),
        Output::FromWork | Output::AtMost(_) | Output::Free => None,
    };
    [input, output]
}

fn drawn(length: &LengthSpec) -> Option<Distribution> {
    match length {
        LengthSpec::Drawn(distribution) => Some(*distribution),
        LengthSpec::Histogram(_) => None,
    }
}

/// The tool draws lengths from [L·r, L]; this is L, where the lengths are of that kind.
fn longest(length: Distribution) -> Option<u32> {
    match length {
        Distribution::Fixed(length) => Some(length),
        Distribution::Uniform(_, longest) => Some(longest),
        Distribution::Normal(..) | Distribution::Lognormal(..) => None,
    }
}

fn range_ratio(length: Distribution) -> Option<f64> {
    match length {
        Distribution::Fixed(_) => Some(1.0),
        Distribution::Uniform(shortest, longest) => {
            (longest > 0).then(|| f64::from(shortest) / f64::from(longest))
        }
        Distribution::Normal(..) | Distribution::Lognormal(..) => None,
    }
}

/// Percentiles that the tool prints and writes.
const PERCENTILES: [f64; 3] = [90.0, 95.0, 99.0];

impl Numbers {
    fn rate_of(&self, count: u64) -> f64 {
        per_second(count as f64, self.duration)
    }

    /// The text block, to the column; an empty line precedes it.
    pub fn text(&self) -> String {
        let mut block = TextBlock::titled();
        block.line("Backend:", self.backend);
        block.line("Traffic request rate:", &format!("{:?}", self.rate));
        let limit = self.max_concurrency.map(|limit| limit.to_string());
        block.line(
            "Max request concurrency:",
            limit.as_deref().unwrap_or("not set"),
        );
        block.whole("Successful requests:", self.completed);
        block.real("Benchmark duration (s):", self.duration.as_secs_f64());
        block.whole("Total input tokens:", self.input);
        block.whole("Total input text tokens:", self.input);
        block.whole("Total generated tokens:", self.output);
        block.whole("Total generated tokens (retokenized):", self.retokenized);
        block.real("Request throughput (req/s):", self.rate_of(self.completed));
        block.real("Input token throughput (tok/s):", self.rate_of(self.input));
        block.real(
            "Output token throughput (tok/s):",
            self.rate_of(self.output),
        );
        block.real(
            "Peak output token throughput (tok/s):",
            self.peak_messages as f64,
        );
        block.whole("Peak concurrent requests:", self.peak_requests);
        let total = self.rate_of(self.input + self.output);
        block.real("Total token throughput (tok/s):", total);
        block.real("Concurrency:", self.concurrency);
        if let Some(goodput) = &self.goodput {
            self.goodput_section(&mut block, goodput);
        }
        block.sample("End-to-End Latency", "E2E Latency", &self.e2e, &PERCENTILES);
        block.sample("Time to First Token", "TTFT", &self.ttft, &PERCENTILES);
        let per_token = "Time per Output Token (excl. 1st token)";
        block.sample(per_token, "TPOT", &self.tpot, &PERCENTILES);
        block.sample("Inter-Token Latency", "ITL", &self.itl, &PERCENTILES);
        block.real("Max ITL (ms):", self.itl.max());
        format!("\n{}", block.finished())
    }

    fn goodput_section(&self, block: &mut TextBlock, goodput: &Goodput) {
        let limits: Vec<String> = (goodput.limits.iter())
            .map(|(metric, limit, _)| format!("{}:{}", metric.key(), millis(*limit)))
            .collect();
        block.section("Goodput");
        block.line("SLOs (ms):", &limits.join(" "));
        block.real("Request goodput (req/s):", self.rate_of(goodput.good));
        block.real("SLO attainment (%):", goodput.share(goodput.good) * 100.0);
        for (metric, _, met) in &goodput.limits {
            let label = format!("{} SLO attainment (%):", metric.key().to_uppercase());
            block.real(&label, goodput.share(*met) * 100.0);
        }
    }

    /// The line that the tool appends to its result file.
    pub fn json(&self) -> String {
        let mut object = Object::default();
        object.put("tag", self.tag.clone());
        object.put("backend", self.backend);
        object.put("dataset_name", self.dataset);
        object.put_unbounded("request_rate", self.rate);
        object.put("max_concurrency", self.max_concurrency);
        object.put("sharegpt_output_len", serde_json::Value::Null);
        object.put("random_input_len", self.input_length);
        object.put("random_output_len", self.output_length);
        object.put("random_range_ratio", self.range_ratio);
        object.put("server_info", serde_json::Value::Null);
        object.put("duration", self.duration.as_secs_f64());
        object.put("completed", self.completed);
        object.put("total_input_tokens", self.input);
        object.put("total_input_text_tokens", self.input);
        object.put("total_input_vision_tokens", 0);
        object.put("total_output_tokens", self.output);
        object.put("total_output_tokens_retokenized", self.retokenized);
        object.put("request_throughput", self.rate_of(self.completed));
        object.put("input_throughput", self.rate_of(self.input));
        object.put("output_throughput", self.rate_of(self.output));
        object.put("total_throughput", self.rate_of(self.input + self.output));
        for (key, sample) in [
            ("e2e_latency", &self.e2e),
            ("ttft", &self.ttft),
            ("tpot", &self.tpot),
            ("itl", &self.itl),
        ] {
            sample.put(&mut object, key, &PERCENTILES);
        }
        object.put("concurrency", self.concurrency);
        object.put("accept_length", serde_json::Value::Null);
        object.put("max_output_tokens_per_s", self.peak_messages as f64);
        object.put("max_concurrent_requests", self.peak_requests);
        if let Some(goodput) = &self.goodput {
            let by_metric = |value: &dyn Fn(Duration, u64) -> f64| -> serde_json::Value {
                let limits = goodput.limits.iter();
                let entries = limits.map(|(metric, limit, met)| {
                    (metric.key().to_owned(), value(*limit, *met).into())
                });
                serde_json::Value::Object(entries.collect())
            };
            object.put("goodput_slos_ms", by_metric(&|limit, _| millis(limit)));
            object.put("request_goodput", self.rate_of(goodput.good));
            object.put("slo_attainment", goodput.share(goodput.good));
            let shares = by_metric(&|_, met| goodput.share(met));
            object.put("slo_attainment_by_metric", shares);
        }
        object.finished()
    }
}
