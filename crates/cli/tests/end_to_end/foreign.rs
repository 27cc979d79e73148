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
        "results: 2",
        "as vllm defines",
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
    let listed = place.run(&["runs"]);
    assert!(listed.stdout.contains("results: 2"), "{}", listed.stdout);
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
    let computed = worse.stdout.matches("virtual time").count();
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
        (&["a.txt", "a.txt#9"], "there is no #9"),
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
