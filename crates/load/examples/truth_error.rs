//! Holds what a client saw against the server's own log (`sim --truth`).
//!
//! Usage: truth_error RUN_DIR|STAMPS TRUTH_FILE STREAMS CYCLE_MS, where STAMPS is what
//! `bare_reader` wrote and CYCLE_MS the time that the server takes for an answer. Prints, in
//! milliseconds: the error of TTFT (mean, p50, p99, max of the difference to the server's log),
//! its two ways, and the error of the means of ITL and TPOT; and the tokens a second while all
//! streams were busy, as a share of what they would be without any delay.

use inferometer_core::quantile::{quantile, sort};
use inferometer_store::run_dir::RunDir;
use serde::Deserialize;
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

/// What a client saw of one request, on the server's clock.
#[derive(Deserialize)]
struct Seen {
    id: String,
    sent_ns: u64,
    chunk_ns: Vec<u64>,
}

/// From a run directory, or from the stamps of the bare reader.
fn seen(path: &Path) -> Vec<Seen> {
    if path.is_file() {
        let text = std::fs::read_to_string(path).expect("stamps");
        let lines = text.lines();
        return lines
            .map(|line| serde_json::from_str(line).expect("a line of stamps"))
            .collect();
    }
    let run = RunDir::open(path).expect("a run directory");
    let environment = run.environment().expect("an environment");
    let origin = environment.origin_monotonic_ns;
    let records = run.records().expect("records");
    records
        .map(|record| record.expect("a record"))
        .filter(|record| record.is_measured() && record.is_done())
        .map(|record| Seen {
            sent_ns: record.sent.expect("a request that was sent").0 + origin,
            chunk_ns: record.chunks.at.iter().map(|at| at.0 + origin).collect(),
            id: record.id,
        })
        .collect()
}

#[derive(Deserialize)]
struct Truth {
    id: String,
    arrival_ns: u64,
    chunks: Vec<(u64, u32)>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [client, truth, streams, cycle] = arguments.as_slice() else {
        panic!("usage: truth_error RUN_DIR|STAMPS TRUTH_FILE STREAMS CYCLE_MS");
    };
    let streams: f64 = streams.parse().expect("a number of streams");
    let cycle: f64 = cycle.parse().expect("milliseconds");
    let truth: HashMap<String, Truth> = std::fs::read_to_string(truth)
        .expect("a truth log")
        .lines()
        .map(|line| serde_json::from_str::<Truth>(line).expect("a line of the truth log"))
        .map(|truth| (truth.id.clone(), truth))
        .collect();
    let mut ttft = Vec::new();
    // The two ways: from our sending to the server's reading, from its writing to our reading.
    let (mut there, mut back) = (Vec::new(), Vec::new());
    let (mut our_gaps, mut their_gaps) = (Mean::default(), Mean::default());
    let (mut our_tpot, mut their_tpot) = (Mean::default(), Mean::default());
    let seen = seen(Path::new(client));
    let achieved = achieved(&seen, streams, cycle);
    for seen in seen {
        let Some(truth) = truth.get(&seen.id) else {
            continue;
        };
        let written: Vec<u64> = (truth.chunks.iter())
            .filter(|(_, tokens)| *tokens > 0)
            .map(|(at, _)| *at)
            .collect();
        let read = &seen.chunk_ns;
        assert_eq!(written.len(), read.len(), "chunks of {}", seen.id);
        let ms = |from: u64, to: u64| (to as f64 - from as f64) / 1e6;
        ttft.push(ms(seen.sent_ns, read[0]) - ms(truth.arrival_ns, written[0]));
        there.push(ms(seen.sent_ns, truth.arrival_ns));
        back.extend(
            read.iter()
                .zip(&written)
                .map(|(read, written)| ms(*written, *read)),
        );
        for (gaps, tpot, at) in [
            (&mut our_gaps, &mut our_tpot, read),
            (&mut their_gaps, &mut their_tpot, &written),
        ] {
            for pair in at.windows(2) {
                gaps.add(ms(pair[0], pair[1]));
            }
            if let [first, .., last] = at[..] {
                tpot.add(ms(first, last) / (at.len() - 1) as f64);
            }
        }
    }
    let out = format!(
        "requests {}\nTTFT error ms: {}\n  way there:   {}\n  way back:    {}\nITL mean error ms: {:.5}  TPOT mean error ms: {:.5}\nachieved {achieved:.5}\n",
        ttft.len(),
        spread(&mut ttft),
        spread(&mut there),
        spread(&mut back),
        our_gaps.value() - their_gaps.value(),
        our_tpot.value() - their_tpot.value(),
    );
    std::io::stdout()
        .write_all(out.as_bytes())
        .expect("an output");
}

/// Tokens while all streams were busy: from one cycle after the first request, when all have
/// begun, to the last request.
fn achieved(seen: &[Seen], streams: f64, cycle_ms: f64) -> f64 {
    let sent = seen.iter().map(|seen| seen.sent_ns);
    let from = sent.clone().min().expect("a request") + (cycle_ms * 1e6) as u64;
    let to = sent.max().expect("a request");
    let tokens = seen[0].chunk_ns.len() as f64;
    let all = seen.iter().flat_map(|seen| &seen.chunk_ns);
    let inside = all.filter(|at| (from..to).contains(*at)).count() as f64;
    let offered = streams * tokens / (cycle_ms * 1e6);
    inside / (to - from) as f64 / offered
}

fn spread(values: &mut [f64]) -> String {
    sort(values);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let at = |share| quantile(values, share).expect("at least one value");
    format!(
        "mean {mean:.4} p50 {:.4} p99 {:.4} max {:.4}",
        at(0.5),
        at(0.99),
        at(1.0)
    )
}

#[derive(Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
    }

    fn value(&self) -> f64 {
        self.sum / self.count
    }
}
