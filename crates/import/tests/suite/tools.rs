//! Each tool's results, in English and Chinese, from files of our own in `fixtures/import`.

use inferometer_import::{Imported, ImportedResult, Tool, read};
use inferometer_text::Lang;
use serde_json::{Value, json};

fn fixture(name: &str) -> Imported {
    let path = format!(
        "{}/../../fixtures/import/{name}",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    read(name, &text)
}

fn codes(found: &ImportedResult) -> Vec<&'static str> {
    found.doubts.iter().map(|doubt| doubt.code.name()).collect()
}

fn at(found: &ImportedResult, pointer: &str) -> Value {
    let json = serde_json::to_value(found).expect("a result is JSON");
    json.pointer(pointer)
        .cloned()
        .unwrap_or_else(|| panic!("no {pointer} in {json:#}"))
}

#[test]
fn vllm_of_2023_prints_a_throughput_in_requests() {
    let imported = fixture("vllm-2023.txt");
    let [result] = imported.results.as_slice() else {
        panic!("{imported:?}")
    };
    assert_eq!(result.tool, Tool::Vllm2023);
    assert_eq!(result.lines, (2, 6));
    assert_eq!(at(result, "/summary/throughput/requests_per_s"), 2.0);
    assert_eq!(
        at(result, "/summary/throughput/output_tokens_per_s"),
        Value::Null
    );
    assert_eq!(at(result, "/summary/latency/e2e_ms/mean"), 4500.0);
    assert_eq!(
        at(result, "/summary/latency/tpot_ms"),
        Value::Null,
        "latency / length is no TPOT"
    );
    assert_eq!(at(result, "/summary/requests/planned"), 120);
    assert_eq!(at(result, "/point/rate"), 2.0);
}

#[test]
fn vllm_blocks_of_both_label_generations_are_read() {
    let imported = fixture("vllm-rounds.txt");
    let [old, new] = imported.results.as_slice() else {
        panic!("{imported:?}")
    };
    assert_eq!((old.tool, new.tool), (Tool::Vllm, Tool::Vllm));
    assert_eq!(old.label.as_deref(), Some("Round 1 (enable-48)"));
    assert_eq!(at(old, "/summary/throughput/total_tokens_per_s"), 1500.0);
    assert_eq!(at(old, "/summary/requests/planned"), 600);
    assert_eq!(at(old, "/summary/latency/ttft_ms/p99"), 410.75);
    assert_eq!(at(old, "/point/rate"), "inf");
    assert_eq!(new.label.as_deref(), Some("第二轮（今天的版本）"));
    assert_eq!(at(new, "/summary/throughput/total_tokens_per_s"), 750.0);
    assert_eq!(at(new, "/summary/slo/goodput_per_s"), 4.2);
    assert_eq!(
        at(new, "/summary/concurrency"),
        json!({"configured": 32, "mean": null, "peak": 40})
    );
    assert_eq!(codes(new), ["failures", "few-samples"]);
    assert!(imported.unread.is_empty());
}

#[test]
fn vllm_of_early_2024_has_no_frame() {
    let imported = fixture("vllm-early-2024.txt");
    let [result] = imported.results.as_slice() else {
        panic!("{imported:?}")
    };
    assert_eq!((result.tool, result.lines), (Tool::Vllm, (1, 13)));
    assert_eq!(at(result, "/summary/throughput/input_tokens_per_s"), 200.0);
    assert_eq!(at(result, "/summary/latency/tpot_ms/p50"), 11.0);
}

#[test]
fn vllm_json_is_read_with_its_python_numbers() {
    let imported = fixture("vllm-saved.json");
    let [result] = imported.results.as_slice() else {
        panic!("{imported:?}")
    };
    assert_eq!(result.tool, Tool::Vllm);
    assert_eq!(result.label.as_deref(), Some("demo/small"));
    assert_eq!(at(result, "/summary/latency/ttft_ms/std"), Value::Null);
    assert_eq!(
        at(result, "/point"),
        json!({"concurrency": 16, "rate": "inf"})
    );
    assert_eq!(
        codes(result),
        ["lost-requests", "disordered-percentiles", "output-capped"]
    );
    assert_eq!(at(result, "/summary/valid"), false);
}

#[test]
fn sglang_text_tells_mean_from_configured_concurrency() {
    let imported = fixture("sglang.txt");
    let [result] = imported.results.as_slice() else {
        panic!("{imported:?}")
    };
    assert_eq!(result.tool, Tool::Sglang);
    assert_eq!(
        at(result, "/summary/concurrency"),
        json!({"configured": 20, "mean": 19.5, "peak": null})
    );
    assert_eq!(at(result, "/summary/latency/e2e_ms/mean"), 3900.0);
    assert_eq!(at(result, "/summary/latency/itl_ms/max"), 90.0);
    assert_eq!(at(result, "/summary/tokens/output"), 40000);
}

#[test]
fn sglang_jsonl_is_one_result_a_line() {
    let imported = fixture("sglang.jsonl");
    assert_eq!(
        imported
            .results
            .iter()
            .map(|found| found.lines)
            .collect::<Vec<_>>(),
        [(1, 1), (2, 2)]
    );
    assert_eq!(at(&imported.results[1], "/point/rate"), 8);
    assert_eq!(
        at(&imported.results[1], "/summary/latency/e2e_ms/p99"),
        3900.0
    );
}

#[test]
fn evalscope_notes_hold_a_table_and_its_blocks() {
    let imported = fixture("evalscope-2024-notes.md");
    let tools: Vec<&str> = imported
        .results
        .iter()
        .map(|found| found.tool.name())
        .collect();
    assert_eq!(
        tools,
        [
            "markdown-table",
            "markdown-table",
            "evalscope-2024",
            "evalscope-2024"
        ]
    );
    assert!(imported.unread.is_empty());
    let [four, ten, first, second] = imported.results.as_slice() else {
        panic!()
    };
    assert_eq!(four.label.as_deref(), Some("小模型"));
    assert_eq!(at(four, "/summary/latency/e2e_ms/p90"), 2500.0);
    assert_eq!(at(four, "/summary/tokens/output_mean"), 100.0);
    assert_eq!(four.doubts, first.doubts, "one measurement");
    assert_eq!(
        at(ten, "/summary/throughput/output_tokens_per_s"),
        Value::Null,
        "blank is not 0"
    );
    assert_eq!(codes(ten), ["inconsistent-import"]);
    assert!(
        !ten.doubts[0].text.contains("output_tokens_per_s"),
        "{}",
        ten.doubts[0].text
    );
    assert_eq!(first.lines, (15, 40));
    assert_eq!(at(first, "/summary/latency/ttft_ms/p66"), 2100.0);
    assert_eq!(at(first, "/summary/latency/tpot_ms"), Value::Null);
    assert_eq!(codes(first), ["not-streamed"]);
    assert_eq!(
        at(second, "/summary/requests"),
        json!({"planned": 500, "ok": 450, "failed": 0, "cut": null, "unsent": null})
    );
    assert_eq!(
        codes(second),
        [
            "lost-requests",
            "shrunk-concurrency",
            "inconsistent-import",
            "inconsistent-import",
            "few-samples"
        ]
    );
    assert!(
        second
            .doubts
            .iter()
            .any(|doubt| doubt.text.contains("constant 10 tokens"))
    );
}

#[test]
fn evalscope_of_today_is_read_from_tables_and_from_json() {
    for name in ["evalscope-today.txt", "evalscope-today.json"] {
        let imported = fixture(name);
        let [result] = imported.results.as_slice() else {
            panic!("{name}: {imported:?}")
        };
        assert_eq!(result.tool, Tool::Evalscope, "{name}");
        assert_eq!(at(result, "/summary/latency/ttft_ms/mean"), 120.0, "{name}");
        assert_eq!(at(result, "/summary/latency/ttft_ms/p99"), 400.0, "{name}");
        assert_eq!(at(result, "/summary/latency/tpot_ms/mean"), 23.0, "{name}");
        assert_eq!(
            at(result, "/summary/speed/per_user_tokens_per_s/p50"),
            43.0,
            "{name}"
        );
        assert_eq!(at(result, "/summary/requests/planned"), 100, "{name}");
        assert!(imported.unread.is_empty(), "{name}: {:?}", imported.unread);
    }
}

#[test]
fn mindie_tables_are_one_result_and_a_slash_is_unknown() {
    let imported = fixture("mindie.txt");
    let [result] = imported.results.as_slice() else {
        panic!("{imported:?}")
    };
    assert_eq!((result.tool, result.lines), (Tool::Mindie, (3, 29)));
    assert_eq!(result.label.as_deref(), Some("demo-small"));
    assert_eq!(at(result, "/summary/latency/itl_ms/mean"), 20.0);
    assert_eq!(at(result, "/summary/server/queue_wait_ms/p99"), 5.0);
    assert_eq!(at(result, "/summary/tokens/chars_per_token"), 1.5);
    assert_eq!(at(result, "/summary/throughput/output_tokens_per_s"), 384.0);
    assert_eq!(at(result, "/summary/other").get("accuracy"), None);
    assert_eq!(codes(result), ["lost-requests", "output-capped"]);
}

#[test]
fn mindies_mean_time_per_token_follows_from_its_other_means_and_says_so() {
    let imported = fixture("mindie.txt");
    let [result] = imported.results.as_slice() else {
        panic!("{imported:?}")
    };
    let mean = |name: &str| at(result, &format!("/summary/{name}")).as_f64().unwrap();
    let after = mean("latency/e2e_ms/mean") - mean("latency/ttft_ms/mean");
    let expected = after / (mean("tokens/output_mean") - 1.0);
    assert!((mean("latency/tpot_ms/mean") - expected).abs() < 1e-9);
    let assumed: Vec<String> = (result.assumed.iter())
        .map(|it| it.stated(Lang::En))
        .collect();
    assert!(
        assumed.iter().any(|it| it.contains("TPOT is derived")),
        "{assumed:?}"
    );
}

#[test]
fn mindie_tables_need_no_line_between_them() {
    let path = format!(
        "{}/../../fixtures/import/mindie.txt",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text
        .lines()
        .filter(|line| line.starts_with(['┌', '├', '│', '└']));
    let glued: Vec<&str> = lines.collect();
    let found = inferometer_import::read("log", &glued.join("\n")).results;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].summary, fixture("mindie.txt").results[0].summary);
    assert!(found[0].point.contains_key("concurrency"));
}

#[test]
fn a_section_that_is_not_known_stays_in_its_block() {
    let text = "============ Serving Benchmark Result ============\n\
                Successful requests: 500\nBenchmark duration (s): 100\nMean TTFT (ms): 40\n\
                ---------------Speculative Decoding---------------\n\
                Acceptance rate (%): 61.20\nAcceptance length: 2.84\nDrafts: 28123\n\
                Per-position acceptance (%):\n  Position 0: 78.1\n  Position 1: 60.0\n\
                ==================================================\n";
    let found = inferometer_import::read("log", text).results;
    assert_eq!((found.len(), found[0].lines), (1, (1, 12)));
    assert_eq!(at(&found[0], "/summary/other/Acceptance length"), 2.84);
    assert_eq!(found[0].unread, ["Position 0", "Position 1"]);
}

#[test]
fn mindie_csv_has_the_same_rows() {
    let imported = fixture("mindie.csv");
    let [result] = imported.results.as_slice() else {
        panic!("{imported:?}")
    };
    assert_eq!(result.tool, Tool::Mindie);
    assert_eq!(at(result, "/summary/latency/e2e_ms/p75"), 2300.0);
}

#[test]
fn guidellm_latency_is_in_seconds() {
    let imported = fixture("guidellm.json");
    let [result] = imported.results.as_slice() else {
        panic!("{imported:?}")
    };
    assert_eq!((result.tool, result.lines), (Tool::Guidellm, (2, 9)));
    assert_eq!(at(result, "/summary/latency/e2e_ms/p99.9"), 4000.0);
    assert_eq!(at(result, "/summary/latency/ttft_ms/p99"), 95.0);
    assert_eq!(at(result, "/summary/requests/cut"), 1);
    assert_eq!(at(result, "/point/concurrency"), 6);
}

#[test]
fn aiperf_is_read_and_its_key_is_not_kept() {
    let imported = fixture("aiperf.json");
    let [result] = imported.results.as_slice() else {
        panic!("{imported:?}")
    };
    assert_eq!(result.tool, Tool::Aiperf);
    assert_eq!(at(result, "/summary/latency/e2e_ms/p1"), 910.0);
    let tpot = at(result, "/summary/latency/tpot_ms/mean");
    assert!(tpot.is_number(), "the mean gap of each request is its TPOT");
    assert_eq!(tpot, at(result, "/summary/latency/itl_ms/mean"));
    assert_eq!(at(result, "/summary/window_s"), 20.0);
    assert!(!imported.to_json().to_string().contains("hidden"));
}

#[test]
fn aiperf_requests_are_folded_into_one_result() {
    let imported = fixture("aiperf-requests.jsonl");
    let [result] = imported.results.as_slice() else {
        panic!("{imported:?}")
    };
    assert_eq!((result.tool, result.lines), (Tool::Aiperf, (1, 4)));
    assert_eq!(at(result, "/summary/requests/ok"), 2);
    assert_eq!(at(result, "/summary/requests/failed"), 1);
    assert_eq!(at(result, "/summary/latency/ttft_ms/mean"), 60.0);
    assert_eq!(at(result, "/summary/latency/e2e_ms/max"), 1200.0);
    assert_eq!(at(result, "/summary/window_s"), 2.0);
    assert_eq!(at(result, "/summary/throughput/output_tokens_per_s"), 50.0);
}

#[test]
fn grid_cells_carry_their_lengths_and_lost_requests() {
    let imported = fixture("grid-log.txt");
    let [whole, lost] = imported.results.as_slice() else {
        panic!("{imported:?}")
    };
    assert_eq!((whole.tool, whole.lines), (Tool::GridLog, (1, 15)));
    assert_eq!(
        at(whole, "/point"),
        json!({"concurrency": 10, "input_chars": 300, "ask_chars": 700})
    );
    assert_eq!(at(whole, "/summary/throughput/output_chars_per_s"), 1200.0);
    assert_eq!(at(whole, "/summary/window_s"), 100.0);
    assert!(whole.doubts.is_empty(), "{:?}", whole.doubts);
    assert_eq!(
        at(lost, "/point"),
        json!({"concurrency": 10, "input_chars": 300, "ask_chars": 100})
    );
    assert_eq!(codes(lost), ["lost-requests", "shrunk-concurrency"]);
}

#[test]
fn trials_have_flags_errors_and_memory() {
    let imported = fixture("trial-log.txt");
    let [refused, good, first, second] = imported.results.as_slice() else {
        panic!("{imported:?}")
    };
    assert_eq!(
        refused.error.as_deref(),
        Some("ValueError: 77 is too small")
    );
    assert!(refused.summary.is_none());
    assert_eq!(at(refused, "/flags/max-num-batched-tokens"), 77);
    assert_eq!(good.lines, (7, 10), "JSON glued to prose");
    assert_eq!(
        at(good, "/flags"),
        json!({"model": "demo/small", "max-num-seqs": 12, "enable-prefix-caching": true})
    );
    assert_eq!(good.device_memory_gib, Some(2.0));
    assert_eq!(at(good, "/summary/latency/e2e_ms/p95"), 4500.0);
    assert_eq!(codes(good), ["not-a-distribution", "few-samples"]);
    for result in [first, second] {
        let seqs = at(result, "/flags/max-num-seqs");
        assert_eq!(seqs, 13, "two loads of one server");
    }
    assert_eq!(
        imported.unread,
        [(14, 14)],
        "a command that nothing came of"
    );
}

#[test]
fn tables_are_read_either_way_round() {
    let imported = fixture("tables.md");
    let [one, eight, first, second] = imported.results.as_slice() else {
        panic!("{imported:?}")
    };
    assert_eq!(at(one, "/point/concurrency"), 1);
    assert_eq!(at(eight, "/summary/latency/e2e_ms/mean"), 2100.0);
    assert_eq!(
        at(eight, "/summary/throughput/output_tokens_per_s"),
        Value::Null
    );
    assert_eq!(at(eight, "/summary/requests/failed"), 10);
    assert_eq!(at(first, "/summary/latency/ttft_ms/mean"), 88.0);
    assert!(
        first
            .assumed
            .iter()
            .any(|it| it.stated(Lang::En).contains("milliseconds"))
    );
    assert_eq!(at(second, "/point/concurrency"), 16);
    assert_eq!(imported.unread, [(20, 20)]);
}

#[test]
fn a_heading_that_contradicts_its_result_is_named() {
    let block = "Successful requests: 500\nMax request concurrency: 8\nBenchmark duration (s): 100.0\nRequest throughput (req/s): 5.0\n";
    let said = |heading: &str| {
        read("n", &format!("{heading}\n{block}"))
            .results
            .remove(0)
            .doubts
    };
    assert!(said("- parallel 8").is_empty());
    assert!(
        said("- parallel 16")
            .iter()
            .any(|doubt| doubt.text.contains("heading"))
    );
    let launched = format!("(disable-256)\n\nvllm serve m --max-num-batched-tokens 512\n{block}");
    assert!(
        read("n", &launched).results[0]
            .doubts
            .iter()
            .any(|doubt| doubt.text.contains("256"))
    );
}

#[test]
fn a_heading_that_says_another_length_is_named() {
    let said = |heading: &str, input: u32, output: u32| {
        let text = format!(
            "### {heading}\n\n| 并发 | QPS | 吞吐量 | 平均输入 token 数 | 平均输出 token 数 |\n\
             | --- | --- | --- | --- | --- |\n| 4 | 0.8 | {} | {input} | {output} |\n",
            0.8 * f64::from(output)
        );
        let doubts = read("n", &text).results.remove(0).doubts.into_iter();
        let doubts = doubts.filter(|doubt| doubt.code.name() == "inconsistent-import");
        doubts.map(|doubt| doubt.text).collect::<Vec<String>>()
    };
    assert_eq!(
        said("7B 输入 4096 输出 512", 2048, 512),
        ["the heading says input 4096, the result's mean is 2048"]
    );
    assert_eq!(
        said("7B input 4096 output 512", 4096, 1024),
        ["the heading says output 512, the result's mean is 1024"]
    );
    // A template adds to prompts, and answers may end early.
    assert_eq!(said("7B 输入 128 输出 512", 170, 300), Vec::<String>::new());
}

#[test]
fn two_percentiles_that_are_equal_in_a_whole_table_are_a_copy() {
    let said = |p90: [f64; 3]| {
        let [a, b, c] = p90;
        let text = format!(
            "| 指标 | 1 | 4 | 16 |\n| --- | --- | --- | --- |\n| QPS | 0.201 | 0.764 | 2.556 |\n\
             | 延迟 | 4.879 | 5.130 | 6.135 |\n| p50 | 4.8497 | 5.0987 | 6.0982 |\n\
             | p90 | {a} | {b} | {c} |\n| p99 | 5.4645 | 5.7450 | 6.8712 |\n"
        );
        let results = read("n", &text).results;
        let doubts = results.into_iter().flat_map(|found| found.doubts);
        let doubts = doubts.filter(|doubt| doubt.text.contains("p50 and p90"));
        doubts.map(|doubt| doubt.code.name()).collect::<Vec<&str>>()
    };
    assert_eq!(said([4.8497, 5.0987, 6.0982]), ["not-a-distribution"; 3]);
    assert_eq!(said([4.8497, 5.0987, 6.4]), Vec::<&str>::new());
}

#[test]
fn the_json_is_the_contract() {
    let json = fixture("grid-log.txt").to_json();
    assert_eq!(json["schema"], "inferometer.import/1");
    assert_eq!(json["unread"], json!([]));
    let result = &json["results"][1];
    assert_eq!(result["tool"], "grid-log");
    assert_eq!(result["file"], "grid-log.txt");
    assert_eq!(result["lines"], json!([18, 25]));
    assert_eq!(result["doubts"][0]["code"], "lost-requests");
    assert_eq!(result["doubts"][0]["severity"], "invalid");
    assert_eq!(result["error"], Value::Null);
    assert_eq!(result["summary"]["schema"], "inferometer.summary/1");
}

#[test]
fn numbers_that_people_write_down_in_chinese_are_a_result() {
    let text = "## 第三次\n\n并发数：16\n总请求数：500\n成功请求数：480\n失败请求数：20\n平均延迟：2.5 秒\n首token平均时延：180 毫秒\nP99延迟：4.1 秒\n吞吐量：640 tokens/s\n";
    let imported = read("n", text);
    let [result] = imported.results.as_slice() else {
        panic!("{imported:?}")
    };
    assert_eq!(result.label.as_deref(), Some("第三次"));
    assert_eq!(at(result, "/point/concurrency"), 16);
    assert_eq!(at(result, "/summary/requests/failed"), 20);
    assert_eq!(at(result, "/summary/latency/e2e_ms/mean"), 2500.0);
    assert_eq!(at(result, "/summary/latency/e2e_ms/p99"), 4100.0);
    assert_eq!(at(result, "/summary/latency/ttft_ms/mean"), 180.0);
    assert_eq!(at(result, "/summary/throughput/output_tokens_per_s"), 640.0);
    assert_eq!(codes(result), ["failures"]);
}

#[test]
fn a_dictionary_that_python_printed_is_a_result() {
    let text = "done: {'total_requests': 500, 'successful_requests': 500, 'requests_per_second': 12.0, 'latency': {'average': 1.5, 'p99': None}}\n";
    let imported = read("n", text);
    let [result] = imported.results.as_slice() else {
        panic!("{imported:?}")
    };
    assert_eq!(at(result, "/summary/latency/e2e_ms/mean"), 1500.0);
    assert_eq!(at(result, "/summary/latency/e2e_ms/p99"), Value::Null);
}

#[test]
fn a_table_of_settings_is_neither_read_nor_missed() {
    let text = "| 参数 | 值 |\n| --- | --- |\n| max_tokens | 512 |\n| parallel | 8 |\n";
    assert_eq!(read("n", text), Imported::default());
}

#[test]
fn prose_has_no_results() {
    let imported = read(
        "n",
        "# Notes\n\nWe moved the machine at 12:30. It cost 300: too much.\n\n- buy: milk\n",
    );
    assert!(imported.results.is_empty() && imported.unread.is_empty());
}

#[test]
fn mindies_tables_as_json_are_read_with_their_latencies() {
    let text = r#"{"performance": {"FirstTokenTime": {"average": "50.05 ms", "P99": "61.5 ms", "N": "60"},
        "DecodeTime": {"average": "9.97 ms", "P99": "21.7 ms", "N": "60"},
        "PrefillBatchsize": {"average": "3.5", "N": "60"}, "QueueWaitTime": {"average": "1500 μs", "N": "60"}},
        "common": {"TimeElapsed": "11.04 s", "Returned": "60( 100.0% )", "Failed": "0( 0.0% )", "Total": "60[ 100.0% ]",
        "Concurrency": "8", "ModelName": "qwen", "Throughput": "5.4348 req/s", "GenerateSpeed": "695.6504 token/s"}}"#;
    let found = read("dialect.json", text).results;
    let [found] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(found.tool, Tool::Mindie);
    for (pointer, expected) in [
        ("/latency/ttft_ms/mean", 50.05),
        ("/latency/itl_ms/p99", 21.7),
        ("/throughput/output_tokens_per_s", 695.6504),
        ("/server/prefill_batch_size/mean", 3.5),
        ("/server/queue_wait_ms/mean", 1.5),
        ("/requests/ok", 60.0),
    ] {
        let own = at(found, &format!("/summary{pointer}"));
        assert_eq!(own.as_f64(), Some(expected), "{pointer}");
    }
}
