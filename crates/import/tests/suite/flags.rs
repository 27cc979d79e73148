//! Each flag of impossible data: raised by its cause and by nothing else, in every form of text
//! in which people keep results.

use inferometer_import::{ImportedResult, doubts, read};
use inferometer_text::Lang;

fn codes(found: &ImportedResult) -> Vec<&'static str> {
    found.doubts.iter().map(|doubt| doubt.code.name()).collect()
}

fn all_codes(text: &str) -> Vec<&'static str> {
    let imported = read("notes", text);
    assert!(!imported.results.is_empty(), "{text}");
    imported.results.iter().flat_map(codes).collect()
}

/// 16 streams, 1000 requests of 2 s and 100 tokens.
const EVALSCOPE_2024: &str = "\
Benchmarking summary:
 Time taken for tests: 125.600 seconds
 Expected number of requests: 1000
 Number of concurrency: 16
 Total requests: 1000
 Succeed requests: 1000
 Failed requests: 0
 Average QPS: 7.962
 Average latency: 2.000
 Throughput(average output tokens per second): 796.200
 Average time to first token: 0.120
 Average input tokens per request: 210.437
 Average output tokens per request: 100.000
 Average time per output token: 0.01900
 Average package per request: 99.100
 Average package latency: 0.020
 Percentile of time to first token:
     p50: 0.1100
     p90: 0.1800
     p99: 0.2400
 Percentile of request latency:
     p50: 1.9800
     p90: 2.2000
     p99: 2.4000
";

/// The same as vLLM prints it today.
const VLLM: &str = "\
============ Serving Benchmark Result ============
Successful requests:                     1000
Failed requests:                         0
Maximum request concurrency:             16
Benchmark duration (s):                  125.60
Total input tokens:                      210437
Total generated tokens:                  100000
Request throughput (req/s):              7.96
Output token throughput (tok/s):         796.18
Peak output token throughput (tok/s):    912.00
Peak concurrent requests:                22.00
Total token throughput (tok/s):          2471.63
---------------Time to First Token----------------
Mean TTFT (ms):                          120.00
Median TTFT (ms):                        110.00
P90 TTFT (ms):                           180.00
P99 TTFT (ms):                           240.00
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          19.00
Median TPOT (ms):                        18.90
P90 TPOT (ms):                           20.10
P99 TPOT (ms):                           21.00
----------------End-to-end Latency----------------
Mean E2EL (ms):                          2000.00
Median E2EL (ms):                        1980.00
P90 E2EL (ms):                           2200.00
P99 E2EL (ms):                           2400.00
==================================================
";

/// The same as EvalScope prints it today.
const EVALSCOPE: &str = "\
+-----------------------------------+-----------+
| Key                               |     Value |
+===================================+===========+
| Time taken for tests (s)          |  125.6    |
| Number of concurrency             |   16      |
| Total requests                    | 1000      |
| Succeed requests                  | 1000      |
| Failed requests                   |    0      |
| Output token throughput (tok/s)   |  796.2    |
| Total token throughput (tok/s)    | 2471.7    |
| Request throughput (req/s)        |    7.962  |
| Average latency (s)               |    2.0    |
| Average time to first token (s)   |    0.12   |
| Average time per output token (s) |    0.019  |
| Average input tokens per request  |  210.437  |
| Average output tokens per request |  100.0    |
+-----------------------------------+-----------+
";

/// The same in a table with a column a concurrency, as it is kept in notes.
const TABLE: &str = "\
| 并发数 | 8 | 16 |
| --- | --- | --- |
| 期望请求数 | 1000 | 1000 |
| 成功请求数 | 1000 | 1000 |
| 失败请求数 | 0 | 0 |
| 总耗时(s) | 242.0 | 125.6 |
| QPS | 4.132 | 7.962 |
| 平均延迟(s) | 1.930 | 2.000 |
| 输出吞吐量(tok/s) | 413.2 | 796.2 |
| 首token时延(s) | 0.100 | 0.120 |
| 平均输出token数 | 100 | 100 |
| 延迟p50(s) | 1.90 | 1.98 |
| 延迟p90(s) | 2.10 | 2.20 |
| 延迟p99(s) | 2.30 | 2.40 |
";

/// The same as a study of lengths logs a cell.
const GRID: &str = "\
[2031-01-02 03:04:05,678][261][INFO] chunk_size: 300, generate_size: 700
[2031-01-02 03:14:05,678][243][INFO] 总测试文本块数目: 1000
[2031-01-02 03:14:05,678][244][INFO] 并发: 16
[2031-01-02 03:14:05,678][46][INFO] duration: 125.6
[2031-01-02 03:14:05,678][48][INFO] completion-tokens/second: 796.2
[2031-01-02 03:14:05,678][51][INFO] total completion tokens: 100000
[2031-01-02 03:14:05,678][52][INFO] completion tokens per request: 100.0
[2031-01-02 03:14:05,678][53][INFO] n-request: 1000
[2031-01-02 03:14:05,678][54][INFO] QPS: 7.962
[2031-01-02 03:14:05,678][55][INFO] tokens-speed-per-request/second(终端用户视角): 50.0
";

#[test]
fn sound_results_raise_no_doubt_in_any_form() {
    for text in [EVALSCOPE_2024, VLLM, EVALSCOPE, TABLE, GRID] {
        let imported = read("notes", text);
        for found in &imported.results {
            assert!(found.doubts.is_empty(), "{text}\n{:#?}", found.doubts);
            assert!(found.summary.as_ref().unwrap().valid);
        }
        assert!(imported.unread.is_empty(), "{text}\n{:?}", imported.unread);
    }
}

/// A change of a text: what stands there, and what instead.
type Change<'a> = (&'a str, &'a str);

#[test]
fn each_flag_is_raised_by_its_cause() {
    let cases: &[(&str, &str, &[Change<'_>])] = &[
        (
            "lost-requests",
            EVALSCOPE_2024,
            &[
                ("Total requests: 1000", "Total requests: 984"),
                ("Succeed requests: 1000", "Succeed requests: 984"),
            ],
        ),
        (
            "lost-requests",
            EVALSCOPE_2024,
            &[
                ("Total requests: 1000", "Total requests: 984"),
                ("Succeed requests: 1000", "Succeed requests: 980"),
                ("Failed requests: 0", "Failed requests: 4"),
            ],
        ),
        (
            "lost-requests",
            EVALSCOPE_2024,
            &[
                ("Total requests: 1000", "Total requests: 984"),
                ("Succeed requests: 1000", "Succeed requests: 984"),
                (" Failed requests: 0\n", ""),
            ],
        ),
        (
            "lost-requests",
            TABLE,
            &[("成功请求数 | 1000 | 1000", "成功请求数 | 1000 | 984")],
        ),
        (
            "lost-requests",
            TABLE,
            &[
                ("成功请求数 | 1000 | 1000", "成功请求数 | 1000 | 984"),
                ("失败请求数 | 0 | 0", "失败请求数 | 0 | -"),
            ],
        ),
        (
            "lost-requests",
            GRID,
            &[("n-request: 1000", "n-request: 984")],
        ),
        (
            "lost-requests",
            EVALSCOPE,
            &[(
                "Succeed requests                  | 1000",
                "Succeed requests                  |  984",
            )],
        ),
        (
            "shrunk-concurrency",
            EVALSCOPE_2024,
            &[("concurrency: 16", "concurrency: 64")],
        ),
        (
            "shrunk-concurrency",
            VLLM,
            &[("concurrency:             16", "concurrency:             64")],
        ),
        ("shrunk-concurrency", EVALSCOPE, &[("|   16 ", "|   64 ")]),
        ("shrunk-concurrency", TABLE, &[("| 8 | 16 |", "| 8 | 64 |")]),
        ("shrunk-concurrency", GRID, &[("并发: 16", "并发: 64")]),
        (
            "not-streamed",
            EVALSCOPE_2024,
            &[
                ("first token: 0.120", "first token: 2.000"),
                ("0.1100", "1.9800"),
                ("0.1800", "2.2000"),
                ("0.2400", "2.4000"),
            ],
        ),
        ("not-streamed", EVALSCOPE, &[("|    0.12 ", "|    2.0  ")]),
        ("not-streamed", TABLE, &[("0.100 | 0.120", "0.100 | 2.000")]),
        (
            "not-a-distribution",
            EVALSCOPE_2024,
            &[("0.1800", "0.1100"), ("0.2400", "0.1100")],
        ),
        (
            "not-a-distribution",
            VLLM,
            &[("20.10", "18.90"), ("21.00", "18.90")],
        ),
        (
            "not-a-distribution",
            TABLE,
            &[
                ("2.10 | 2.20", "2.10 | 1.98"),
                ("2.30 | 2.40", "2.30 | 1.98"),
            ],
        ),
        (
            "disordered-percentiles",
            EVALSCOPE_2024,
            &[("p90: 2.2000", "p90: 2.5000")],
        ),
        (
            "disordered-percentiles",
            VLLM,
            &[(
                "P90 TTFT (ms):                           180.00",
                "P90 TTFT (ms):                           280.00",
            )],
        ),
        (
            "disordered-percentiles",
            TABLE,
            &[("2.30 | 2.40", "2.30 | 2.10")],
        ),
        (
            "inconsistent-import",
            EVALSCOPE_2024,
            &[("796.200", "896.200")],
        ),
        (
            "inconsistent-import",
            VLLM,
            &[("(tok/s):         796.18", "(tok/s):         896.18")],
        ),
        ("inconsistent-import", EVALSCOPE, &[("796.2 ", "896.2 ")]),
        (
            "inconsistent-import",
            TABLE,
            &[("413.2 | 796.2", "413.2 | 896.2")],
        ),
        (
            "inconsistent-import",
            GRID,
            &[("second: 796.2", "second: 896.2")],
        ),
    ];
    for (code, text, changes) in cases {
        assert!(
            !all_codes(text).contains(code),
            "{code} without cause in\n{text}"
        );
        let mut changed = (*text).to_owned();
        for (from, to) in *changes {
            assert!(changed.contains(from), "{from:?} is not in\n{text}");
            changed = changed.replace(from, to);
        }
        let found = all_codes(&changed);
        assert!(
            found.contains(code),
            "{code} is not in {found:?} of\n{changed}"
        );
    }
}

#[test]
fn requests_that_a_command_asked_for_and_no_block_has_are_lost() {
    let notes = |ok: &str| {
        let block = VLLM.replace("Successful requests:                     1000", ok);
        format!(
            "```\nvllm bench serve --model m --num-prompts 1000 --max-concurrency 16\n{block}```\n"
        )
    };
    assert!(
        all_codes(&notes("Successful requests:                     984"))
            .contains(&"lost-requests")
    );
    assert!(
        !all_codes(&notes("Successful requests:                     1000"))
            .contains(&"lost-requests")
    );
}

#[test]
fn a_speed_that_falls_with_its_percentile_is_no_disorder() {
    let json = r#"{"Percentiles": ["10%", "50%", "99%"], "TTFT (ms)": [80.0, 110.0, 240.0], "Output (tok/s)": [90.0, 50.0, 20.0]}"#;
    let text = format!("{EVALSCOPE_2024} p50 speed: 50\n{json}\n");
    assert!(!all_codes(&text).contains(&"disordered-percentiles"));
    let speeds = "Average output tokens per second per request: 50\nPercentile of output speed:\n p50: 50\n p90: 30\n p99: 20\n";
    assert!(!all_codes(&format!("{EVALSCOPE_2024}{speeds}")).contains(&"disordered-percentiles"));
}

#[test]
fn a_table_is_held_against_the_blocks_below_it_and_a_blank_is_no_number() {
    let table = |rate: &str, throughput: &str| {
        format!(
            "## model\n\n| 并发数 | 16 |\n|---|---|\n| QPS | {rate} |\n| 吞吐量(tok/s) | {throughput} |\n| 失败请求数 | - |\n\n```\n{EVALSCOPE_2024}```\n"
        )
    };
    let raised = |text: &str| {
        let imported = read("notes", text);
        let table = &imported.results[0];
        let doubts = doubts(&imported.results);
        assert_eq!(doubts[0].len(), table.doubts.len());
        table
            .doubts
            .iter()
            .any(|doubt| doubt.text.contains("contradicts"))
    };
    assert!(raised(&table("9.962", "796.2")));
    assert!(raised(&table("7.962", "0")), "a written 0 is a number");
    assert!(!raised(&table("7.962", "796.2")));
    assert!(!raised(&table("7.96", "")), "a blank is none");
    assert!(!raised(&table("7.96", "-")));
}

#[test]
fn a_constant_offset_of_tokens_is_named_once_and_other_lengths_are_not() {
    let offset = |input: &str| {
        let second = EVALSCOPE_2024.replace("210.437", input);
        let text = format!("# a\n{EVALSCOPE_2024}\n# b\n{second}");
        let found = read("notes", &text).results;
        let named =
            |found: &ImportedResult| found.doubts.iter().any(|it| it.text.contains("constant"));
        (named(&found[0]), named(&found[1]))
    };
    assert_eq!(offset("231.437"), (false, true));
    assert_eq!(offset("210.437"), (false, false));
    assert_eq!(offset("231.921"), (false, false));
}

#[test]
fn outputs_that_all_end_at_one_cap_are_named() {
    let capped = |cap: &str, mean: &str| {
        let mean = format!("output tokens per request: {mean}");
        let text = EVALSCOPE_2024.replace("output tokens per request: 100.000", &mean);
        let text = format!("evalscope perf --parallel 16 --number 1000 --max-tokens {cap}\n{text}");
        all_codes(&text).contains(&"output-capped")
    };
    assert!(capped("100", "100.000"));
    assert!(!capped("2048", "100.000"));
    let saved = |lengths: &str| {
        let json = format!(
            r#"{{"duration": 10.0, "completed": 12, "total_input_tokens": 120, "total_output_tokens": 60, "request_throughput": 1.2, "output_throughput": 6.0, "mean_ttft_ms": 12.5, "output_lens": [{lengths}]}}"#
        );
        all_codes(&json).contains(&"output-capped")
    };
    assert!(saved("5, 5, 5, 5, 5, 5, 5, 5, 5, 3, 2, 1"));
    assert!(!saved("9, 8, 7, 6, 5, 4, 3, 2, 5, 5, 3, 3"));
}

#[test]
fn every_doubt_is_told_in_chinese_too() {
    let text = EVALSCOPE_2024
        .replace("Total requests: 1000", "Total requests: 984")
        .replace("Succeed requests: 1000", "Succeed requests: 984")
        .replace("concurrency: 16", "concurrency: 64");
    let results = read("notes", &text).results;
    let doubts = doubts(&results);
    assert!(doubts[0].len() >= 2, "{doubts:?}");
    for doubt in &doubts[0] {
        let [en, zh] = [Lang::En, Lang::Zh].map(|lang| doubt.stated(lang));
        assert!(en.text.is_ascii() || en.text.contains('×'), "{}", en.text);
        assert!(zh.text != en.text && zh.remedy != en.remedy, "{}", zh.text);
    }
}

#[test]
fn refused_and_timed_out_requests_are_failures() {
    let header = |names: [&str; 4]| {
        let [requests, ok, failed, more] = names;
        format!(
            "| concurrency | {requests} | {ok} | {failed} | {more} | QPS |\n|---|---|---|---|---|---|\n"
        )
    };
    for names in [
        ["requests", "ok", "rejected", "P99 TTFT (ms)"],
        ["Requests", "Successful", "refused", "P99 TTFT (ms)"],
        ["请求数", "成功", "拒绝", "P99 TTFT (ms)"],
        ["请求数", "成功", "拒绝数", "P99 TTFT (ms)"],
        ["请求数", "成功数", "被拒绝", "P99 TTFT (ms)"],
        ["请求数", "成功数", "超时", "P99 TTFT (ms)"],
        ["requests", "ok", "timeouts", "P99 TTFT (ms)"],
    ] {
        let text = header(names)
            + "| 8 | 400 | 400 | 0 | 90 | 0.53 |\n| 32 | 400 | 304 | 96 | 99 | 1.1 |\n";
        let results = read("notes", &text).results;
        let summary = results[1].summary.as_ref().unwrap();
        assert_eq!(summary.requests.planned, Some(400), "{names:?}");
        assert_eq!(summary.requests.ok, Some(304), "{names:?}");
        assert_eq!(summary.requests.failed, Some(96), "{names:?}");
        assert!(codes(&results[1]).contains(&"failures"), "{names:?}");
        assert!(!codes(&results[1]).contains(&"lost-requests"), "{names:?}");
        assert!(results[1].unread.is_empty(), "{:?}", results[1].unread);
    }
    // Kinds beside each other add up; beside all failures they do where only that fits.
    for (names, cells, failed) in [
        (
            ["requests", "ok", "rejected", "timeouts"],
            "400 | 380 | 15 | 5",
            20,
        ),
        (
            ["requests", "ok", "failed", "timeouts"],
            "400 | 380 | 15 | 5",
            20,
        ),
        (
            ["requests", "ok", "failed", "timeouts"],
            "400 | 380 | 20 | 5",
            20,
        ),
    ] {
        let text = header(names) + &format!("| 8 | {cells} | 0.53 |\n");
        let results = read("notes", &text).results;
        let summary = results[0].summary.as_ref().unwrap();
        assert_eq!(summary.requests.failed, Some(failed), "{names:?} {cells}");
    }
}

#[test]
fn accounts_that_cannot_be_read_are_told() {
    let table = |name: &str, cell: &str| {
        format!("| 并发 | {name} | QPS |\n|---|---|---|\n| 8 | {cell} | 0.53 |\n")
    };
    for (name, cell) in [
        ("dropped", "7"),
        ("异常数", "3"),
        ("rejected", "3 of 400"),
        ("sent", "90"),
    ] {
        let codes = all_codes(&table(name, cell));
        assert_eq!(codes, ["unread-accounts"], "{name}");
    }
    for (name, cell) in [("timeout (s)", "30"), ("显存占用", "30"), ("rejected", "0")] {
        assert!(all_codes(&table(name, cell)).is_empty(), "{name}");
    }
}

#[test]
fn an_offered_rate_far_above_the_completed_one_is_overload() {
    let rows = "| 2 | 1000 | 1.99 | 477 | 100 |\n| 8 | 1000 | 7.59 | 1823 | 100 |\n\
        | 16 | 1000 | 10.04 | 2411 | 8100 |\n| 32 | 1000 | 10.05 | 2412 | 16100 |\n";
    for rate in ["请求率", "Target RPS", "request rate"] {
        let head = format!(
            "| {rate} | 请求数 | QPS | 吞吐量 (tok/s) | TTFT 均值 (ms) |\n|---|---|---|---|---|\n"
        );
        let results = read("notes", &(head + rows)).results;
        let overloaded: Vec<bool> = (results.iter())
            .map(|found| codes(found).contains(&"overload"))
            .collect();
        assert_eq!(overloaded, [false, false, true, true], "{rate}");
        assert_eq!(results[2].point["rate"], 16.0);
    }
    // The last answers of a short test take their time: 100 requests of 12 s at 10/s.
    let short = "| request rate | requests | QPS | latency (s) | TTFT mean (s) |\n|---|---|---|---|---|\n\
        | 10 | 100 | 3.8 | 12 | 0.1 |\n";
    assert!(!all_codes(short).contains(&"overload"));
}

#[test]
fn memory_that_a_load_exhausts_is_told_once_and_with_its_load() {
    let notes = "\
## Qwen2.5-72B-Instruct

| 并发 | QPS | 吞吐量 (tok/s) | 延迟 (s) |
| --- | --- | --- | --- |
| 8 | 0.411 | 102.4 | 19.28 |
| 16 | 0.718 | 180.0 | 21.83 |
| 32 | OOM | OOM | OOM |

32 并发：`RuntimeError: NPU out of memory. Tried to allocate 1.17 GiB`，服务退出。
";
    let results = read("notes", notes).results;
    let failed: Vec<&ImportedResult> = (results.iter())
        .filter(|found| found.error.is_some())
        .collect();
    let [failed] = failed[..] else {
        panic!("{failed:#?}");
    };
    assert!(failed.is_out_of_memory_under_load());
    assert_eq!(failed.point["concurrency"], 32.0);
    assert!(failed.error.as_ref().unwrap().contains("1.17 GiB"));
    let points = inferometer_import::out_of_memory(&results);
    assert_eq!(points.len(), 1);
    assert_eq!(points[0].without_group().key(), "concurrency=32");
    // A start that runs out of memory has no load.
    let start = "## a\n\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n";
    let results = read("notes", start).results;
    assert!(results[0].error.is_some() && !results[0].is_out_of_memory_under_load());
}

/// One model on one engine and two cards, and another engine on one of them.
#[test]
fn one_test_on_two_cards_is_a_part_for_each_card() {
    let table =
        "| 并发 | QPS | 吞吐量 (tok/s) |\n|---|---|---|\n| 8 | 1.4 | 345 |\n| 16 | 2.7 | 638 |\n";
    let section = |head: &str| format!("## {head}\n\n### Qwen2.5-7B\n\n#### openqa\n\n{table}\n");
    let both = section("vLLM, A100: 4X80G") + &section("vLLM, 910B4: 8X32G");
    let parts = inferometer_import::by_card(&read("notes", &both).results);
    let cards: Vec<_> = parts.iter().map(|part| part.card.as_deref()).collect();
    assert_eq!(cards, [Some("A100"), Some("910B4")]);
    for part in &parts {
        let measured = inferometer_import::measured(&part.results);
        assert_eq!(measured.len(), 2);
    }
    // Other models on other cards are told apart by their names.
    let apart = section("vLLM, A100: 4X80G")
        + &section("vLLM, 910B4: 8X32G").replace("Qwen2.5-7B", "Qwen2.5-14B");
    let parts = inferometer_import::by_card(&read("notes", &apart).results);
    assert_eq!(parts.len(), 1);
}

/// The severities of the doubts of a text with a change, by code.
fn severities(text: &str, from: &str, to: &str) -> Vec<(&'static str, String)> {
    assert!(text.contains(from), "{from:?} is not in\n{text}");
    let imported = read("notes", &text.replace(from, to));
    let doubts = imported.results.iter().flat_map(|it| &it.doubts);
    let named = doubts.map(|doubt| (doubt.code.name(), doubt.severity.to_string()));
    named.collect()
}

#[test]
fn numbers_that_no_run_can_have_are_invalid() {
    let cases = [
        // More answers than requests.
        (
            EVALSCOPE_2024,
            "Expected number of requests: 1000",
            "Expected number of requests: 900",
        ),
        // Sixteen users of 1 token/s each get no 796.
        (GRID, "视角): 50.0", "视角): 1.0"),
        // Tokens over time are not the throughput.
        (
            VLLM,
            "generated tokens:                  100000",
            "generated tokens:                  300000",
        ),
        (
            VLLM,
            "Total token throughput (tok/s):          2471.63",
            "Total token throughput (tok/s):          9471.63",
        ),
        (
            VLLM,
            "Mean E2EL (ms):                          2000.00",
            "Mean E2EL (ms):                          1e308",
        ),
        (TABLE, "413.2 | 796.2", "413.2 | 1e308"),
        (
            GRID,
            "QPS: 7.962\n",
            "QPS: 7.962\ncompletion-chars/second: 5.0\n",
        ),
        (
            VLLM,
            "Mean TTFT (ms):                          120.00",
            "Mean TTFT (ms):                          9120.00",
        ),
    ];
    for (text, from, to) in cases {
        let found = severities(text, from, to);
        let invalid = ("inconsistent-import", "invalid".to_owned());
        assert!(found.contains(&invalid), "{to}: {found:?}");
    }
    // What another window or rounding explains is no more than doubtful.
    let found = severities(EVALSCOPE_2024, "796.200", "836.200");
    assert_eq!(found, [("inconsistent-import", "warn".to_owned())]);
    let found = severities(
        GRID,
        "QPS: 7.962\n",
        "QPS: 7.962\ncompletion-chars/second: 400.0\n",
    );
    assert_eq!(found, [], "rare characters are several tokens each");
}

#[test]
fn requests_that_were_lost_may_have_kept_their_streams_busy() {
    let lossy = |ok: u32, streams: u32| {
        let text =
            EVALSCOPE_2024.replace("Succeed requests: 1000", &format!("Succeed requests: {ok}"));
        let failed = format!("Failed requests: {}", 1000 - ok);
        let text = text.replace("Failed requests: 0", &failed);
        all_codes(&text.replace("concurrency: 16", &format!("concurrency: {streams}")))
    };
    assert!(!lossy(950, 32).contains(&"shrunk-concurrency"));
    // Four requests cannot have kept 48 streams busy.
    assert!(lossy(996, 64).contains(&"shrunk-concurrency"));
}

#[test]
fn repeats_of_one_load_that_are_far_apart_are_named_together() {
    let again = |throughput: &str| {
        let other = VLLM
            .replace("125.60", "125.70")
            .replace("796.18", throughput);
        let text = format!("{VLLM}\n{other}");
        let results = read("twice.log", &text).results;
        let said = results.iter().flat_map(|it| &it.doubts);
        let said = said.filter(|it| it.text.contains("twice"));
        said.map(|it| it.text.clone()).collect::<Vec<String>>()
    };
    assert_eq!(again("799.18"), Vec::<String>::new());
    let said = again("850.00");
    assert_eq!(said.len(), 2, "one of each");
    assert_eq!(
        said[0],
        "concurrency=16 was measured twice (lines 1–28, 30–57), and output throughput is 796.18 and 850: 6.8 % from run to run"
    );
    // Rows of a table, too, unless a column that is not read tells them apart.
    let table = |settings: [&str; 2]| {
        let [a, b] = settings;
        let text = format!(
            "| concurrency | block | req/s | tok/s |\n|---|---|---|---|\n| 8 | {a} | 4 | 400 |\n| 8 | {b} | 5 | 500 |\n"
        );
        all_codes(&text)
    };
    assert_eq!(table(["-", "-"]), ["inconsistent-import"; 2]);
    assert_eq!(table(["16", "32"]), Vec::<&str>::new());
}
