//! Two stored runs of a million requests each, compared by the binary. Run with
//! `cargo test --release -p inferometer --test compare_million -- --ignored --nocapture`.

#![allow(clippy::unwrap_used)]

use inferometer_core::environment::Environment;
use inferometer_core::options::Options;
use inferometer_core::parquet_file::RecordsWriter;
use inferometer_core::record::{Chunks, Outcome, Record, Usage};
use inferometer_core::run_dir::RunDir;
use inferometer_core::summary::{Distribution, Latencies};
use inferometer_core::units::Offset;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const REQUESTS: u64 = 1_000_000;
const TOKENS: u64 = 32;

/// A request whose first token takes 5 to 10 ms, times `slower`.
fn record(index: u64, slower: f64) -> Record {
    let noise = (index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64 / 16_777_216.0;
    let sent = index * 100_000;
    let ttft = (5e6 * slower * (1.0 + noise)) as u64;
    let at = (0..TOKENS).map(|token| Offset(sent + ttft + token * 1_000_000));
    Record {
        index,
        sent: Some(Offset(sent)),
        chunks: Chunks {
            at: at.collect(),
            tokens: None,
            same_read: vec![false; TOKENS as usize],
        },
        outcome: Outcome::Done,
        usage: Some(Usage {
            input: Some(256),
            output: Some(TOKENS as u32),
            cached: None,
        }),
        streamed: true,
        input_chars: 1000,
        ..Record::default()
    }
}

/// A sample of all requests; every metric that has one is compared.
fn latency(ms: f64) -> Option<Distribution> {
    let sample = Distribution::of(vec![0.7 * ms, ms, 1.3 * ms])?;
    Some(Distribution {
        n: REQUESTS,
        ..sample
    })
}

fn store(path: &Path, slower: f64) {
    let directory = RunDir::create(path).unwrap();
    directory
        .write_scenario(&Options::default().resolve().unwrap())
        .unwrap();
    directory
        .write_environment(&Environment::default())
        .unwrap();
    let mut writer = RecordsWriter::create(&directory.parquet_path()).unwrap();
    for index in 0..REQUESTS {
        writer.push(&record(index, slower)).unwrap();
    }
    writer.finish().unwrap();
    let per_s = 10_000.0;
    let summary = serde_json::json!({
        "schema": "inferometer.summary/1", "label": null, "tags": {}, "valid": true, "doubts": [],
        "requests": {"planned": REQUESTS, "ok": REQUESTS, "failed": 0, "cut": 0, "unsent": 0},
        "window_s": 100.0, "steady_s": null, "steady": null,
        "throughput": {"requests_per_s": per_s, "output_tokens_per_s": per_s * TOKENS as f64,
                       "total_tokens_per_s": null, "input_tokens_per_s": null,
                       "input_chars_per_s": null, "output_chars_per_s": null,
                       "requests_per_s_interval": null, "output_tokens_per_s_interval": null},
        "concurrency": {"configured": 8, "mean": 8.0, "peak": 8},
        "latency": Latencies {
            ttft_ms: latency(7.5 * slower),
            tpot_ms: latency(1.0),
            e2e_ms: latency(31.0 + 7.5 * slower),
            max_gap_ms: latency(1.0),
            ..Latencies::default()
        },
        "tokens": {"input": null, "output": null, "source": "usage", "cached": null,
                   "input_asked_mean": null, "input_mean": null, "output_asked_mean": null,
                   "output_mean": null},
        "failures": [], "slo": null, "client": {}, "server": null, "drift": null
    });
    directory
        .write_summary(&serde_json::from_value(summary).unwrap())
        .unwrap();
}

#[test]
#[ignore = "a benchmark"]
fn two_stored_runs_of_a_million_requests() {
    let place = tempfile::tempdir().unwrap();
    store(&place.path().join("a"), 1.0);
    store(&place.path().join("b"), 1.1);
    let begun = Instant::now();
    // Its parent says how much memory its child needed at most.
    let ended = Command::new("python3")
        .args([
            "-c",
            "import resource, subprocess, sys\n\
            code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\n\
            print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, 'MiB')",
        ])
        .arg(env!("CARGO_BIN_EXE_inferometer"))
        .args(["compare", "a", "b", "--format", "json"])
        .current_dir(place.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    println!("{:?}, exit code and memory: {said}", begun.elapsed());
    assert!(said.starts_with("0 "), "{said}");
}
