//! Runs made up for tests: a closed and an open loop against a server of known speed.

#![allow(clippy::unwrap_used)]

use super::{RunContext, fold};
use inferometer_core::doubt::{DoubtCode, Severity};
use inferometer_core::environment::{Ending, Environment};
use inferometer_core::options::Options;
use inferometer_core::record::{Chunks, Outcome, Record, Usage};
use inferometer_core::scenario::{Scenario, Shape};
use inferometer_core::server::ServerSummary;
use inferometer_core::summary::Summary;
use inferometer_core::units::Offset;
use inferometer_text::Lang;
use std::time::Duration;

/// A moment in milliseconds.
pub fn at(ms: f64) -> Offset {
    Offset((ms * 1e6).round() as u64)
}

/// A number from 0 to 1 that looks random and is always the same.
pub fn noise(index: u64) -> f64 {
    let mixed = (index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((mixed >> 11) as f64) / (1u64 << 53) as f64
}

/// A complete answer of `tokens` chunks, the first after `ttft` ms, then one every `gap` ms.
pub fn answer(index: u64, sent: f64, ttft: f64, tokens: u32, gap: f64) -> Record {
    let arrivals = (0..tokens).map(|i| at(sent + ttft + f64::from(i) * gap));
    let chunks: Vec<Offset> = arrivals.collect();
    let end = chunks.last().copied();
    Record {
        id: index.to_string(),
        index,
        sent: Some(at(sent)),
        first_byte: chunks.first().copied(),
        first_answer: chunks.first().copied(),
        chunks: Chunks {
            same_read: vec![false; chunks.len()],
            at: chunks,
            tokens: None,
        },
        end,
        outcome: Outcome::Done,
        status: Some(200),
        usage: Some(Usage {
            input: Some(256),
            output: Some(tokens),
            cached: None,
        }),
        finish: Some("length".to_owned()),
        input_tokens_asked: Some(250),
        output_tokens_asked: Some(tokens),
        output_exact: true,
        input_chars: 1000,
        output_chars: u64::from(tokens) * 4,
        streamed: true,
        ..Record::default()
    }
}

/// Tokens of each answer in a made-up run.
pub const TOKENS: u32 = 32;

/// An answer of the healthy server: TTFT 40 to 60 ms, then a token every 10 ms.
pub fn healthy(index: u64, sent: f64) -> Record {
    answer(index, sent, 40.0 + 20.0 * noise(index), TOKENS, 10.0)
}

/// A run before it is summarised.
pub struct MadeUp {
    pub scenario: Scenario,
    pub environment: Environment,
    pub ending: Ending,
    pub records: Vec<Record>,
}

pub fn scenario(toml: &str) -> Scenario {
    Options::from_toml(toml).unwrap().resolve().unwrap()
}

impl MadeUp {
    /// Records as they are, with the ending that fits them.
    pub fn of(scenario: Scenario, records: Vec<Record>) -> Self {
        let planned = records.iter().filter(|record| record.is_measured()).count() as u64;
        let last = records.iter().filter_map(|record| record.sent).max();
        let ending = Ending {
            planned,
            sending_ended: last.unwrap_or_default(),
            stagger_ns: match scenario.load.shape {
                Shape::Closed { .. } => Some(360_000_000),
                Shape::Open { .. } | Shape::Replay { .. } => None,
            },
            thread_cpu_shares: vec![0.1, 0.2],
            ..Ending::default()
        };
        let environment = Environment {
            ceiling_tokens_per_s: Some(1e6),
            workers: 1,
            ..Environment::default()
        };
        MadeUp {
            scenario,
            environment,
            ending,
            records,
        }
    }

    /// A closed loop of healthy answers whose first wave is spread over 360 ms.
    pub fn closed(streams: u32, requests: u64) -> Self {
        Self::closed_with(streams, requests, |_, _| true)
    }

    /// The same where a stream takes another request only while `lives(stream, time)`.
    pub fn closed_with(streams: u32, requests: u64, lives: impl Fn(u32, f64) -> bool) -> Self {
        let mut free: Vec<f64> = (0..streams)
            .map(|stream| 360.0 * f64::from(stream) / f64::from(streams))
            .collect();
        let mut records = Vec::new();
        for index in 0..requests {
            let next = (0..streams as usize)
                .filter(|&stream| lives(stream as u32, free[stream]))
                .min_by(|&a, &b| free[a].total_cmp(&free[b]))
                .unwrap();
            let record = healthy(index, free[next]);
            free[next] = record.end.unwrap().0 as f64 / 1e6 + 0.05;
            records.push(record);
        }
        let toml = format!("[load]\nconcurrency = {streams}\nrequests = {requests}");
        Self::of(scenario(&toml), records)
    }

    /// An open loop at 20 requests a second; `latency` gives the TTFT of each in ms.
    pub fn open(requests: u64, ttft: impl Fn(u64) -> f64) -> Self {
        let records = (0..requests).map(|index| {
            let due = (index as f64 + noise(index)) * 50.0;
            let mut record = answer(index, due + 0.05, ttft(index), TOKENS, 10.0);
            record.due = Some(at(due));
            record
        });
        let toml = format!("[load]\nrate = 20\nrequests = {requests}");
        Self::of(scenario(&toml), records.collect())
    }

    pub fn each(mut self, change: impl Fn(&mut Record)) -> Self {
        self.records.iter_mut().for_each(change);
        self
    }

    pub fn summary(&self) -> Summary {
        self.summary_beside(None)
    }

    /// The same with what the server said of itself.
    pub fn summary_beside(&self, server: Option<ServerSummary>) -> Summary {
        let context = RunContext {
            scenario: &self.scenario,
            environment: &self.environment,
            ending: &self.ending,
            lang: Lang::En,
        };
        let folded = fold(&context, self.records.iter().cloned());
        folded.with_server(server).summary(context.lang)
    }

    pub fn doubt(&self, code: DoubtCode) -> Option<Severity> {
        let summary = self.summary();
        let found = summary.doubts.iter().find(|doubt| doubt.code == code);
        found.map(|doubt| doubt.severity)
    }
}

/// A span in milliseconds.
pub fn span(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
