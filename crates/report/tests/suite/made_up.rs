//! Runs that figures are looked at with: made up by a crude model of a batching engine, then
//! folded as any other run. The numbers mean nothing.

use inferometer_analysis::context::RunContext;
use inferometer_analysis::fold::summarize;
use inferometer_analysis::trace::RunTrace;
use inferometer_core::environment::{Ending, Environment};
use inferometer_core::options::Options;
use inferometer_core::record::{Chunks, Failure, FailureClass, Outcome, Phase, Record, Usage};
use inferometer_core::scenario::Scenario;
use inferometer_core::summary::Summary;
use inferometer_core::thresholds::Thresholds;
use inferometer_core::units::Offset;
use inferometer_text::Lang;

/// An engine of so much speed.
#[derive(Clone, Copy)]
pub struct Engine {
    pub name: &'static str,
    pub device: &'static str,
    pub cards: Option<u32>,
    /// Of a lone short prompt.
    pub ttft_ms: f64,
    /// Between tokens of a lone answer.
    pub gap_ms: f64,
    /// Streams at which gaps are twice as long.
    pub batch: f64,
    /// Streams from which on requests are refused.
    pub refuses_from: u32,
}

pub const MINDIE: Engine = Engine {
    name: "MindIE",
    device: "910B4 8×32G",
    cards: Some(8),
    ttft_ms: 95.0,
    gap_ms: 24.0,
    batch: 44.0,
    refuses_from: 100,
};

pub const VLLM: Engine = Engine {
    name: "vLLM",
    device: "A100 4×80G",
    cards: Some(4),
    ttft_ms: 60.0,
    gap_ms: 16.0,
    batch: 36.0,
    refuses_from: u32::MAX,
};

/// What is asked of it.
#[derive(Clone, Copy)]
pub struct Load {
    pub concurrency: u32,
    pub requests: u64,
    pub input: f64,
    pub output: f64,
}

/// A number from 0 to 1 that looks random and is always the same.
pub fn noise(index: u64) -> f64 {
    let mixed = (index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((mixed >> 11) as f64) / (1u64 << 53) as f64
}

fn at(ms: f64) -> Offset {
    Offset((ms * 1e6).round() as u64)
}

/// The records of a closed loop.
pub fn records(engine: &Engine, load: Load) -> Vec<Record> {
    stream(engine, load).collect()
}

/// The same, one after the other.
pub fn stream(engine: &Engine, load: Load) -> impl Iterator<Item = Record> {
    let streams = load.concurrency as usize;
    let mut free: Vec<f64> = (0..streams)
        .map(|stream| 600.0 * stream as f64 / streams as f64)
        .collect();
    let record = move |index: u64| {
        let next = (0..streams)
            .min_by(|&a, &b| free[a].total_cmp(&free[b]))
            .unwrap_or_default();
        let record = request(engine, load, index, free[next]);
        free[next] = record.end.unwrap_or_default().0 as f64 / 1e6 + 0.1;
        record
    };
    (0..load.requests).map(record)
}

fn request(engine: &Engine, load: Load, index: u64, sent: f64) -> Record {
    let chance = |what: u64| noise(index * 7919 + what);
    let busy = f64::from(load.concurrency) / engine.batch;
    let skewed = |chance: f64| (0.5 + chance).powi(2) * 0.92;
    let input = (load.input * skewed(chance(1))).max(4.0) as u32;
    let output = (load.output * skewed(chance(2))).max(2.0) as u32;
    let mut record = Record {
        id: index.to_string(),
        index,
        sent: Some(at(sent)),
        input_chars: u64::from(input) * 4,
        streamed: true,
        url: "http://127.0.0.1:8000/v1/chat/completions".to_owned(),
        ..Record::default()
    };
    if load.concurrency >= engine.refuses_from && chance(3) < 0.12 {
        record.end = Some(at(sent + 40.0 + 20.0 * chance(4)));
        record.status = Some(429);
        record.outcome = Outcome::Failed(Failure {
            phase: Phase::Status,
            class: FailureClass::RateLimited,
            detail: "too many requests".to_owned(),
        });
        return record;
    }
    let queue = engine.ttft_ms * busy.powf(2.2) * (0.4 + 2.4 * chance(5));
    let mut now = sent + engine.ttft_ms * (0.8 + 0.4 * chance(6)) + f64::from(input) * 0.11 + queue;
    let mut chunks = Vec::new();
    for token in 0..u64::from(output) {
        chunks.push(at(now));
        let luck = noise(index * 104_729 + token * 31);
        let size = 24.0 + 90.0 * noise(index + token);
        let stall = if luck > 0.9998 { size } else { 1.0 };
        now += engine.gap_ms * (1.0 + busy) * (0.7 + 0.6 * luck.powi(3)) * stall;
    }
    let end = chunks.last().copied();
    Record {
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
            input: Some(input),
            output: Some(output),
            cached: None,
        }),
        finish: Some("stop".to_owned()),
        output_chars: u64::from(output) * 4,
        ..record
    }
}

/// The scenario of a load.
pub fn scenario(load: Load) -> Scenario {
    let toml = format!(
        "[load]\nconcurrency = {}\nrequests = {}",
        load.concurrency, load.requests
    );
    Options::from_toml(&toml)
        .expect("these options are well written")
        .resolve()
        .expect("these options go together")
}

/// The summary of records, as a run of this engine would have it.
pub fn summary(engine: &Engine, load: Load, records: &[Record]) -> Summary {
    let scenario = scenario(load);
    let environment = Environment {
        ceiling_tokens_per_s: Some(1e7),
        workers: 1,
        ..Environment::default()
    };
    let ending = Ending {
        planned: records.len() as u64,
        sending_ended: records
            .iter()
            .filter_map(|record| record.sent)
            .max()
            .unwrap_or_default(),
        stagger_ns: Some(600_000_000),
        thread_cpu_shares: vec![0.1],
        ..Ending::default()
    };
    let context = RunContext {
        scenario: &scenario,
        environment: &environment,
        ending: &ending,
        lang: Lang::En,
    };
    let mut summary = summarize(&context, records.iter().cloned());
    let tags = [("engine", engine.name), ("device", engine.device)];
    let tags = tags.map(|(key, value)| (key.to_owned(), value.to_owned()));
    summary.tags.extend(tags);
    let cards = engine
        .cards
        .map(|cards| ("cards".to_owned(), cards.to_string()));
    summary.tags.extend(cards);
    summary
}

pub fn run(engine: &Engine, load: Load) -> Summary {
    summary(engine, load, &records(engine, load))
}

/// What pictures of a run need.
pub fn trace(records: &[Record]) -> RunTrace {
    let mut trace = RunTrace::new(&Thresholds::default());
    records.iter().for_each(|record| trace.add(record));
    trace
}
