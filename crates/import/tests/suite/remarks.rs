//! What the author of notes says beside the figures: that they were measured again, that he doubts
//! them, and with which flags a server was started.

use inferometer_import::{Imported, ImportedResult, groups, measured_in, read, repeats};
use serde_json::json;

fn results(text: &str) -> Vec<ImportedResult> {
    read("notes.md", text).results
}

/// A table of loads, each with its throughput and a remark.
fn ladder(rows: &[(u32, u32, &str)]) -> String {
    let row = |(load, speed, remark): &(u32, u32, &str)| {
        let rate = f64::from(*speed) / 240.0;
        let latency = f64::from(*load) / rate;
        format!("| {load} | {rate:.3} | {latency:.3} | {speed} | {remark} |\n")
    };
    let rows: String = rows.iter().map(row).collect();
    format!("| 并发 | QPS | 平均延迟(s) | 吞吐量(tok/s) | 备注 |\n|---|---|---|---|---|\n{rows}\n")
}

const ROWS: [(u32, u32, &str); 3] = [(8, 600, ""), (16, 1100, ""), (32, 1900, "")];

fn doubted(found: &[ImportedResult]) -> Vec<u64> {
    let is_doubted = |found: &&ImportedResult| {
        let mut codes = found.doubts.iter().map(|doubt| doubt.code.name());
        codes.any(|code| code == "doubted-by-author")
    };
    let doubted = found.iter().filter(is_doubted);
    doubted
        .filter_map(|found| found.point.get("concurrency")?.as_u64())
        .collect()
}

/// The points of each group, and how many results each has.
fn points(text: &str) -> Vec<Vec<(String, usize)>> {
    let Imported { results, .. } = read("notes.md", text);
    let copies = repeats(&results);
    let of = |group| {
        let mut points: Vec<(String, usize)> = Vec::new();
        for found in measured_in(&results, &copies, group) {
            let name = found.point.to_string();
            match points.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += 1,
                None => points.push((name, 1)),
            }
        }
        points
    };
    groups(&results).iter().map(of).collect()
}

#[test]
fn a_section_that_is_called_a_repeat_repeats_the_one_beside_it() {
    let again = [(8, 610, ""), (16, 1090, ""), (32, 1910, "")];
    let (first, second) = (ladder(&ROWS), ladder(&again));
    let other = ladder(&ROWS.map(|(load, speed, it)| (load, 2 * speed + 7, it)));
    let twice = ["8", "16", "32"].map(|load| (format!("concurrency={load}"), 2));
    for (title, words) in [
        ("### 首次", "### 复测"),
        ("### 短输入", "### 短输入（重测）"),
        ("### short prompts", "### short prompts, rerun on Tuesday"),
        ("### 短输入", "### 复测 2024-05-06"),
    ] {
        let text = format!("# n\n## vLLM 7B\n{title}\n{first}{words}\n{second}## SGLang\n{other}");
        assert_eq!(points(&text)[0], twice, "{title} {words}");
    }
    // Right below what it repeats, and with the same headings inside.
    let text = format!("# n\n## vLLM 7B\n{first}### 复测\n{second}");
    assert_eq!(points(&text), std::slice::from_ref(&twice));
    let third = ladder(&ROWS.map(|(load, speed, it)| (load, 2 * speed + 9, it)));
    let text = format!(
        "# n\n## vLLM\n### 7B\n{first}### 14B\n{other}## vLLM retest\n### 7B\n{second}### 14B\n{third}"
    );
    assert_eq!(points(&text), [twice.clone(), twice]);
}

#[test]
fn a_repeat_with_something_changed_or_of_nobody_knows_what_stays_apart() {
    let (first, second) = (
        ladder(&ROWS),
        ladder(&ROWS.map(|(load, speed, it)| (load, speed + 9, it))),
    );
    for words in ["### 复测, 关闭前缀缓存", "### rerun with chunked prefill"] {
        let text = format!("# n\n## vLLM 7B\n### 首次\n{first}{words}\n{second}");
        assert_eq!(points(&text).len(), 2, "{words}");
    }
    let text = format!("# n\n## vLLM\n### 短输入\n{first}### 长输入\n{second}### 复测\n{second}");
    assert_eq!(points(&text).len(), 3);
}

#[test]
fn a_repeat_ran_with_the_flags_of_what_it_repeats() {
    let launch = "`vllm serve m --max-num-seqs 64`\n\n";
    let (first, second) = (
        ladder(&ROWS),
        ladder(&ROWS.map(|(load, speed, it)| (load, speed + 9, it))),
    );
    let text = format!("# n\n## vLLM 7B\n{launch}{first}## vLLM 7B 复测\n{second}");
    let found = results(&text);
    assert_eq!(found.len(), 6);
    assert_eq!(found[0].flags, found[5].flags);
    assert_eq!(points(&text).len(), 1);
}

#[test]
fn a_table_that_the_line_above_it_calls_a_repeat_repeats_the_one_before() {
    let lengths = "输入 1024 / 输出 256，每档 300 条\n\n";
    let launch = "```\nvllm serve m --max-num-seqs 64\n```\n\n";
    let again = ladder(&[(16, 1090, ""), (32, 1910, "")]);
    let first = ladder(&ROWS);
    let text = format!(
        "# n\n## 32B\n### vLLM\n{launch}{lengths}{first}vLLM 重测（6 月 3 日，配置不变）：\n\n{again}"
    );
    let found = results(&text);
    let flags = found.iter().map(|it| it.flags.is_some());
    assert_eq!(Vec::from_iter(flags), [true; 5]);
    assert!(found.iter().all(|it| it.section == ["n", "32B", "vLLM"]));
    let counts = points(&text).concat();
    let counts = counts.iter().map(|(_, count)| *count);
    assert_eq!(Vec::from_iter(counts), [1, 2, 2]);
}

#[test]
fn what_its_author_doubts_is_doubted() {
    for remark in [
        "仅供参考",
        "首次运行, 预热不足",
        "这组不准",
        "不太准确, 客户端在同一台机器",
        "冷启动",
        "未预热",
        "for reference only",
        "cold start",
        "no warm-up",
        "suspicious, measure again",
    ] {
        let rows = [(8, 600, remark), (16, 1100, ""), (32, 1900, "")];
        assert_eq!(doubted(&results(&ladder(&rows))), [8], "{remark}");
    }
    for remark in [
        "已排除冷启动",
        "参考 vLLM 文档",
        "不准备再测",
        "warm",
        "冷启动 40 s",
        "no cold start",
    ] {
        let rows = [(8, 600, remark), (16, 1100, ""), (32, 1900, "")];
        assert_eq!(doubted(&results(&ladder(&rows))), [0; 0], "{remark}");
    }
    // States that were measured are no doubt.
    let rows = [
        (8, 600, "cold start"),
        (16, 1100, "warm"),
        (32, 1900, "warm"),
    ];
    assert_eq!(doubted(&results(&ladder(&rows))), [0; 0]);
}

#[test]
fn what_is_said_beside_a_table_is_of_its_rows() {
    let table = ladder(&ROWS);
    for (before, behind, expected) in [
        (
            "",
            "> 仅供参考, 测的时候机器上有别的任务。",
            &[8, 16, 32][..],
        ),
        ("预热不足，数据仅供参考:", "", &[8, 16, 32]),
        ("", "注: 并发 8 那组预热不足, 不准。", &[8]),
        ("", "concurrency 32 is for reference only", &[32]),
        ("", "预热不足会让首个请求变慢, 所以每组先跑 20 条。", &[]),
        ("为避免冷启动影响, 先预热 1 分钟。", "", &[]),
        ("", "vLLM 的官方数据仅供参考, 见链接。", &[]),
    ] {
        let text = format!("# n\n## A\n{before}\n\n{table}{behind}\n\n## B\n\n{table}");
        let found = results(&text);
        assert_eq!(doubted(&found), expected, "{before}{behind}");
    }
    let second = ladder(&ROWS.map(|(load, speed, remark)| (load, speed + 50, remark)));
    let two = format!("## A\n\n{table}以上数据仅供参考\n\n{second}");
    assert_eq!(doubted(&results(&two)[..3]), [8, 16, 32]);
    assert_eq!(doubted(&results(&two)[3..]), [0; 0]);
}

#[test]
fn an_answer_far_shorter_than_the_others_of_its_table_is_marked() {
    let table = |rows: &[(u32, &str, u32)]| {
        let row = |(load, engine, mean): &(u32, &str, u32)| {
            format!("| {load} | {engine} | 30 | {mean} | {}.5 |\n", load * 9)
        };
        let rows: String = rows.iter().map(row).collect();
        format!(
            "| 并发 | 引擎 | 平均输入长度 | 平均输出长度 | 吞吐(tok/s) |\n|---|---|---|---|---|\n{rows}"
        )
    };
    let marked = |rows: &[(u32, &str, u32)]| -> Vec<usize> {
        let found = results(&table(rows));
        assert_eq!(found.len(), rows.len());
        let is_marked = |at: &usize| {
            found[*at]
                .doubts
                .iter()
                .any(|it| it.code.name() == "output-lengths")
        };
        (0..found.len()).filter(is_marked).collect()
    };
    let mixed = [
        (8, "vLLM", 245),
        (16, "vLLM", 244),
        (8, "MindIE", 247),
        (16, "MindIE", 86),
        (32, "vLLM", 245),
    ];
    assert_eq!(marked(&mixed), [3]);
    // Lengths that vary are no exception of one.
    let varied = [(8, "a", 120), (16, "a", 260), (32, "a", 500), (64, "a", 86)];
    assert_eq!(marked(&varied), [0; 0]);
}

#[test]
fn flags_without_the_name_of_a_program_are_those_of_a_launch() {
    let table = ladder(&ROWS);
    for (line, name, value) in [
        (
            "启动 --tensor-parallel-size 4 --max-num-seqs 64",
            "max-num-seqs",
            json!(64),
        ),
        ("launched with -tp 4", "tensor-parallel-size", json!(4)),
        (
            "启动参数: --max-num-seqs 64 --enable-prefix-caching，然后压测。",
            "max-num-seqs",
            json!(64),
        ),
        (
            "- `--gpu-memory-utilization 0.92 --max-model-len 8192`",
            "max-model-len",
            json!(8192),
        ),
    ] {
        let found = results(&format!("## vLLM\n\n{line}\n\n{table}"));
        let flags = found[0].flags.clone().unwrap_or_default();
        assert_eq!(flags.get(name), Some(&value), "{line} {flags:?}");
    }
    for line in [
        "把 --max-num-seqs 64 调到 128 没有提升",
        "客户端 --num-prompts 500 --request-rate 4",
        "建议用 --max-num-seqs 64",
        "default of --max-num-seqs is 256",
    ] {
        let found = results(&format!("## vLLM\n\n{line}\n\n{table}"));
        assert_eq!(found[0].flags, None, "{line}");
    }
}
