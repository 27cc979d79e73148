//! Logs of grids: a script that runs many points and prints one log.

use inferometer_import::{ImportedResult, groups, measured, out_of_memory, read};

/// The log of a script that ran a grid with one template after another.
fn log(templates: &[&str], lengths: &[u32], loads: &[u32]) -> String {
    let mut log = String::new();
    let mut line = |level: &str, text: &str| {
        log += &format!("[2031-03-01 09:00:00,243][261][{level}] {text}\n");
    };
    for template in templates {
        line(
            "INFO",
            &format!("model: Qwen-14B-Chat, prompt template: {template}"),
        );
        for length in lengths {
            for load in loads {
                line("INFO", &format!("chunk_size: {length}, generate_size: 500"));
                if *length >= 4000 && *load >= 64 {
                    line(
                        "ERROR",
                        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB",
                    );
                    line(
                        "ERROR",
                        &format!(
                            "benchmark aborted: chunk_size {length}, generate_size 500, 并发 {load}"
                        ),
                    );
                    line("INFO", &"-".repeat(120));
                    continue;
                }
                let refused = load / 8;
                if refused > 0 {
                    line("ERROR", "request 0 refused: 抱歉，我无法续写这段内容。");
                    line("ERROR", "request 1 refused: 抱歉，我无法续写这段内容。");
                    line("INFO", &format!("refused: {refused}"));
                }
                let speed = f64::from(*load) * 1.7 + template.len() as f64;
                line("INFO", &format!("总测试文本块数目: {}", 100 + refused));
                line("INFO", &format!("并发: {load}"));
                line("INFO", &format!("单个文本块长度: {length}"));
                line("INFO", "生成文本长度: 500");
                line("INFO", &format!("duration: {}", 400 / load));
                line("INFO", &format!("completion-tokens/second: {speed}"));
                line("INFO", "n-request: 100");
                line("INFO", &format!("QPS: {}", f64::from(*load) / 4.0));
                line("INFO", "None");
                line("INFO", &"-".repeat(120));
            }
        }
    }
    log
}

fn failed(results: &[ImportedResult]) -> Vec<String> {
    let failed = results.iter().filter(|found| found.error.is_some());
    let point = |found: &ImportedResult| {
        let point: Vec<String> = (found.point.iter())
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        point.join(" ")
    };
    failed.map(point).collect()
}

#[test]
fn every_point_that_ran_out_of_memory_is_one() {
    let results = read(
        "grid.log",
        &log(&["v1"], &[1000, 4000, 8000], &[4, 64, 128]),
    )
    .results;
    let expected = [
        "ask_chars=500 concurrency=64 input_chars=4000",
        "ask_chars=500 concurrency=128 input_chars=4000",
        "ask_chars=500 concurrency=64 input_chars=8000",
        "ask_chars=500 concurrency=128 input_chars=8000",
    ];
    assert_eq!(failed(&results), expected);
    assert_eq!(results.iter().filter(|it| it.summary.is_some()).count(), 5);
    assert_eq!(out_of_memory(&results).len(), 4);
}

#[test]
fn a_load_is_found_above_the_trace_of_its_failure() {
    let trace = "  File \"worker.py\", line 12, in run\n    step()\n".repeat(10);
    let point = |load: u32| {
        format!(
            "input=1024 output=128 concurrency={load}\nTraceback (most recent call last):\n{trace}\
             torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB.\n\n"
        )
    };
    let results = read("loop.log", &(point(64) + &point(128))).results;
    let expected = [
        "concurrency=64 input_tokens=1024 output_tokens=128",
        "concurrency=128 input_tokens=1024 output_tokens=128",
    ];
    assert_eq!(failed(&results), expected);
}

#[test]
fn requests_that_were_refused_are_accounted_for() {
    let results = read("grid.log", &log(&["v1"], &[1000], &[4, 64])).results;
    let requests = results[1].summary.as_ref().unwrap().requests;
    assert_eq!(
        (requests.planned, requests.ok, requests.failed),
        (Some(108), Some(100), Some(8))
    );
    let codes: Vec<&str> = results[1].doubts.iter().map(|it| it.code.name()).collect();
    assert!(!codes.contains(&"lost-requests"), "{codes:?}");
}

#[test]
fn two_templates_of_one_log_are_two_settings() {
    let results = read(
        "grid.log",
        &log(&["v1", "longer_v2"], &[1000, 4000], &[4, 64]),
    )
    .results;
    assert_eq!(failed(&results).len(), 2, "one of each template");
    let points: Vec<String> = (measured(&results).iter())
        .map(|it| it.point.to_string())
        .collect();
    let of = |template: &str| points.iter().filter(|it| it.contains(template)).count();
    assert_eq!(
        (points.len(), of("template=v1"), of("template=longer_v2")),
        (6, 3, 3),
        "{points:?}"
    );
    let one = read("grid.log", &log(&["v1"], &[1000, 4000], &[4, 64])).results;
    assert!(
        measured(&one)
            .iter()
            .all(|it| !it.point.to_string().contains("template"))
    );
}

#[test]
fn versions_of_an_engine_are_never_repeats_of_each_other() {
    let block = |rate: f64| {
        format!(
            "Successful requests: 500\nMaximum request concurrency: 16\n\
             Request throughput (req/s): {rate}\nMean TTFT (ms): 90\nP99 TTFT (ms): 200\n"
        )
    };
    let titled = format!(
        "# Week\n## vLLM v0.31.0\n{}\n## vLLM v0.32.0\n{}",
        block(9.4),
        block(8.1)
    );
    let launched = format!(
        "docker run vllm/vllm-openai:v0.31.0 --model m\n{}\ndocker run vllm/vllm-openai:v0.32.0 --model m\n{}",
        block(9.4),
        block(8.1)
    );
    let said = format!(
        "vllm version: 0.31.0\n{}\nvllm version: 0.32.0\n{}",
        block(9.4),
        block(8.1)
    );
    for text in [titled, launched, said] {
        let results = read("notes.md", &text).results;
        let versions: Vec<_> = results
            .iter()
            .map(|it| it.facts.get("version").cloned())
            .collect();
        assert_eq!(
            versions,
            ["0.31.0", "0.32.0"].map(|it| Some(it.to_owned())),
            "{text}"
        );
        let points: Vec<String> = (measured(&results).iter())
            .map(|it| it.point.key())
            .collect();
        assert!(points.len() == 2 && points[0] != points[1], "{points:?}");
    }
    // By the names of their files.
    let mut files = read("old/vllm-0.6.6-c16.txt", &block(8.0)).results;
    files.extend(read("old/vllm-0.8.5-c16.txt", &block(8.7)).results);
    let points: Vec<String> = (measured(&files).iter())
        .map(|it| it.point.to_string())
        .collect();
    assert_eq!(
        points,
        [
            "concurrency=16, version=0.6.6",
            "concurrency=16, version=0.8.5"
        ]
    );
    // Files of one version are repeats.
    let mut files = read("run1.txt", &block(8.0)).results;
    files.extend(read("run2.txt", &block(8.1)).results);
    let points: Vec<String> = (measured(&files).iter())
        .map(|it| it.point.to_string())
        .collect();
    assert_eq!(points, ["concurrency=16"; 2]);
}

fn block(rate: f64, further: &str) -> String {
    format!(
        "Successful requests: 500\nMaximum request concurrency: 16\n\
         Request throughput (req/s): {rate}\nMean TTFT (ms): 90\nP99 TTFT (ms): 200\n{further}"
    )
}

#[test]
fn results_of_two_models_are_two_groups_however_the_model_is_named() {
    let client = "vllm bench serve --num-prompts 500 --max-concurrency 16 --model";
    let by_clients = format!(
        "{client} A\n{}\n{client} B\n{}",
        block(9.4, ""),
        block(8.1, "")
    );
    let by_servers = format!(
        "vllm serve A --port 1\n{}\nvllm serve B --port 1\n{}",
        block(9.4, ""),
        block(8.1, "")
    );
    let rows = "| model | concurrency | req/s | tok/s |\n|---|---|---|---|\n| A | 16 | 9 | 900 |\n| B | 16 | 8 | 800 |\n";
    for text in [by_clients, by_servers, rows.to_owned()] {
        let results = read("notes.log", &text).results;
        let groups = groups(&results);
        let titles: Vec<&str> = groups.iter().map(|group| group.title.as_str()).collect();
        assert_eq!(titles, ["notes.log / A", "notes.log / B"], "{text}");
        let points: Vec<String> = (measured(&results).iter())
            .map(|it| it.point.key())
            .collect();
        assert!(points.len() == 2 && points[0] != points[1], "{points:?}");
        let doubts = results.iter().flat_map(|it| &it.doubts);
        assert!(
            doubts.clone().all(|it| !it.text.contains("twice")),
            "{text}"
        );
    }
    let further = "Failed requests: 0\n";
    let equal = format!("{client} A\n{0}\n{client} B\n{0}", block(9.4, further));
    let results = read("notes.log", &equal).results;
    assert_eq!(measured(&results).len(), 2, "equal figures of two models");
    let same = format!(
        "{client} A\n{}\n{client} A\n{}",
        block(9.4, ""),
        block(9.3, "")
    );
    assert_eq!(groups(&read("notes.log", &same).results).len(), 1);
}

#[test]
fn the_load_of_a_failure_stands_in_the_command_above_it() {
    let trace = "  File \"worker.py\", line 12, in run\n    step()\n".repeat(5);
    let error = format!(
        "Traceback (most recent call last):\n{trace}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB.\n"
    );
    let own = "python grid.py --input-len 1000 --output-len 200 --concurrency";
    let bench = |load: u32| {
        format!(
            "vllm bench serve --model m \\\n  --random-input-len 4096 \\\n  --max-concurrency {load}\n{error}\n"
        )
    };
    let text = format!(
        "vllm serve m\n{own} 64\n{error}\n{own} 128\n{error}\n{}",
        bench(256)
    );
    let results = read("loop.log", &text).results;
    assert_eq!(
        failed(&results),
        [
            "concurrency=64 input_tokens=1000 output_tokens=200",
            "concurrency=128 input_tokens=1000 output_tokens=200",
            "concurrency=256 input_tokens=4096",
        ]
    );
}

#[test]
fn lines_that_tell_failures_are_counted_or_told() {
    let results = |text: &str| read("run.log", text).results;
    let failed = |found: &ImportedResult| found.summary.as_ref().unwrap().requests.failed;
    let codes = |found: &ImportedResult| -> Vec<&str> {
        found.doubts.iter().map(|doubt| doubt.code.name()).collect()
    };
    // A count right behind a result is its own.
    let counted = results(&format!(
        "{}12 requests failed\n\nnext\n\n{}",
        block(9.4, ""),
        block(8.1, "Failed requests: 0\n")
    ));
    assert_eq!(
        counted.iter().map(failed).collect::<Vec<_>>(),
        [Some(12), Some(0)]
    );
    assert!(codes(&counted[0]).contains(&"failures"));
    // What is logged on the way is of the result that follows.
    let logged = results(&format!(
        "{}\n\n\nRequest rejected: queue is full\n\"POST /v1/completions HTTP/1.1\" 503\n\n{}",
        block(9.4, ""),
        block(8.1, "Failed requests: 0\n")
    ));
    assert_eq!(
        (
            codes(&logged[0]).contains(&"failures"),
            logged[1].told_failures.as_ref().unwrap().requests
        ),
        (false, 2)
    );
    let said = &logged[1]
        .doubts
        .iter()
        .find(|it| it.code.name() == "failures")
        .unwrap()
        .text;
    assert!(
        said.contains("2 failed or refused requests") && said.contains("queue is full"),
        "{said}"
    );
    // Unless the command of the next one stands in between.
    let client = "vllm bench serve --model m --num-prompts 500";
    let before = results(&format!(
        "{client}\n{}\n\n\nHTTP 503\n\n{client}\n{}",
        block(9.4, ""),
        block(8.1, "")
    ));
    let told: Vec<bool> = before.iter().map(|it| it.told_failures.is_some()).collect();
    assert_eq!(told, [true, false]);
    // A line that names a load is of that one, though it stands behind another.
    let named = results(&format!(
        "{}并发 128 时服务端报了不少错（HTTP 503）\n\n{}",
        block(9.4, "Maximum request concurrency: 64\n"),
        block(8.1, "Maximum request concurrency: 128\n")
    ));
    let told: Vec<bool> = named.iter().map(|it| it.told_failures.is_some()).collect();
    assert_eq!(told, [false, true]);
    // What it counts itself is not told twice.
    let known = results(&format!(
        "Request rejected\n\n{}",
        block(8.1, "Failed requests: 3\n")
    ));
    assert_eq!(codes(&known[0]), Vec::<&str>::new());
    // A line that may be of any row of a table is named as not read.
    let table = "HTTP 503\n\n| 并发 | QPS |\n|---|---|\n| 1 | 0.1 |\n| 4 | 0.4 |\n";
    assert_eq!(read("t.md", table).unread, [(1, 1)]);
}

#[test]
fn failures_that_a_log_tells_among_the_lines_of_a_result_are_its_own() {
    let log = "[2024-03-01 09:01:58,123][261][INFO] chunk_size: 1000, generate_size: 1000
[2024-03-01 09:02:46,123][240][WARNING] 37 requests failed: HTTP 503
[2024-03-01 09:02:46,123][243][INFO] 总测试文本块数目: 1024
[2024-03-01 09:02:46,123][244][INFO] 并发: 128
[2024-03-01 09:02:46,123][46][INFO] duration: 48
[2024-03-01 09:02:46,123][48][INFO] completion-tokens/second: 3084.375
[2024-03-01 09:02:46,123][51][INFO] total completion tokens: 148050
[2024-03-01 09:02:46,123][53][INFO] n-request: 987
[2024-03-01 09:02:46,123][54][INFO] QPS: 20.5625
";
    let found = read("run.log", log).results;
    let [found] = found.as_slice() else {
        panic!("{found:?}");
    };
    let summary = found.summary.as_ref().unwrap();
    assert_eq!(summary.requests.failed, Some(37));
    let codes: Vec<&str> = found.doubts.iter().map(|it| it.code.name()).collect();
    assert!(!codes.contains(&"lost-requests"), "{codes:?}");
}

#[test]
fn a_point_of_a_log_that_ran_out_of_memory_keeps_its_lengths_and_its_load() {
    let log = "[INFO] chunk_size: 8000, generate_size: 2000\n\
        [INFO] 总测试文本块数目: 500\n[INFO] 并发: 8\n[INFO] 单个文本块长度: 8000\n\
        [INFO] 生成文本长度: 2000\n\
        torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB\n";
    let results = read("grid-log.txt", log).results;
    assert_eq!(
        failed(&results),
        ["ask_chars=2000 concurrency=8 input_chars=8000"]
    );
}

/// A table whose edges are lengths.
fn crossed(corner: &str, caption: &str) -> String {
    format!(
        "## A30\n\n### {caption}\n\n| {corner} | 128 | 512 |\n|---|---|---|\n\
         | 1000 | 310.5 | 402 |\n| 4000 | 120 | OOM |\n| 8000 | - | refused |\n"
    )
}

#[test]
fn a_table_with_a_length_along_both_edges_is_a_grid() {
    for (corner, caption, axes) in [
        (
            "input \\ output",
            "output tok/s",
            ["input_tokens", "output_tokens"],
        ),
        (
            "输入长度/生成长度",
            "输出 tokens/s，A30 单卡",
            ["input_tokens", "output_tokens"],
        ),
        (
            "输入(字)×生成(字)",
            "输出吞吐(tok/s)",
            ["input_chars", "ask_chars"],
        ),
    ] {
        let results = read("notes.md", &crossed(corner, caption)).results;
        let cells: Vec<String> = (results.iter())
            .map(|found| {
                let [input, output] = axes.map(|axis| found.point[axis].to_string());
                let rate = found.summary.as_ref();
                let rate = rate.and_then(|it| it.throughput.output_tokens_per_s);
                let said =
                    rate.map_or(found.error.clone().unwrap_or_default(), |it| it.to_string());
                format!("{input}+{output}: {said}")
            })
            .collect();
        let expected = [
            "1000+128: 310.5",
            "1000+512: 402",
            "4000+128: 120",
            "4000+512: OOM",
            "8000+512: refused",
        ];
        assert_eq!(cells, expected, "{corner}");
        assert!(results[3].is_out_of_memory_under_load());
        assert!(!results[4].is_out_of_memory_under_load());
    }
}

#[test]
fn a_crossed_table_whose_metric_nobody_names_is_no_result() {
    let text = crossed("input \\ output", "some numbers");
    assert!(read("notes.md", &text).results.is_empty());
}

/// A note of two templates with several tables of one study below each other.
fn study(of_second: &str) -> String {
    let template = |name: &str, speeds: &str, rates: &str| {
        let mut text = format!("### {name}\n\n");
        let corner = "| 输入长度(字)\\并发 | 8 | 16 | 32 |\n|---|---|---|---|\n";
        let refusals =
            "| 1000 | 0% | 0% | 0% |\n| 2000 | 0% | 0% | 46% |\n| 4000 | 0% | 0% | OOM |\n";
        for (metric, rows) in [
            ("completion tok/s", speeds),
            ("QPS", rates),
            ("拒绝率", refusals),
        ] {
            text += &format!("{metric}（生成 1000 字）\n\n{corner}{rows}\n");
        }
        text
    };
    let first = template(
        "模板 v1",
        "| 1000 | 465.7 | 820.9 | 1329.3 |\n| 2000 | 427.2 | 713.9 | 1073.1 |\n| 4000 | 370.3 | 565.5 | OOM |\n",
        "| 1000 | 0.654 | 1.152 | 1.866 |\n| 2000 | 0.601 | 1.002 | 1.506 |\n| 4000 | 0.521 | 3.181 | OOM |\n",
    );
    format!("# 长度研究\n\n## vLLM 0.8.5\n\n{first}{of_second}")
}

#[test]
fn tables_of_one_study_below_each_other_are_one_result_a_cell() {
    let found = read("note.md", &study(""));
    assert_eq!(found.unread, [], "the refusals are read with the rest");
    assert_eq!(found.results.len(), 9);
    assert_eq!(groups(&found.results).len(), 1);
    let cell = &found.results[5];
    let point = serde_json::json!({ "ask_chars": 1000, "concurrency": 32, "input_chars": 2000 });
    assert_eq!(serde_json::json!(cell.point), point);
    let summary = cell.summary.as_ref().unwrap();
    assert_eq!(summary.throughput.output_tokens_per_s, Some(1073.1));
    assert_eq!(summary.requests.failed_share, Some(0.46));
    assert!(
        !summary.valid,
        "a cell that refused half of its requests does not count"
    );
    let length = summary.tokens.output_mean.unwrap();
    assert!((712.0..713.0).contains(&length), "{length}");
    let failed = failed(&found.results);
    assert_eq!(failed, ["ask_chars=1000 concurrency=32 input_chars=4000"]);
}

#[test]
fn a_cell_with_far_shorter_answers_than_those_of_the_same_ask_is_doubted() {
    let found = read("note.md", &study(""));
    let doubted = found.results.iter().filter(|it| {
        let mut codes = it.doubts.iter().map(|doubt| doubt.code.name());
        codes.any(|code| code == "output-lengths")
    });
    let places: Vec<u64> = doubted.map(|it| it.number).collect();
    assert_eq!(places, [8], "178 tokens where others have 712");
}

#[test]
fn rows_copied_from_a_table_under_another_heading_are_doubted() {
    let second = "### 模板 v2\n\ncompletion tok/s（生成 1000 字）\n\n\
        | 输入长度(字)\\并发 | 8 | 16 | 32 |\n|---|---|---|---|\n\
        | 1000 | 464.1 | 825.4 | 1332.8 |\n| 2000 | 427.2 | 713.9 | 1073.1 |\n| 4000 | 379.4 | 585.1 | 702.7 |\n\n\
        QPS（生成 1000 字）\n\n\
        | 输入长度(字)\\并发 | 8 | 16 | 32 |\n|---|---|---|---|\n\
        | 1000 | 0.543 | 0.965 | 1.556 |\n| 2000 | 0.601 | 1.002 | 1.506 |\n| 4000 | 0.443 | 0.684 | 0.938 |\n";
    let found = read("note.md", &study(second));
    let copied = found.results.iter().filter(|it| {
        let texts = it.doubts.iter().map(|doubt| doubt.text.as_str());
        let words: Vec<&str> = texts
            .filter(|text| text.contains("to the last digit"))
            .collect();
        !words.is_empty()
    });
    let points: Vec<String> = copied
        .map(|it| it.point["input_chars"].to_string())
        .collect();
    assert_eq!(points, vec!["2000"; 6], "three cells of each of both");
    // The same ladder told twice as a whole is a summary and no copy.
    let again = study("").split_once("### 模板 v1").unwrap().1.to_owned();
    let found = read("note.md", &study(&format!("### 汇总 {again}")));
    let texts: Vec<&str> = (found.results.iter().flat_map(|it| &it.doubts))
        .map(|doubt| doubt.text.as_str())
        .collect();
    assert!(
        !texts.iter().any(|text| text.contains("to the last digit")),
        "{texts:?}"
    );
}

#[test]
fn cells_of_two_tables_of_one_section_that_are_equal_are_one_measurement() {
    let second = "completion tok/s（并发 32）\n\n\
        | 输入长度(字)\\输出长度(字) | 500 | 1000 |\n|---|---|---|\n\
        | 1000 | 1207.8 | 1329.3 |\n| 2000 | 924.3 | 1073.1 |\n\n\
        QPS（并发 32）\n\n\
        | 输入长度(字)\\输出长度(字) | 500 | 1000 |\n|---|---|---|\n\
        | 1000 | 3.067 | 1.866 |\n| 2000 | 2.347 | 1.506 |\n";
    let found = read("note.md", &study(second)).results;
    let mut groups = groups(&found).into_iter();
    let (group, none) = (groups.next().unwrap(), groups.next());
    assert!(none.is_none(), "both tables are of one study");
    let repeated = inferometer_import::repeats(&found);
    assert_eq!(repeated.iter().filter(|it| it.is_some()).count(), 2);
    assert_eq!(group.members.len(), 13);
}

#[test]
fn captions_that_say_how_many_requests_a_cell_has_are_of_one_study() {
    let text = study("")
        .replace("（生成 1000 字）", "（每格 200 条）")
        .replace("拒绝率", "表 3：拒答数");
    let text = text.replace("46%", "58").replace("0%", "0");
    let found = read("note.md", &text).results;
    assert_eq!(found.len(), 9, "speeds, rates and refusals are joined");
    let requests = found[5].summary.as_ref().unwrap().requests;
    assert_eq!((requests.planned, requests.failed), (Some(200), Some(58)));
    assert!(!found[5].summary.as_ref().unwrap().valid);
}

#[test]
fn a_row_that_is_copied_from_another_length_is_doubted() {
    let copied = |row: &str| study("").replace("| 4000 | 370.3 | 565.5 | OOM |", row);
    let text = copied("| 4000 | 427.2 | 713.9 | 1073.1 |")
        .replace(
            "| 4000 | 0.521 | 3.181 | OOM |",
            "| 4000 | 0.601 | 1.002 | 1.506 |",
        )
        .replace("| 4000 | 0% | 0% | OOM |", "| 4000 | 0% | 0% | 46% |");
    let found = read("note.md", &text).results;
    let doubted = found.iter().filter(|it| {
        let mut texts = it.doubts.iter().map(|doubt| doubt.text.as_str());
        texts.any(|text| text.contains("to the last digit"))
    });
    let rows: Vec<String> = doubted
        .map(|it| it.point["input_chars"].to_string())
        .collect();
    assert_eq!(rows, ["2000", "2000", "2000", "4000", "4000", "4000"]);
}

#[test]
fn a_result_that_is_told_again_without_its_rate_is_no_copy() {
    let table = |columns: &str, rows: [&str; 2]| {
        format!(
            "| 并发 | {columns} QPS | tok/s | TTFT p50 (ms) | TTFT p99 (ms) |\n|---|---|---|---|---|---|\n| 8 | {} |\n| 16 | {} |\n\n",
            rows[0], rows[1]
        )
    };
    let text = table(
        "请求速率 |",
        [
            "inf | 1.234 | 987.6 | 123.4 | 456.7",
            "inf | 2.345 | 1876.5 | 234.5 | 567.8",
        ],
    ) + &table(
        "",
        [
            "1.234 | 987.6 | 123.4 | 456.7",
            "2.345 | 1876.5 | 234.5 | 567.8",
        ],
    )
    .replace("|---|---|---|---|---|---|", "|---|---|---|---|---|");
    let found = read("note.md", &text).results;
    assert_eq!(found.len(), 4);
    let texts: Vec<&str> = (found.iter().flat_map(|it| &it.doubts))
        .map(|doubt| doubt.text.as_str())
        .collect();
    assert!(
        !texts.iter().any(|text| text.contains("to the last digit")),
        "{texts:?}"
    );
}
