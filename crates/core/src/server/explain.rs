//! Where the time of the slowest requests went, from the client's records and the server's
//! samples laid beside each other.
//!
//! The client knows what passed before the request was sent, and which of its answers stalled
//! just when another began. The server knows how long requests waited and were prefilled. What
//! neither knows stays unknown.

use super::stall::Stalls;
use super::summary::Course;
use super::{EngineState, Sample, Total};
use crate::quantile::{quantile, sort};
use crate::record::{Record, words};
use crate::units::Offset;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The latency that is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Explained {
    /// Time to first token.
    Ttft,
    /// Time to the complete answer.
    E2e,
}

words!(Explained { Ttft => "ttft", E2e => "e2e" });

/// What time is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Before it was sent: the client's lateness, the user's cap, the connection.
    Client,
    /// Waiting in the server for its first step.
    Queueing,
    /// From its first step to its first token.
    Prefill,
    /// Tokens at the answer's usual pace.
    Decode,
    /// Stalls that ended when another request got its first token.
    Interference,
    /// Stalls during which the server threw a request back.
    Preemption,
    /// Neither the client nor the server can tell.
    Unknown,
}

words!(Cause {
    Client => "client",
    Queueing => "queueing",
    Prefill => "prefill",
    Decode => "decode",
    Interference => "interference",
    Preemption => "preemption",
    Unknown => "unknown",
});

/// Time of one cause, as a mean over the slowest requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The cause.
    pub cause: Cause,
    /// Milliseconds of a slow request.
    pub ms: f64,
    /// Share of its latency.
    pub share: f64,
}

/// What an attribution rests on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// The server said nothing while these requests were under way.
    ServerSilent,
    /// Mean wait by the server's own clock.
    ServerQueue {
        /// Of requests that ended when the slow ones did.
        slow_ms: f64,
        /// Of all requests of the run.
        run_ms: f64,
    },
    /// Mean prefill by the server's own clock.
    ServerPrefill {
        /// Of requests that ended when the slow ones did.
        slow_ms: f64,
        /// Of all requests of the run.
        run_ms: f64,
    },
    /// The queue was seen while the slow requests had no token yet.
    Waiting {
        /// Share of those samples with somebody waiting.
        share: f64,
        /// Number of those samples.
        samples: u64,
    },
    /// Stalls in the slow answers.
    Stalls {
        /// How many.
        count: u64,
        /// Of these, ended with another request's first token.
        interfered: u64,
        /// Of these, with a preemption meanwhile.
        preempted: u64,
        /// The longest, in milliseconds.
        longest_ms: f64,
    },
    /// Requests that the server threw back in the whole run.
    Preemptions {
        /// How many.
        count: f64,
    },
}

/// The slowest requests, and where their time went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The latency in question.
    pub of: Explained,
    /// The percentile, in percent, from which on requests count as slow.
    pub percentile: f64,
    /// Its value in milliseconds.
    pub at_ms: f64,
    /// How many requests are that slow.
    pub requests: u64,
    /// Their mean latency in milliseconds, which the parts add up to.
    pub mean_ms: f64,
    /// Where it went, the most first.
    pub parts: Vec<Part>,
    /// What that rests on.
    pub evidence: Vec<Evidence>,
}

impl Explanation {
    /// The largest part, where it is known.
    pub fn main(&self) -> Option<Cause> {
        let first = self.parts.first()?.cause;
        (first != Cause::Unknown).then_some(first)
    }
}

/// Explains a percentile (in percent) of complete measured answers; absent if there are none.
pub fn explain(
    records: &[Record],
    samples: &[Sample],
    of: Explained,
    percentile: f64,
) -> Option<Explanation> {
    let latency = |record: &Record| match of {
        Explained::Ttft => record.ttft(),
        Explained::E2e => record.e2e(),
    };
    let measured: Vec<(&Record, f64)> = records
        .iter()
        .filter(|record| record.is_done() && !record.warmup)
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
    let server = ServerTimes::of(&slow, &measured, samples);
    let mut stalls = Stalls::default();
    let mut first_tokens: Vec<Offset> = records.iter().filter_map(Record::first_token).collect();
    first_tokens.sort_unstable();
    let mut whole = 0.0;
    for &record in &slow {
        whole += millis(latency(record)?);
        parts.before_first_token(record, of, &server);
        if of == Explained::E2e {
            parts.after_first_token(record, &first_tokens, samples, &mut stalls);
        }
    }
    let requests = slow.len() as f64;
    let mut evidence = server.evidence;
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
struct Parts([f64; Cause::ALL.len()]);

impl Parts {
    fn add(&mut self, cause: Cause, ms: f64) {
        self.0[cause as usize] += ms.max(0.0);
    }

    fn before_first_token(&mut self, record: &Record, of: Explained, server: &ServerTimes) {
        let (Some(start), Some(sent)) = (record.start(), record.sent) else {
            return;
        };
        self.add(Cause::Client, millis(sent.since(start)));
        // Without a stream nobody sees the first token: all of it is the server's, undivided.
        let (until, streamed) = match (record.first_token(), of) {
            (Some(first), _) => (first, true),
            (None, Explained::E2e) => (record.completed().unwrap_or(sent), false),
            (None, Explained::Ttft) => return,
        };
        let span = millis(until.since(sent));
        let (queue, prefill) = match server.shares {
            Shares::Silent => (0.0, 0.0),
            Shares::Times {
                queue_ms,
                prefill_ms,
            } => {
                let queue = queue_ms.unwrap_or(0.0).min(span);
                (queue, prefill_ms.unwrap_or(0.0).min(span - queue))
            }
            Shares::Waited { share } if streamed => (share * span, (1.0 - share) * span),
            Shares::Waited { .. } => (0.0, 0.0),
        };
        self.add(Cause::Queueing, queue);
        self.add(Cause::Prefill, prefill);
        self.add(Cause::Unknown, span - queue - prefill);
    }

    fn after_first_token(
        &mut self,
        record: &Record,
        first_tokens: &[Offset],
        samples: &[Sample],
        sum: &mut Stalls,
    ) {
        let (Some(first), Some(end)) = (record.first_token(), record.completed()) else {
            return;
        };
        let stalls = Stalls::of(record, first_tokens, samples);
        self.add(Cause::Interference, millis(stalls.interference));
        self.add(Cause::Preemption, millis(stalls.preemption));
        self.add(Cause::Unknown, millis(stalls.unknown));
        self.add(
            Cause::Decode,
            millis(end.since(first).saturating_sub(stalls.lost())),
        );
        sum.count += stalls.count;
        sum.interfered += stalls.interfered;
        sum.preempted += stalls.preempted;
        sum.longest = sum.longest.max(stalls.longest);
    }

    fn finish(self, whole: f64, requests: f64) -> Vec<Part> {
        let mut parts: Vec<Part> = Cause::ALL
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

/// How the server divides the time before the first token.
enum Shares {
    Silent,
    /// By its own clocks.
    Times {
        queue_ms: Option<f64>,
        prefill_ms: Option<f64>,
    },
    /// By its queue alone: prefill is what is not waiting.
    Waited {
        share: f64,
    },
}

struct ServerTimes {
    shares: Shares,
    evidence: Vec<Evidence>,
}

impl ServerTimes {
    fn of(slow: &[&Record], measured: &[(&Record, f64)], samples: &[Sample]) -> Self {
        let mut evidence = Vec::new();
        let sent = measured.iter().filter_map(|(record, _)| record.sent);
        let ended = measured.iter().filter_map(|(record, _)| record.completed());
        let (Some(from), Some(to)) = (sent.min(), ended.max()) else {
            return Self {
                shares: Shares::Silent,
                evidence,
            };
        };
        let run = Course::new(samples, from, to);
        let preemptions = run.growth(|state| state.preemptions);
        let queue_ms = slow_mean(slow, samples, |state| state.queue_s);
        let prefill_ms = slow_mean(slow, samples, |state| state.prefill_s);
        let run_ms =
            |read: fn(&EngineState) -> Option<Total>| run.mean(read).map(|seconds| seconds * 1e3);
        if let (Some(slow_ms), Some(run_ms)) = (queue_ms, run_ms(|s| s.queue_s)) {
            evidence.push(Evidence::ServerQueue { slow_ms, run_ms });
        }
        if let (Some(slow_ms), Some(run_ms)) = (prefill_ms, run_ms(|s| s.prefill_s)) {
            evidence.push(Evidence::ServerPrefill { slow_ms, run_ms });
        }
        let shares = if queue_ms.is_some() || prefill_ms.is_some() {
            Shares::Times {
                queue_ms,
                prefill_ms,
            }
        } else if let Some((share, count)) = waited(slow, samples) {
            evidence.push(Evidence::Waiting {
                share,
                samples: count,
            });
            Shares::Waited { share }
        } else {
            evidence.push(Evidence::ServerSilent);
            Shares::Silent
        };
        if let Some(count) = preemptions.filter(|count| *count > 0.0) {
            evidence.push(Evidence::Preemptions { count });
        }
        Self { shares, evidence }
    }
}

/// Mean, in milliseconds, of what a histogram took in around the ends of the slow requests:
/// engines count a request when it is over.
fn slow_mean(
    slow: &[&Record],
    samples: &[Sample],
    read: impl Fn(&EngineState) -> Option<Total> + Copy,
) -> Option<f64> {
    let means: Vec<f64> = slow
        .iter()
        .filter_map(|record| {
            let end = record.completed()?;
            Course::new(samples, end, end)
                .mean(read)
                .or_else(|| Course::new(samples, record.sent?, end).mean(read))
        })
        .collect();
    (!means.is_empty()).then(|| 1e3 * means.iter().sum::<f64>() / means.len() as f64)
}

/// Fewest looks at the queue that a share may rest on.
const LEAST_LOOKS: u64 = 3;

/// Share of the samples before the first tokens of the slow requests that saw somebody wait,
/// and the number of those samples.
fn waited(slow: &[&Record], samples: &[Sample]) -> Option<(f64, u64)> {
    let (mut looks, mut waiting) = (0_u64, 0_u64);
    for record in slow {
        let (Some(sent), Some(first)) = (record.sent, record.first_token()) else {
            continue;
        };
        let begin = samples.partition_point(|sample| sample.at < sent);
        let inside = samples[begin..]
            .iter()
            .take_while(|sample| sample.at <= first);
        for queue in inside.filter_map(|sample| sample.engine.as_ref()?.waiting) {
            looks += 1;
            waiting += u64::from(queue > 0.0);
        }
    }
    (looks >= LEAST_LOOKS).then(|| (waiting as f64 / looks as f64, looks))
}

#[cfg(test)]
mod tests;
