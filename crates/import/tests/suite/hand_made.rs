//! Tables that people make by hand: whose speed it is, what is only a comparison, what a heading
//! says, and forms other than Markdown.

use inferometer_import::{Assumption, ImportedResult, read};
use serde_json::{Value, json};

fn results(text: &str) -> Vec<ImportedResult> {
    read("notes", text).results
}

fn only(text: &str) -> ImportedResult {
    let mut found = results(text);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// A number of a result's summary, `null` where there is none.
fn at(found: &ImportedResult, pointer: &str) -> Value {
    let summary = serde_json::to_value(&found.summary).expect("a summary is JSON");
    summary.pointer(pointer).cloned().unwrap_or(Value::Null)
}

/// A table with one result, of names and cells.
fn table(columns: &[(&str, &str)]) -> String {
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    line(columns.iter().map(|column| column.0).collect())
        + &line(columns.iter().map(|_| "---").collect())
        + &line(columns.iter().map(|column| column.1).collect())
}

const OUTPUT: &str = "/throughput/output_tokens_per_s";
const ONE_USER: &str = "/speed/per_user_tokens_per_s/mean";

#[test]
fn the_total_beside_one_users_speed_is_the_servers_output() {
    for speed in ["单路速度(tokens/s)", "生成速度", "tok/s/user"] {
        let found = only(&table(&[
            ("并发", "10"),
            (speed, "39.2"),
            ("总吞吐(tokens/s)", "388"),
        ]));
        assert_eq!(at(&found, ONE_USER), 39.2, "{speed}");
        assert_eq!(at(&found, OUTPUT), 388.0, "{speed}");
        assert_eq!(at(&found, "/throughput/total_tokens_per_s"), Value::Null);
        let name = "总吞吐(tokens/s)".to_owned();
        assert_eq!(found.assumed, [Assumption::TotalIsOutput { name }]);
    }
    let found = only(&table(&[
        ("并发", "10"),
        ("单路速度(tokens/s)", "39.2"),
        ("输出吞吐(tokens/s)", "388"),
        ("总吞吐(tokens/s)", "1200"),
    ]));
    assert_eq!(at(&found, OUTPUT), 388.0);
    assert_eq!(at(&found, "/throughput/total_tokens_per_s"), 1200.0);
}

#[test]
fn the_throughput_of_one_card_needs_the_number_of_cards() {
    let found = only(&table(&[("并发", "8"), ("QPS", "2"), ("tok/s/GPU", "200")]));
    assert_eq!(at(&found, OUTPUT), Value::Null);
    assert_eq!(found.unread, ["tok/s/GPU"]);
    let found = only(&table(&[
        ("并发", "8"),
        ("单卡吞吐(tok/s)", "200"),
        ("卡数", "4"),
    ]));
    assert_eq!(at(&found, OUTPUT), 800.0);
    assert_eq!(found.derived, ["throughput.output_tokens_per_s"]);
    assert!(found.unread.is_empty());
}

#[test]
fn more_output_than_tokens_in_all_is_doubted() {
    let found = only(&table(&[
        ("并发", "8"),
        ("输出吞吐(tok/s)", "500"),
        ("总吞吐(tok/s)", "400"),
    ]));
    let texts: Vec<&str> = found.doubts.iter().map(|it| it.text.as_str()).collect();
    assert!(
        texts
            .iter()
            .any(|text| text.contains("total throughput is 400")),
        "{texts:?}"
    );
}

#[test]
fn changes_percentages_and_negative_times_are_named_and_not_read() {
    for (name, cell) in [
        ("TTFT change (%)", "-8.5"),
        ("吞吐提升", "12.5"),
        ("加速比", "1.8"),
        ("TTFT", "-8.5"),
        ("TTFT", "8.5%"),
        ("吞吐(tok/s)", "12.5%"),
    ] {
        let found = only(&table(&[("并发", "8"), ("QPS", "2"), (name, cell)]));
        assert_eq!(at(&found, "/latency/ttft_ms"), Value::Null, "{name} {cell}");
        assert_eq!(at(&found, OUTPUT), Value::Null, "{name} {cell}");
        assert_eq!(found.unread, [name], "{cell}");
    }
}

#[test]
fn a_target_is_the_load_and_what_was_achieved_the_result() {
    for name in ["RPS target", "目标QPS", "offered load (req/s)"] {
        let found = only(&table(&[
            (name, "4"),
            ("achieved", "3.9"),
            ("median TTFT", "120ms"),
        ]));
        assert_eq!(found.point["rate"], 4, "{name}");
        assert_eq!(at(&found, "/throughput/requests_per_s"), 3.9, "{name}");
    }
}

#[test]
fn percentiles_of_operators_are_of_the_latency_before_them() {
    let found = only(&table(&[
        ("并发数", "50"),
        ("平均耗时(ms)", "4100"),
        ("TP50(ms)", "4000"),
        ("99线(ms)", "6100"),
        ("首字TP99(ms)", "900"),
    ]));
    assert_eq!(at(&found, "/latency/e2e_ms/p50"), 4000.0);
    assert_eq!(at(&found, "/latency/e2e_ms/p99"), 6100.0);
    assert_eq!(at(&found, "/latency/ttft_ms/p99"), 900.0);
    assert_eq!(at(&found, "/latency/ttft_ms/mean"), Value::Null);
}

#[test]
fn a_heading_gives_the_load_that_a_result_leaves_out() {
    let block = "============ Serving Benchmark Result ============\n\
                 Successful requests: 500\nBenchmark duration (s): 100\nMean TTFT (ms): 40\n\
                 ==================================================\n";
    let text = format!(
        "# 输入 1024，输出 128\n## 并发 16\n```\n{block}```\n## 并发 32\n```\n{block}```\n\nconcurrency=64\nas measured:\n{block}"
    );
    let loads: Vec<Value> = results(&text).iter().map(|it| json!(it.point)).collect();
    let load =
        |streams: u64| json!({"concurrency": streams, "input_tokens": 1024, "output_tokens": 128});
    assert_eq!(loads, [load(16), load(32), load(64)]);
    let own = only(&format!(
        "## 并发 16\n\n{}",
        table(&[("并发", "8"), ("QPS", "2")])
    ));
    assert_eq!(own.point["concurrency"], 8, "the table knows better");
}

#[test]
fn the_number_of_a_trial_is_no_load() {
    for numbers in ["试验", "实验", "Trial", "测试", "No."] {
        let text = format!(
            "## 300 requests, 并发 32\n\n| {numbers} | maxBatchSize | QPS | 平均延迟 (s) |\n|---|---|---|---|\n\
             | 1 | 16 | 2.55 | 12.24 |\n| 2 | 32 | 3.80 | 8.21 |\n| 3 | 64 | 3.82 | 8.17 |\n"
        );
        let found = results(&text);
        let loads: Vec<Value> = found
            .iter()
            .map(|it| json!(it.point["concurrency"]))
            .collect();
        assert_eq!(loads, [32, 32, 32], "{numbers}");
    }
}

#[test]
fn separated_values_and_html_are_read_as_tables_are() {
    let expected = results(&table(&[
        ("模型", "m1"),
        ("并发", "20"),
        ("QPS", "1.9"),
        ("平均时延（秒）", "10.2"),
    ]));
    for text in [
        "模型,并发,QPS,平均时延（秒）\nm1,20,1.9,10.2\n",
        "模型\t并发\tQPS\t平均时延（秒）\nm1\t20\t1.9\t10.2\n",
        "<table><tr><th>模型</th><th>并发</th><th>QPS</th><th>平均时延（秒）</th></tr>\n<tr><td>m1</td><td>20</td><td>1.9</td><td>10.2</td></tr></table>\n",
    ] {
        let found = only(text);
        assert_eq!(found.summary, expected[0].summary, "{text}");
        assert_eq!(found.point, expected[0].point, "{text}");
        assert_eq!(found.label, expected[0].label, "{text}");
    }
}

#[test]
fn decimal_commas_are_read_where_the_whole_table_has_them() {
    let found = only(&table(&[
        ("并发", "4"),
        ("TTFT P50(s)", "0,25"),
        ("吞吐(tok/s)", "1.210,5"),
    ]));
    assert_eq!(at(&found, "/latency/ttft_ms/p50"), 250.0);
    assert_eq!(at(&found, OUTPUT), 1210.5);
}

#[test]
fn characters_a_second_are_no_tokens() {
    let found =
        only("| 并发 | 吞吐（字/秒） | 吞吐（token/秒） |\n|--|--|--|\n| 20 | 1010 | 620 |\n");
    assert_eq!(at(&found, "/throughput/output_chars_per_s"), 1010.0);
    assert_eq!(at(&found, OUTPUT), 620.0);
    assert!(found.twice.is_empty());
}

#[test]
fn memory_names_no_result_and_joined_cells_are_two_numbers() {
    let found = only(&table(&[
        ("Concurrency", "16"),
        ("TTFT p50 / p99 (ms)", "92 / 1,310"),
        ("GPU mem", "71 GiB"),
    ]));
    assert_eq!(found.label, None);
    assert_eq!(found.unread, ["GPU mem"]);
    assert_eq!(at(&found, "/latency/ttft_ms/p50"), 92.0);
    assert_eq!(at(&found, "/latency/ttft_ms/p99"), 1310.0);
}

#[test]
fn a_unit_below_a_name_is_the_names() {
    let found = only(
        "|=====|=====|=====|=====|=====|\n| Benchmark | Request Latency || TTFT ||\n| Strategy | Sec || ms ||\n| | Mdn | p95 | Mdn | p95 |\n|-----|-----|-----|-----|-----|\n| concurrent | 2.1 | 2.3 | 35.2 | 41.0 |\n|=====|=====|=====|=====|=====|\n",
    );
    assert_eq!(found.tool.name(), "guidellm");
    assert_eq!(at(&found, "/latency/e2e_ms/p50"), 2100.0);
    assert_eq!(at(&found, "/latency/e2e_ms/p95"), 2300.0);
    assert_eq!(at(&found, "/latency/ttft_ms/p50"), 35.2);
    assert_eq!(at(&found, "/latency/ttft_ms/mean"), Value::Null);
    assert!(found.assumed.is_empty(), "{:?}", found.assumed);
}

#[test]
fn a_time_without_a_unit_in_a_table_of_one_result_is_read_by_its_size() {
    let found =
        only("| Metric | Value |\n| --- | --- |\n| Mean TTFT | 38 |\n| Mean latency | 1200 |\n");
    assert_eq!(at(&found, "/latency/ttft_ms/mean"), 38.0);
    assert_eq!(found.assumed.len(), 2, "{:?}", found.assumed);
}

#[test]
fn failures_in_a_row_without_a_total_are_held_against_what_the_rate_says() {
    let found = only(&table(&[
        ("并发", "128"),
        ("总耗时(s)", "85.4"),
        ("QPS", "9.22"),
        ("失败数", "212"),
    ]));
    assert_eq!(at(&found, "/requests/ok"), 787);
    assert_eq!(at(&found, "/valid"), false);
    assert_eq!(found.doubts[0].text, "212 of 999 requests failed (21.2 %)");
}

#[test]
fn failures_of_an_unknown_number_of_requests_are_a_warning() {
    let found = only(&table(&[
        ("并发", "128"),
        ("QPS", "9.22"),
        ("失败数", "212"),
    ]));
    let said = "212 requests failed; how many were sent is not stated";
    assert_eq!(found.doubts[0].text, said);
}

fn ladder(columns: &[&str], rows: &[&[&str]]) -> String {
    let line = |cells: &[&str]| format!("| {} |\n", cells.join(" | "));
    let rule = vec!["---"; columns.len()];
    let rows: String = rows.iter().map(|row| line(row)).collect();
    line(columns) + &line(&rule) + &rows
}

fn invalid(found: &[ImportedResult]) -> Vec<u64> {
    let invalid = found.iter().filter(|found| {
        let summary = found.summary.as_ref();
        summary.is_some_and(|it| !it.valid)
    });
    let loads = invalid.filter_map(|found| found.point.get("concurrency")?.as_u64());
    loads.collect()
}

#[test]
fn a_missing_digit_is_seen_where_latencies_tell_the_length_of_answers() {
    let columns = [
        "并发",
        "QPS",
        "平均延迟(s)",
        "TTFT(ms)",
        "TPOT(ms)",
        "吞吐量(tok/s)",
    ];
    let found = results(&ladder(
        &columns,
        &[
            &["16", "2.58", "6.15", "117", "25.2", "618.2"],
            &["32", "4.86", "6.52", "124", "26.8", "116.6"],
            &["64", "8.66", "7.32", "138", "30.1", "2077.4"],
        ],
    ));
    assert_eq!(invalid(&found), [32], "{found:#?}");
}

#[test]
fn a_closed_loop_has_no_more_requests_in_flight_than_streams() {
    let columns = ["并发", "QPS", "平均延迟(s)", "吞吐量(tok/s)"];
    let found = results(&ladder(
        &columns,
        &[
            &["8", "2.75", "2.90", "660.0"],
            &["16", "5.05", "3.16", "1212.0"],
            &["32", "83.5", "3.82", "20040.0"],
            &["64", "1.928", "46.018", "462.7"],
        ],
    ));
    assert_eq!(invalid(&found), [32, 64]);
}

#[test]
fn remarks_that_tell_failures_or_take_a_row_back_are_heard() {
    let columns = ["并发", "QPS", "平均延迟(s)", "吞吐量(tok/s)", "备注"];
    let found = results(&ladder(
        &columns,
        &[
            &["16", "5.05", "3.16", "1212.0", ""],
            &["64", "21.35", "2.90", "5124.0", "有 40% 请求报错 503"],
            &["128", "16.35", "7.80", "3924.0", "客户端 CPU 100%, 作废"],
        ],
    ));
    assert_eq!(invalid(&found), [64, 128], "{found:#?}");
    assert_eq!(at(&found[1], "/requests/failed_share"), 0.4);
}

#[test]
fn fewer_requests_than_streams_are_no_point_of_that_load() {
    let found = only(&table(&[
        ("并发", "128"),
        ("请求数", "60"),
        ("QPS", "17.39"),
        ("吞吐量(tok/s)", "4173.91"),
    ]));
    assert_eq!(invalid(&[found]), [128]);
}

#[test]
fn percentiles_without_a_name_are_of_whole_requests_unless_they_stand_behind_another_latency() {
    let row = ["4", "0.443", "8.938", "0.224", "106.3", "9.028", "11.620"];
    let names = [
        "Concurrency",
        "QPS",
        "Avg latency (s)",
        "TTFT (s)",
        "Throughput (tokens/s)",
    ];
    let columns = [&names[..], &["p50 (s)", "p95 (s)"]].concat();
    let found = only(&table(&Vec::from_iter(columns.into_iter().zip(row))));
    assert_eq!(at(&found, "/latency/e2e_ms/p50"), 9028.0, "{found:#?}");
    assert_eq!(at(&found, "/latency/ttft_ms/p50"), Value::Null);
    let name = "p50 (s)".to_owned();
    let assumed = Assumption::PercentileOfLatency { name };
    assert!(found.assumed.contains(&assumed));
    let behind = only(&table(&[
        ("并发", "4"),
        ("平均延迟(s)", "8.9"),
        ("TTFT(s)", "0.224"),
        ("p50(s)", "0.2"),
    ]));
    assert_eq!(at(&behind, "/latency/ttft_ms/p50"), 200.0);
}

#[test]
fn a_median_that_no_values_of_such_a_mean_have_is_doubted() {
    let found = only(&table(&[
        ("并发", "4"),
        ("平均TTFT(ms)", "224"),
        ("TTFT p50(ms)", "9028"),
        ("吞吐量(tok/s)", "106"),
    ]));
    let codes = found.doubts.iter().map(|doubt| doubt.code.name());
    assert!(
        codes
            .into_iter()
            .any(|code| code == "disordered-percentiles")
    );
}

#[test]
fn columns_that_spaces_set_apart_are_a_table() {
    let text = "vLLM, L20\n\n\
        并发    QPS     平均延迟(s)   TTFT(ms)   TPOT(ms)   输出吞吐(tok/s)   成功率\n\
        10      0.899   10.97         60         24.4       402.5             100%\n\
        160     7.809   20.18         95         44.9       3498.6            96.5%\n\
        That was  all of  it.\n";
    let found = results(text);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert_eq!(at(&found[1], OUTPUT), 3498.6);
    let share = at(&found[1], "/requests/failed_share").as_f64();
    assert!(share.is_some_and(|share| (share - 0.035).abs() < 1e-9));
}

#[test]
fn numbers_copied_from_another_engine_are_of_nobody() {
    let rows = "| 并发 | QPS | 平均延迟(s) | 吞吐量(tok/s) |\n| - | - | - | - |\n\
        | 8 | 2.75 | 2.90 | 660.5 |\n| 16 | 5.05 | 3.16 | 1212.3 |\n| 32 | 8.35 | 3.82 | 2004.1 |\n";
    let notes = |last: &str| {
        let other = rows.replace("| 8.35 |", last).replace("5.05", "5.07");
        format!("## MindIE (910B4)\n{rows}\n## vLLM (L20)\n{other}")
    };
    // Half of the figures are other ones.
    let other = rows
        .replace("2.75", "2.77")
        .replace("5.05", "5.07")
        .replace("8.35", "8.36");
    let other = other.replace("660.5", "665.5").replace("1212.3", "1217.2");
    let measured = format!("## MindIE (910B4)\n{rows}\n## vLLM (L20)\n{other}");
    assert_eq!(invalid(&results(&measured)), [0; 0]);
    let copied = format!("## MindIE (910B4)\n{rows}\n## vLLM (L20)\n{rows}");
    assert_eq!(invalid(&results(&copied)), [8, 16, 32, 8, 16, 32]);
    assert_eq!(invalid(&results(&notes("| 8.35 |"))), [8, 32, 8, 32]);
    // Said twice of the same.
    let twice = format!("## vLLM (L20)\n{rows}\n## vLLM (L20)\n{rows}");
    assert_eq!(invalid(&results(&twice)), [0; 0]);
}

#[test]
fn a_line_above_a_command_names_all_results_of_that_command() {
    let block = |streams: u32| {
        format!(
            "============ Serving Benchmark Result ============\n\
             Successful requests:                     1000\n\
             Maximum request concurrency:             {streams}\n\
             Request throughput (req/s):              {}.5\n\
             Output token throughput (tok/s):         {}.25\n\n",
            streams,
            100 * streams
        )
    };
    let round = |name: &str, flag: &str| {
        let command = format!("vllm serve /data/Q --max-num-seqs {flag}");
        format!("{name}\n{command}\n{}{}\n", block(10), block(20))
    };
    let text = round("一轮测试", "256") + &round("二轮测试", "64");
    let found = inferometer_import::under(results(&text), "一轮测试").unwrap_or_default();
    let loads = found
        .iter()
        .filter_map(|found| found.point.get("concurrency")?.as_u64());
    assert_eq!(Vec::from_iter(loads), [10, 20]);
}

#[test]
fn tokens_that_are_as_many_at_every_load_are_those_of_a_request() {
    let rows: [&[&str]; 3] = [
        &["8", "80", "1.20", "1024", "256", "307"],
        &["64", "640", "4.10", "512", "256", "1050"],
        &["128", "1280", "5.20", "1024", "256", "1331"],
    ];
    let columns = [
        "并发",
        "Requests",
        "QPS",
        "Input tokens",
        "Output tokens",
        "tok/s",
    ];
    let found = results(&ladder(&columns, &rows));
    let lengths = |found: &ImportedResult| {
        let tokens = &found.summary.as_ref().unwrap().tokens;
        (tokens.input, tokens.output)
    };
    assert!(
        found.iter().all(|it| lengths(it) == (None, None)),
        "no totals of a run"
    );
    let inputs: Vec<&Value> = found.iter().map(|it| &it.point["input_tokens"]).collect();
    assert_eq!(inputs, [1024, 512, 1024]);
    // Those of a run grow with it.
    let rows: [&[&str]; 2] = [
        &["8", "80", "1.20", "81920", "20480", "307"],
        &["64", "640", "4.10", "655360", "163840", "1050"],
    ];
    let found = results(&ladder(&columns, &rows));
    assert_eq!(lengths(&found[1]), (Some(655_360), Some(163_840)));
}

#[test]
fn a_median_that_equals_its_tail_at_some_loads_is_doubted_there() {
    let rows: [&[&str]; 4] = [
        &["8", "180.2", "420.9"],
        &["16", "312.4", "700.1"],
        &["32", "1034", "1034"],
        &["64", "1682", "1682"],
    ];
    let columns = ["并发", "TTFT P50 (ms)", "TTFT P99 (ms)"];
    let found = results(&ladder(&columns, &rows));
    let doubted = found.iter().filter(|it| {
        let mut codes = it.doubts.iter().map(|doubt| doubt.code.name());
        codes.any(|code| code == "not-a-distribution")
    });
    let loads: Vec<&Value> = doubted.map(|it| &it.point["concurrency"]).collect();
    assert_eq!(loads, [32, 64]);
}
