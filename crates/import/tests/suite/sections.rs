//! Long notes: results under nested headings, which are never pooled.

use inferometer_import::{
    ImportedResult, groups, measured, measured_in, read, repeats, under, with_fact,
};
use std::collections::BTreeSet;

/// A ladder as a table, and a block of EvalScope for each of its columns.
fn ladder(scale: f64, failed: u64) -> String {
    let loads = [8.0, 16.0, 32.0];
    let row = |name: &str, of: &dyn Fn(f64) -> f64| {
        let cells: Vec<String> = loads.iter().map(|at| format!("{:.3}", of(*at))).collect();
        format!("| {name} | {} |\n", cells.join(" | "))
    };
    let mut text = "| 指标 | 8 | 16 | 32 |\n| --- | --- | --- | --- |\n".to_owned();
    text += &row("QPS", &|at| at * scale);
    text += &row("吞吐量", &|at| 240.0 * at * scale);
    for at in loads {
        let (rate, ok) = (at * scale, 1000 - failed);
        text += &format!(
            "\n- parallel {at}\n```\nBenchmarking summary:\n Expected number of requests: 1000\n \
             Number of concurrency: {at}\n Total requests: 1000\n Succeed requests: {ok}\n \
             Failed requests: {failed}\n Average QPS: {rate:.3}\n \
             Throughput(average output tokens per second): {:.3}\n```\n",
            240.0 * rate
        );
    }
    text
}

fn notes() -> String {
    let python = "```python\n# draws the curves\nx = [8, 16]\n```\n";
    format!(
        "# Inference, measured\n## Results (MindIE)\n### Qwen1.5-7B-Chat\n{}\n\
         ### **Qwen2-72B-Chat** (long.jsonl)\n{}\n### Plots\n{python}\n\
         ## Results (T4: vLLM)\n### Qwen1.5-7B-Chat\n{}\n",
        ladder(0.3, 0),
        ladder(0.02, 200),
        ladder(0.2, 0)
    )
}

fn results() -> Vec<ImportedResult> {
    read("notes.md", &notes()).results
}

#[test]
fn every_ladder_is_a_group_with_its_chain_of_headings() {
    let imported = read("notes.md", &notes());
    assert_eq!(imported.title.as_deref(), Some("Inference, measured"));
    let groups = groups(&imported.results);
    let titles: Vec<&str> = groups.iter().map(|group| group.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "Results (MindIE) / Qwen1.5-7B-Chat",
            "Results (MindIE) / Qwen2-72B-Chat (long.jsonl)",
            "Results (T4: vLLM) / Qwen1.5-7B-Chat",
        ]
    );
    for group in &groups {
        let measured = measured_in(&imported.results, &repeats(&imported.results), group);
        let loads: Vec<String> = measured.iter().map(|it| it.point.to_string()).collect();
        assert_eq!(loads, ["concurrency=8", "concurrency=16", "concurrency=32"]);
    }
    let label = |found: &ImportedResult| found.label.clone().unwrap();
    assert!(
        imported
            .results
            .iter()
            .all(|it| !label(it).contains("parallel"))
    );
}

#[test]
fn a_table_and_its_blocks_are_one_measurement_with_one_verdict() {
    let results = results();
    let doubts = |found: &ImportedResult| found.doubts.clone();
    let repeats = repeats(&results);
    assert_eq!(repeats.iter().flatten().count(), 9);
    for (found, block) in results.iter().zip(&repeats) {
        if let Some(block) = block {
            assert_eq!(doubts(found), doubts(&results[*block]));
            assert_eq!(found.section, results[*block].section);
        }
    }
    let failing = results.iter().filter(|found| {
        let mut codes = found.doubts.iter().map(|doubt| doubt.code.name());
        codes.any(|code| code == "failures")
    });
    assert!(failing.clone().count() == 6, "both of each of three loads");
    assert!(failing.into_iter().all(|it| it.section[2].contains("72B")));
}

#[test]
fn a_part_is_chosen_by_headings_or_by_what_they_say() {
    assert_eq!(under(results(), "mindie/7B").unwrap().len(), 6);
    assert_eq!(under(results(), "vLLM").unwrap().len(), 6);
    assert_eq!(under(results(), "7B").unwrap().len(), 12);
    assert_eq!(under(results(), "1").unwrap().len(), 1);
    let wrong = under(results(), "SGLang").unwrap_err().to_string();
    assert!(
        wrong.contains("Results (MindIE)/Qwen1.5-7B-Chat"),
        "{wrong}"
    );
    assert_eq!(with_fact(&results(), "engine", "mindie").unwrap().len(), 12);
    assert_eq!(with_fact(&results(), "card", "T4").unwrap().len(), 6);
    assert_eq!(
        with_fact(&results(), "data", "long.jsonl").unwrap().len(),
        6
    );
    let wrong = with_fact(&results(), "engine", "SGLang").unwrap_err();
    assert!(wrong.to_string().contains("MindIE, vLLM"), "{wrong}");
    assert!(under(results(), "").is_err() && under(results(), "MindIE/").is_err());
    assert!(with_fact(&results(), "engine", "").is_err());
    let none = with_fact(&results(), "colour", "red").unwrap_err();
    assert!(none.to_string().contains("no heading"), "{none}");
}

#[test]
fn single_measurements_under_their_own_headings_are_settings_of_one_group() {
    let one = |rate: f64| {
        format!("Concurrency: 8\nRequest throughput (req/s): {rate}\nMean TTFT (ms): 100\n")
    };
    let text = format!(
        "# Flags\n## seqs 64\n{}\n## seqs 128\n{}\n",
        one(1.0),
        one(2.0)
    );
    let results = read("notes.md", &text).results;
    let groups = groups(&results);
    assert_eq!(groups.len(), 1, "{groups:?}");
    let measured = measured_in(&results, &repeats(&results), &groups[0]);
    let names: Vec<String> = measured.iter().map(|it| it.point.to_string()).collect();
    assert!(
        names[0].contains("seqs 64") && names[1].contains("seqs 128"),
        "{names:?}"
    );
}

#[test]
fn files_without_headings_are_ladders_of_their_own_unless_each_is_a_point() {
    let point = |streams: u64| {
        format!(
            "Concurrency: {streams}\nRequest throughput (req/s): {streams}\nMean TTFT (ms): 9\n"
        )
    };
    let log = [point(8), point(16)].join("\n\n");
    let read = |files: &[(&str, &str)]| -> Vec<ImportedResult> {
        let read = files
            .iter()
            .flat_map(|(name, text)| read(name, text).results);
        read.collect()
    };
    let titles = |results: &[ImportedResult]| -> Vec<String> {
        groups(results).into_iter().map(|it| it.title).collect()
    };
    let logs = read(&[("all/a/log.txt", &log), ("all/b/log.txt", &log)]);
    assert_eq!(titles(&logs), ["a/log.txt", "b/log.txt"]);
    let (low, high) = (point(8), point(16));
    let points = read(&[("all/8.txt", &low), ("all/16.txt", &high)]);
    assert_eq!(titles(&points), [""], "one ladder");
    let both = [logs, points].concat();
    assert_eq!(groups(&both).len(), 3);
}

#[test]
fn tables_of_one_section_are_told_apart_by_the_lines_above_them() {
    let table = |rate: f64| {
        format!(
            "| 并发 | QPS |\n| --- | --- |\n| 8 | {rate} |\n| 16 | {} |\n",
            2.0 * rate
        )
    };
    let text = format!(
        "## Results\n\n910B4:\n\n{}\n\nA100:\n\n{}\n",
        table(1.0),
        table(3.0)
    );
    let results = read("notes.md", &text).results;
    let groups = groups(&results);
    let titles: Vec<&str> = groups.iter().map(|group| group.title.as_str()).collect();
    assert_eq!(titles, ["910B4", "A100"]);
    assert_eq!(results[0].facts["card"], "910B4");
}

#[test]
fn a_size_is_not_the_end_of_a_larger_number() {
    let text = format!(
        "# n\n## DeepSeek-Coder-6.7B\n{}\n## Qwen2-7B\n{}\n## Qwen3-27B\n{}\n",
        ladder(0.1, 0),
        ladder(0.2, 0),
        ladder(0.3, 0)
    );
    let results = || read("notes.md", &text).results;
    for chosen in [
        with_fact(&results(), "model", "7B"),
        under(results(), "7B"),
        under(results(), "qwen2"),
    ] {
        let chosen = chosen.unwrap();
        assert_eq!(chosen.len(), 6);
        assert!(chosen.iter().all(|it| it.section[1] == "Qwen2-7B"));
    }
}

#[test]
fn groups_of_two_sides_meet_by_model_and_heading() {
    let text = format!(
        "# n\n## MindIE\n### Qwen2-7B\n#### long.jsonl\n{}\n### Qwen2-14B\n#### openqa\n{}\n",
        ladder(0.1, 0),
        ladder(0.2, 0)
    );
    let results = read("notes.md", &text).results;
    let points = measured(&results).into_iter().map(|it| it.point);
    let groups: BTreeSet<String> = points
        .filter_map(|point| Some(point.group()?.to_owned()))
        .collect();
    let expected = ["Qwen2-14B / openqa", "Qwen2-7B / long.jsonl"];
    assert_eq!(Vec::from_iter(groups), expected);
}

#[test]
fn a_rate_without_limit_beside_a_number_of_streams_is_a_closed_loop() {
    let text = "Traffic request rate: inf\nMax request concurrency: 8\nSuccessful requests: 40\n\
                Request throughput (req/s): 2\nMean TTFT (ms): 100\n";
    let results = read("notes.md", text).results;
    let points: Vec<String> = (measured(&results).iter())
        .map(|it| it.point.to_string())
        .collect();
    assert_eq!(points, ["concurrency=8"]);
}

#[test]
fn a_load_that_ran_out_of_memory_is_told() {
    let text = format!(
        "# n\n## vLLM\n### Qwen2-72B\n{}\n- parallel 256\n```\ntorch.OutOfMemoryError: CUDA out \
         of memory. Tried to allocate 1.16 GiB.\nERROR: engine core died\n```\n\n## SGLang\n\n\
         | 并发 | QPS | 平均延迟 (s) |\n| --- | --- | --- |\n| 8 | 0.84 | 9.35 |\n| 16 | 1.41 | \
         11.2 |\n| 32 | - | 显存不足 |\n\nWhoever runs out of memory lowers the load.\n",
        ladder(0.1, 0)
    );
    let results = read("notes.md", &text).results;
    let failed: Vec<(String, &str)> = (results.iter())
        .filter_map(|it| {
            let load = it.point.get("concurrency")?.to_string();
            Some((load, it.error.as_deref()?))
        })
        .collect();
    assert_eq!(failed.len(), 2, "{failed:?}");
    assert!(failed[0].0 == "256" && failed[0].1.contains("OutOfMemoryError"));
    assert_eq!(failed[1], ("32".to_owned(), "显存不足"));
    assert!(
        results
            .iter()
            .all(|it| it.summary.is_some() != it.error.is_some())
    );
}

#[test]
fn a_part_keeps_the_numbers_of_the_whole() {
    let chosen = under(results(), "vLLM").unwrap();
    let number = chosen[0].number;
    assert!(number > 1);
    let again = under(results(), &number.to_string()).unwrap();
    assert_eq!(again, chosen[..1]);
}

/// A block as vLLM's client prints it, below its command.
fn block(streams: u64, ok: u64, rate: f64) -> String {
    format!(
        "```\npython3 benchmark_serving.py --num-prompts 100 --max-concurrency {streams}\n\
         Successful requests: {ok}\nBenchmark duration (s): 10.0\n\
         Request throughput (req/s): {}\nOutput token throughput (tok/s): {rate}\n\
         Mean TTFT (ms): {}\nP99 TTFT (ms): {}\n```\n",
        ok as f64 / 10.0,
        rate / 2.0,
        rate * 2.0
    )
}

fn table(rate: f64) -> String {
    format!("\n| concurrency | output tok/s |\n| --- | --- |\n| 8 | {rate} |\n| 16 | 900 |\n\n")
}

#[test]
fn a_block_keeps_its_command_whatever_follows_it() {
    let text = format!(
        "# n\n## vLLM\n{}\n## Summary\n{}",
        block(8, 60, 500.0),
        table(1.0)
    );
    let results = read("notes.md", &text).results;
    let planned = results[0].summary.as_ref().unwrap().requests.planned;
    assert_eq!(planned, Some(100));
    assert!(!results[0].doubts.is_empty(), "forty are missing");
}

#[test]
fn a_table_is_held_against_the_blocks_of_its_own_section() {
    let of = |typed: f64| {
        let (a, b) = (block(8, 100, 500.0), block(8, 100, 700.0));
        let text = format!("# n\n## vLLM\n{a}{}## SGLang\n{b}", table(typed));
        let results = read("notes.md", &text).results;
        let row = results.iter().position(|it| it.lines.0 > 10).unwrap();
        let says = results[row].doubts.iter().map(|doubt| doubt.text.clone());
        (repeats(&results)[row], says.collect::<String>())
    };
    let (block, doubts) = of(500.0);
    assert_eq!((block, doubts.contains("contradicts")), (Some(0), false));
    let (block, doubts) = of(300.0);
    assert_eq!(block, Some(0));
    assert!(doubts.contains("300 against 500"), "{doubts}");
}

#[test]
fn a_block_that_was_pasted_twice_counts_once_and_a_void_one_not_at_all() {
    let ladder = [8, 16, 32].map(|streams| block(streams, 100, 100.0 * streams as f64));
    let void = block(8, 20, 50.0);
    let text = format!("# n\n{}{}{void}", ladder.concat(), ladder[1]);
    let results = read("notes.md", &text).results;
    assert_eq!(results.len(), 5);
    let groups = groups(&results);
    let measured = measured_in(&results, &repeats(&results), &groups[0]);
    let loads: Vec<String> = measured.iter().map(|it| it.point.to_string()).collect();
    assert_eq!(loads, ["concurrency=8", "concurrency=16", "concurrency=32"]);
}

#[test]
fn memory_that_ran_out_without_a_command_is_a_refused_start() {
    let text = format!(
        "# n\n## A\n{}\n## B, 72B\nRuntimeError: NPU out of memory. Tried to allocate 2 GiB\n",
        block(8, 100, 500.0)
    );
    let results = read("notes.md", &text).results;
    let refused: Vec<_> = results.iter().filter(|it| it.error.is_some()).collect();
    assert_eq!(refused.len(), 1);
    assert_eq!(
        refused[0].section.last().map(String::as_str),
        Some("B, 72B")
    );
}

#[test]
fn what_is_not_there_is_answered_by_what_comes_nearest() {
    let table = "| 并发 | QPS |\n|---|---|\n| 8 | 1.4 |\n| 16 | 2.7 |\n";
    let mut notes = String::new();
    for engine in ["MindIE, 910B4", "vLLM, A100"] {
        notes += &format!("## {engine}\n\n");
        for model in ["Qwen2.5-7B", "Qwen2.5-14B", "Qwen2.5-72B"] {
            notes += &format!("### {model}\n\n{table}\n");
        }
    }
    let results = read("notes", &notes).results;
    let error = under(results.clone(), "MindIE/8B").unwrap_err().to_string();
    let first = error.find("MindIE, 910B4/Qwen2.5-7B").unwrap();
    assert!(
        error.starts_with("its nearest headings are") && first < 30,
        "{error}"
    );
    assert!(!error.contains("vLLM"), "{error}");
    let error = with_fact(&results, "models", "7B").unwrap_err().to_string();
    assert!(error.contains("card, engine, model"), "{error}");
}

#[test]
fn a_comment_above_a_launch_command_is_no_heading() {
    let text = "# notes\n## vLLM\n### 7B\n```sh\n# launch\nvllm serve /w/Qwen2.5-7B --port 8000\n```\n\n| 并发 | QPS | 吞吐(tok/s) |\n|---|---|---|\n| 4 | 1.0 | 100 |\n| 8 | 2.0 | 200 |\n";
    for fence in ["```sh", "```"] {
        let found = read("notes.md", &text.replace("```sh", fence)).results;
        assert_eq!(found.len(), 2);
        for result in found {
            assert_eq!(result.heading.as_deref(), Some("7B"), "{fence}");
        }
    }
}

#[test]
fn a_title_that_names_all_engines_selects_none_of_them() {
    let mut text = "# Notes (MindIE / vLLM)\n".to_owned();
    for engine in ["MindIE", "vLLM"] {
        text += &format!("## {engine}\n### 7B\n{}", ladder(1.0, 0));
    }
    let all = read("notes.md", &text).results;
    let found = under(all.clone(), "MindIE/7B").unwrap();
    assert_eq!(found.len() * 2, all.len());
    assert!(found.iter().all(|it| it.section[1] == "MindIE"));
    // The title itself can still be meant.
    assert_eq!(under(all.clone(), "Notes").unwrap().len(), all.len());
}

/// A block of vLLM's client at a concurrency, below a line of its own.
fn below(line: &str, concurrency: u64, tokens_per_s: f64) -> String {
    let requests = 50 * concurrency;
    let duration_s = 128.0 * requests as f64 / tokens_per_s;
    let requests_per_s = requests as f64 / duration_s;
    format!(
        "- {line}\n```\n============ Serving Benchmark Result ============\n\
         Successful requests: {requests}\nFailed requests: 0\n\
         Maximum request concurrency: {concurrency}\nBenchmark duration (s): {duration_s:.2}\n\
         Total generated tokens: {}\nRequest throughput (req/s): {requests_per_s:.3}\n\
         Output token throughput (tok/s): {tokens_per_s}\n\
         ==================================================\n```\n\n",
        128 * requests
    )
}

#[test]
fn words_behind_a_load_are_a_remark_on_a_repeat() {
    for again in [
        "（第二天又测了一遍）",
        " (again)",
        "，第二天早上又测了一遍，结果低不少",
    ] {
        let mut text = "## vLLM\n\n".to_owned();
        for (concurrency, rate) in [(4, 128.0), (16, 340.0), (64, 685.0)] {
            text += &below(&format!("concurrency {concurrency}"), concurrency, rate);
        }
        text += &below(&format!("concurrency 16{again}"), 16, 283.0);
        let imported = read("notes.md", &text);
        let measured = measured(&imported.results);
        let points: Vec<String> = measured.iter().map(|it| it.point.to_string()).collect();
        assert_eq!(
            points,
            [
                "concurrency=4, group=vLLM",
                "concurrency=16, group=vLLM",
                "concurrency=64, group=vLLM",
                "concurrency=16, group=vLLM"
            ],
            "{again}"
        );
        let twice = |found: &ImportedResult| {
            let mut doubts = found.doubts.iter();
            doubts.any(|doubt| doubt.text.contains("concurrency=16 was measured twice"))
        };
        let twice: Vec<bool> = imported.results.iter().map(twice).collect();
        assert_eq!(twice, [false, true, false, true], "{again}");
    }
    // Words that stand behind several loads are a setting.
    let mut text = "## vLLM\n\n".to_owned();
    for (concurrency, rate) in [(4, 128.0), (16, 340.0)] {
        text += &below(&format!("concurrency {concurrency}"), concurrency, rate);
        let set = format!("concurrency {concurrency}, chunked prefill on");
        text += &below(&set, concurrency, 1.2 * rate);
    }
    let imported = read("notes.md", &text);
    let measured = measured(&imported.results);
    assert!(
        measured
            .iter()
            .all(|it| it.point.to_string().contains("name="))
    );
}
