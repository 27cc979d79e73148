//! Further files of the real tools: open loops, caps, answers that come whole, sweeps, probes.

use crate::peers::{at, one, path};
use inferometer_import::{Imported, ImportedResult, read_path};
use serde_json::Value;

fn all(name: &str) -> Imported {
    read_path(&path(name)).expect(name)
}

fn codes(found: &ImportedResult) -> Vec<&'static str> {
    found.doubts.iter().map(|doubt| doubt.code.name()).collect()
}

#[test]
fn percentiles_of_guidellms_csv_are_those_of_its_json() {
    for name in [
        "guidellm-0.8.1",
        "guidellm-0.8.1-throughput",
        "guidellm-0.5.4",
    ] {
        let json = &all(&format!("{name}/benchmarks.json")).results[0];
        let csv = &all(&format!("{name}/benchmarks.csv")).results[0];
        for sample in ["ttft_ms", "itl_ms", "e2e_ms"] {
            for figure in ["min", "p5", "p25", "p50", "p75", "p90", "p95", "p99", "max"] {
                let pointer = format!("/latency/{sample}/{figure}");
                let [own, other] = [csv, json].map(|it| at(it, &pointer).as_f64().unwrap());
                let is_same = (own / other - 1.0).abs() < 1e-9;
                assert!(is_same, "{name} {pointer}: {own} {other}");
            }
        }
    }
}

#[test]
fn guidellms_arrivals_have_a_rate_and_no_streams() {
    let files = [
        "benchmarks.json",
        "benchmarks.csv",
        "benchmarks.html",
        "console.txt",
    ];
    for file in files {
        let found = all(&format!("guidellm-0.8.1-poisson/{file}")).results;
        assert_eq!(found.len(), 2, "{file}");
        for (run, rate) in found.iter().zip([5.0, 12.0]) {
            assert_eq!(run.point["rate"].as_f64(), Some(rate), "{file}");
            assert_eq!(run.point.get("concurrency"), None, "{file}");
        }
        // It sent 18.9 requests a second in the second, which its page does not count.
        let told = codes(&found[1]).contains(&"other-rate");
        assert_eq!(told, file != "benchmarks.html", "{file}");
        let found = one(&format!("guidellm-0.8.1-throughput/{file}"));
        assert_eq!(found.point["concurrency"].as_f64(), Some(8.0), "{file}");
        assert!(!codes(&found).contains(&"all-at-once"), "{file}");
    }
    assert_eq!(all("guidellm-0.8.1-poisson").results.len(), 2);
    assert_eq!(all("guidellm-0.8.1-throughput").results.len(), 1);
}

#[test]
fn answers_that_come_whole_have_no_first_token() {
    for file in [
        "benchmarks.json",
        "benchmarks.csv",
        "benchmarks.html",
        "console.txt",
    ] {
        let found = one(&format!("guidellm-0.8.1-whole/{file}"));
        assert_eq!(at(&found, "/latency/ttft_ms"), Value::Null, "{file}");
        assert!(
            at(&found, "/latency/e2e_ms/p95").as_f64() > Some(0.0),
            "{file}"
        );
    }
    let whole = one("sglang-0.5.23-whole.jsonl");
    assert!(
        codes(&whole).contains(&"not-streamed"),
        "{:?}",
        whole.doubts
    );
    assert_eq!(at(&whole, "/latency/tpot_ms/mean"), Value::Null);
}

#[test]
fn a_row_that_guidellm_shifted_is_told() {
    let csv = all("guidellm-0.5.4/benchmarks.csv");
    assert_eq!((csv.results.len(), csv.unread), (1, vec![(5, 5)]));
    assert_eq!(all("guidellm-0.5.4").results.len(), 2);
}

#[test]
fn a_sweep_of_vllm_is_its_points_and_repeats() {
    let found = all("vllm-0.33.0-sweep").results;
    let of = |streams: f64| {
        let is_at = |it: &&ImportedResult| it.point["concurrency"].as_f64() == Some(streams);
        let rates = found.iter().filter(is_at);
        let rates = rates.map(|it| at(it, "/throughput/output_tokens_per_s").as_f64().unwrap());
        rates.map(f64::round).collect::<Vec<f64>>()
    };
    assert_eq!((of(2.0), of(4.0)), (vec![136.0, 135.0], vec![267.0, 270.0]));
    assert_eq!(found.len(), 4);
    for run in &found {
        assert!(
            !codes(run).contains(&"inconsistent-import"),
            "{:?}",
            run.doubts
        );
    }
}

#[test]
fn what_stands_beside_the_result_is_not_taken_for_it() {
    let probes = one("vllm-0.33.0-probes.txt");
    assert_eq!(at(&probes, "/requests/ok"), 40);
    assert!(
        !codes(&probes).contains(&"inconsistent-import"),
        "{:?}",
        probes.doubts
    );
    let goodput = one("sglang-0.5.23-goodput.txt");
    assert_eq!(at(&goodput, "/latency/tpot_ms/mean"), 10.01);
    assert!(
        !codes(&goodput).contains(&"inconsistent-import"),
        "{:?}",
        goodput.doubts
    );
    let ramp = one("vllm-0.33.0-ramp.json");
    assert_eq!(ramp.point["ramp"], "linear 5-20");
    assert!(!codes(&ramp).contains(&"all-at-once"), "{:?}", ramp.doubts);
}
