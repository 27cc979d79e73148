//! Holds a run's records against the server's own log (`sim --truth`).
//!
//! Usage: truth_error RUN_DIR TRUTH_FILE. Prints the error of TTFT (mean and p99 of the
//! difference to the server's log), and of the means of ITL and TPOT, in milliseconds.

use inferometer_core::quantile::{quantile, sort};
use inferometer_core::run_dir::RunDir;
use serde::Deserialize;
use std::collections::HashMap;
use std::io::Write;

#[derive(Deserialize)]
struct Truth {
    id: String,
    arrival_ns: u64,
    chunks: Vec<(u64, u32)>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [run, truth] = arguments.as_slice() else {
        panic!("usage: truth_error RUN_DIR TRUTH_FILE");
    };
    let truth: HashMap<String, Truth> = std::fs::read_to_string(truth)
        .expect("a truth log")
        .lines()
        .map(|line| serde_json::from_str::<Truth>(line).expect("a line of the truth log"))
        .map(|truth| (truth.id.clone(), truth))
        .collect();
    let run = RunDir::open(run).expect("a run directory");
    let origin = run
        .environment()
        .expect("an environment")
        .origin_monotonic_ns;
    let mut ttft = Vec::new();
    // The two ways: from our sending to the server's reading, from its writing to our reading.
    let (mut there, mut back) = (Vec::new(), Vec::new());
    let (mut our_gaps, mut their_gaps) = (Mean::default(), Mean::default());
    let (mut our_tpot, mut their_tpot) = (Mean::default(), Mean::default());
    for record in run.records().expect("records") {
        let record = record.expect("a record");
        let Some(truth) = truth
            .get(&record.id)
            .filter(|_| !record.warmup && record.is_done())
        else {
            continue;
        };
        let written: Vec<u64> = (truth.chunks.iter())
            .filter(|(_, tokens)| *tokens > 0)
            .map(|(at, _)| *at)
            .collect();
        assert_eq!(
            written.len(),
            record.chunks.len(),
            "chunks of {}",
            record.id
        );
        let theirs = (written[0] - truth.arrival_ns) as f64 / 1e6;
        let ours = record
            .ttft_from_sent()
            .expect("a first token")
            .as_secs_f64()
            * 1e3;
        ttft.push(ours - theirs);
        let sent = record.sent.expect("a request that was sent").0 + origin;
        there.push((truth.arrival_ns as f64 - sent as f64) / 1e6);
        for (read, written) in record.chunks.at.iter().zip(&written) {
            back.push(((read.0 + origin) as f64 - *written as f64) / 1e6);
        }
        for pair in written.windows(2) {
            their_gaps.add((pair[1] - pair[0]) as f64 / 1e6);
        }
        for gap in record.gaps() {
            our_gaps.add(gap.as_secs_f64() * 1e3);
        }
        if written.len() > 1 {
            let span = (written[written.len() - 1] - written[0]) as f64 / 1e6;
            their_tpot.add(span / (written.len() - 1) as f64);
            our_tpot.add(record.tpot().expect("a TPOT").as_secs_f64() * 1e3);
        }
    }
    let out = format!(
        "requests {}\nTTFT error ms: {}\n  way there:   {}\n  way back:    {}\nITL mean error ms: {:.5}  TPOT mean error ms: {:.5}\n",
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
