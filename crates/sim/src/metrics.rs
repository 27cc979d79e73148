//! Prometheus metrics of the fixed timing, under vLLM's names.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    engine::Finish,
    histogram::{Histogram, line},
};

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

pub(crate) struct Metrics(Mutex<Counts>);

struct Counts {
    running: u64,
    prompt_tokens: u64,
    generation_tokens: u64,
    finished: FinishCounts,
    ttft: Histogram,
    itl: Histogram,
    e2e: Histogram,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FinishCounts {
    pub(crate) stopped: u64,
    pub(crate) reached_length: u64,
    pub(crate) aborted: u64,
}

impl FinishCounts {
    /// `None`: the request was aborted.
    pub(crate) fn add(&mut self, finish: Option<Finish>) {
        *match finish {
            Some(Finish::Stop) => &mut self.stopped,
            Some(Finish::Length) => &mut self.reached_length,
            None => &mut self.aborted,
        } += 1;
    }
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        Metrics(Mutex::new(Counts {
            running: 0,
            prompt_tokens: 0,
            generation_tokens: 0,
            finished: FinishCounts::default(),
            ttft: Histogram::new(TTFT_BOUNDS.to_vec()),
            itl: Histogram::new(ITL_BOUNDS.to_vec()),
            e2e: Histogram::new(E2E_BOUNDS.to_vec()),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request as running until the guard is dropped.
    pub(crate) fn start(&self) -> Running<'_> {
        self.lock().running += 1;
        Running {
            metrics: self,
            last: None,
            finish: None,
        }
    }

    pub(crate) fn running(&self) -> u64 {
        self.lock().running
    }

    pub(crate) fn render(&self, model: &str) -> String {
        let counts = self.lock();
        let model = model.replace('\\', "\\\\").replace('"', "\\\"");
        let labels = format!("engine=\"0\",model_name=\"{model}\"");
        let mut text = String::new();
        for (name, kind, value) in [
            ("num_requests_running", "gauge", counts.running),
            ("num_requests_waiting", "gauge", 0),
            ("prompt_tokens_total", "counter", counts.prompt_tokens),
            (
                "generation_tokens_total",
                "counter",
                counts.generation_tokens,
            ),
        ] {
            line(&mut text, format_args!("# TYPE vllm:{name} {kind}"));
            line(&mut text, format_args!("vllm:{name}{{{labels}}} {value}"));
        }
        text.push_str("# TYPE vllm:request_success_total counter\n");
        for (reason, value) in [
            ("stop", counts.finished.stopped),
            ("length", counts.finished.reached_length),
            ("abort", counts.finished.aborted),
        ] {
            line(
                &mut text,
                format_args!(
                    "vllm:request_success_total{{{labels},finished_reason=\"{reason}\"}} {value}"
                ),
            );
        }
        for (name, histogram) in [
            ("vllm:time_to_first_token_seconds", &counts.ttft),
            ("vllm:inter_token_latency_seconds", &counts.itl),
            ("vllm:e2e_request_latency_seconds", &counts.e2e),
        ] {
            histogram.write(&mut text, name, &labels);
        }
        text
    }
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
        let mut counts = self.metrics.lock();
        match self.last {
            None => {
                counts.prompt_tokens += u64::from(prompt_tokens);
                counts.ttft.observe(since_arrival.as_secs_f64());
            }
            Some(last) => {
                let gap = since_arrival.saturating_sub(last);
                counts.itl.observe(gap.as_secs_f64());
            }
        }
        counts.generation_tokens += u64::from(tokens);
        self.last = Some(since_arrival);
    }

    pub(crate) fn finish(&mut self, finish: Finish, since_arrival: Duration) {
        self.finish = Some((finish, since_arrival));
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut counts = self.metrics.lock();
        counts.running -= 1;
        counts.finished.add(self.finish.map(|(finish, _)| finish));
        if let Some((_, took)) = self.finish {
            counts.e2e.observe(took.as_secs_f64());
        }
    }
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
