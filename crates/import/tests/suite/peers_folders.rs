//! Folders that AIPerf and EvalScope leave of sweeps, of runs with a warm-up, of conversations and
//! of whole answers, with the console's output beside them as people redirect it. Made against
//! `inferometer sim`; shortened to fewer metrics, without logs.

use super::peers::{all_are_in, at, one, path, text};
use inferometer_import::{ImportedResult, UnreadReason, read, read_path};
use serde_json::Value;

fn results(name: &str) -> Vec<ImportedResult> {
    read_path(&path(name)).expect(name).results
}

fn loads(found: &[ImportedResult]) -> Vec<&Value> {
    let loads = found.iter().map(|it| it.point.get("concurrency"));
    loads.map(|load| load.unwrap_or(&Value::Null)).collect()
}

fn codes(found: &ImportedResult) -> Vec<&'static str> {
    found.doubts.iter().map(|doubt| doubt.code.name()).collect()
}

fn json(name: &str) -> Value {
    serde_json::from_str(&text(name)).expect(name)
}

fn is_near(ours: &Value, theirs: f64) -> bool {
    ours.as_f64()
        .is_some_and(|ours| (ours - theirs).abs() <= 1e-9 * theirs.abs())
}

#[test]
fn aiperfs_sweep_is_one_result_for_each_load() {
    let found = results("aiperf-0.13.0-sweep");
    assert_eq!(loads(&found), [2, 4], "{found:#?}");
    for (found, streams) in found.iter().zip([2, 4]) {
        let own = format!("aiperf-0.13.0-sweep/artifacts/concurrency_{streams}");
        let own = json(&format!("{own}/profile_export_aiperf.json"));
        let e2e = own["request_latency"]["avg"].as_f64().unwrap();
        assert!(is_near(&at(found, "/latency/e2e_ms/mean"), e2e));
        assert!(found.file.ends_with("console.txt"), "{}", found.file);
        assert!(found.twice.is_empty(), "{:?}", found.twice);
        assert_eq!(codes(found), ["few-samples"]);
        let aside: Vec<&String> = (found.unread_because.iter())
            .filter(|(_, why)| **why == UnreadReason::SeveralRuns)
            .map(|(name, _)| name)
            .collect();
        let of_one = format!("aggregate/concurrency_{streams}/profile_export_aiperf_aggregate");
        let of_all = "sweep_aggregate/profile_export_aiperf_sweep";
        assert_eq!(
            aside,
            [
                &format!("{of_one}.csv"),
                &format!("{of_one}.json"),
                &format!("{of_all}.csv"),
                &format!("{of_all}.json"),
            ]
        );
    }
}

#[test]
fn aiperfs_aggregates_alone_are_in_its_own_units() {
    let folder = "aiperf-0.13.0-sweep/artifacts";
    for (name, digits) in [("json", 1e-9), ("csv", 0.0051)] {
        let of_one = format!("{folder}/aggregate/concurrency_2/profile_export_aiperf_aggregate");
        let of_all = format!("{folder}/sweep_aggregate/profile_export_aiperf_sweep");
        let mut found = vec![one(&format!("{of_one}.{name}"))];
        found.extend(results(&format!("{of_all}.{name}")));
        assert_eq!(loads(&found), [2, 2, 4], "{name}");
        for found in &found {
            let streams = found.point["concurrency"].as_u64().unwrap();
            let own = json(&format!(
                "{folder}/concurrency_{streams}/profile_export_aiperf.json"
            ));
            for (metric, place) in [
                ("request_latency", "/latency/e2e_ms/mean"),
                ("time_to_first_token", "/latency/ttft_ms/mean"),
                ("inter_token_latency", "/latency/itl_ms/mean"),
                ("request_throughput", "/throughput/requests_per_s"),
                ("output_token_throughput", "/throughput/output_tokens_per_s"),
                ("output_sequence_length", "/tokens/output_mean"),
                ("benchmark_duration", "/window_s"),
                ("request_count", "/requests/ok"),
            ] {
                let theirs = own[metric]["avg"].as_f64().expect(metric);
                let ours = at(found, place).as_f64().expect(place);
                assert!(
                    (ours - theirs).abs() <= digits * theirs.max(1.0),
                    "{} {metric}: {theirs} and {ours}",
                    found.file
                );
            }
            assert_eq!(found.tool.name(), "aiperf");
            assert!(found.twice.is_empty(), "{:?}", found.twice);
            assert!(!codes(found).contains(&"inconsistent-import"));
        }
    }
}

#[test]
fn every_number_of_aiperfs_aggregates_is_read_or_listed_with_the_reason() {
    let folder = "aiperf-0.13.0-sweep/artifacts";
    let name = format!("{folder}/aggregate/concurrency_4/profile_export_aiperf_aggregate.json");
    let found = one(&name);
    let metrics = json(&name)["metrics"].clone();
    let told = (metrics.as_object().unwrap().iter()).flat_map(|(key, over_runs)| {
        let numbers = over_runs.as_object().unwrap().iter();
        let numbers = numbers.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?)));
        let named = |(name, value)| match name {
            name if name == "mean" => (key.clone(), value),
            name => (format!("metrics.*.{name}"), value),
        };
        numbers.map(named).collect::<Vec<_>>()
    });
    all_are_in(&found, told);

    let name = format!("{folder}/sweep_aggregate/profile_export_aiperf_sweep.json");
    let points = json(&name)["per_combination_metrics"].clone();
    for (found, point) in results(&name).iter().zip(points.as_array().unwrap()) {
        let metrics = point["metrics"].as_object().unwrap();
        let told = metrics.iter().flat_map(|(_, stats)| {
            let stats = stats.as_object().unwrap().iter();
            stats.filter_map(|(stat, value)| {
                let path = format!("per_combination_metrics.*.metrics.*.{stat}");
                Some((path, value.as_f64()?))
            })
        });
        all_are_in(found, told);
    }
}

#[test]
fn aiperfs_warm_up_is_left_out_and_told() {
    let found = one("aiperf-0.13.0-warmup");
    assert_eq!(at(&found, "/requests/ok"), 73);
    assert_eq!(codes(&found), ["output-capped", "few-samples"]);
    let told: Vec<&String> = (found.unread_because.iter())
        .filter(|(_, why)| **why == UnreadReason::WarmUp)
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        told,
        [
            "phases/warmup/profile_export_aiperf.csv",
            "phases/warmup/profile_export_aiperf.json",
            "warmup_metrics",
        ]
    );
    // Alone it is what was asked for.
    let alone = one("aiperf-0.13.0-warmup/phases/warmup");
    assert_eq!(at(&alone, "/requests/ok"), 3);
}

#[test]
fn streams_that_wait_between_turns_are_not_missing() {
    for found in results("aiperf-0.13.0-turns")
        .into_iter()
        .chain(results("aiperf-0.13.0-turns/console.txt"))
    {
        assert_eq!(found.point["concurrency"], 3);
        assert_eq!(at(&found, "/other/turn delay (ms)"), 100);
        assert_eq!(codes(&found), ["few-samples"], "{}", found.file);
    }
    assert_eq!(results("aiperf-0.13.0-turns").len(), 2);
    // Without the pause the same numbers are those of too few streams.
    let export = text("aiperf-0.13.0-turns/profile_runs/run_0001/profile_export_aiperf.json");
    let without = export.replace("turn_delay", "something");
    let found = read("export.json", &without).results;
    assert!(codes(&found[0]).contains(&"shrunk-concurrency"));
}

#[test]
fn evalscopes_folder_and_its_console_are_one_result_for_each_run() {
    for (name, streams) in [
        ("evalscope-1.14.1-sweep", &[2, 4][..]),
        ("evalscope-1.14.1-rate", &[20]),
        ("evalscope-1.14.1-whole", &[4]),
        ("evalscope-1.14.1-turns", &[2]),
        ("evalscope-1.14.1-sla", &[1, 2]),
        ("evalscope-1.5.0-faults", &[2, 4]),
    ] {
        let found = results(name);
        assert_eq!(loads(&found), streams, "{name}");
        for found in &found {
            let best = found.file.split(" + ").next().expect("a file");
            let own = serde_json::from_str::<Value>(&std::fs::read_to_string(best).expect(best));
            let own = own.expect("JSON");
            let mut keys = ["Avg Latency (s)", "Average latency (s)"].into_iter();
            let e2e = keys.find_map(|key| own[key].as_f64()).expect(best);
            assert!(is_near(&at(found, "/latency/e2e_ms/mean"), e2e * 1000.0));
            assert!(found.file.contains("console.txt"), "{}", found.file);
            assert!(found.file.contains("performance_summary.txt"));
            assert_eq!(found.label, None, "{name}: a name of EvalScope's table");
            assert!(found.twice.is_empty(), "{name}: {:?}", found.twice);
            let codes = codes(found);
            assert!(!codes.contains(&"inconsistent-import"), "{codes:?}");
            assert!(!codes.contains(&"disordered-percentiles"), "{codes:?}");
        }
    }
}

#[test]
fn evalscopes_console_tells_of_each_run_once() {
    for (name, streams) in [
        ("evalscope-1.14.1-sweep", &[2, 4][..]),
        ("evalscope-1.14.1-rate", &[20]),
        ("evalscope-1.14.1-turns", &[2]),
        ("evalscope-1.14.1-sla", &[2, 1]),
        ("evalscope-1.5.0-faults", &[2, 4]),
    ] {
        let name = format!("{name}/console.txt");
        let imported = read_path(&path(&name)).expect("results");
        assert_eq!(loads(&imported.results), streams, "{name}");
        assert_eq!(imported.unread, [], "{name}");
        for found in &imported.results {
            assert!(at(found, "/requests/ok").is_u64(), "{name}");
            let codes = codes(found);
            assert!(!codes.contains(&"inconsistent-import"), "{codes:?}");
        }
    }
}

#[test]
fn a_row_of_the_overview_that_says_otherwise_stays_and_is_told() {
    let console = text("evalscope-1.14.1-rate/console.txt");
    let other = console.replacen(
        "│ Latency (s)   │  0.294 │",
        "│ Latency (s)   │  0.394 │",
        1,
    );
    assert_ne!(console, other);
    let found = read("console.txt", &other).results;
    assert_eq!(loads(&found), [20, 20]);
    assert_eq!(codes(&found[1])[0], "inconsistent-import");
}

#[test]
fn evalscopes_pages_are_in_order_and_their_totals_are_no_result() {
    for (name, failures) in [
        ("evalscope-1.14.1-sweep", false),
        ("evalscope-1.5.0-faults", true),
    ] {
        let found = results(&format!("{name}/out/perf_report.html"));
        assert_eq!(loads(&found), [2, 4], "{name}");
        for found in &found {
            let expected = if failures {
                &["failures", "output-capped"][..]
            } else {
                &["output-capped"]
            };
            assert_eq!(codes(found), expected, "{:#?}", found.doubts);
        }
        for told in ["Total Requests", "Succeed Requests", "Total Output Tokens"] {
            let why = found[0].unread_because.get(told);
            assert_eq!(why, Some(&UnreadReason::SeveralRuns), "{name} {told}");
        }
    }
}

#[test]
fn answers_that_came_whole_are_doubted_in_each_of_evalscopes_files() {
    let folder = "evalscope-1.14.1-whole";
    for name in [
        "console.txt",
        "out/performance_summary.txt",
        "out/parallel_4_number_40",
        "out/parallel_4_number_40/benchmark_summary.json",
    ] {
        let found = one(&format!("{folder}/{name}"));
        assert!(codes(&found).contains(&"not-streamed"), "{name}");
        // EvalScope writes 0 for gaps that there were not.
        assert_eq!(at(&found, "/latency/tpot_ms"), Value::Null, "{name}");
        assert_eq!(at(&found, "/latency/itl_ms"), Value::Null, "{name}");
        if name.contains("parallel_4") || name == "console.txt" {
            assert_eq!(at(&found, "/other/TPOT (ms)"), 0.0, "{name}");
        }
    }
}

#[test]
fn the_statistics_of_conversations_are_not_those_of_requests() {
    for name in ["console.txt", "out/performance_summary.txt"] {
        let found = one(&format!("evalscope-1.14.1-turns/{name}"));
        assert_eq!(at(&found, "/latency/e2e_ms/mean"), 206.0);
        assert_eq!(at(&found, "/latency/e2e_ms/p99"), 325.0);
        let p90 = "/other/Latency (s) (per trace)/p90";
        assert_eq!(at(&found, p90), 0.657);
        assert_ne!(at(&found, "/latency/e2e_ms/p90"), 657.0);
        assert_eq!(codes(&found), ["few-samples"], "{name}");
    }
}

#[test]
fn a_rounded_mean_contradicts_nothing() {
    for found in results("evalscope-1.14.1-sla/out/performance_summary.txt") {
        assert_eq!(codes(&found), ["few-samples"], "{:#?}", found.doubts);
    }
    // 20 % more is not rounding.
    let table = text("evalscope-1.14.1-sla/out/performance_summary.txt");
    let found = read("summary.txt", &table.replace("│ 97.53 │", "│ 117.5 │")).results;
    assert_eq!(codes(&found[1])[0], "inconsistent-import");
}

#[test]
fn tokens_of_a_step_are_not_those_of_an_answer() {
    let found = one("evalscope-1.14.1-chunks.json");
    assert_eq!(at(&found, "/tokens/output_mean"), 60.0);
    assert_eq!(codes(&found), ["few-samples"; 0]);
    let why = found.unread_because.get("Avg Decoded Tok/Iter");
    assert_eq!(why, Some(&UnreadReason::UnknownName));
}

#[test]
fn an_import_that_was_kept_in_the_folder_is_not_imported_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = folder.path().join("inferometer-runs/20310101-import");
    std::fs::create_dir_all(&kept).expect("made");
    let console = text("evalscope-1.14.1-rate/console.txt");
    std::fs::write(folder.path().join("console.txt"), &console).expect("written");
    std::fs::write(kept.join("report.md"), &console).expect("written");
    std::fs::write(kept.join("import.json"), "{}").expect("written");
    let found = read_path(folder.path()).expect("results").results;
    let files: Vec<&str> = found.iter().map(|it| it.file.as_str()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(!files[0].contains(" + "), "{files:?}");
}

#[test]
fn what_aiperf_concludes_from_the_trials_of_a_sweep_is_no_run_beside_them() {
    let place = tempfile::tempdir().unwrap();
    let conclusion = place.path().join("art/aggregate/sweep_aggregate");
    std::fs::create_dir_all(&conclusion).unwrap();
    let name = "profile_export_aiperf_sweep.json";
    std::fs::copy(
        path("aiperf-0.13.0-trials").join(name),
        conclusion.join(name),
    )
    .unwrap();
    for (trial, rate) in [(1, 5.0), (1, 10.0), (2, 5.0), (2, 10.0)] {
        let folder = format!("art/profile_runs/trial_{trial:04}/rate_{rate:.1}");
        let folder = place.path().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let ttft = 100.0 + rate + f64::from(trial);
        let run = serde_json::json!({
            "request_latency": {"unit": "ms", "avg": 2.0 * ttft, "p50": 2.0 * ttft, "p99": 3.0 * ttft},
            "time_to_first_token": {"unit": "ms", "avg": ttft, "p50": ttft, "p99": 1.5 * ttft},
            "request_count": {"unit": "requests", "avg": 20.0},
            "input_config": {"phases": [{"rate": rate}]},
        });
        std::fs::write(folder.join("profile_export_aiperf.json"), run.to_string()).unwrap();
    }
    let found = read_path(place.path()).unwrap().results;
    assert_eq!(found.len(), 4, "{found:#?}");
}
