//! Prometheus metrics under vLLM's names.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use crate::work::Finish;

/// Upper bounds in seconds, close to vLLM's.
const TTFT_BOUNDS: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0,
];
const ITL_BOUNDS: &[f64] = &[
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
];
const E2E_BOUNDS: &[f64] = &[
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0,
];

/// Counts of the whole server.
pub(crate) struct Metrics {
    running: AtomicI64,
    prompt_tokens: AtomicU64,
    generation_tokens: AtomicU64,
    stopped: AtomicU64,
    reached_length: AtomicU64,
    aborted: AtomicU64,
    ttft: Histogram,
    itl: Histogram,
    e2e: Histogram,
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        Metrics {
            running: AtomicI64::new(0),
            prompt_tokens: AtomicU64::new(0),
            generation_tokens: AtomicU64::new(0),
            stopped: AtomicU64::new(0),
            reached_length: AtomicU64::new(0),
            aborted: AtomicU64::new(0),
            ttft: Histogram::new(TTFT_BOUNDS),
            itl: Histogram::new(ITL_BOUNDS),
            e2e: Histogram::new(E2E_BOUNDS),
        }
    }

    /// Counts a request as running until the guard goes.
    pub(crate) fn start(&self) -> Running<'_> {
        self.running.fetch_add(1, Relaxed);
        Running {
            metrics: self,
            last: None,
            finish: None,
        }
    }

    pub(crate) fn render(&self, model: &str) -> String {
        let model = model.replace('\\', "\\\\").replace('"', "\\\"");
        let labels = format!("engine=\"0\",model_name=\"{model}\"");
        let mut text = String::new();
        let running = self.running.load(Relaxed).to_string();
        single(
            &mut text,
            "gauge",
            "num_requests_running",
            &labels,
            &running,
        );
        single(&mut text, "gauge", "num_requests_waiting", &labels, "0");
        for (name, counter) in [
            ("prompt_tokens_total", &self.prompt_tokens),
            ("generation_tokens_total", &self.generation_tokens),
        ] {
            let value = counter.load(Relaxed).to_string();
            single(&mut text, "counter", name, &labels, &value);
        }
        text.push_str("# TYPE vllm:request_success_total counter\n");
        for (reason, counter) in [
            ("stop", &self.stopped),
            ("length", &self.reached_length),
            ("abort", &self.aborted),
        ] {
            let value = counter.load(Relaxed);
            line(
                &mut text,
                format_args!(
                    "vllm:request_success_total{{{labels},finished_reason=\"{reason}\"}} {value}"
                ),
            );
        }
        self.ttft
            .render(&mut text, "time_to_first_token_seconds", &labels);
        self.itl
            .render(&mut text, "inter_token_latency_seconds", &labels);
        self.e2e
            .render(&mut text, "e2e_request_latency_seconds", &labels);
        text
    }
}

fn single(text: &mut String, kind: &str, name: &str, labels: &str, value: &str) {
    line(text, format_args!("# TYPE vllm:{name} {kind}"));
    line(text, format_args!("vllm:{name}{{{labels}}} {value}"));
}

fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    writeln!(text, "{content}").expect("writing to a string cannot fail");
}

/// One running request; dropped without a finish, it counts as aborted.
pub(crate) struct Running<'a> {
    metrics: &'a Metrics,
    last: Option<Duration>,
    finish: Option<(Finish, Duration)>,
}

impl Running<'_> {
    /// Tokens came this long after the arrival.
    pub(crate) fn tokens(&mut self, since_arrival: Duration, tokens: u32, prompt_tokens: u32) {
        let metrics = self.metrics;
        match self.last {
            None => {
                metrics
                    .prompt_tokens
                    .fetch_add(prompt_tokens.into(), Relaxed);
                metrics.ttft.observe(since_arrival);
            }
            Some(last) => metrics.itl.observe(since_arrival.saturating_sub(last)),
        }
        metrics.generation_tokens.fetch_add(tokens.into(), Relaxed);
        self.last = Some(since_arrival);
    }

    pub(crate) fn finish(&mut self, finish: Finish, since_arrival: Duration) {
        self.finish = Some((finish, since_arrival));
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let metrics = self.metrics;
        metrics.running.fetch_sub(1, Relaxed);
        let counter = match self.finish {
            Some((Finish::Stop, _)) => &metrics.stopped,
            Some((Finish::Length, _)) => &metrics.reached_length,
            None => &metrics.aborted,
        };
        counter.fetch_add(1, Relaxed);
        if let Some((_, took)) = self.finish {
            metrics.e2e.observe(took);
        }
    }
}

/// A histogram that is cheap to add to: one bucket is touched, sums are made on reading.
struct Histogram {
    bounds: &'static [f64],
    /// One more than there are bounds; not cumulative.
    buckets: Vec<AtomicU64>,
    sum_ns: AtomicU64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Histogram {
        Histogram {
            bounds,
            buckets: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum_ns: AtomicU64::new(0),
        }
    }

    fn observe(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let index = self.bounds.partition_point(|bound| *bound < seconds);
        self.buckets[index].fetch_add(1, Relaxed);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.sum_ns.fetch_add(nanos, Relaxed);
    }

    fn render(&self, text: &mut String, name: &str, labels: &str) {
        let counts: Vec<u64> = self
            .buckets
            .iter()
            .map(|bucket| bucket.load(Relaxed))
            .collect();
        let sum = Duration::from_nanos(self.sum_ns.load(Relaxed)).as_secs_f64();
        let name = format!("vllm:{name}");
        write_histogram(text, &name, labels, self.bounds, &counts, sum);
    }
}

/// The text form of a histogram; `counts` are not cumulative.
pub(crate) fn write_histogram(
    text: &mut String,
    name: &str,
    labels: &str,
    bounds: &[f64],
    counts: &[u64],
    sum: f64,
) {
    line(text, format_args!("# TYPE {name} histogram"));
    let comma = if labels.is_empty() { "" } else { "," };
    let mut count = 0;
    for (index, bucket) in counts.iter().enumerate() {
        count += bucket;
        let bound = match bounds.get(index) {
            Some(bound) => format!("{bound:?}"),
            None => "+Inf".to_owned(),
        };
        line(
            text,
            format_args!("{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {count}"),
        );
    }
    line(text, format_args!("{name}_sum{{{labels}}} {sum}"));
    line(text, format_args!("{name}_count{{{labels}}} {count}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_follow_a_request() {
        let metrics = Metrics::new();
        let ms = Duration::from_millis;
        let mut running = metrics.start();
        running.tokens(ms(200), 1, 30);
        running.tokens(ms(220), 1, 30);
        assert!(
            metrics
                .render("m")
                .contains("vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 1\n")
        );
        running.finish(Finish::Length, ms(220));
        drop(running);
        drop(metrics.start());
        let text = metrics.render("m");
        let labels = "engine=\"0\",model_name=\"m\"";
        for expected in [
            format!("vllm:num_requests_running{{{labels}}} 0\n"),
            format!("vllm:prompt_tokens_total{{{labels}}} 30\n"),
            format!("vllm:generation_tokens_total{{{labels}}} 2\n"),
            format!("vllm:request_success_total{{{labels},finished_reason=\"length\"}} 1\n"),
            format!("vllm:request_success_total{{{labels},finished_reason=\"abort\"}} 1\n"),
            format!("vllm:time_to_first_token_seconds_bucket{{{labels},le=\"0.1\"}} 0\n"),
            format!("vllm:time_to_first_token_seconds_bucket{{{labels},le=\"0.25\"}} 1\n"),
            format!("vllm:inter_token_latency_seconds_count{{{labels}}} 1\n"),
            format!("vllm:e2e_request_latency_seconds_sum{{{labels}}} 0.22\n"),
        ] {
            assert!(text.contains(&expected), "{expected} in {text}");
        }
    }
}
