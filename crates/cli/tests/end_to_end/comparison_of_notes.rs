//! Comparisons of what other tools and people wrote down: tables without a request, blocks of two
//! tools, ladders kept by hand.

use crate::support::Place;
use serde_json::Value;

fn compared(place: &Place, sides: &[&str]) -> (Value, String) {
    let run = |more: &[&str]| {
        place
            .run(&[&["compare"], sides, more].concat())
            .stdout
            .replace('\n', " ")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let text = run(&["--format", "json"]);
    let found = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (found, run(&["--lang", "en"]))
}

/// The row of a metric at the first load.
fn row<'a>(found: &'a Value, metric: &str) -> &'a Value {
    let mut rows = found["rows"].as_array().unwrap().iter();
    let row = rows.find(|row| row["metric"] == metric);
    row.unwrap_or_else(|| panic!("{metric}: {found}"))
}

/// A ladder as people keep one: output tok/s at each concurrency, 240 tokens an answer, with the mean
/// latency by which all streams but a share were busy.
fn ladder(rates: &[(f64, f64)], idle: f64) -> String {
    let mut table = String::from(
        "| 并发 | 请求数 | 成功 | QPS | 平均延迟(s) | 吞吐量(tok/s) |\n|---|---|---|---|---|---|\n",
    );
    for (load, rate) in rates {
        let qps = rate / 240.0;
        let latency = load * (1.0 - idle) / qps;
        table += &format!("| {load} | 500 | 500 | {qps:.4} | {latency:.4} | {rate} |\n");
    }
    table
}

const RATES: [(f64, f64); 3] = [(16.0, 660.0), (32.0, 1212.0), (64.0, 2004.0)];

fn times(factors: [f64; 3]) -> Vec<(f64, f64)> {
    let rates = RATES.iter().zip(factors);
    rates
        .map(|((load, rate), factor)| (*load, rate * factor))
        .collect()
}

#[test]
fn reports_of_two_tools_are_compared_by_what_all_tools_mean_alike() {
    let place = Place::new();
    for (out, card, tool) in [("a", "l20", "evalscope"), ("b", "h100", "vllm")] {
        let load = "run --quiet --no-html --sim-clock virtual --concurrency 8 --requests 200 \
            --input-tokens 64 --output-tokens 32";
        let load: Vec<&str> = load.split_whitespace().collect();
        let ended = place.run(&[&load[..], &["--sim-device", card, "--out", out]].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let said = place.run(&["report", out, "--dialect", tool]).stdout;
        place.write(&format!("{out}.txt"), said);
    }
    let (found, shown) = compared(&place, &["a.txt", "b.txt"]);
    assert!(shown.starts_with("BETTER"), "{shown}");
    assert_eq!(
        row(&found, "throughput.output_tokens_per_s")["verdict"],
        "better"
    );
    assert_eq!(
        row(&found, "throughput.requests_per_s")["verdict"],
        "better"
    );
    assert_eq!(
        row(&found, "latency.ttft_ms.mean")["verdict"],
        "not-comparable"
    );
    assert!(
        shown.contains("different tools: evalscope, vllm"),
        "{shown}"
    );
    // What one tool alone defines decides nothing, and why is said with a remedy for old notes.
    let by_ttft = ["a.txt", "b.txt", "--primary", "ttft.mean"];
    let (found, shown) = compared(&place, &by_ttft);
    assert_eq!(found["comparable"], false);
    assert!(shown.contains("compare by what all tools mean"), "{shown}");
    // A window that is a part of the test counts otherwise than the whole test.
    let (found, _) = compared(&place, &["a", "b.txt"]);
    assert_eq!(found["comparable"], false, "{found}");
}

#[test]
fn loads_that_tell_nothing_by_themselves_tell_together() {
    let place = Place::new();
    place.write("a.md", ladder(&RATES, 0.02));
    let against = |factors: [f64; 3], idle: f64| {
        place.write("b.md", ladder(&times(factors), idle));
        compared(&place, &["a.md", "b.md"])
    };
    let (found, shown) = against([1.13; 3], 0.02);
    let primary = row(&found, "throughput.output_tokens_per_s");
    assert_eq!(
        (&primary["verdict"], &primary["basis"]),
        (&"unknown".into(), &"littles-law".into())
    );
    assert_eq!(found["pooled"][0]["verdict"], "better", "{found}");
    assert!(shown.starts_with("BETTER"), "{shown}");
    assert!(shown.contains("3 loads together +13.0 %"), "{shown}");
    // Loads that point to either side say nothing together.
    let (found, shown) = against([1.13, 0.9, 1.13], 0.02);
    assert!(found["pooled"].is_null(), "{found}");
    assert!(shown.starts_with("CANNOT TELL"), "{shown}");
    // A seventh of the streams had nothing to do on average: a few long answers decided the test.
    let (_, shown) = against([1.2; 3], 0.15);
    assert!(shown.starts_with("CANNOT TELL"), "{shown}");
}

#[test]
fn parts_of_one_note_meet_by_their_models_and_what_their_author_doubts_decides_nothing() {
    let place = Place::new();
    let mut notes = String::from("# n\n\n");
    for (model, factor) in [("Qwen2.5-7B", 1.0), ("Qwen2.5-72B", 0.2)] {
        for (server, faster) in [
            ("1. vLLM 0.6.3 (A100)", 2.0),
            ("2. MindIE 1.0 (910B4)", 1.0),
        ] {
            let rates = times([factor * faster; 3]);
            let mut table = ladder(&rates, 0.02);
            if factor < 1.0 && faster > 1.0 {
                table += "\n并发 32 那组预热不足，不准。\n";
            }
            let heading = if faster > 1.0 {
                format!("## {model}\n\n")
            } else {
                String::new()
            };
            notes += &format!("{heading}### {server}\n\n{table}\n");
        }
    }
    place.write("n.md", notes);
    let (found, shown) = compared(&place, &["n.md@engine=MindIE", "n.md@engine=vLLM"]);
    let verdict = |group: &str, load: f64| {
        let mut rows = found["rows"].as_array().unwrap().iter();
        let row = rows.find(|row| {
            let point = &row["point"];
            let is_here = point["group"] == group && point["concurrency"] == load;
            is_here && row["metric"] == "throughput.output_tokens_per_s"
        });
        row.unwrap_or_else(|| panic!("{group} {load}: {found}"))["verdict"].clone()
    };
    assert_eq!(verdict("Qwen2.5-7B", 32.0), "better", "{shown}");
    assert_eq!(verdict("Qwen2.5-72B", 64.0), "better", "{shown}");
    assert_eq!(verdict("Qwen2.5-72B", 32.0), "unknown", "{shown}");
}

#[test]
fn one_load_of_several_does_not_speak_for_the_ladder_and_a_crossing_is_told() {
    let place = Place::new();
    let against = |factors: &[f64]| {
        let loads: Vec<(f64, f64)> = (0..factors.len())
            .map(|at| (2f64.powi(at as i32 + 3), 300.0 * (at + 1) as f64))
            .collect();
        place.write("a.md", ladder(&loads, 0.02));
        let other: Vec<(f64, f64)> = (loads.iter().zip(factors))
            .map(|((load, rate), factor)| (*load, rate * factor))
            .collect();
        place.write("b.md", ladder(&other, 0.02));
        compared(&place, &["a.md", "b.md"]).1
    };
    let one = against(&[2.0, 1.0, 0.97, 1.0, 1.0]);
    assert!(one.starts_with("BETTER IN PART"), "{one}");
    let crossing = against(&[2.0, 2.0, 1.0, 0.5, 0.5]);
    assert!(crossing.starts_with("MIXED"), "{crossing}");
    let said = "better up to concurrency=16, worse from concurrency=64 on";
    assert!(crossing.contains(said), "{crossing}");
    let high = against(&[1.0, 1.0, 0.98, 2.0, 2.0]);
    assert!(high.starts_with("BETTER b.md"), "{high}");
    assert!(high.contains("better from concurrency=64 on"), "{high}");
    assert!(high.contains("saturation of output tok/s: "), "{high}");
}

#[test]
fn of_three_sides_the_two_beside_the_baseline_are_compared_too() {
    let place = Place::new();
    for (name, factor) in [("a", 1.0), ("b", 1.0), ("c", 1.5)] {
        place.write(&format!("{name}.md"), ladder(&times([factor; 3]), 0.02));
    }
    let (found, shown) = compared(&place, &["a.md", "b.md", "c.md"]);
    let between = &found["between"][0];
    assert_eq!(
        (&between["baseline"], &between["group"]),
        (&"b.md".into(), &"c.md".into())
    );
    for row in between["rows"].as_array().unwrap() {
        assert_eq!(row["primary"], true, "{between}");
        assert_eq!(row["verdict"], "better", "{between}");
        assert!((row["ratio"].as_f64().unwrap() - 1.5).abs() < 0.01, "{row}");
    }
    for told in [
        "The others against each other: output tok/s",
        "c.md against b.md concurrency=16 660 990 +50.0 better",
    ] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    let (found, _) = compared(&place, &["a.md", "b.md"]);
    assert!(found["between"].is_null(), "{found}");
}

#[test]
fn tests_whose_headings_differ_in_brackets_alone_are_compared() {
    let place = Place::new();
    let note = |engine: &str, headings: [&str; 2], factor: f64| {
        let mut note = format!("# {engine} 0.8.5\n\n");
        for heading in headings {
            note += &format!("## {heading}\n\n{}\n", ladder(&times([factor; 3]), 0.02));
        }
        note
    };
    let compare = |a: [&str; 2], b: [&str; 2]| {
        place.write("a.md", note("vLLM", a, 1.0));
        place.write("b.md", note("SGLang", b, 1.5));
        let (found, _) = compared(&place, &["a.md", "b.md"]);
        let rows = found["rows"].as_array().unwrap().iter();
        let groups = rows.filter_map(|row| row["point"]["group"].as_str());
        groups
            .map(str::to_owned)
            .collect::<std::collections::BTreeSet<_>>()
    };
    let met = compare(["short (4×H20)", "long"], ["short（2×L20）", "long"]);
    assert_eq!(Vec::from_iter(met), ["long", "short"]);
    // One side has two that only the brackets tell apart.
    let met = compare(
        ["short (4×H20)", "short (8×H20)"],
        ["short (4×H20)", "long"],
    );
    assert_eq!(Vec::from_iter(met), ["short (4×H20)"]);
}

#[test]
fn runs_of_few_requests_tell_a_percentile_by_how_they_differ() {
    let place = Place::new();
    for (out, card) in [("a", "h100"), ("b", "l20")] {
        for seed in ["1", "2", "3", "4"] {
            let load = "run --quiet --no-html --sim-clock virtual --concurrency 8 --requests 80 \
                --input-tokens uniform(64,512) --output-tokens uniform(16,64)";
            let load: Vec<&str> = load.split_whitespace().collect();
            let folder = format!("{out}/{seed}");
            let more = ["--sim-device", card, "--seed", seed, "--out", &folder];
            let ended = place.run(&[&load[..], &more].concat());
            assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
        }
    }
    let (found, shown) = compared(&place, &["a", "b"]);
    let tail = row(&found, "latency.ttft_ms.p99");
    assert_eq!(
        (&tail["verdict"], &tail["requests_each"]),
        (&"worse".into(), &80.into()),
        "{tail}"
    );
    assert!(shown.contains("‡ the percentile as runs of 80"), "{shown}");
    // One run of each tells nothing about it.
    let (found, _) = compared(&place, &["a/1", "b/1"]);
    assert_eq!(row(&found, "latency.ttft_ms.p99")["verdict"], "unknown");
}

fn block(failed: &str) -> String {
    format!(
        "============ Serving Benchmark Result ============\nSuccessful requests: 1000\n{failed}\
         Maximum request concurrency: 10\nBenchmark duration (s): 200.00\n\
         Total input tokens: 60000\nTotal generated tokens: 448000\n\
         Request throughput (req/s): 5.00\nOutput token throughput (tok/s): 2240.00\n\
         Mean TTFT (ms): 60.00\n==================\n"
    )
}

#[test]
fn failures_that_a_tool_does_not_report_are_not_called_none_of_none() {
    let place = Place::new();
    place.write("a.txt", block(""));
    place.write("b.txt", block("Failed requests: 704\n"));
    let (_, shown) = compared(&place, &["a.txt", "b.txt"]);
    let said = "failed requests differ: not stated (1000 answered) against 704/1704";
    assert!(shown.contains(said), "{shown}");
    // In Chinese an import's own remedy is said, not that of a run of ours.
    let chinese = place.run(&["compare", "a.txt", "b.txt", "--lang", "zh"]);
    let chinese = chinese.stdout.replace(['\n', ' '], "");
    assert!(
        chinese.contains("请查明失败原因；这些数字只含其余请求"),
        "{chinese}"
    );
}

#[test]
fn doubts_of_loads_without_a_partner_are_counted_in_one_line() {
    let place = Place::new();
    let lost =
        "| 128 | 500 | 300 | 10.0 | 6.4 | 2400 |\n| 256 | 500 | 200 | 10.0 | 12.8 | 2400 |\n";
    place.write("a.md", ladder(&RATES, 0.02) + lost);
    place.write("b.md", ladder(&RATES, 0.02));
    let (found, shown) = compared(&place, &["a.md", "b.md"]);
    assert_eq!(found["doubts"][0]["elsewhere"], 2, "{found}");
    assert_eq!(found["doubts"][0]["invalid"], 0, "{found}");
    assert!(shown.contains("are not compared, 2 more"), "{shown}");
    assert!(!shown.contains("lost-requests"), "{shown}");
}

#[test]
fn a_comparison_that_is_kept_has_its_page_there_and_names_its_sides_from_here() {
    let place = Place::new();
    place.write("a.md", ladder(&RATES, 0.02));
    place.write("b.md", ladder(&times([2.0; 3]), 0.02));
    let kept = [
        "compare", "a.md", "b.md", "--out", "kept/it", "--format", "html",
    ];
    let ended = place.run(&kept);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(place.path("kept/it/report.html").is_file(), "{ended:?}");
    assert!(place.path("kept/it/comparison.json").is_file());
    assert!(!place.path("inferometer-runs").exists());
    let page = place.run(&["report", "kept/it", "--format", "html", "-o", "-"]);
    let folder = place.path("").display().to_string();
    assert!(page.stdout.contains("a.md") && !page.stdout.contains(&folder));
}
