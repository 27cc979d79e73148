//! Every number keeps its meaning and its unit, or is not read and is named: labels that hold
//! other labels, numbers that are given twice, shares, lengths, units that nobody wrote.

#![allow(clippy::unwrap_used)]

use inferometer_import::{
    Assumption, Imported, ImportedResult, TimeUnit, Tool, measured, read, read_path,
};
use serde_json::{Value, json};

fn path(name: &str) -> String {
    format!(
        "{}/../../fixtures/import/{name}",
        env!("CARGO_MANIFEST_DIR")
    )
}

fn fixture(name: &str) -> Imported {
    let path = path(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    read(name, &text)
}

fn only(imported: Imported) -> ImportedResult {
    assert_eq!(imported.results.len(), 1, "{imported:#?}");
    imported.results.into_iter().next().expect("one is there")
}

/// A number of the summary; `null` where there is none.
fn at(found: &ImportedResult, pointer: &str) -> Value {
    let json = serde_json::to_value(&found.summary).expect("a summary is JSON");
    json.pointer(pointer).cloned().unwrap_or_default()
}

fn codes(found: &ImportedResult) -> Vec<&'static str> {
    found.doubts.iter().map(|doubt| doubt.code.name()).collect()
}

#[test]
fn time_behind_the_first_token_is_no_time_to_first_token() {
    let results = fixture("ascend.md").results;
    let expected = [
        // TTFT, TPOT, E2E, output tok/s
        [json!(120.0), json!(25.0), json!(3300.0), json!(300.0)],
        [json!(180.0), json!(30.0), json!(4000.0), json!(500.0)],
        [json!(130.0), json!(26.0), Value::Null, json!(301.0)],
        [json!(190.0), json!(31.0), Value::Null, json!(501.0)],
        [json!(55.0), json!(22.0), Value::Null, json!(45.0)],
        [json!(65.0), json!(24.0), Value::Null, json!(160.0)],
    ];
    assert_eq!(results.len(), expected.len(), "{results:#?}");
    for (found, expected) in results.iter().zip(expected) {
        let read = [
            "/latency/ttft_ms/mean",
            "/latency/tpot_ms/mean",
            "/latency/e2e_ms/mean",
            "/throughput/output_tokens_per_s",
        ]
        .map(|pointer| at(found, pointer));
        assert_eq!(read, expected, "{found:#?}");
        assert!(found.twice.is_empty(), "{:?}", found.twice);
    }
    let is_prefill = |found: &ImportedResult| {
        let mut assumed = found.assumed.iter();
        assumed.any(|it| matches!(it, Assumption::PrefillIsTtft { .. }))
    };
    let prefill: Vec<bool> = results.iter().map(is_prefill).collect();
    assert_eq!(prefill, [false, false, true, true, true, true]);
}

#[test]
fn of_two_numbers_for_one_thing_the_first_stays_and_the_other_is_doubted() {
    let text = "| 并发 | QPS | TTFT (ms) | 首token时延 (ms) |\n|---|---|---|---|\n| 8 | 2 | 120 | 150 |\n| 16 | 3 | 180 | 180.0 |\n";
    let results = read("notes", text).results;
    assert_eq!(at(&results[0], "/latency/ttft_ms/mean"), 120.0);
    assert_eq!(codes(&results[0]), ["inconsistent-import"]);
    assert!(results[0].doubts[0].text.contains("150"), "{results:#?}");
    assert_eq!(codes(&results[1]), Vec::<&str>::new(), "equal numbers");
}

#[test]
fn a_block_with_a_title_is_one_result_though_it_says_a_number_twice() {
    let vllm = only(fixture("vllm-percentiles.txt"));
    assert_eq!((vllm.tool, vllm.lines), (Tool::Vllm, (1, 33)));
    assert_eq!(at(&vllm, "/latency/ttft_ms/p50"), 1100.1);
    assert_eq!(at(&vllm, "/latency/e2e_ms/p99"), 4500.0);
    assert_eq!(at(&vllm, "/requests/ok"), 1000);
    assert!(vllm.twice.is_empty());

    let sglang = only(fixture("sglang-log.txt"));
    assert_eq!(sglang.tool, Tool::Sglang);
    assert_eq!(at(&sglang, "/requests/ok"), 1000);
    assert_eq!(at(&sglang, "/tokens/input"), 512_000);
    assert_eq!(at(&sglang, "/latency/itl_ms/max"), 350.0);
    assert_eq!(sglang.point["concurrency"], 32);
    assert!(sglang.twice.is_empty(), "{:?}", sglang.twice);
}

#[test]
fn a_titled_block_ends_where_it_begins_again() {
    let block = "============ Serving Benchmark Result ============\nSuccessful requests: 100\nBenchmark duration (s): 10.00\nRequest throughput (req/s): 10.00\nMean TTFT (ms): 50\n";
    let second = "Successful requests: 200\nBenchmark duration (s): 10.00\nRequest throughput (req/s): 20.00\n";
    let results = read("notes", &format!("{block}{second}")).results;
    let answered: Vec<Value> = results.iter().map(|it| at(it, "/requests/ok")).collect();
    assert_eq!(answered, [100, 200]);
}

#[test]
fn a_share_of_successes_gives_a_share_of_failures_and_no_counts() {
    let results = fixture("evalscope-sweep.txt").results;
    assert_eq!(results.len(), 2, "{results:#?}");
    let (sound, failing) = (&results[0], &results[1]);
    assert_eq!(at(failing, "/requests/ok"), Value::Null);
    assert_eq!(at(failing, "/requests/failed"), Value::Null);
    assert_eq!(at(failing, "/requests/failed_share"), 0.05);
    assert_eq!(failing.tool, Tool::Evalscope);
    assert_eq!(codes(failing), ["failures"]);
    assert_eq!(codes(sound), Vec::<&str>::new());
    assert_eq!(failing.point["concurrency"], 5);
    assert_eq!(failing.point["rate"], "inf");
    assert_eq!(at(failing, "/latency/e2e_ms/mean"), 8250.0);
    assert_eq!(at(failing, "/latency/e2e_ms/p99"), 9150.0);
    assert_eq!(at(failing, "/latency/ttft_ms/mean"), 120.0);
    assert_eq!(at(failing, "/throughput/output_tokens_per_s"), 625.5);

    let text = "并发数：8\nQPS：3.5\n平均延迟：2.1 秒\nSuccess: 98.5%\n";
    let found = only(read("notes", text));
    assert_eq!(at(&found, "/requests/ok"), Value::Null);
    assert_eq!(at(&found, "/requests/failed_share"), 0.015);
}

#[test]
fn the_first_token_of_some_turns_is_not_that_of_all() {
    let found = only(fixture("evalscope-turns.txt"));
    assert_eq!(found.tool, Tool::Evalscope);
    assert_eq!(at(&found, "/latency/ttft_ms/mean"), 141.1);
    assert_eq!(at(&found, "/other/First-Turn TTFT (ms)"), 300);
    assert!(!found.point.contains_key("rate"), "-1 is no rate");
    assert!(
        found.twice.is_empty() && found.doubts.is_empty(),
        "{found:#?}"
    );
    assert_eq!(found.unread, ["Decoded Tok/Iter"]);
}

#[test]
fn the_two_files_of_an_evalscope_folder_are_one_result() {
    let folder = path("evalscope-folder");
    let found = only(read_path(folder.as_ref()).unwrap());
    assert_eq!(found.tool, Tool::Evalscope);
    assert_eq!(at(&found, "/latency/ttft_ms/mean"), 141.1);
    assert_eq!(at(&found, "/latency/ttft_ms/p99"), 400.0);
    assert_eq!(at(&found, "/speed/per_user_tokens_per_s/p50"), 135.0);
    assert_eq!(at(&found, "/speed/decode_tokens_per_s/p50"), 145.0);
    assert!(found.twice.is_empty(), "{:?}", found.twice);
}

#[test]
fn first_tokens_without_a_unit_come_before_the_end() {
    for (latency, ttft, unit) in [
        (
            "平均延迟(s) | 3.3 | 4.0",
            "120 | 180",
            TimeUnit::Milliseconds,
        ),
        (
            "E2E latency (ms) | 3300 | 4000",
            "0.12 | 0.18",
            TimeUnit::Seconds,
        ),
    ] {
        for latency_first in [true, false] {
            let rows = if latency_first {
                format!("| {latency} |\n| TTFT | {ttft} |\n")
            } else {
                format!("| TTFT | {ttft} |\n| {latency} |\n")
            };
            let text = format!("| 并发 | 8 | 16 |\n|---|---|---|\n{rows}| QPS | 2.4 | 4.0 |\n");
            let results = read("notes", &text).results;
            assert_eq!(at(&results[0], "/latency/ttft_ms/mean"), 120.0, "{text}");
            assert_eq!(at(&results[1], "/latency/ttft_ms/mean"), 180.0, "{text}");
            let name = "TTFT".to_owned();
            let read_as = unit;
            assert_eq!(results[0].assumed, [Assumption::Unit { name, read_as }]);
        }
    }
}

#[test]
fn a_first_token_after_the_end_is_doubted_wherever_it_is_read() {
    let text = "QPS: 2.4\n平均延迟: 3.3 s\nTTFT: 120 s\n";
    assert_eq!(codes(&only(read("notes", text))), ["inconsistent-import"]);
}

#[test]
fn rows_of_other_lengths_or_of_one_table_are_no_repeats() {
    let results = fixture("lengths.md").results;
    let points: Vec<String> = measured(&results)
        .iter()
        .map(|it| it.point.to_string())
        .collect();
    assert_eq!(points.len(), 4);
    assert_eq!(results[0].point["input_tokens"], 1024);
    assert_eq!(results[2].point["input_tokens"], 128);
    assert_eq!(at(&results[0], "/throughput/total_tokens_per_s"), 1020.5);
    assert_eq!(at(&results[1], "/latency/ttft_ms/mean"), 1200.0);
    let distinct: std::collections::BTreeSet<&String> = points.iter().collect();
    assert_eq!(distinct.len(), 4, "{points:?}");

    let text = "| 并发 | 卡数 | QPS | TTFT (ms) |\n|---|---|---|---|\n| 8 | 1 | 2 | 90 |\n| 8 | 2 | 4 | 80 |\n";
    let results = read("notes", text).results;
    let points: Vec<String> = measured(&results)
        .iter()
        .map(|it| it.point.to_string())
        .collect();
    assert_ne!(points[0], points[1], "another column tells them apart");
    assert_eq!(results[0].label.as_deref(), Some("卡数 1"), "by its name");
    let text = text.replace("卡数", "批大小");
    let results = read("notes", &text).results;
    let points: Vec<String> = measured(&results)
        .iter()
        .map(|it| it.point.to_string())
        .collect();
    assert_ne!(points[0], points[1], "an unknown column tells them apart");
    assert_eq!(results[0].unread, ["批大小"], "and is named");
}

#[test]
fn running_numbers_and_lengths_are_no_concurrency() {
    for (corner, point) in [("#", json!({})), ("输入长度", json!({"input_tokens": 1}))] {
        let text = format!("| {corner} | QPS | TTFT (ms) |\n|---|---|---|\n| 1 | 2 | 90 |\n");
        let found = only(read("notes", &text));
        assert_eq!(json!(found.point), point, "{text}");
    }
}

#[test]
fn a_rate_without_limit_in_a_table_stays_a_load() {
    let results = fixture("rates.md").results;
    let rates: Vec<&Value> = results.iter().map(|it| &it.point["rate"]).collect();
    assert_eq!(rates, [&json!(1), &json!(4.5), &json!("inf")]);
    assert_eq!(codes(&results[2]), ["all-at-once"]);
}

#[test]
fn tokens_of_the_offline_benchmark_are_those_of_both_kinds() {
    let text = r#"{"elapsed_time": 100.5, "num_requests": 1000, "total_num_tokens": 200000, "requests_per_second": 9.95, "tokens_per_second": 1990.05}"#;
    let found = only(read("throughput.json", text));
    assert_eq!(found.tool, Tool::Vllm);
    assert_eq!(at(&found, "/throughput/total_tokens_per_s"), 1990.05);
    assert_eq!(at(&found, "/throughput/output_tokens_per_s"), Value::Null);

    let text = "Throughput: 3.2 requests/s, 1540.5 total tokens/s, 410.5 output tokens/s\nTotal num prompt tokens:  350000\nTotal num output tokens:  128000\n";
    let found = only(read("log", text));
    assert_eq!(at(&found, "/throughput/requests_per_s"), 3.2);
    assert_eq!(at(&found, "/throughput/total_tokens_per_s"), 1540.5);
    assert_eq!(at(&found, "/throughput/output_tokens_per_s"), 410.5);
}

#[test]
fn columns_of_statistics_are_one_result() {
    let found = only(fixture("aisbench.txt"));
    assert_eq!((found.tool, found.lines), (Tool::Aisbench, (1, 23)));
    assert_eq!(at(&found, "/latency/e2e_ms/mean"), 2100.5);
    assert_eq!(at(&found, "/latency/e2e_ms/p50"), 2000.5);
    assert_eq!(at(&found, "/latency/e2e_ms/n"), 400);
    assert_eq!(at(&found, "/latency/ttft_ms/p99"), Value::Null);
    assert_eq!(found.unread, ["TTFT P99"], "a broken cell is named");
    assert_eq!(at(&found, "/window_s"), 105.0);
    assert_eq!(at(&found, "/concurrency/configured"), 8);
    assert_eq!(at(&found, "/concurrency/mean"), 7.9);
    assert_eq!(at(&found, "/throughput/total_tokens_per_s"), 6478.1);
    assert_eq!(at(&found, "/speed/per_user_tokens_per_s/mean"), 95.5);
    assert_eq!(at(&found, "/tokens/input_mean"), 1500.5);

    let results = fixture("statistics.md").results;
    assert_eq!(results.len(), 2, "{results:#?}");
    for found in &results {
        assert_eq!(found.tool, Tool::MarkdownTable);
        assert_eq!(at(found, "/latency/e2e_ms/p50"), 2010.0);
        assert_eq!(at(found, "/latency/e2e_ms/p99"), 2900.0);
    }
    let below = "| 指标 | 平均 | P99 |\n|---|---|---|\n| TTFT (ms) | 120 | 350 |\n| 指标 | 引擎甲 | 引擎乙 |\n|---|---|---|\n| TTFT (ms) | 130 | 140 |\n";
    let results = read("notes", below).results;
    let means: Vec<Value> = (results.iter())
        .map(|found| at(found, "/latency/ttft_ms/mean"))
        .collect();
    assert_eq!(
        means,
        [120.0, 130.0, 140.0],
        "two tables without a line between"
    );
    let turned = "| 统计 | TTFT (ms) | E2E latency (s) |\n|---|---|---|\n| 平均 | 120 | 2.05 |\n| P99 | 350 | 2.9 |\n";
    let found = only(read("notes", turned));
    assert_eq!(at(&found, "/latency/ttft_ms/p99"), 350.0);
    assert_eq!(at(&found, "/latency/e2e_ms/mean"), 2050.0);
}

#[test]
fn tables_of_aiperf_and_genai_perf_are_one_result_each() {
    let found = only(fixture("aiperf.csv"));
    assert_eq!((found.tool, found.lines), (Tool::Aiperf, (1, 14)));
    assert_eq!(at(&found, "/latency/ttft_ms/mean"), 1250.5);
    assert_eq!(at(&found, "/latency/e2e_ms/p99"), 5500.0);
    assert_eq!(at(&found, "/latency/itl_ms/mean"), 18.5);
    assert_eq!(found.unread, [""; 0]);
    let chunks = at(&found, "/other/Inter Chunk Latency (ms)/avg");
    assert_eq!(chunks, 19.5, "no latency of requests");
    assert_eq!(at(&found, "/requests/ok"), 1000);
    assert_eq!(at(&found, "/throughput/output_tokens_per_s"), 1164.8);
    assert_eq!(at(&found, "/tokens/output_mean"), 128.0);
    assert_eq!(at(&found, "/window_s"), 109.89);

    let found = only(fixture("genai-perf.txt"));
    assert_eq!(found.tool, Tool::Aiperf);
    assert_eq!(at(&found, "/latency/ttft_ms/p99"), 19.25);
    assert_eq!(at(&found, "/throughput/requests_per_s"), 2.0);
    assert_eq!(at(&found, "/requests/ok"), 40);
    assert!(
        !found.point.contains_key("input_tokens"),
        "a mean, no setting"
    );
}

#[test]
fn a_latency_of_something_else_is_not_that_of_requests() {
    for name in [
        "Queue latency (ms)",
        "Inter Chunk Latency (ms)",
        "网络时延(ms)",
    ] {
        let text = format!("| 并发 | 8 |\n|---|---|\n| QPS | 2 |\n| {name} | 5 |\n");
        let found = only(read("notes", &text));
        assert_eq!(at(&found, "/latency/e2e_ms"), Value::Null, "{name}");
        // Times in queues are kept under their names.
        if name.starts_with("Queue") {
            assert_eq!(found.summary.unwrap().other[name], 5);
        } else {
            assert_eq!(found.unread, [name]);
        }
    }
    for name in [
        "平均耗时(s)",
        "Avg Lat.(s)",
        "请求平均响应时间(s)",
        "End-to-end latency (s)",
    ] {
        let text = format!("| 并发 | 8 |\n|---|---|\n| QPS | 2 |\n| {name} | 4 |\n");
        let found = only(read("notes", &text));
        assert_eq!(at(&found, "/latency/e2e_ms/mean"), 4000.0, "{name}");
    }
}

#[test]
fn an_assumption_of_an_older_import_is_still_read() {
    let old: Vec<Assumption> = serde_json::from_value(json!(["`TTFT` has no unit"])).unwrap();
    assert_eq!(old, [Assumption::Text("`TTFT` has no unit".to_owned())]);
    let name = "TTFT".to_owned();
    let read_as = TimeUnit::Seconds;
    let new = json!([Assumption::Unit { name, read_as }]);
    assert_eq!(
        new,
        json!([{"kind": "unit", "name": "TTFT", "read_as": "seconds"}])
    );
}
