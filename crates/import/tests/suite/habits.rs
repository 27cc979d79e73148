//! Notes as people keep them: other orders of columns, cells without a number, signs of another
//! width, line ends and code pages of another system, results glued to other text.

use inferometer_import::{ImportedResult, Tool, measured, read, read_path};

fn rate(found: &ImportedResult) -> Option<f64> {
    found.summary.as_ref()?.throughput.requests_per_s
}

#[test]
fn columns_may_stand_in_any_order_and_cells_may_lack_their_number() {
    let columns = [
        ("并发", ["4", "8", "16"]),
        ("QPS", ["2.0", "3.5", "-"]),
        ("平均时延(s)", ["2.0", "N/A", "2.9"]),
        ("输出吞吐(tokens/s)", ["200", "", "610"]),
        ("失败数", ["0", "—", "/"]),
    ];
    for order in [
        [0, 1, 2, 3, 4],
        [1, 0, 2, 4, 3],
        [3, 4, 2, 1, 0],
        [2, 1, 4, 0, 3],
    ] {
        let row = |cell: &dyn Fn(usize) -> &'static str| {
            let cells: Vec<&str> = order.iter().map(|at| cell(*at)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut text = row(&|at| columns[at].0) + "|---|---|---|---|---|\n";
        for line in 0..3 {
            text.push_str(&row(&|at| columns[at].1[line]));
        }
        let found = read("notes", &text).results;
        assert_eq!(found.len(), 3, "{text}");
        let loads: Vec<&serde_json::Value> =
            found.iter().map(|it| &it.point["concurrency"]).collect();
        assert_eq!(loads, [4, 8, 16], "{text}");
        assert_eq!(
            found.iter().map(rate).collect::<Vec<_>>(),
            [Some(2.0), Some(3.5), None],
            "{text}"
        );
        let failed = |found: &ImportedResult| found.summary.as_ref().unwrap().requests.failed;
        assert_eq!(
            found.iter().map(failed).collect::<Vec<_>>(),
            [Some(0), None, None],
            "{text}"
        );
        let latency = |found: &ImportedResult| {
            found
                .summary
                .as_ref()
                .unwrap()
                .latency
                .e2e_ms
                .as_ref()?
                .mean
        };
        assert_eq!(
            found.iter().map(latency).collect::<Vec<_>>(),
            [Some(2000.0), None, Some(2900.0)],
            "{text}"
        );
    }
}

#[test]
fn numbers_are_read_with_separators_signs_of_full_width_and_units() {
    for (rate, expected) in [
        ("1,234.5", 1234.5),
        ("1234.5", 1234.5),
        ("１２３４．５", 1234.5),
        ("1，234.5", 1234.5),
        ("1234.5 tok/s", 1234.5),
        ("≈1234.5", 1234.5),
        ("~1234.5", 1234.5),
        ("**1,234.5**", 1234.5),
    ] {
        let text =
            format!("| 并发数 | 8 |\n|---|---|\n| QPS | 12.3 |\n| 输出吞吐量(tok/s) | {rate} |\n");
        let found = read("notes", &text).results;
        let summary = found[0].summary.as_ref().unwrap();
        assert_eq!(
            summary.throughput.output_tokens_per_s,
            Some(expected),
            "{rate}"
        );
    }
    let text = "并发数：８\nＱＰＳ：３．５\n平均时延：２．１ 秒\n";
    let found = read("notes", text).results;
    assert_eq!((found.len(), rate(&found[0])), (1, Some(3.5)), "{found:#?}");
}

#[test]
fn a_share_of_successes_is_no_number_of_successes() {
    for share in ["99.5%", "99.5 %", "0.995"] {
        let text = format!(
            "| 并发数 | 8 |\n|---|---|\n| QPS | 3.5 |\n| 成功率 | {share} |\n| 失败率 | 0.5% |\n"
        );
        let found = read("notes", &text).results;
        let requests = found[0].summary.as_ref().unwrap().requests;
        assert_eq!((requests.ok, requests.failed), (None, None), "{share}");
    }
}

const BLOCK: &str = "============ Serving Benchmark Result ============\n\
    Successful requests:                     100\n\
    Benchmark duration (s):                  10.00\n\
    Total generated tokens:                  5000\n\
    Request throughput (req/s):              10.00\n\
    Output token throughput (tok/s):         500.00\n\
    Mean TTFT (ms):                          120.50\n\
    ==================================================\n";

#[test]
fn several_results_after_one_command_do_not_all_have_its_flags() {
    let command = "vllm serve m --max-num-seqs 32\n";
    let one = read("notes", &format!("{command}{BLOCK}")).results;
    assert!(one[0].flags.is_some());
    let two = read(
        "notes",
        &format!("{command}{BLOCK}\nafter a change\n\n{BLOCK}"),
    )
    .results;
    assert_eq!(two.len(), 2);
    assert!(two.iter().all(|found| found.flags.is_none()), "{two:#?}");
}

#[test]
fn fences_in_fences_and_lists_hold_results() {
    let indented: String = BLOCK.lines().map(|line| format!("    {line}\n")).collect();
    for text in [
        format!("````md\nsome\n```text\n{BLOCK}```\n````\n"),
        format!("- a\n  - b\n    ```\n{indented}    ```\n"),
        format!("<details><summary>log</summary>\n<pre>\n{BLOCK}</pre></details>\n"),
        format!("~~~\n{BLOCK}~~~\n"),
    ] {
        let found = read("notes", &text).results;
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(rate(&found[0]), Some(10.0), "{text}");
    }
}

#[test]
fn json_is_found_though_text_is_glued_to_it() {
    let json = r#"{"duration": 10.0, "completed": 100, "total_input_tokens": 1000, "total_output_tokens": 5000, "request_throughput": 10.0, "output_throughput": 500.0, "mean_ttft_ms": 120.5}"#;
    for text in [
        format!("result={json}"),
        format!("结果：{json}。下一轮见下"),
        format!("[INFO] done {json} in 10 s\n"),
        format!("{json}{json}"),
        json.replace(", ", ",\r\n  "),
    ] {
        let found = read("notes", &text).results;
        assert!(!found.is_empty(), "{text}");
        assert!(found.iter().all(|it| rate(it) == Some(10.0)), "{text}");
    }
}

#[test]
fn notes_in_the_code_page_of_chinese_windows_are_read() {
    // 并发数, 平均延迟 and 吞吐量 in GBK.
    let mut bytes = Vec::new();
    for part in [
        &b"| "[..],
        &[0xb2, 0xa2, 0xb7, 0xa2, 0xca, 0xfd],
        b" | 4 | 8 |\r\n|---|---|---|\r\n| QPS | 2.0 | 3.5 |\r\n| ",
        &[0xc6, 0xbd, 0xbe, 0xf9, 0xd1, 0xd3, 0xb3, 0xd9],
        b"(s) | 2.0 | 2.3 |\r\n",
    ] {
        bytes.extend_from_slice(part);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.md");
    std::fs::write(&file, bytes).unwrap();
    let found = read_path(&file).unwrap().results;
    assert_eq!(found.len(), 2, "{found:#?}");
    assert_eq!(found[1].tool, Tool::MarkdownTable);
    assert_eq!(
        (rate(&found[1]), &found[1].point["concurrency"]),
        (Some(3.5), &8.into())
    );
    let latency = found[1].summary.as_ref().unwrap().latency.e2e_ms.as_ref();
    assert_eq!(latency.and_then(|it| it.mean), Some(2300.0));
}

#[test]
fn a_rate_at_which_first_tokens_wait_many_times_as_long_is_beyond_the_server() {
    let table = "| 请求速率 | 请求数 | 成功 | QPS | 吞吐(tok/s) | TTFT均值(ms) | 延迟均值(s) |\n\
        |---|---|---|---|---|---|---|\n\
        | 1 | 500 | 500 | 0.97 | 192 | 210 | 11.2 |\n\
        | 4 | 500 | 500 | 3.71 | 735 | 610 | 26.1 |\n\
        | 8 | 500 | 500 | 4.12 | 816 | 38200 | 71.5 |\n";
    let found = read("notes.md", table).results;
    let behind = |found: &ImportedResult| {
        let mut doubts = found.doubts.iter();
        doubts.any(|doubt| doubt.code.name() == "overload")
    };
    let behind: Vec<bool> = found.iter().map(behind).collect();
    assert_eq!(behind, [false, false, true]);
}

#[test]
fn remarks_that_count_failures_are_counted_and_batches_and_queues_kept() {
    let table = "| 并发 | 请求数 | 吞吐(tok/s) | PrefillBatchsize | 队列等待(ms) | 备注 |\n\
        |---|---|---|---|---|---|\n\
        | 4 | 100 | 128 | 1.0 | 400 | |\n\
        | 8 | 100 | 251 | 1.1 | 900 | 拒绝 12 个请求 |\n\
        | 64 | 100 | 700 | 1.4 | 950 | 3 requests timed out |\n";
    let found = read("notes.md", table).results;
    let summaries: Vec<_> = found.iter().filter_map(|it| it.summary.as_ref()).collect();
    let failed: Vec<_> = summaries.iter().map(|it| it.requests.failed).collect();
    assert_eq!(failed, [None, Some(12), Some(3)]);
    assert_eq!(summaries[1].other["PrefillBatchsize"], 1.1);
    assert_eq!(summaries[1].other["队列等待(ms)"], 900);
}

#[test]
fn a_row_that_its_load_calls_a_repeat_is_one() {
    let table = |again: &str| {
        format!(
            "| 并发 | QPS | 吞吐(tok/s) |\n|---|---|---|\n| 16 | 2.0 | 500 |\n| 32 | 3.1 | 794 |\n\
             | {again} | 2.45 | 630 |\n| 64 | 4.2 | 1075 |\n"
        )
    };
    for again in ["32（重测）", "32 (again)"] {
        let results = read("notes.md", &table(again)).results;
        let loads: Vec<_> = results
            .iter()
            .map(|it| it.point["concurrency"].clone())
            .collect();
        assert_eq!(loads, [16, 32, 32, 64], "{again}");
        let points = measured(&results);
        assert_eq!(points[1].point, points[2].point, "{again}");
        let doubts = results[2].doubts.iter().chain(&results[1].doubts);
        let told = doubts.filter(|it| it.text.contains("measured twice"));
        assert_eq!(told.count(), 2, "both are doubted: {again}");
    }
    // What else stands there is a setting.
    let results = read("notes.md", &table("32 (bs 8)")).results;
    let points = measured(&results);
    assert_ne!(points[1].point, points[2].point);
}
