//! No text makes the import panic or slow.

use inferometer_import::read;
use proptest::prelude::*;

fn fixtures() -> Vec<String> {
    let folder = format!("{}/../../fixtures/import", env!("CARGO_MANIFEST_DIR"));
    let mut texts: Vec<String> = std::fs::read_dir(&folder)
        .expect("fixtures are beside the crates")
        .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok())
        .collect();
    texts.sort();
    assert!(texts.len() >= 10);
    texts
}

/// Lines of results stay inside the text.
fn check(text: &str) {
    let imported = read("hostile", text);
    let lines = text.split_inclusive('\n').count() as u64;
    for found in &imported.results {
        assert!(1 <= found.lines.0 && found.lines.0 <= found.lines.1 && found.lines.1 <= lines);
    }
    let _ = imported.to_json();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_is_read(text in "\\PC{0,300}") {
        check(&text);
    }

    #[test]
    fn arbitrary_lines_of_known_words_are_read(parts in prop::collection::vec(prop::sample::select(vec![
        "{", "}", "[", "]", "|", "│", ":", "：", ",", "\"", "\\", "\n", " ", "-", "=", "p99", "P", "ms", "TTFT", "并发", "延迟",
        "1e999", "-1", "0", "9", "1,2", "NaN", "Infinity", "Percentiles", "Metric", "average", "Common Metric", "/", "inf",
        "Serving Benchmark Result", "Benchmarking summary:", "vllm serve ", "python3 ", "benchmark_serving.py", "Error:",
        "Namespace(num_prompts=", "(", "）", "% |", "1/2 [it/s]", "metrics", "request_latency", "unit", "avg", "---", "```", "enable", "MiB", "'", "{'",
    ]), 0..120)) {
        check(&parts.concat());
    }

    #[test]
    fn mutations_of_real_forms_are_read(which in 0usize..64, edits in prop::collection::vec((any::<prop::sample::Index>(), any::<char>(), 0u8..4), 1..12)) {
        let texts = fixtures();
        let mut text: Vec<char> = texts[which % texts.len()].chars().collect();
        for (index, with, kind) in edits {
            if text.is_empty() {
                break;
            }
            let at = index.index(text.len());
            match kind {
                0 => text[at] = with,
                1 => { text.remove(at); }
                2 => text.insert(at, with),
                _ => text.truncate(at),
            }
        }
        check(&text.into_iter().collect::<String>());
    }
}

#[test]
fn deep_and_endless_nesting_is_given_up() {
    for piece in [
        "{\"a\":",
        "[{",
        "{\"a\":[1,",
        "|",
        "(((",
        "{\"Percentiles\":",
        "NaN,",
        "a|b\n",
        "```\n{",
        "vllm serve \\\n",
        "p: ",
    ] {
        check(&piece.repeat(200_000 / piece.len()));
    }
}

/// CPU time of this thread so far, which other processes do not change; absent where the system
/// does not tell.
fn cpu_ns() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    told.split_whitespace().next()?.parse().ok()
}

#[test]
fn rows_cost_the_same_however_many_there_are() {
    let table = |rows: u32| {
        let head =
            "| concurrency | QPS | mean TTFT (ms) | mean latency (ms) |\n|---|---|---|---|\n";
        let row = |at: u32| format!("| {at} | {}.5 | {} | {} |\n", at + 3, at + 100, at + 2000);
        head.to_owned() + &(1..=rows).map(row).collect::<String>()
    };
    let cost = |rows: u32| {
        let text = table(rows);
        let before = cpu_ns()?;
        assert_eq!(read("table.md", &text).results.len() as u32, rows);
        Some((cpu_ns()? - before) as f64 / f64::from(rows))
    };
    let (Some(few), Some(many)) = (cost(500), cost(8000)) else {
        inferometer_testing::skipped("the system does not tell a thread's CPU time");
        return;
    };
    // A cost that grew with the number of rows would be 16 times as high.
    assert!(many < 5.0 * few, "{few} ns a row of 500, {many} of 8000");
}

/// CPU time for each line of notes of `count` parts, and of all that is asked of their results.
fn cost_of_line(part: impl Fn(u32) -> String, count: u32) -> Option<f64> {
    let text: String = (1..=count).map(part).collect();
    let before = cpu_ns()?;
    let results = read("notes.log", &text).results;
    let asked = inferometer_import::measured(&results).len()
        + inferometer_import::out_of_memory(&results).len();
    assert!(asked as u32 >= count, "{asked} of {count}");
    Some((cpu_ns()? - before) as f64 / text.lines().count() as f64)
}

#[test]
fn headings_failures_and_blocks_cost_the_same_however_many_there_are() {
    let failure = |at: u32| {
        format!(
            "concurrency {at}\nCUDA out of memory\nworker 1: CUDA out of memory\n{}\n",
            "-".repeat(60)
        )
    };
    let headed = |at: u32| format!("## setting {at}a\n\n- parallel 8\nCUDA out of memory\n\n");
    let block = |at: u32| {
        format!(
            "concurrency={at}\nSuccessful requests: {at}\nRequest throughput (req/s): 2\n\
             Mean TTFT (ms): {at}\nP99 TTFT (ms): 200\n\n4 卡\n\n"
        )
    };
    let blocks = |at: u32| {
        if at == 1 {
            format!("## all\n\n{}", block(1))
        } else {
            block(at)
        }
    };
    let sections = |at: u32| format!("## setting {at}a\n\n{}{}", block(8), block(16));
    let log = |at: u32| {
        format!(
            "prompt template: v{at}\nconcurrency {at}\nCUDA out of memory\n{}\n",
            "-".repeat(60)
        )
    };
    let parts: [(&str, &dyn Fn(u32) -> String); 5] = [
        ("failures", &failure),
        ("headings", &headed),
        ("blocks", &blocks),
        ("sections", &sections),
        ("templates", &log),
    ];
    for (name, part) in parts {
        let (Some(few), Some(many)) = (cost_of_line(part, 250), cost_of_line(part, 2000)) else {
            inferometer_testing::skipped("the system does not tell a thread's CPU time");
            return;
        };
        // A cost that grew with their number would be 8 times as high.
        assert!(
            many < 4.0 * few,
            "{name}: {few} ns a line of 250, {many} of 2000"
        );
    }
}
