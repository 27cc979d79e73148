//! What a server's own trace says of one request.

use crate::record::Record;
use crate::sparse::{Sparse, sparse};
use crate::trace_id::TraceId;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

sparse! {
    /// Times in seconds, by the server's clocks; absent where it does not tell them.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct RequestSpan {
        pub trace: TraceId,
        /// Waiting for its first step.
        pub queue_s: Option<f64>,
        /// From its first step to its first token.
        pub prefill_s: Option<f64>,
        /// From its first token to its last.
        pub decode_s: Option<f64>,
        pub ttft_s: Option<f64>,
        pub e2e_s: Option<f64>,
        pub output_tokens: Option<u64>,
    }
}

impl Sparse for TraceId {}

impl RequestSpan {
    pub fn new(trace: TraceId) -> RequestSpan {
        RequestSpan {
            trace,
            queue_s: None,
            prefill_s: None,
            decode_s: None,
            ttft_s: None,
            e2e_s: None,
            output_tokens: None,
        }
    }

    /// Takes an attribute by the name that vLLM gives it; what no clock can show is none.
    pub fn take(&mut self, name: &str, value: f64) {
        let time = (value.is_finite() && value >= 0.0).then_some(value);
        match name {
            "gen_ai.latency.time_in_queue" => self.queue_s = time,
            "gen_ai.latency.time_in_model_prefill" => self.prefill_s = time,
            "gen_ai.latency.time_in_model_decode" => self.decode_s = time,
            "gen_ai.latency.time_to_first_token" => self.ttft_s = time,
            "gen_ai.latency.e2e" => self.e2e_s = time,
            "gen_ai.usage.completion_tokens" => {
                self.output_tokens = time.map(|tokens| tokens as u64);
            }
            _ => {}
        }
    }

    /// Whether it tells any time of a request: servers trace other things as well.
    pub fn tells_times(&self) -> bool {
        let times = [
            self.queue_s,
            self.prefill_s,
            self.decode_s,
            self.ttft_s,
            self.e2e_s,
        ];
        times.iter().any(Option::is_some)
    }
}

/// The spans of a run by their traces.
#[derive(Clone, Debug, Default)]
pub struct Spans(HashMap<TraceId, RequestSpan>);

impl Spans {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What the server's trace says of this request.
    pub fn of(&self, record: &Record) -> Option<&RequestSpan> {
        self.0.get(&TraceId::of_request(&record.id))
    }
}

impl FromIterator<RequestSpan> for Spans {
    /// Of several of one trace the last counts.
    fn from_iter<T: IntoIterator<Item = RequestSpan>>(spans: T) -> Spans {
        let spans = spans.into_iter();
        Spans(spans.map(|span| (span.trace, span)).collect())
    }
}
