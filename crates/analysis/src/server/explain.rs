//! Where the time of the slowest requests went, from the client's records and the server's
//! samples laid beside each other.
//!
//! The client knows what passed before the request was sent, which of its answers stalled while
//! the others went on, and which just when another began. The server knows how long requests
//! waited and were prefilled, and how many it threw back. Where it traces requests, it tells each
//! one's own times, and what is missing from the client's arose between the two. What neither
//! knows stays unknown.

use super::division::Division;
use super::stall::{Stalls, Surroundings};
use inferometer_core::quantile::{quantile, sort};
use inferometer_core::record::Record;
use inferometer_core::server::{
    Cause, Evidence, Explained, Explanation, Part, RequestSpan, Sample, Spans,
};
use std::time::Duration;
use strum::VariantArray as _;

/// Explains a percentile (in percent) of complete measured answers; absent if there are none.
pub fn explain(
    records: &[Record],
    samples: &[Sample],
    spans: &Spans,
    of: Explained,
    percentile: f64,
) -> Option<Explanation> {
    let latency = |record: &Record| match of {
        Explained::Ttft => record.ttft(),
        Explained::E2e => record.e2e(),
    };
    let measured: Vec<(&Record, f64)> = records
        .iter()
        .filter(|record| record.is_done() && record.is_measured())
        .filter_map(|record| Some((record, millis(latency(record)?))))
        .collect();
    let mut sorted: Vec<f64> = measured.iter().map(|(_, ms)| *ms).collect();
    sort(&mut sorted);
    let at_ms = quantile(&sorted, percentile / 100.0)?;
    let slow: Vec<&Record> = measured
        .iter()
        .filter(|(_, ms)| *ms >= at_ms)
        .map(|(record, _)| *record)
        .collect();
    let mut parts = Parts::default();
    let division = Division::of(&slow, records, samples);
    let around =
        (of == Explained::E2e).then(|| Surroundings::of(records, samples, division.prefill));
    let mut stalls = Stalls::default();
    let mut whole = 0.0;
    let mut traced = 0;
    for &record in &slow {
        whole += millis(latency(record)?);
        let span = spans.of(record);
        traced += u64::from(span.is_some());
        parts.before_first_token(record, of, span, &division);
        if let Some(around) = &around {
            parts.after_first_token(record, span, around, &mut stalls);
        }
    }
    let requests = slow.len() as f64;
    let mut evidence = division.evidence;
    if traced > 0 {
        evidence.retain(|seen| *seen != Evidence::ServerSilent);
        evidence.push(Evidence::Traced { requests: traced });
    }
    if stalls.count > 0 {
        evidence.push(Evidence::Stalls {
            count: stalls.count,
            interfered: stalls.interfered,
            preempted: stalls.preempted,
            longest_ms: millis(stalls.longest),
        });
    }
    Some(Explanation {
        of,
        percentile,
        at_ms,
        requests: slow.len() as u64,
        mean_ms: whole / requests,
        parts: parts.finish(whole, requests),
        evidence,
    })
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

/// Milliseconds by cause, summed over requests.
#[derive(Default)]
struct Parts([f64; Cause::VARIANTS.len()]);

impl Parts {
    fn add(&mut self, cause: Cause, ms: f64) {
        self.0[cause as usize] += ms.max(0.0);
    }

    fn before_first_token(
        &mut self,
        record: &Record,
        of: Explained,
        span: Option<&RequestSpan>,
        division: &Division<'_>,
    ) {
        let (Some(start), Some(sent)) = (record.start(), record.sent) else {
            return;
        };
        self.add(Cause::Client, millis(sent.since(start)));
        let until = match of {
            Explained::Ttft => record.first_token(),
            Explained::E2e => record.first_token().or(record.completed()),
        };
        if let (Some(span), Some(until)) = (span, until) {
            let streamed = record.first_token().is_some();
            return self.traced(span, millis(until.since(sent)), streamed);
        }
        let (span, wait) = match (record.first_token(), of) {
            (Some(first), _) => {
                let span = millis(first.since(sent));
                (span, division.wait(record, span))
            }
            (None, Explained::E2e) => {
                let span = millis(record.completed().unwrap_or(sent).since(sent));
                (span, division.unseen(record, span))
            }
            (None, Explained::Ttft) => return,
        };
        self.add(Cause::Queueing, wait.queue_ms);
        self.add(Cause::Prefill, wait.prefill_ms);
        self.add(Cause::Unknown, span - wait.queue_ms - wait.prefill_ms);
    }

    /// Divides the time from sending to the first token, or to the answer that was not streamed, as
    /// the server's trace of the request says.
    fn traced(&mut self, span: &RequestSpan, whole_ms: f64, streamed: bool) {
        let mut left = whole_ms;
        let mut take = |seconds: Option<f64>| {
            let taken = seconds.map_or(0.0, |seconds| seconds * 1e3).min(left);
            left -= taken;
            taken
        };
        let (queue, prefill) = (take(span.queue_s), take(span.prefill_s));
        let decode = take(span.decode_s.filter(|_| !streamed));
        self.add(Cause::Queueing, queue);
        self.add(Cause::Prefill, prefill);
        self.add(Cause::Decode, decode);
        let divided = span.queue_s.is_some() && span.prefill_s.is_some();
        let between = match span.ttft_s {
            _ if divided => left,
            Some(ttft) => (whole_ms - ttft * 1e3).clamp(0.0, left),
            None => 0.0,
        };
        self.add(Cause::FrontEnd, between);
        self.add(Cause::Unknown, left - between);
    }

    fn after_first_token(
        &mut self,
        record: &Record,
        span: Option<&RequestSpan>,
        around: &Surroundings<'_>,
        sum: &mut Stalls,
    ) {
        let (Some(first), Some(end)) = (record.first_token(), record.completed()) else {
            return;
        };
        let stalls = Stalls::of(record, around);
        let whole = end.since(first);
        // What the engine did not need arose behind it, and nothing says which of these it was;
        // the least certain first.
        let engine = span.and_then(|span| span.decode_s);
        let mut between = engine.map_or(0.0, |engine| (millis(whole) - engine * 1e3).max(0.0));
        self.add(Cause::FrontEnd, between);
        for (cause, time) in [
            (Cause::Unknown, stalls.unknown),
            (Cause::Decode, whole.saturating_sub(stalls.lost())),
            (Cause::Interference, stalls.interference),
            (Cause::Preemption, stalls.preemption),
        ] {
            let taken = between.min(millis(time));
            between -= taken;
            self.add(cause, millis(time) - taken);
        }
        sum.count += stalls.count;
        sum.interfered += stalls.interfered;
        sum.preempted += stalls.preempted;
        sum.longest = sum.longest.max(stalls.longest);
    }

    fn finish(self, whole: f64, requests: f64) -> Vec<Part> {
        let mut parts: Vec<Part> = Cause::VARIANTS
            .iter()
            .zip(self.0)
            .filter(|(_, ms)| *ms > 0.0)
            .map(|(cause, ms)| Part {
                cause: *cause,
                ms: ms / requests,
                share: if whole > 0.0 { ms / whole } else { 0.0 },
            })
            .collect();
        parts.sort_by(|a, b| b.ms.total_cmp(&a.ms));
        parts
    }
}

#[cfg(test)]
mod tests;
