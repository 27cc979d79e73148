//! Results of other tools: imported, kept, listed, shown and compared; and their command lines.

use crate::support::{Place, Sim};
use serde_json::Value;

const NOTES: &str = "# 第一轮 (a)\n\
    vllm serve m --max-num-seqs 32 --use-v2-block-manager\n\
    ```\n\
    ============ Serving Benchmark Result ============\n\
    Successful requests：                     500\n\
    Benchmark duration (s):                  100.00\n\
    Total input tokens:                      100000\n\
    Total generated tokens:                  50000\n\
    Request throughput (req/s):              5.00\n\
    Output token throughput (tok/s):         500.00\n\
    Mean TTFT (ms):                          200.00\n\
    P99 TTFT (ms):                           900.00\n\
    ==================================================\n\
    ```\n\
    # round two\n\
    vllm serve m --max-num-seqs 32 --use-v2-block-manager\n\
    ValueError: no room for this\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn an_import_is_shown_kept_listed_and_opened_again() {
    let place = Place::new();
    place.write("notes.md", NOTES);
    let shown = place.run(&["import", "notes.md", "--lang", "en"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    for expected in [
        "results: 1; refused starts: 1",
        "as defined by vllm",
        "max-num-seqs=32",
        "no room for this",
    ] {
        assert!(
            shown.stdout.contains(expected),
            "{expected}: {}",
            shown.stdout
        );
    }
    assert!(
        shown.stdout.lines().all(|line| line.chars().count() <= 80),
        "{}",
        shown.stdout
    );
    // As the import says itself: a start that was refused is no result.
    let listed = place.run(&["runs"]);
    assert!(listed.stdout.contains("results: 1"), "{}", listed.stdout);
    let folders = std::fs::read_dir(place.path("inferometer-runs")).unwrap();
    let folder = folders.map(|entry| entry.unwrap().path()).next().unwrap();
    let again = place.run(&["report", folder.to_str().unwrap(), "--format", "json"]);
    let printed = place.run(&["import", "notes.md", "--no-keep", "--format", "json"]);
    let (again, printed) = (json(&again.stdout), json(&printed.stdout));
    assert_eq!(again["schema"], "inferometer.import/1");
    assert_eq!(again["results"], printed["results"]);
    let result = &printed["results"][0];
    assert_eq!(
        result["summary"]["throughput"]["output_tokens_per_s"],
        500.0
    );
    assert_eq!(result["defaults"]["flags"]["gpu-memory-utilization"], 0.9);
    assert_eq!(printed["results"][1]["summary"], Value::Null);
}

#[test]
fn a_quiet_import_says_only_the_verdict_of_each_file() {
    let place = Place::new();
    place.write("notes.md", NOTES);
    place.write("other.md", NOTES);
    let quiet = place.run(&["import", "notes.md", "other.md", "--quiet", "--lang", "en"]);
    assert_eq!(
        (quiet.code, quiet.stderr.as_str()),
        (Some(0), ""),
        "{quiet:?}"
    );
    let verdicts: Vec<&str> = quiet
        .stdout
        .lines()
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(verdicts.len(), 2, "{}", quiet.stdout);
    assert!(
        verdicts[1].contains("(other.md) (results: 1; refused starts: 1)"),
        "{verdicts:?}"
    );
    // It is kept all the same.
    assert!(place.run(&["runs"]).stdout.contains("results: 1"));
    place
        .run(&["import", "notes.md", "--quiet", "--format", "json"])
        .assert_refused(&["--format"]);
}

#[test]
fn a_file_without_results_is_an_error_of_one_line_and_nothing_is_kept() {
    let place = Place::new();
    place.write("prose.txt", "nothing here\n");
    for file in ["prose.txt", "missing.txt"] {
        let ended = place.run(&["import", file]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
    assert!(!place.path("inferometer-runs").exists());
    place.write("notes.md", NOTES);
    std::fs::create_dir(place.path("full")).unwrap();
    place.write("full/mine.txt", "keep me");
    let refused = place.run(&["import", "notes.md", "--out", "full"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert_eq!(
        std::fs::read(place.path("full/mine.txt")).unwrap(),
        b"keep me"
    );
}

#[test]
fn what_an_import_assumed_and_left_out_is_said_in_either_language() {
    let place = Place::new();
    place.write(
        "notes.md",
        "| 并发 | 平均延迟(s) | TTFT | 卡数 | 机架 |\n|---|---|---|---|---|\n| 8 | 3.3 | 120 | 2 | 7 |\n",
    );
    for (lang, expected) in [
        ("zh", ["“TTFT”未写单位：按毫秒读取", "未读取", "平均"]),
        (
            "en",
            [
                "`TTFT` has no unit: read as milliseconds",
                "not read",
                "mean",
            ],
        ),
    ] {
        let shown = place.run(&["import", "notes.md", "--no-keep", "--lang", lang]);
        for text in expected {
            assert!(shown.stdout.contains(text), "{text}: {}", shown.stdout);
        }
        for text in ["机架", "cards=2"] {
            assert!(shown.stdout.contains(text), "{text}: {}", shown.stdout);
        }
    }
}

#[test]
fn imports_of_one_tool_are_laid_side_by_side_and_other_definitions_are_named() {
    let place = Place::new();
    let block = |rate: &str| {
        format!(
            "============ Serving Benchmark Result ============\nSuccessful requests: 500\nBenchmark duration (s): 100.00\nTotal generated tokens: 50000\nRequest throughput (req/s): 5.00\nOutput token throughput (tok/s): {rate}\nMean TTFT (ms): 200.00\nMaximum request concurrency: 8\n==================\n"
        )
    };
    place.write("a.txt", block("500.00"));
    place.write("b.txt", block("497.00"));
    let ended = place.run(&["compare", "a.txt", "b.txt", "--format", "json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let found = json(&ended.stdout);
    assert_eq!(
        (&found["schema"], &found["comparable"]),
        (&"inferometer.compare/1".into(), &true.into())
    );
    let row = &found["rows"][0];
    assert_eq!(
        (&row["a"], &row["verdict"]),
        (&Value::from(500.0), &"unknown".into())
    );

    let sim = Sim::start(&["--ttft", "5ms", "--itl", "1ms"]);
    let run = place.measure(
        &sim.url,
        &[
            "--requests",
            "30",
            "--concurrency",
            "8",
            "--output-tokens",
            "4",
        ],
    );
    let mixed = place.run(&[
        "compare",
        "a.txt",
        run.path.to_str().unwrap(),
        "--format",
        "json",
    ]);
    assert_eq!(mixed.code, Some(1), "{mixed:?}");
    let found = json(&mixed.stdout);
    assert_eq!(found["comparable"], false);
    assert!(
        found["why_not"].to_string().contains("definition"),
        "{found}"
    );
}

#[test]
fn a_slower_server_is_worse_and_fails_a_gate() {
    let place = Place::new();
    // In virtual time, which no busy machine disturbs.
    for (name, device) in [("fast", "h100"), ("slow", "l40s")] {
        for number in 1..=2 {
            let (out, seed) = (format!("{name}/{number}"), number.to_string());
            let ended = place.run(&[
                "run",
                "--sim-clock",
                "virtual",
                "--sim-device",
                device,
                "--seed",
                &seed,
                "--quiet",
                "--out",
                &out,
                "--requests",
                "60",
                "--concurrency",
                "4",
                "--output-tokens",
                "8",
                "--input-tokens",
                "16",
            ]);
            assert_eq!(ended.code, Some(0), "{ended:?}");
        }
    }
    let worse = place.run(&[
        "compare",
        "fast",
        "slow",
        "--fail-on",
        "worse",
        "--lang",
        "en",
    ]);
    assert_eq!(worse.code, Some(1), "{worse:?}");
    assert!(worse.stdout.starts_with("WORSE"), "{}", worse.stdout);
    let computed = worse.stdout.matches("computed in virtual").count();
    assert_eq!(computed, 2, "{}", worse.stdout);
    assert!(
        worse.stdout.lines().all(|line| line.chars().count() <= 80),
        "{}",
        worse.stdout
    );
    let better = place.run(&[
        "compare",
        "slow",
        "fast",
        "--fail-on",
        "worse",
        "--format",
        "md",
    ]);
    assert_eq!(better.code, Some(0), "{better:?}");
    assert!(
        better.stdout.contains("output tok/s |"),
        "{}",
        better.stdout
    );
    let csv = place.run(&[
        "compare",
        "slow",
        "fast",
        "fast/1",
        "--format",
        "csv",
        "--primary",
        "latency.ttft_ms.mean",
    ]);
    assert_eq!(csv.code, Some(0), "{csv:?}");
    assert!(
        csv.stdout
            .contains("fast/1,concurrency=4,latency.ttft_ms.mean,true"),
        "{}",
        csv.stdout
    );
}

#[test]
fn folders_of_two_tools_meet_at_their_loads() {
    let place = Place::new();
    let folder = |name: &str| {
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/import");
        format!("{fixtures}/{name}")
    };
    let (a, b) = (
        folder("evalscope-1.14.1-sweep"),
        folder("aiperf-0.13.0-sweep"),
    );
    let ended = place.run(&["compare", &a, &b, "--format", "json"]);
    let printed = json(&ended.stdout);
    let rows = printed["rows"].as_array().unwrap();
    let primary = rows.iter().filter(|row| row["primary"] == true);
    let loads: Vec<&Value> = primary.map(|row| &row["point"]["concurrency"]).collect();
    assert_eq!(loads, [2, 4], "{printed:#}");
    assert_eq!(printed["unpaired"], Value::Array(Vec::new()));
}

#[test]
fn what_cannot_be_compared_is_told_in_one_line() {
    let place = Place::new();
    place.write("a.txt", NOTES);
    std::fs::create_dir(place.path("empty")).unwrap();
    std::fs::create_dir(place.path("half")).unwrap();
    place.write("half/scenario.toml", "[load]\nconcurrency = 4\n");
    for (paths, expected) in [
        (&["a.txt"][..], "nothing to compare with"),
        (&["a.txt", "empty"], "is empty"),
        (&["a.txt", "half"], "half written"),
        (&["a.txt", "missing"], "cannot read missing"),
        (&["a.txt", "a.txt#9"], "it holds 2 results"),
        (&["a.txt", "a.txt#2"], "refused starts only"),
    ] {
        let ended = place.run(&[&["compare"], paths].concat());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
}

#[test]
fn a_pasted_command_line_is_translated_and_run() {
    let place = Place::new();
    let sim = Sim::start(&["--ttft", "2ms", "--itl", "1ms"]);
    let line = format!(
        "vllm bench serve --base-url {} \\\n --dataset-name random --random-input-len 16 --random-output-len 4 --num-prompts 12 --max-concurrency 3 --ignore-eos --save-result",
        sim.url
    );
    let shown = place.run(&["from", &line]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(
        shown.stdout.contains("--concurrency 3")
            && shown.stdout.contains("not needed here: --save-result"),
        "{}",
        shown.stdout
    );
    let ran = place.run(&["from", "--run", &line]);
    assert!(ran.code == Some(0) || ran.code == Some(1), "{ran:?}");
    assert!(ran.stdout.contains("VALID"), "{}", ran.stdout);
    let unknown = place.run(&["from", "ls -l"]);
    assert_eq!(
        (unknown.code, unknown.stderr.lines().count()),
        (Some(2), 1),
        "{unknown:?}"
    );
    let words = place.run(&[
        "from",
        "--",
        "evalscope",
        "perf",
        "--parallel",
        "4",
        "--number",
        "9",
    ]);
    assert!(words.stdout.contains("--requests 9"), "{words:?}");
}

/// Two engines with a ladder each, one of which fails.
fn sections() -> String {
    let block = |streams: u64, rate: f64, failed: u64| {
        format!(
            "- parallel {streams}\n```\nBenchmarking summary:\n Expected number of requests: 1000\n \
             Number of concurrency: {streams}\n Total requests: 1000\n Succeed requests: {}\n \
             Failed requests: {failed}\n Average QPS: {rate}\n \
             Throughput(average output tokens per second): {}\n```\n",
            1000 - failed,
            100.0 * rate
        )
    };
    format!(
        "# Two engines\n## MindIE\n### Qwen-7B\n{}{}{}\n## vLLM\n### Qwen-7B\n{}{}{}\n### Qwen-72B\n{}{}{}\n",
        block(8, 1.0, 0),
        block(16, 2.0, 0),
        block(32, 3.0, 0),
        block(8, 4.0, 0),
        block(16, 8.0, 0),
        block(32, 12.0, 0),
        block(8, 0.5, 300),
        block(16, 0.6, 400),
        block(32, 0.7, 500),
    )
}

/// One model of two engines, of which one has it on two cards, and a larger model of both that
/// exhausts the memory of one.
fn on_two_cards() -> String {
    let table = |rates: [u32; 2], last: &str| {
        let [low, high] = rates;
        format!(
            "| 并发 | 请求数 | 成功 | QPS | 吞吐量 (tok/s) |\n|---|---|---|---|---|\n\
             | 8 | 1000 | 1000 | 1.0 | {low} |\n| 16 | 1000 | 1000 | 2.0 | {high} |\n{last}\n"
        )
    };
    let exhausted = "| 32 | OOM | OOM | OOM | OOM |\n";
    [
        ("MindIE, 910B4: 8X32G", "Qwen-7B", table([100, 200], "")),
        (
            "MindIE, 910B4: 8X32G",
            "Qwen-72B",
            table([30, 50], exhausted),
        ),
        ("vLLM, A100: 4X80G", "Qwen-7B", table([400, 800], "")),
        ("vLLM, A100: 4X80G", "Qwen-72B", table([120, 200], "")),
        ("vLLM, 910B4: 8X32G", "Qwen-7B", table([102, 205], "")),
    ]
    .map(|(engine, model, table)| format!("## {engine}\n\n### {model}\n\n#### openqa\n\n{table}"))
    .concat()
}

#[test]
fn a_test_on_two_cards_is_a_side_for_each_and_models_are_not_pooled() {
    let place = Place::new();
    place.write("notes.md", on_two_cards());
    let sides = ["notes.md@engine=MindIE", "notes.md@engine=vLLM"];
    let ended = place.run(&["compare", sides[0], sides[1], "--lang", "en"]);
    let text = &ended.stdout;
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "notes.md@engine=vLLM@card=A100, Qwen-7B / openqa: output tok/s better at 2 of 2",
        "notes.md@engine=vLLM@card=A100, Qwen-72B / openqa: output tok/s better at 2 of 2",
        "notes.md@engine=vLLM@card=910B4, Qwen-7B / openqa: output tok/s cannot tell at 2 of 2",
        "different cards: 910B4, A100",
        "notes.md@engine=MindIE: ran out of memory at concurrency=32",
    ] {
        assert!(joined.contains(expected), "{expected}: {text}");
    }
    assert!(!text.contains("different models"), "{text}");
    assert!(!text.contains("Without a partner"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    // The number of requests suffices; without it the remedy is told.
    let uncounted = on_two_cards().replace("请求数 | 成功", "卡温 | 功耗");
    place.write("uncounted.md", uncounted);
    let sides = ["uncounted.md#MindIE/72B", "uncounted.md#vLLM/72B"];
    let ended = place.run(&["compare", sides[0], sides[1], "--lang", "en"]);
    let joined = ended
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(joined.contains("add a column of requests"), "{joined}");
}

#[test]
fn long_notes_are_read_and_compared_by_section() {
    let place = Place::new();
    place.write("notes.md", sections());
    let all = place.run(&["import", "notes.md", "--no-keep", "--lang", "en"]);
    assert_eq!(all.code, Some(0), "{all:?}");
    let titles = ["MindIE / Qwen-7B", "vLLM / Qwen-7B", "vLLM / Qwen-72B"];
    for expected in titles.into_iter().chain(["Two engines (notes.md)"]) {
        assert!(all.stdout.contains(expected), "{expected}: {}", all.stdout);
    }
    assert!(!all.stdout.contains("parallel 8"), "{}", all.stdout);
    let (_, beside) = all.stdout.split_once("Side by side: Qwen-7B").unwrap();
    let ahead = "vLLM 1,200 tok/s at c32; MindIE 300 tok/s at c32 (75 % less)";
    assert!(beside.contains(ahead), "{beside}");
    let lines = [["c8", "100", "400"], ["c16", "200", "800"]];
    for wanted in lines.map(|line| [&line[..], &["vLLM", "4.0", "×", "MindIE"]].concat()) {
        let has = |line: &str| line.split_whitespace().eq(wanted.iter().copied());
        assert!(beside.lines().any(has), "{wanted:?}: {beside}");
    }
    // A second engine with failures is not ahead, and one that has no other beside it is not shown.
    assert!(!all.stdout.contains("Side by side: Qwen-72B"));
    let failing = sections().replace(
        "Succeed requests: 1000\n Failed requests: 0\n Average QPS: 12\n",
        "Succeed requests: 700\n Failed requests: 300\n Average QPS: 12\n",
    );
    place.write("failing.md", failing);
    let failing = place.run(&["import", "failing.md", "--no-keep", "--lang", "en"]);
    let most = "vLLM 800 tok/s at c16; MindIE 200 tok/s at c16 (75 % less)";
    assert!(failing.stdout.contains(most), "{}", failing.stdout);
    assert!(failing.stdout.contains("! 1,200"), "{}", failing.stdout);
    let details = place.run(&["import", "notes.md", "--no-keep", "--details"]);
    assert!(details.stdout.lines().count() > 2 * all.stdout.lines().count());

    let bad = place.run(&["import", "notes.md#vLLM/72B", "--no-keep", "--lang", "en"]);
    assert_eq!(bad.code, Some(1), "everything is invalid: {bad:?}");
    assert!(bad.stdout.starts_with("INVALID"), "{}", bad.stdout);
    for (name, expected) in [
        ("notes.md#SGLang", "MindIE/Qwen-7B"),
        ("notes.md@engine=SGLang", "MindIE, vLLM"),
        ("notes.md@enforce-eager", "names the enforce-eager"),
    ] {
        let wrong = place.run(&["import", name, "--no-keep"]);
        assert_eq!(wrong.code, Some(2), "{wrong:?}");
        assert!(wrong.stderr.contains(expected), "{}", wrong.stderr);
        assert_eq!(wrong.stderr.lines().count(), 1);
    }

    let sides = ["notes.md@engine=MindIE", "notes.md@engine=vLLM"];
    let compared = place.run(&["compare", sides[0], sides[1], "--lang", "en"]);
    let first = compared.stdout.lines().next().unwrap_or_default();
    assert!(first.starts_with("BETTER"), "{}", compared.stdout);
    assert!(compared.stdout.contains("output tok/s at each load"));
    let printed = place.run(&["compare", sides[0], sides[1], "--format", "json"]);
    let rows = json(&printed.stdout)["rows"].clone();
    let rows = rows.as_array().unwrap();
    assert!(
        rows.iter().all(|row| row["point"]["group"] == "Qwen-7B"),
        "{rows:?}"
    );
}

#[test]
fn what_is_stored_is_listed_for_programs() {
    let place = Place::new();
    place.write("notes.md", NOTES);
    place.run(&["import", "notes.md"]);
    let listed = json(&place.run(&["runs", "--format", "json"]).stdout);
    assert_eq!(listed["schema"], "inferometer.runs/1");
    let path = listed["runs"][0]["path"].as_str().unwrap().to_owned();
    assert_eq!(listed["runs"][0]["kind"], "import");
    assert_eq!(place.run(&["report", &path]).code, Some(0));
    let csv = place.run(&["runs", "--format", "csv"]).stdout;
    assert_eq!(csv.lines().count(), 2, "{csv}");
    assert!(csv.lines().nth(1).unwrap().contains(&path));
    let page = place.run(&["runs", "--format", "html"]);
    assert_eq!(page.code, Some(2), "{page:?}");
}

#[test]
fn a_list_given_to_a_run_points_to_sweep() {
    let place = Place::new();
    let wrong = place.run(&["run", "--concurrency", "8,16"]);
    assert_eq!(wrong.code, Some(2));
    let remedy = "inferometer sweep --concurrency 8,16";
    assert!(wrong.stderr.contains(remedy), "{}", wrong.stderr);
}

#[test]
fn prompts_of_other_lengths_are_not_laid_side_by_side_as_one_test() {
    let place = Place::new();
    let ladder = |engine: &str, rate: f64, input: u32| {
        let row = |c: f64| {
            let (qps, tokens) = (c * rate, 512.0 * c * rate);
            format!("| {c} | {qps:.3} | {tokens:.1} | {input} | 512 |\n")
        };
        let rows: String = [4.0, 16.0].map(row).concat();
        format!(
            "## {engine}\n\n### long\n\n\
             | 并发 | QPS | 吞吐量 | 平均输入 token 数 | 平均输出 token 数 |\n\
             | --- | --- | --- | --- | --- |\n{rows}\n"
        )
    };
    let text = |input| ladder("vLLM", 0.1, 4096) + &ladder("SGLang", 0.15, input);
    let beside = |input| {
        place.write("notes.md", text(input));
        let all = place.run(&["import", "notes.md", "--no-keep", "--lang", "en"]);
        let (_, beside) = all.stdout.split_once("Side by side").expect("a table");
        beside.split("\n\n").take(2).collect::<String>()
    };
    let unlike = beside(2048);
    let said = unlike.matches("not comparable: input 4,096 against 2,048");
    assert_eq!(said.count(), 2, "{unlike}");
    assert!(!unlike.contains('%'), "{unlike}");
    assert!(beside(4000).contains("SGLang +50 %"), "{}", beside(4000));
}

/// Trials of MindIE's settings at one load, the last a repeat of the first.
fn trials() -> String {
    let trial = |name: &str, batch: u32, memory: u32, tokens: u32| {
        format!(
            "### {name}\n\n```json\n\"maxBatchSize\": {batch},\n\"npuMemSize\": {memory}\n```\n\n\
             ```\n============ Serving Benchmark Result ============\n\
             Successful requests:                     {tokens}\n\
             Maximum request concurrency:             32\n\
             Benchmark duration (s):                  100.00\n\
             Total generated tokens:                  {}\n\
             Request throughput (req/s):              {:.2}\n\
             Output token throughput (tok/s):         {tokens}.00\n\
             ==================================================\n```\n\n",
            100 * tokens,
            f64::from(tokens) / 100.0
        )
    };
    [
        "# Trials\n\n## MindIE (4×910B4)\n\n".to_owned(),
        trial("trial 1", 32, 8, 1000),
        trial("trial 2", 64, 8, 1010),
        trial("trial 3", 32, 4, 700),
        trial("trial 4 (again)", 32, 8, 900),
    ]
    .concat()
}

#[test]
fn trials_in_a_note_are_selected_by_their_settings_and_equal_ones_meet() {
    let place = Place::new();
    place.write("notes.md", trials());
    let shown = place.run(&["import", "notes.md", "--no-keep", "--lang", "en"]);
    let joined = shown
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        joined.contains("output throughput is 1000 and 900: 11.1 % from run to run"),
        "{joined}"
    );
    let wrong = place.run(&["import", "notes.md@maxBatchSize=16", "--no-keep"]);
    assert!(
        wrong
            .stderr
            .contains("its results have maxBatchSize 32, 64"),
        "{}",
        wrong.stderr
    );
    let sides = ["notes.md@maxBatchSize=32", "notes.md@maxBatchSize=64"];
    let compared = place.run(&["compare", sides[0], sides[1], "--lang", "en"]);
    let joined = compared
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    for expected in [
        "CANNOT TELL notes.md@maxBatchSize=64: output tok/s",
        "loads: 2); 4 × 910B4;",
        "npuMemSize=8 was measured 2 times, and output tok/s is 900 to 1,000",
    ] {
        assert!(joined.contains(expected), "{expected}: {}", compared.stdout);
    }
}

#[test]
fn a_result_is_not_compared_with_itself_and_a_heading_is_selected_as_it_is_printed() {
    let place = Place::new();
    let trial = |name: &str, flags: &str, rate: f64| {
        format!(
            "### {name}\n\n```\nvllm serve Qwen/Qwen2.5-7B-Instruct --port 8000 {flags}\n```\n\n\
             | concurrency | requests | req/s | output tok/s |\n|---|---|---|---|\n\
             | 64 | 500 | {rate} | {} |\n\n",
            rate * 200.0
        )
    };
    let text = "# Trials\n\n".to_owned()
        + &trial("batch tok/s", "--max-num-batched-tokens 8192", 6.5)
        + &trial("cache", "--kv-cache-dtype fp8", 7.9)
        + &trial(
            "both",
            "--max-num-batched-tokens 8192 --kv-cache-dtype fp8",
            8.0,
        );
    place.write("notes.md", &text);
    let [a, b] = [
        "notes.md@max-num-batched-tokens=8192",
        "notes.md@kv-cache-dtype=fp8",
    ];
    let shared = place.run(&["compare", a, b]);
    assert_eq!(shared.code, Some(2), "{shared:?}");
    assert!(
        shared.stderr.contains("both hold result #3"),
        "{}",
        shared.stderr
    );
    let apart = place.run(&[
        "compare",
        "notes.md#batch tok/s",
        "notes.md#cache",
        "--lang",
        "en",
    ]);
    assert_ne!(apart.code, Some(2), "{apart:?}");
    assert!(apart.stdout.contains("+21.5"), "{}", apart.stdout);
}

#[test]
fn a_table_whose_cells_nobody_knows_is_named_as_unread() {
    let place = Place::new();
    let table = |name: &str, cell: &str| {
        format!(
            "{name}\n\n| 输入长度(字)\\并发 | 8 | 16 |\n| --- | --- | --- |\n| 1000 | {cell} | {cell} |\n| 2000 | {cell} | {cell} |\n\n"
        )
    };
    place.write("notes.md", table("QPS", "6") + &table("合计分", "46"));
    let all = place.run(&["import", "notes.md", "--no-keep", "--lang", "en"]);
    assert!(all.stdout.contains("Not read"), "{}", all.stdout);
    assert!(all.stdout.contains("lines 10–13"), "{}", all.stdout);
}
