//! How the server divides the time before a first token: by its own clocks, or by its queue.
//!
//! Its clocks know no single request, only the mean of those that ended between two looks. The
//! client knows which these were, and how long they waited for their first tokens; a slow one
//! among them is divided in the same proportions.

use super::summary::Course;
use inferometer_core::record::Record;
use inferometer_core::server::{EngineState, Evidence, Sample, Total};
use inferometer_core::units::Offset;
use std::time::Duration;

/// Fewest looks at the queue that a share may rest on.
const LEAST_LOOKS: u64 = 3;

/// Parts of the time before a first token, in milliseconds; the rest is unknown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wait {
    pub queue_ms: f64,
    pub prefill_ms: f64,
}

/// What the server says of the time before first tokens.
pub(super) struct Division<'a> {
    samples: &'a [Sample],
    ended: Ended,
    source: Source,
    /// Mean prefill of the run by the server's clock.
    pub prefill: Option<Duration>,
    pub evidence: Vec<Evidence>,
}

enum Source {
    Silent,
    Clocks,
    /// Its queue alone: prefill is what is not waiting.
    Queue {
        share: f64,
    },
}

impl<'a> Division<'a> {
    /// Reads the server's samples beside all records; `slow` are those to be divided.
    pub fn of(slow: &[&Record], records: &[Record], samples: &'a [Sample]) -> Self {
        let mut division = Division {
            samples,
            ended: Ended::of(records),
            source: Source::Silent,
            prefill: None,
            evidence: Vec::new(),
        };
        let measured = || records.iter().filter(|r| r.is_done() && r.is_measured());
        let (Some(from), Some(to)) = (
            measured().filter_map(|record| record.sent).min(),
            measured().filter_map(Record::completed).max(),
        ) else {
            return division;
        };
        let run = Course::new(samples, from, to);
        let run_ms = |read| mean_ms(&run, read);
        let (run_queue_ms, run_prefill_ms) = (run_ms(|s| s.queue_s), run_ms(|s| s.prefill_s));
        division.prefill = run_prefill_ms.and_then(|ms| Duration::try_from_secs_f64(ms / 1e3).ok());
        let clocks: Vec<Clocks> = slow.iter().filter_map(|it| division.clocks(it)).collect();
        let mean = |read: fn(&Clocks) -> Option<f64>| {
            let known: Vec<f64> = clocks.iter().filter_map(read).collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        };
        if let (Some(slow_ms), Some(run_ms)) = (mean(|it| it.queue_ms), run_queue_ms) {
            let seen = Evidence::ServerQueue { slow_ms, run_ms };
            division.evidence.push(seen);
        }
        if let (Some(slow_ms), Some(run_ms)) = (mean(|it| it.prefill_ms), run_prefill_ms) {
            let seen = Evidence::ServerPrefill { slow_ms, run_ms };
            division.evidence.push(seen);
        }
        if !clocks.is_empty() {
            division.source = Source::Clocks;
        } else if let Some((share, count)) = waited(slow, samples) {
            let seen = Evidence::Waiting {
                share,
                samples: count,
            };
            division.evidence.push(seen);
            division.source = Source::Queue { share };
        } else {
            division.evidence.push(Evidence::ServerSilent);
        }
        let preemptions = run.growth(|state| state.preemptions);
        if let Some(count) = preemptions.filter(|count| *count > 0.0) {
            division.evidence.push(Evidence::Preemptions { count });
        }
        division
    }

    /// Divides the time from the sending of a request to its first token.
    pub fn wait(&self, record: &Record, span_ms: f64) -> Wait {
        let clocks = match self.source {
            Source::Silent => return Wait::default(),
            Source::Queue { share } => {
                return Wait {
                    queue_ms: share * span_ms,
                    prefill_ms: (1.0 - share) * span_ms,
                };
            }
            Source::Clocks => self.clocks(record),
        };
        let Some(clocks) = clocks else {
            return Wait::default();
        };
        let queue_ms = clocks.queue_ms.unwrap_or(0.0);
        let prefill_ms = clocks.prefill_ms.unwrap_or(0.0);
        // A prompt longer than those of the others takes as much longer.
        let length = match (prompt_tokens(record), clocks.company.tokens) {
            (Some(own), Some(mean)) if mean > 0.0 => own / mean,
            _ => 1.0,
        };
        let elsewhere = (clocks.company.wait_ms - queue_ms - prefill_ms).max(0.0);
        let whole = queue_ms + prefill_ms * length + elsewhere;
        let scale = if whole > 0.0 { span_ms / whole } else { 0.0 };
        Wait {
            queue_ms: queue_ms * scale,
            prefill_ms: prefill_ms * length * scale,
        }
    }

    /// An answer without a stream, whose first token nobody saw: the means as they are.
    pub fn unseen(&self, record: &Record, span_ms: f64) -> Wait {
        let clocks = self.clocks(record);
        let ms = |read: fn(&Clocks) -> Option<f64>| clocks.as_ref().and_then(read).unwrap_or(0.0);
        let queue_ms = ms(|it| it.queue_ms).min(span_ms);
        Wait {
            queue_ms,
            prefill_ms: ms(|it| it.prefill_ms).min(span_ms - queue_ms),
        }
    }

    /// The server's clocks around the end of a request: engines count one when it is over.
    fn clocks(&self, record: &Record) -> Option<Clocks> {
        let end = record.completed()?;
        let around = Course::new(self.samples, end, end);
        self.clocks_of(&around)
            .or_else(|| self.clocks_of(&Course::new(self.samples, record.sent?, end)))
    }

    fn clocks_of(&self, course: &Course) -> Option<Clocks> {
        let ms = |read| mean_ms(course, read);
        let (queue_ms, prefill_ms) = (ms(|s| s.queue_s), ms(|s| s.prefill_s));
        if queue_ms.is_none() && prefill_ms.is_none() {
            return None;
        }
        let (from, to) = course.span()?;
        Some(Clocks {
            queue_ms,
            prefill_ms,
            company: self.ended.between(from, to),
        })
    }
}

/// A mean of the server's clock; one that no clock can show is none.
fn mean_ms(course: &Course, read: fn(&EngineState) -> Option<Total>) -> Option<f64> {
    let ms = course.mean(read)? * 1e3;
    (ms.is_finite() && ms >= 0.0).then_some(ms)
}

/// The server's mean times of some requests, and the client's.
struct Clocks {
    queue_ms: Option<f64>,
    prefill_ms: Option<f64>,
    company: Company,
}

/// Means of requests that ended together, as the client saw them.
#[derive(Default)]
struct Company {
    /// From sending to the first token.
    wait_ms: f64,
    tokens: Option<f64>,
}

/// Streamed requests by their ends, with sums up to each.
#[derive(Default)]
struct Ended {
    at: Vec<Offset>,
    wait_ms: Vec<f64>,
    /// Absent where the length of some prompt is not known.
    tokens: Option<Vec<f64>>,
}

impl Ended {
    fn of(records: &[Record]) -> Ended {
        let mut ended: Vec<(Offset, f64, Option<f64>)> = records
            .iter()
            .filter(|record| record.is_done())
            .filter_map(|record| {
                let wait_ms = record.ttft_from_sent()?.as_secs_f64() * 1e3;
                Some((record.completed()?, wait_ms, prompt_tokens(record)))
            })
            .collect();
        ended.sort_unstable_by_key(|(at, ..)| *at);
        let known: Option<Vec<f64>> = ended.iter().map(|(_, _, tokens)| *tokens).collect();
        Ended {
            at: ended.iter().map(|(at, ..)| *at).collect(),
            wait_ms: sums(ended.iter().map(|(_, wait_ms, _)| *wait_ms)),
            tokens: known.map(|tokens| sums(tokens.into_iter())),
        }
    }

    /// Those that ended after `from` and until `to`.
    fn between(&self, from: Offset, to: Offset) -> Company {
        let begin = self.at.partition_point(|at| *at <= from);
        let end = self.at.partition_point(|at| *at <= to).max(begin);
        let count = (end - begin) as f64;
        if count == 0.0 {
            return Company::default();
        }
        Company {
            wait_ms: (self.wait_ms[end] - self.wait_ms[begin]) / count,
            tokens: (self.tokens.as_ref()).map(|sums| (sums[end] - sums[begin]) / count),
        }
    }
}

/// 0, the first value, the first two together, and so on.
fn sums(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sum = 0.0;
    let mut sums = vec![sum];
    sums.extend(values.map(|value| {
        sum += value;
        sum
    }));
    sums
}

/// Length of a prompt, as the server counts it or as it was asked for.
pub(super) fn prompt_tokens(record: &Record) -> Option<f64> {
    record
        .input_tokens()
        .or(record.input_tokens_asked)
        .map(f64::from)
}

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
