//! Further files of the real tools: open loops, caps, answers that come whole, sweeps, probes.

use crate::peers::{at, one, path};
use inferometer_import::{Imported, ImportedResult, Tool, read_path};
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

#[test]
fn of_several_trials_of_aiperf_each_statistic_is_the_mean_over_them() {
    let text = std::fs::read_to_string(path(
        "aiperf-0.13.0-trials/profile_export_aiperf_sweep.json",
    ));
    let file: Value = serde_json::from_str(&text.unwrap()).unwrap();
    let loads = file["per_combination_metrics"].as_array().unwrap();
    for end in ["json", "csv"] {
        let found = all(&format!(
            "aiperf-0.13.0-trials/profile_export_aiperf_sweep.{end}"
        ))
        .results;
        assert_eq!(found.len(), loads.len(), "{end}");
        for (run, load) in found.iter().zip(loads) {
            assert_eq!(run.tool, Tool::Aiperf, "{end}");
            assert_eq!(
                run.point["rate"].as_f64(),
                load["parameters"]["rate"].as_f64()
            );
            for (pointer, metric) in [
                ("/latency/ttft_ms/mean", "time_to_first_token_avg"),
                ("/latency/e2e_ms/p99", "request_latency_p99"),
                (
                    "/throughput/output_tokens_per_s",
                    "output_token_throughput_avg",
                ),
                ("/tokens/output_mean", "output_sequence_length_avg"),
            ] {
                let own = at(run, pointer).as_f64().unwrap();
                let theirs = load["metrics"][metric]["mean"].as_f64().unwrap();
                assert!(
                    (own / theirs - 1.0).abs() < 0.01,
                    "{end} {pointer}: {own} {theirs}"
                );
            }
        }
    }
}

#[test]
fn failures_that_sglang_lists_are_counted() {
    let found = one("sglang-0.5.23-faults/r.jsonl");
    let count = |pointer: &str| at(&found, pointer).as_u64();
    assert_eq!(count("/requests/ok"), Some(46));
    assert_eq!(count("/requests/failed"), Some(14));
    assert!(codes(&found).contains(&"failures"), "{:?}", codes(&found));
}

#[test]
fn a_data_set_that_is_smaller_than_asked_for_loses_no_requests() {
    for name in [
        "sglang-0.5.23-shared/console.txt",
        "sglang-0.5.23-shared",
        "vllm-0.33.0-few/r.json",
    ] {
        let found = one(name);
        assert!(
            !codes(&found).contains(&"lost-requests"),
            "{name}: {:?}",
            codes(&found)
        );
    }
}

#[test]
fn parts_of_a_run_are_no_results_of_their_own() {
    assert_eq!(all("sglang-0.5.23-steady").results.len(), 1);
    let run = one("aiperf-0.13.0-slices");
    assert!(!codes(&run).contains(&"inconsistent-import"));
}

#[test]
fn the_speed_of_an_embeddings_prompt_is_no_throughput() {
    for run in all("evalscope-1.14.1-embeddings/performance_summary.txt").results {
        assert_eq!(at(&run, "/throughput/output_tokens_per_s"), Value::Null);
        assert!(at(&run, "/throughput/requests_per_s").as_f64().unwrap() > 18.0);
    }
    let summary = one("evalscope-1.14.1-embeddings/parallel_4_number_40/benchmark_summary.json");
    assert!(
        codes(&summary)
            .iter()
            .all(|code| *code != "inconsistent-import")
    );
}

#[test]
fn evalscopes_folder_of_embeddings_has_a_result_for_each_load() {
    let found = all("evalscope-1.14.1-embeddings").results;
    let loads: Vec<&Value> = found.iter().map(|it| &it.point["concurrency"]).collect();
    assert_eq!(loads, [2, 4]);
    assert!(
        found
            .iter()
            .all(|it| it.file.contains("performance_summary.txt"))
    );
}

#[test]
fn what_aiperf_was_to_give_up_has_not_failed() {
    for name in [
        "aiperf-0.13.0-cancelled/profile_export_aiperf.json",
        "aiperf-0.13.0-cancelled/profile_export.jsonl",
        "aiperf-0.13.0-cancelled",
    ] {
        let run = one(name);
        let counts = ["ok", "failed", "cut"].map(|key| at(&run, &format!("/requests/{key}")));
        assert_eq!(counts, [33, 0, 7], "{name}");
        let codes = codes(&run);
        assert!(
            !codes.contains(&"failures") && !codes.contains(&"inconsistent-import"),
            "{codes:?}"
        );
    }
}

#[test]
fn aiperfs_requests_are_of_its_run_whatever_it_was_told_to_call_its_files() {
    let run = one("aiperf-0.13.0-prefix");
    assert!(run.twice.is_empty(), "{:?}", run.twice);
    assert_eq!(at(&run, "/requests/ok"), 30);
}

#[test]
fn aiperfs_rates_are_over_the_time_that_it_observed() {
    let run = one("aiperf-0.13.0-observed/profile_export_aiperf.json");
    assert!(
        !codes(&run).contains(&"inconsistent-import"),
        "{:?}",
        codes(&run)
    );
}

#[test]
fn aiperfs_console_of_early_versions_counts_its_errors_in_a_line() {
    let run = one("aiperf-0.9.0-faults/console.txt");
    assert_eq!(at(&run, "/requests/failed"), 3);
    assert!(!codes(&run).contains(&"lost-requests"));
}

#[test]
fn guidellms_early_csv_has_its_loads_in_its_settings() {
    let found = all("guidellm-0.6.1-concurrent/benchmarks.csv").results;
    let loads: Vec<&Value> = found.iter().map(|it| &it.point["concurrency"]).collect();
    assert_eq!(loads, [1, 4]);
}

#[test]
fn a_latency_of_which_tenths_of_a_second_leave_nothing_is_none() {
    for run in all("guidellm-0.8.1-llamacpp/console.txt").results {
        assert_ne!(at(&run, "/latency/e2e_ms/mean"), 0.0);
        assert!(
            !codes(&run).contains(&"inconsistent-import"),
            "{:?}",
            run.doubts
        );
    }
}

#[test]
fn those_under_way_at_the_ends_of_guidellms_window_contradict_nothing() {
    for run in all("guidellm-0.8.1-warm/benchmarks.csv").results {
        assert!(
            !codes(&run).contains(&"inconsistent-import"),
            "{:?}",
            run.doubts
        );
    }
}

#[test]
fn guidellms_objectives_are_read() {
    let run = &all("guidellm-0.8.1-slo/benchmarks.json").results[0];
    let text = std::fs::read_to_string(path("guidellm-0.8.1-slo/benchmarks.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let own = &file["benchmarks"][0]["metrics"];
    assert_eq!(at(run, "/slo/attainment"), own["slo_attainment"]);
    assert_eq!(
        at(run, "/slo/goodput_per_s"),
        own["request_goodput"]["successful"]["mean"]
    );
}
