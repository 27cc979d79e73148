//! Two runs of a million requests each, compared. Run with
//! `cargo test --release -p inferometer-core --test compare_million -- --ignored --nocapture`.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use inferometer_core::compare::{Definition, Group, Point, RunSample, Series, Settings, compare};
use inferometer_core::record::{Chunks, Outcome, Record, Usage};
use inferometer_core::summary::{Distribution, Latencies, Summary, Throughput};
use inferometer_core::units::Offset;
use std::time::Instant;

fn record(index: u64, slower: f64) -> Record {
    let noise = (index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64 / 16_777_216.0;
    let sent = index * 100_000;
    let ttft = (5e6 * slower * (1.0 + noise)) as u64;
    let at = (0..4).map(|token| Offset(sent + ttft + token * 1_000_000));
    Record {
        index,
        sent: Some(Offset(sent)),
        chunks: Chunks {
            at: at.collect(),
            tokens: None,
            same_read: vec![false; 4],
        },
        outcome: Outcome::Done,
        usage: Some(Usage {
            input: Some(256),
            output: Some(4),
            cached: None,
        }),
        streamed: true,
        input_chars: 1000,
        ..Record::default()
    }
}

fn run(n: u64, slower: f64) -> RunSample {
    let records = (0..n).map(|index| record(index, slower));
    let ttft = records.clone().filter_map(|record| record.ttft());
    let summary = serde_json::json!({
        "schema": "inferometer.summary/1", "label": null, "tags": {}, "valid": true, "doubts": [],
        "requests": {"planned": n, "ok": n, "failed": 0, "cut": 0, "unsent": 0},
        "window_s": 100.0, "steady_s": null, "steady": null,
        "throughput": Throughput {
            output_tokens_per_s: Some(4.0 * n as f64 / 100.0),
            ..Throughput::default()
        },
        "concurrency": {"configured": 8, "mean": 8.0, "peak": 8},
        "latency": Latencies {
            ttft_ms: Distribution::of(ttft.map(|ttft| ttft.as_secs_f64() * 1e3).collect()),
            ..Latencies::default()
        },
        "tokens": {"input": null, "output": null, "source": "usage", "cached": null,
                   "input_asked_mean": null, "input_mean": null, "output_asked_mean": null,
                   "output_mean": null},
        "failures": [], "slo": null, "client": {}, "server": null, "drift": null
    });
    let summary: Summary = serde_json::from_value(summary).unwrap();
    RunSample {
        point: Point([("concurrency".to_owned(), 8.into())].into()),
        summary,
        definition: Definition::default(),
        series: Some(Series::of_records(records)),
    }
}

#[test]
#[ignore = "a benchmark"]
fn a_million_requests_a_side() {
    let begun = Instant::now();
    let groups = [("a", 1.0), ("b", 1.1)].map(|(name, slower)| Group {
        name: name.to_owned(),
        runs: vec![run(1_000_000, slower)],
    });
    println!("built in {:?}", begun.elapsed());
    let begun = Instant::now();
    let found = compare(&groups, &Settings::default());
    println!(
        "compared in {:?}: {} rows",
        begun.elapsed(),
        found.rows.len()
    );
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    println!("{}", peak.unwrap_or_default());
    assert!(found.rows.len() > 3);
}
