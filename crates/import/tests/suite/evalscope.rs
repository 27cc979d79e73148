//! EvalScope's console tables of today, whose parts are one result.

use inferometer_import::{ImportedResult, Tool, measured, read};
use serde_json::Value;

fn at(found: &ImportedResult, pointer: &str) -> Value {
    let found = serde_json::to_value(found).expect("a result is JSON");
    found.pointer(pointer).cloned().unwrap_or(Value::Null)
}

const SUMMARY: &str = "\
Benchmarking summary:
┌──────────────────────────┬──────────────┐
│ Metric                   │        Value │
├──────────────────────────┼──────────────┤
│ ── General ──            │              │
│ Test Duration (s)        │         40.0 │
│ Concurrency              │           20 │
│ Request Rate (req/s)     │        -1.00 │
│ Total / Success / Failed │ 100 / 85 / 15│
│ Req Throughput (req/s)   │        2.125 │
│ ── Latency ──            │              │
│ Avg Latency (s)          │         8.50 │
│ TTFT (ms)                │       310.00 │
└──────────────────────────┴──────────────┘

Percentile results:
┌────────────────┬────────┬────────┐
│ Metric         │    50% │    99% │
├────────────────┼────────┼────────┤
│ Latency (s)    │   8.40 │   9.90 │
│ TTFT (ms)      │ 300.00 │ 700.00 │
│ Output (tok/s) │  40.00 │  50.00 │
│ Decode (tok/s) │  45.00 │  55.00 │
└────────────────┴────────┴────────┘
";

const OVERVIEW: &str = "\
                Performance Overview
┏━━━━━━┳━━━━━━┳━━━━━┳━━━━━━━┳━━━━━━━━┳━━━━━━━━┓
┃Conc. ┃ Rate ┃ Num ┃   RPS ┃  Gen/s ┃ Success┃
┡━━━━━━╇━━━━━━╇━━━━━╇━━━━━━━╇━━━━━━━━╇━━━━━━━━┩
│   10 │    - │  50 │  0.90 │  90.00 │  100.0%│
│   20 │    - │ 100 │  1.50 │ 150.00 │   85.0%│
└──────┴──────┴─────┴───────┴────────┴────────┘

                Per-Request Metrics
┏━━━━━━┳━━━━━━┳━━━━━━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━┓
┃Conc. ┃ Rate ┃ Metric        ┃    avg ┃    p99 ┃
┡━━━━━━╇━━━━━━╇━━━━━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━┩
│   10 │    - │ Latency (s)   │  10.80 │  10.99 │
│      │      │ TTFT (ms)     │ 101.20 │ 140.00 │
│      │      │ Decode toks/s │  95.00 │      - │
├──────┼──────┼───────────────┼────────┼────────┤
│   20 │    - │ Latency (s)   │  12.80 │  13.99 │
│      │      │ TPOT (ms)     │  17.66 │  18.36 │
│      │      │ Output Tokens │ 100.00 │      - │
└──────┴──────┴───────────────┴────────┴────────┘
";

#[test]
fn an_overview_is_no_repeat_of_the_blocks_above_it() {
    let found = read("log", &format!("{SUMMARY}\n{OVERVIEW}")).results;
    let measured = measured(&found);
    let loads: Vec<(Value, usize)> = measured
        .iter()
        .map(|it| {
            (
                at(it.found, "/point/concurrency"),
                it.found.lines.0 as usize,
            )
        })
        .collect();
    assert_eq!(found.len(), 3);
    assert_eq!(loads, [(20.into(), 1), (10.into(), 27)]);
}

#[test]
fn the_percentiles_below_a_summary_are_of_its_load_and_failures_count() {
    let found = read("log", SUMMARY).results;
    let [result] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!((result.tool, result.lines), (Tool::Evalscope, (1, 24)));
    assert_eq!(at(result, "/point/concurrency"), 20);
    assert_eq!(at(result, "/summary/requests/planned"), 100);
    assert_eq!(at(result, "/summary/requests/failed"), 15);
    assert_eq!(at(result, "/summary/latency/ttft_ms/mean"), 310.0);
    assert_eq!(at(result, "/summary/latency/ttft_ms/p99"), 700.0);
    let speed = |name: &str| at(result, &format!("/summary/speed/{name}/p50"));
    assert_eq!(speed("per_user_tokens_per_s"), 40.0);
    assert_eq!(speed("decode_tokens_per_s"), 45.0);
    assert!(result.twice.is_empty());
    assert_eq!(result.doubts[0].code.name(), "failures");
}

#[test]
fn percentiles_are_of_the_summary_above_them_though_another_follows() {
    let first = SUMMARY.replace("│    50% │    99% │", "│    50% │    max │");
    let second = first
        .replace("│           20 │", "│           40 │")
        .replace("700.00", "900.00");
    let found = read("log", &format!("{first}\n{second}")).results;
    let longest: Vec<(Value, Value)> = found
        .iter()
        .map(|it| {
            (
                at(it, "/point/concurrency"),
                at(it, "/summary/latency/ttft_ms/max"),
            )
        })
        .collect();
    assert_eq!(
        longest,
        [(20.into(), 700.0.into()), (40.into(), 900.0.into())]
    );
}

#[test]
fn an_overview_and_the_metrics_below_it_are_one_result_for_each_load() {
    let found = read("log", OVERVIEW).results;
    let [ten, twenty] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!((ten.tool, ten.lines), (Tool::Evalscope, (2, 20)));
    let output = "/summary/throughput/output_tokens_per_s";
    assert_eq!(at(ten, output), 90.0);
    assert_eq!(at(ten, "/summary/requests/planned"), 50);
    assert_eq!(at(ten, "/summary/latency/e2e_ms/p99"), 10_990.0);
    assert_eq!(at(ten, "/summary/latency/ttft_ms/mean"), 101.2);
    let decode = "/summary/speed/decode_tokens_per_s/mean";
    assert_eq!(at(ten, decode), 95.0);
    assert_eq!(at(twenty, "/point/concurrency"), 20);
    assert_eq!(at(twenty, output), 150.0);
    assert_eq!(at(twenty, "/summary/latency/tpot_ms/p99"), 18.36);
    assert_eq!(at(twenty, "/summary/tokens/output_mean"), 100.0);
    assert_eq!(at(twenty, "/summary/latency/ttft_ms"), Value::Null);
}

#[test]
fn a_row_of_time_and_rate_tells_how_many_requests_it_is_of() {
    let table = |time: &str, rate: &str| {
        let text = format!(
            "| 指标 | 16 |\n|---|---|\n| 用时 | {time} |\n| QPS | {rate} |\n| 延迟 | 1.269 |\n| 吞吐量 | 1581.3 |\n"
        );
        let found = read("notes", &text).results.remove(0);
        let is_derived = found.derived.iter().any(|name| name == "requests.ok");
        let ok = found.summary.unwrap().requests.ok;
        assert_eq!(is_derived, ok.is_some());
        ok
    };
    assert_eq!(table("64.755", "12.354"), Some(800));
    // One digit tells no number.
    assert_eq!(table("200", "0.1"), None);
    let text = "Time taken for tests (s): 64.755\nRequest throughput (req/s): 12.354\n\
                Output token throughput (tok/s): 1581.3\nNumber of concurrency: 16\n";
    let found = &read("notes", text).results[0];
    assert_eq!(found.summary.as_ref().unwrap().requests.ok, Some(800));
}
