//! Files that the real tools wrote, walked number by number: each is in the result, equal to the
//! file's own, or named as not read. Made against `inferometer sim --ttft 30ms --itl 5ms`, 40
//! requests at concurrency 4; those called `faults` with errors and cut answers.

use inferometer_import::{ImportedResult, read, read_path};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

pub(super) fn path(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/import");
    PathBuf::from(folder).join(name)
}

pub(super) fn text(name: &str) -> String {
    std::fs::read_to_string(path(name)).expect(name)
}

pub(super) fn one(name: &str) -> ImportedResult {
    let imported = read_path(&path(name)).expect(name);
    let [result] = imported.results.as_slice() else {
        panic!("{name}: {} results", imported.results.len())
    };
    result.clone()
}

pub(super) fn at(found: &ImportedResult, pointer: &str) -> Value {
    let json = serde_json::to_value(found.summary.as_ref()).expect("JSON");
    json.pointer(pointer)
        .cloned()
        .unwrap_or_else(|| panic!("no {pointer} in {json:#}"))
}

/// Every number of a result, of all its parts.
pub(super) fn numbers(value: &Value, into: &mut Vec<f64>) {
    match value {
        Value::Number(number) => into.extend(number.as_f64()),
        Value::Array(values) => values.iter().for_each(|value| numbers(value, into)),
        Value::Object(values) => values.values().for_each(|value| numbers(value, into)),
        _ => {}
    }
}

/// Fails on numbers of a file that are not in the result, in the file's unit or in ours.
pub(super) fn all_are_in(found: &ImportedResult, told: impl IntoIterator<Item = (String, f64)>) {
    let mut own = Vec::new();
    numbers(&serde_json::to_value(found).expect("JSON"), &mut own);
    let is_in = |value: f64| {
        let scaled = [value, value * 1000.0, value / 100.0];
        let near = |own: f64, value: f64| (own - value).abs() <= 1e-9 * value.abs().max(1e-9);
        own.iter()
            .any(|own| scaled.iter().any(|value| near(*own, *value)))
    };
    let told: Vec<(String, f64)> = told.into_iter().collect();
    assert!(told.len() > 20, "{}: {} numbers", found.file, told.len());
    let lost: BTreeSet<String> = told
        .into_iter()
        .filter(|(name, value)| !is_in(*value) && !found.unread.contains(name))
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    assert!(lost.is_empty(), "{}: {lost:#?}", found.file);
}

/// The same for the block of lines `name: number` that ends a text of vLLM or SGLang.
pub(super) fn all_of_the_block_are_in(found: &ImportedResult) {
    let file = text(&found.file);
    let from = file.find("Serving Benchmark Result").expect("a block");
    let lines = file[from..].lines().filter_map(|line| line.split_once(':'));
    let told = lines.filter_map(|(name, value)| Some((name.to_owned(), number(value)?)));
    all_are_in(found, told);
}

/// Cells between a separator, without those in quotes.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().expect("one").push(c),
        }
    }
    cells
}

pub(super) fn number(cell: &str) -> Option<f64> {
    cell.trim()
        .trim_end_matches('*')
        .replace(',', "")
        .parse()
        .ok()
}

#[test]
fn every_number_of_aiperfs_csv_and_console_is_read() {
    for name in [
        "aiperf-0.13.0",
        "aiperf-0.13.0-faults",
        "aiperf-0.3.0",
        "aiperf-0.3.0-faults",
    ] {
        let csv = format!("{name}/profile_export_aiperf.csv");
        let found = one(&csv);
        assert_eq!(found.unread, [""; 0], "{csv}");
        let file = text(&csv);
        let rows = file
            .lines()
            .take_while(|line| !line.starts_with("Endpoint,"));
        let told = rows
            .filter(|line| !line.starts_with("Metric,"))
            .flat_map(|line| {
                let row = cells(line);
                let name = row[0].clone();
                let values: Vec<f64> = row[1..].iter().filter_map(|cell| number(cell)).collect();
                values.into_iter().map(move |value| (name.clone(), value))
            });
        all_are_in(&found, told);

        let console = format!("{name}/profile_export_console.txt");
        let found = one(&console);
        let file = text(&console);
        let rows = file.lines().filter(|line| line.starts_with('│'));
        let told = rows.flat_map(|line| {
            let row: Vec<&str> = line.trim_matches('│').split('│').map(str::trim).collect();
            let values = row.iter().skip(1).filter(|_| row.len() == 8);
            let values: Vec<f64> = values.filter_map(|cell| number(cell)).collect();
            let name = row[0].to_owned();
            values.into_iter().map(move |value| (name.clone(), value))
        });
        all_are_in(&found, told);
    }
}

#[test]
fn aiperfs_metrics_are_what_aiperf_means() {
    for file in ["profile_export_aiperf.csv", "profile_export_console.txt"] {
        let found = one(&format!("aiperf-0.13.0/{file}"));
        assert_eq!(at(&found, "/latency/tpot_ms/mean"), 1.86, "{file}");
        assert_eq!(at(&found, "/latency/itl_ms/mean"), 1.86);
        assert_eq!(at(&found, "/latency/ttft_ms/mean"), 39.06);
        assert_eq!(at(&found, "/latency/e2e_ms/p99"), 206.81);
        assert_eq!(at(&found, "/tokens/input_mean"), 300.0);
        assert_eq!(at(&found, "/tokens/output_mean"), 85.15);
        assert_eq!(at(&found, "/speed/decode_tokens_per_s/p50"), 552.95);
        assert_eq!(at(&found, "/speed/per_user_tokens_per_s/p50"), 439.43);
        assert_eq!(at(&found, "/throughput/input_tokens_per_s"), 5467.15);
        assert_eq!(at(&found, "/concurrency/mean"), 3.54);
        assert_eq!(at(&found, "/requests/ok"), 40);
        assert_eq!(at(&found, "/requests/failed"), 0);
        let codes: Vec<_> = found.doubts.iter().map(|doubt| doubt.code.name()).collect();
        assert_eq!(codes, ["few-samples"], "{file}: {:#?}", found.doubts);
    }
    for file in [
        "profile_export_aiperf.csv",
        "profile_export_console.txt",
        "profile_export_aiperf.json",
        "profile_export.jsonl",
    ] {
        let found = one(&format!("aiperf-0.13.0-faults/{file}"));
        assert_eq!(at(&found, "/requests/ok"), 34, "{file}");
        assert_eq!(at(&found, "/requests/failed"), 6, "{file}");
        let codes: Vec<_> = found.doubts.iter().map(|doubt| doubt.code.name()).collect();
        assert_eq!(
            codes,
            ["failures", "few-samples"],
            "{file}: {:#?}",
            found.doubts
        );
        assert!(
            found.doubts[0].text.contains("6 of 40"),
            "{:?}",
            found.doubts[0]
        );
    }
}

#[test]
fn every_number_of_aiperfs_json_is_read() {
    let file = "aiperf-0.13.0-faults/profile_export_aiperf.json";
    let found = one(file);
    let object: Value = serde_json::from_str(&text(file)).expect("JSON");
    let told = object
        .as_object()
        .expect("object")
        .iter()
        .flat_map(|(name, stats)| {
            let mut values = Vec::new();
            if stats.get("unit").is_some() {
                numbers(stats, &mut values);
            }
            values.into_iter().map(move |value| (name.clone(), value))
        });
    all_are_in(&found, told);
    assert_eq!(found.point["concurrency"], 4);
    assert_eq!(found.label.as_deref(), Some("sim"));
    let output = &object["input_token_throughput"]["avg"];
    assert_eq!(&at(&found, "/throughput/input_tokens_per_s"), output);
    assert!(!found.derived.iter().any(|name| name.contains("throughput")));
    assert!(found.client_command.is_some());
}

#[test]
fn every_number_of_guidellms_console_is_read() {
    for name in ["guidellm-0.8.1", "guidellm-0.8.1-faults"] {
        let console = format!("{name}/console.txt");
        let found = one(&console);
        let file = text(&console);
        let rows = file
            .lines()
            .filter(|line| line.starts_with("| concurrent@4"));
        let told = rows.flat_map(|line| {
            let row = line
                .split('|')
                .skip(2)
                .map(str::to_owned)
                .collect::<Vec<_>>();
            row.into_iter().flat_map(|cell| {
                let parts: Vec<f64> = cell.split('±').filter_map(number).collect();
                parts.into_iter().map(move |value| (cell.clone(), value))
            })
        });
        all_are_in(&found, told);
        assert_eq!(found.point["concurrency"], 4);
    }
}

#[test]
fn every_number_of_guidellms_csv_is_read() {
    for name in ["guidellm-0.8.1", "guidellm-0.8.1-faults"] {
        let csv = format!("{name}/benchmarks.csv");
        let found = one(&csv);
        let file = text(&csv);
        let names: Vec<Vec<String>> = file.lines().take(3).map(cells).collect();
        let row = cells(file.lines().nth(3).expect("a row"));
        let told = row.iter().enumerate().flat_map(|(column, cell)| {
            let name = names
                .iter()
                .map(|line| line[column].as_str())
                .collect::<Vec<_>>()
                .join(" ");
            // Settings, which are no results.
            let list = name.contains("Percentiles") || name.contains("Mean CI");
            let values: Vec<f64> = if list {
                cell.trim_matches(['[', ']'])
                    .split(',')
                    .filter_map(number)
                    .collect()
            } else {
                number(cell).into_iter().collect()
            };
            values.into_iter().map(move |value| (name.clone(), value))
        });
        all_are_in(&found, told);
    }
}

#[test]
fn every_number_of_guidellms_page_is_read() {
    for name in ["guidellm-0.8.1", "guidellm-0.8.1-faults"] {
        let page = format!("{name}/benchmarks.html");
        let found = one(&page);
        let file = text(&page);
        let from = file.find("window.GUIDELLM_REPORT = ").expect("the report") + 25;
        let mut objects = serde_json::Deserializer::from_str(&file[from..]).into_iter::<Value>();
        let report = objects.next().expect("an object").expect("JSON");
        let mut values = Vec::new();
        numbers(&report["runs"], &mut values);
        numbers(&report["details"]["modality_sections"], &mut values);
        all_are_in(
            &found,
            values.into_iter().map(|value| (String::new(), value)),
        );
        assert_eq!(at(&found, "/requests/planned"), 40);
    }
}

#[test]
fn guidellms_files_of_one_run_agree() {
    for name in ["guidellm-0.8.1", "guidellm-0.8.1-faults"] {
        let json = one(&format!("{name}/benchmarks.json"));
        let csv = one(&format!("{name}/benchmarks.csv"));
        for pointer in [
            "/throughput",
            "/concurrency",
            "/requests",
            "/latency/ttft_ms/mean",
            "/latency/e2e_ms/p99",
            "/latency/tpot_ms/p99",
            "/tokens/input_mean",
        ] {
            assert_eq!(at(&csv, pointer), at(&json, pointer), "{name} {pointer}");
        }
        let console = one(&format!("{name}/console.txt"));
        let ttft = at(&console, "/latency/ttft_ms/mean")
            .as_f64()
            .expect("mean");
        let exact = at(&json, "/latency/ttft_ms/mean").as_f64().expect("mean");
        assert!((ttft - exact).abs() <= 0.05, "{ttft} {exact}");
        assert_eq!(
            at(&console, "/requests/failed"),
            at(&json, "/requests/failed")
        );
    }
}

#[test]
fn vllms_warning_is_not_its_command() {
    for (name, ok) in [("vllm-0.32.0", 40), ("vllm-0.32.0-faults", 33)] {
        let found = one(&format!("{name}.txt"));
        let command = found.client_command.clone().unwrap_or_default();
        assert!(command.contains("--num-prompts 40"), "{command}");
        assert_eq!(at(&found, "/requests/planned"), 40);
        assert_eq!(at(&found, "/requests/ok"), ok);
        let codes: Vec<_> = found.doubts.iter().map(|doubt| doubt.code.name()).collect();
        assert!(!codes.contains(&"lost-requests"), "{codes:?}");
        all_of_the_block_are_in(&found);
    }
}

#[test]
fn every_number_of_vllms_json_is_read() {
    for name in [
        "vllm-0.32.0.json",
        "vllm-0.32.0-faults.json",
        "vllm-rs-0.32.0.json",
        "vllm-rs-0.32.0-faults.json",
        "vllm-0.11.1.json",
        "vllm-0.11.1-faults.json",
    ] {
        let found = one(name);
        let object: Value = serde_json::from_str(&text(name)).expect("JSON");
        let told = object.as_object().expect("object").iter();
        all_are_in(&found, told.flat_map(|(name, value)| named(name, value)));
        assert_eq!(found.point["concurrency"], 4);
    }
}

#[test]
fn every_number_of_vllms_rust_client_is_read() {
    for (name, ok) in [("vllm-rs-0.32.0", 40), ("vllm-rs-0.32.0-faults", 30)] {
        let found = one(&format!("{name}.txt"));
        assert_eq!(at(&found, "/requests/ok"), ok);
        assert_eq!(at(&found, "/requests/failed"), 40 - ok);
        let file = text(&format!("{name}.txt"));
        let lines = file.lines().filter_map(|line| line.split_once(':'));
        let told = lines.filter_map(|(name, value)| Some((name.to_owned(), number(value)?)));
        all_are_in(&found, told);
        let saved = one(&format!("{name}.json"));
        let mean = |of: &ImportedResult| at(of, "/latency/ttft_ms/mean").as_f64().expect("mean");
        assert!((mean(&saved) - mean(&found)).abs() <= 0.005);
    }
}

#[test]
fn every_number_of_evalscopes_json_is_read() {
    for name in ["evalscope-1.14.1", "evalscope-1.14.1-faults"] {
        let folder = format!("{name}/parallel_4_number_40");
        let found = one(&folder);
        let mut told = Vec::new();
        for file in ["benchmark_summary.json", "benchmark_percentile.json"] {
            let value = serde_json::from_str(&text(&format!("{folder}/{file}"))).expect("JSON");
            let objects = match value {
                Value::Array(rows) => rows,
                object => vec![object],
            };
            for object in &objects {
                let object = object.as_object().expect("object").iter();
                // A rate of -1 is no limit.
                let told_of = object.filter(|(name, _)| *name != "Request Rate (req/s)");
                told.extend(told_of.flat_map(|(name, value)| named(name, value)));
            }
        }
        all_are_in(&found, told);
    }
}

fn named(name: &str, value: &Value) -> Vec<(String, f64)> {
    let mut values = Vec::new();
    numbers(value, &mut values);
    values
        .into_iter()
        .map(|value| (name.to_owned(), value))
        .collect()
}

#[test]
fn a_steady_state_block_belongs_to_the_result_above_it() {
    let block = "============ Serving Benchmark Result ============\n\
        Successful requests:                     40\nFailed requests: 0\n\
        Maximum request concurrency:             4\nBenchmark duration (s): 2.00\n\
        Request throughput (req/s):              20.00\n\
        Mean TTFT (ms):                          30.00\n\
        ============================================================\n\
        Warning: the window is short\n\
        ============ Steady-State Metrics =============\n\
        Concurrency threshold:              >= 0.90 * 4 = 4\n\
        Window:                             0.3s -> 1.8s  (1.5s)\n\
        Requests started in window:         30 / 40 (75.0%)\n\
        -----------------------------------------------\n\
        Request throughput (req/s):         21.50\n\
        Output token throughput (tok/s):    688.00\n\
        -----------------------------------------------\n\
        Mean TTFT (ms):                     31.25\nMedian TTFT (ms): 31.00\n\
        -----------------------------------------------\n\
        Mean TPOT (ms):                     5.10\nP99 TPOT (ms): 5.60\n\
        ===============================================\n";
    let imported = read("notes", block);
    let [found] = imported.results.as_slice() else {
        panic!("{imported:#?}")
    };
    assert!(imported.unread.is_empty(), "{:?}", imported.unread);
    assert_eq!(at(found, "/throughput/requests_per_s"), 20.0);
    assert_eq!(at(found, "/latency/ttft_ms/mean"), 30.0);
    assert_eq!(at(found, "/latency/tpot_ms"), Value::Null);
    let other = &found.summary.as_ref().expect("numbers").other;
    assert_eq!(other["steady state: Request throughput (req/s)"], 21.5);
    assert_eq!(other["steady state: P99 TPOT (ms)"], 5.6);
    assert_eq!(other["steady state: Window"], "0.3s -> 1.8s  (1.5s)");
}

#[test]
fn evalscopes_database_has_evalscopes_percentiles() {
    for name in ["evalscope-1.14.1", "evalscope-1.14.1-faults"] {
        let folder = format!("{name}/parallel_4_number_40");
        let found = one(&format!("{folder}/benchmark_data.db"));
        let file = text(&format!("{folder}/benchmark_percentile.json"));
        let rows: Value = serde_json::from_str(&file).expect("JSON");
        for row in rows.as_array().expect("rows") {
            let rank = row["Percentiles"].as_str().expect("a rank");
            let key = match rank.strip_suffix('%') {
                Some(rank) => format!("p{rank}"),
                None => rank.to_owned(),
            };
            for (column, place, factor) in [
                ("Latency (s)", "e2e_ms", 1000.0),
                ("TTFT (ms)", "ttft_ms", 1.0),
                ("TPOT (ms)", "tpot_ms", 1.0),
            ] {
                let theirs = row[column].as_f64().expect(column) * factor;
                let ours = at(&found, &format!("/latency/{place}/{key}")).as_f64();
                let near = ours.is_some_and(|ours| (ours - theirs).abs() <= 6e-5 * factor);
                assert!(near, "{name} {column} {rank}: {theirs} and {ours:?}");
            }
        }
    }
}

#[test]
fn evalscopes_page_is_one_result_at_its_concurrency() {
    let found = one("evalscope-1.14.1/perf_report.html");
    assert_eq!(found.point["concurrency"], 4);
    assert_eq!(at(&found, "/concurrency/configured"), 4);
    assert_eq!(at(&found, "/latency/ttft_ms/p95"), 54.9047);
    assert_eq!(at(&found, "/throughput/output_tokens_per_s"), 636.67);
}

#[test]
fn the_files_of_one_run_are_one_result() {
    for name in [
        "aiperf-0.13.0",
        "aiperf-0.13.0-faults",
        "aiperf-0.3.0",
        "aiperf-0.3.0-faults",
        "guidellm-0.8.1",
        "guidellm-0.8.1-faults",
        "evalscope-1.14.1",
        "evalscope-1.14.1-faults",
    ] {
        let found = one(name);
        assert!(found.file.contains(" + "), "{}", found.file);
        assert_eq!(found.point["concurrency"], 4);
        assert!(found.twice.is_empty(), "{name}: {:?}", found.twice);
        let codes: Vec<_> = found.doubts.iter().map(|doubt| doubt.code.name()).collect();
        assert!(
            !codes.contains(&"inconsistent-import"),
            "{name}: {:#?}",
            found.doubts
        );
    }
}

#[test]
fn repeats_in_one_folder_stay_apart_and_contradictions_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let saved = text("vllm-0.32.0.json");
    let other = text("vllm-0.32.0-faults.json");
    std::fs::write(folder.path().join("a.json"), &saved).expect("written");
    std::fs::write(folder.path().join("b.json"), &other).expect("written");
    std::fs::write(folder.path().join("a.txt"), text("vllm-0.32.0.txt")).expect("written");
    let imported = read_path(folder.path()).expect("results");
    assert_eq!(imported.results.len(), 2, "{imported:#?}");
    assert!(imported.results[0].file.ends_with("a.json + a.txt"));

    let folder = tempfile::tempdir().expect("a folder");
    let csv = text("aiperf-0.13.0/profile_export_aiperf.csv");
    let csv = csv.replace(
        "Request Latency (ms),194.00,",
        "Request Latency (ms),294.00,",
    );
    let json = text("aiperf-0.13.0/profile_export_aiperf.json");
    std::fs::write(folder.path().join("profile_export_aiperf.csv"), csv).expect("written");
    std::fs::write(folder.path().join("profile_export_aiperf.json"), json).expect("written");
    let imported = read_path(folder.path()).expect("results");
    let [found] = imported.results.as_slice() else {
        panic!("{}", imported.results.len())
    };
    let told: Vec<_> = found
        .twice
        .iter()
        .map(|it| (it.name.as_str(), it.ignored))
        .collect();
    assert_eq!(
        told,
        [("latency.e2e_ms.mean (profile_export_aiperf.csv)", 294.0)]
    );
}

#[test]
fn releases_of_a_year_ago_are_read_as_well() {
    let found = one("aiperf-0.3.0-faults");
    assert_eq!(at(&found, "/requests/planned"), 40);
    assert_eq!(at(&found, "/requests/ok"), 30);
    assert_eq!(at(&found, "/requests/failed"), 10);
    let found = one("guidellm-0.3.1-faults.json");
    assert_eq!(found.point["concurrency"], 4);
    assert_eq!(at(&found, "/requests/ok"), 33);
    assert_eq!(at(&found, "/requests/failed"), 7);
    for (name, failed) in [("evalscope-1.2.0", 0), ("evalscope-1.2.0-faults", 11)] {
        let found = one(name);
        assert_eq!(at(&found, "/requests/ok"), 40 - failed);
        assert_eq!(at(&found, "/requests/failed"), failed);
        let file = |file: &str| -> Value {
            serde_json::from_str(&text(&format!("{name}/{file}"))).expect("JSON")
        };
        let mut objects = vec![file("benchmark_summary.json")];
        let rows = file("benchmark_percentile.json");
        objects.extend(rows.as_array().expect("rows").iter().cloned());
        // Input and output of one request together, a second: told as not read.
        assert_eq!(found.unread, ["Total (tok/s)"]);
        let told = (objects.iter())
            .flat_map(|object| object.as_object().expect("object"))
            .filter(|(name, _)| !matches!(name.as_str(), "Total (tok/s)" | "Percentiles"));
        all_are_in(&found, told.flat_map(|(name, value)| named(name, value)));
    }
}

#[test]
fn what_evalscope_logs_on_its_way_is_no_result_unless_nothing_follows() {
    let log = text("evalscope-1.2.0/benchmark.log");
    let whole = read("benchmark.log", &log).results;
    assert_eq!(whole.len(), 1, "{whole:?}");
    assert_eq!(at(&whole[0], "/requests/ok"), 40);
    let summary = log.find("Benchmarking summary").expect("a summary");
    let cut = read("benchmark.log", &log[..summary]).results;
    assert_eq!(cut.len(), 1, "{cut:?}");
    assert_eq!(at(&cut[0], "/requests/ok"), 40);
    // A run that was ended, and another one after it in the same log.
    let half = log.find("\"Succeed requests\": 30").expect("so far");
    let half = log[..half].rfind("2026-").expect("its line");
    let two = read("benchmark.log", &format!("{}{log}", &log[..half])).results;
    let answered: Vec<_> = two.iter().map(|it| at(it, "/requests/ok")).collect();
    assert_eq!(answered, [20, 40]);
}
