//! The client's time-stamps beside the server's own log.

use crate::support::{Place, Run, Sim, Truth};
use std::collections::HashMap;

const TOKENS: u32 = 12;

fn assert_true(run: &Run, truth: &HashMap<String, Truth>) {
    let mut errors = Vec::new();
    for record in run.records.iter().chain(&run.warmup) {
        let real = truth
            .get(&record.id)
            .unwrap_or_else(|| panic!("{} is not in the log", record.id));
        let written: Vec<u64> = real
            .chunks
            .iter()
            .filter(|chunk| chunk.1 > 0)
            .map(|chunk| chunk.0)
            .collect();
        assert_eq!(record.chunks.len(), written.len(), "{}", record.id);
        assert!(record.chunks.at.is_sorted());
        for (read, written) in record.chunks.at.iter().zip(written) {
            let read = run.origin_ns + read.0;
            assert!(
                read >= written,
                "{}: read at {read} before it was written at {written}",
                record.id
            );
            errors.push(read - written);
        }
        let tokens: u64 = real.chunks.iter().map(|chunk| chunk.1).sum();
        assert_eq!(record.output_tokens().map(u64::from), Some(tokens));
    }
    errors.sort_unstable();
    let median = errors[errors.len() / 2];
    assert!(median < 20_000_000, "median error {median} ns");
}

#[test]
fn every_chunk_of_a_closed_loop_is_stamped_after_its_write_and_soon_after() {
    let sim = Sim::start(&[]);
    let run = Place::new().measure(
        &sim.url,
        &[
            "--concurrency",
            "6",
            "--requests",
            "60",
            "--output-tokens",
            "12",
        ],
    );
    run.assert_all_ok(60);
    assert_eq!(run.summary.tokens.output, Some(60 * u64::from(TOKENS)));
    let truth = sim.truth();
    let measured = truth
        .keys()
        .filter(|id| run.records.iter().any(|record| record.id == **id))
        .count();
    assert_eq!(measured, 60);
    assert_true(&run, &truth);
}

#[test]
fn every_chunk_of_an_open_loop_is_stamped_after_its_write_and_soon_after() {
    let sim = Sim::start(&["--jitter", "2ms"]);
    let options = [
        "--rate",
        "60",
        "--requests",
        "60",
        "--output-tokens",
        "uniform(2,20)",
        "--workers",
        "2",
    ];
    let run = Place::new().measure(&sim.url, &options);
    run.assert_all_ok(60);
    assert!(
        run.records
            .iter()
            .all(|record| record.output_tokens() == record.output_tokens_asked)
    );
    assert_true(&run, &sim.truth());
}

#[test]
fn token_counts_and_writes_agree_where_chunks_hold_several_tokens_and_writes_several_chunks() {
    let sim = Sim::with_faults("tokens-per-chunk=3,role-first,events-per-write=2");
    let run = Place::new().measure(
        &sim.url,
        &[
            "--concurrency",
            "4",
            "--requests",
            "20",
            "--output-tokens",
            "12",
        ],
    );
    run.assert_all_ok(20);
    for record in &run.records {
        assert_eq!(record.chunks.tokens.as_deref(), Some(&[3; 4][..]));
    }
    assert_true(&run, &sim.truth());
}
