//! Settings of a server that notes give without a command line.

use inferometer_import::{Imported, ImportedResult, UnreadReason, measured, read, with_fact};
use serde_json::json;

const TABLE: &str =
    "| 并发 | QPS | 吞吐量 |\n|---|---|---|\n| 16 | 3.1 | 800 |\n| 32 | 3.8 | 970 |\n";

fn flags(found: &ImportedResult) -> String {
    let flags = found.flags.iter().flatten();
    let flags: Vec<String> = flags
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    flags.join(" ")
}

fn of_notes(text: &str) -> Imported {
    read("notes.md", text)
}

#[test]
fn settings_of_mindie_are_read_in_every_form_that_people_paste() {
    let expected = "maxBatchSize=32 maxPrefillBatchSize=16 npuMemSize=-1";
    for form in [
        "maxBatchSize=32, maxPrefillBatchSize=16, npuMemSize=-1\n",
        "- maxBatchSize：32\n- maxPrefillBatchSize：16\n- npuMemSize：-1\n",
        "maxBatchSize 32，maxPrefillBatchSize 16。npuMemSize -1。\n",
        "这次 maxBatchSize=32 时 maxPrefillBatchSize=16，显存 npuMemSize: -1 不变\n",
        "```json\n\"maxBatchSize\": 32,\n\"maxPrefillBatchSize\": 16,\n\"npuMemSize\": -1,\n```\n",
        "\"ScheduleConfig\" : {\n  \"maxBatchSize\" : 32,\n  \"maxPrefillBatchSize\" : 16\n}\n\n`npuMemSize=-1`\n",
        "```\n{\"BackendConfig\": {\"ModelDeployConfig\": {\"ModelConfig\": [{\"npuMemSize\": -1}]},\n\
         \"ScheduleConfig\": {\"maxBatchSize\": 32, \"maxPrefillBatchSize\": 16}}}\n```\n",
        "BackendConfig.ScheduleConfig.maxBatchSize=32 maxPrefillBatchSize=16 npuMemSize=-1\n",
    ] {
        let text = format!("## MindIE (910B4)\n\n### 7B\n\n{form}\n{TABLE}");
        for found in of_notes(&text).results {
            assert_eq!(flags(&found), expected, "{form}");
            assert!(found.unread.is_empty(), "{form}: {:?}", found.unread);
        }
    }
    let heading = format!("## MindIE\n\n### 7B (maxBatchSize 32, npuMemSize=-1)\n\n{TABLE}");
    let found = of_notes(&heading).results;
    assert_eq!(flags(&found[0]), "maxBatchSize=32 npuMemSize=-1");
}

#[test]
fn what_is_not_known_of_a_configuration_is_listed_with_its_reason() {
    let text = format!(
        "## MindIE\n\n```json\n\"maxBatchSize\": 32,\n\"maxBatchSise\": 64,\n\
         \"maxPrefillBatchSize\": \"many\",\n\"npuMemSize\": 1,\n\"npuMemSize\": 8\n```\n\n{TABLE}"
    );
    let found = &of_notes(&text).results[0];
    assert_eq!(flags(found), "maxBatchSize=32");
    for (name, reason) in [
        ("maxBatchSise", UnreadReason::UnknownName),
        ("maxPrefillBatchSize", UnreadReason::NotANumber),
        ("npuMemSize", UnreadReason::Twice),
    ] {
        assert_eq!(found.unread_because.get(name), Some(&reason), "{name}");
    }
    let without_result = of_notes("## MindIE\n\n```json\n\"maxBatchSize\": 32\n```\n");
    assert_eq!(without_result.unread, [(4, 4)]);
}

#[test]
fn settings_hold_below_their_heading_and_for_their_engine_alone() {
    let text = format!(
        "# n\n\nmaxSeqLen=4096\n\n## MindIE\n\nmaxBatchSize=16\n\n### a\n\n{TABLE}\n### b\n\n\
         maxBatchSize=64\n\n{TABLE}\n## vLLM\n\n{TABLE}"
    );
    let results = of_notes(&text).results;
    let flags = [0, 2, 4].map(|at: usize| flags(&results[at]));
    let expected = [
        "maxBatchSize=16 maxSeqLen=4096",
        "maxBatchSize=64 maxSeqLen=4096",
        "",
    ];
    assert_eq!(flags, expected);
}

#[test]
fn trials_of_one_load_below_one_configuration_may_have_changed_it() {
    let one = |name: &str| {
        format!(
            "### {name}\n\n{{\"requests_per_second\": 3.1, \"successful_requests\": 300, \"total_requests\": 300, \"concurrency\": 32, \"latency\": {{\"average\": 8.2, \"p99\": 9}}, \"time_to_first_token(ttft)\": {{\"average\": 1.1}}}}\n\n"
        )
    };
    let text = format!(
        "## MindIE\n\nmaxBatchSize=16\n\n{}{}",
        one("试验 1"),
        one("试验 2")
    );
    let results = of_notes(&text).results;
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(|it| it.flags.is_none()), "{results:?}");
    for (name, expected) in [
        ("试验 1 重测", "maxBatchSize=16"),
        ("trial 1, again", "maxBatchSize=16"),
        ("against the default", ""),
    ] {
        let results = of_notes(&text.replace("试验 2", name)).results;
        assert_eq!(flags(&results[1]), expected, "{name}");
    }
}

#[test]
fn columns_of_settings_tell_the_rows_of_a_table_apart() {
    let text = "## MindIE (910B4)\n\n### 7b, 并发 32\n\n\
        | 试验 | maxPrefillBatchSize | maxBatchSize | npuMemSize | worldSize | QPS | 吞吐量 (tok/s) |\n\
        |---|---|---|---|---|---|---|\n\
        | 1 | 10 | 16 | 8 | 2 | 2.55 | 652.8 |\n\
        | 2 | 10 | 32 | 8 | 2 | 3.80 | 972.8 |\n\
        | 3 | 10 | 32 | 4 | 2 | 3.21 | 821.8 |\n\
        | 4 | 10 | 32 | 8 | 2 | 3.28 | 839.7 |\n";
    let results = of_notes(text).results;
    assert_eq!(results[0].unread, [""; 0]);
    let flags = results[2].flags.as_ref().unwrap();
    assert_eq!(flags.get("npuMemSize"), Some(&json!(4)));
    let points: Vec<String> = measured(&results).iter().map(|it| it.point.key()).collect();
    assert_eq!(points[1], points[3], "the same measured twice");
    assert_eq!(
        points
            .iter()
            .collect::<std::collections::BTreeSet<_>>()
            .len(),
        3
    );
    let first = "## MindIE\n\n### 7b, 并发 32\n\n| maxBatchSize | QPS | 吞吐量 |\n|---|---|---|\n| 16 | 2.5 | 650 |\n| 64 | 3.8 | 970 |\n";
    for found in of_notes(first).results {
        assert_eq!(
            found.point.get("concurrency"),
            Some(&json!(32)),
            "{found:?}"
        );
    }
}

#[test]
fn a_command_holds_for_the_tests_below_it_and_for_its_own_engine_and_model() {
    let text = format!(
        "## vLLM (H20)\n\n```bash\nvllm serve /data/Qwen2.5-72B-Instruct --tensor-parallel-size 4 --max-num-seqs 64\n```\n\n\
         ### 72B short 128/128\n\n{TABLE}\n### 72B long 4096/512 (--max-num-seqs 16)\n\n{TABLE}\n\
         ### 7B long\n\n{TABLE}\n"
    );
    let results = of_notes(&text).results;
    let seqs = |at: usize| {
        let flags = results[at].flags.as_ref()?;
        flags.get("max-num-seqs").cloned()
    };
    assert_eq!(seqs(0), Some(json!(64)));
    assert_eq!(seqs(2), Some(json!(16)));
    assert_eq!(seqs(4), None, "a model of another size");
    let other = format!(
        "vllm serve /data/Qwen2.5-72B-Instruct --max-num-seqs 64\n\n## vLLM\n\n{TABLE}\n## SGLang\n\n{TABLE}"
    );
    let results = of_notes(&other).results;
    assert_eq!(
        flags(&results[0]),
        "max-num-seqs=64 model=\"/data/Qwen2.5-72B-Instruct\""
    );
    assert_eq!(results[2].flags, None);
}

#[test]
fn a_command_below_a_heading_of_its_own_holds_for_what_is_beside_it_unless_something_differs() {
    let ladder = |loads: [u32; 2]| {
        let rows = loads.map(|load| format!("| {load} | {load}.5 | {load}00 |\n"));
        format!(
            "| 并发 | QPS | 吞吐(tok/s) |\n|---|---|---|\n{}\n",
            rows.concat()
        )
    };
    let notes = |beside: &str| {
        let launch = "### 启动命令\n\n```\nvllm serve /w/Qwen2.5-7B --max-num-seqs 64\n```\n\n";
        format!("# t\n\n## 部署\n\n{launch}{beside}")
    };
    let set = |beside: &str| -> Vec<bool> {
        let results = of_notes(&notes(beside)).results;
        results
            .iter()
            .map(|it| flags(it).contains("max-num-seqs"))
            .collect()
    };
    let (low, high) = (ladder([4, 8]), ladder([16, 32]));
    assert_eq!(set(&format!("### 结果\n\n{low}")), [true; 2]);
    let two = format!("### 低并发\n\n{low}### 高并发\n\n{high}");
    assert_eq!(set(&two), [true; 4]);
    let again = format!("### 结果\n\n{low}### 关闭前缀缓存后\n\n{low}");
    assert_eq!(
        set(&again),
        [false; 4],
        "something was changed between them"
    );
    assert_eq!(set(&format!("### MindIE 结果\n\n{low}")), [false; 2]);
    assert_eq!(set(&format!("### Qwen2.5-72B\n\n{low}")), [false; 2]);
    let elsewhere = format!("## 另一台机器\n\n{low}");
    assert_eq!(set(&elsewhere), [false; 2]);
}

#[test]
fn results_are_selected_by_a_setting_by_any_of_its_spellings() {
    let text = format!(
        "## a\n\n`vllm serve m --max-num-seqs 16 --gpu-memory-utilization 0.90`\n\n{TABLE}\n\
         ## b\n\n`vllm serve m --max-num-seqs 256 --enable-prefix-caching`\n\n{TABLE}\n\
         ## c\n\nmaxBatchSize=32\n\n{TABLE}"
    );
    let results = of_notes(&text).results;
    for (name, value, count) in [
        ("max-num-seqs", "16", 2),
        ("--max_num_seqs", "256", 2),
        ("gpu-memory-utilization", "0.9", 2),
        ("enable-prefix-caching", "true", 2),
        ("BackendConfig.ScheduleConfig.maxBatchSize", "32", 2),
        ("concurrency", "16", 3),
    ] {
        let chosen = with_fact(&results, name, value).unwrap();
        assert_eq!(chosen.len(), count, "{name}={value}");
    }
    let error = |name: &str, value: &str| {
        let error = with_fact(&results, name, value).unwrap_err();
        error.to_string()
    };
    let values = error("max-num-seqs", "17");
    assert_eq!(values, "its results have max-num-seqs 16, 256");
    assert!(error("max-num-seq", "16").contains("max-num-seqs"));
}

#[test]
fn a_start_that_ran_out_of_memory_has_the_settings_of_its_configuration() {
    let trial = |name: &str, gib: u32, outcome: &str| {
        format!(
            "#### {name}\n\n```json\n\"maxBatchSize\": 200,\n\"npuMemSize\": {gib}\n```\n\n{outcome}\n"
        )
    };
    let text = format!(
        "## MindIE 2.0.RC1 (910B4)\n\n### 7B\n\n{}{}",
        trial("试验 1", 24, TABLE),
        trial(
            "试验 2",
            30,
            "```\nRuntimeError: NPU out of memory. Tried to allocate 1.20 GiB (NPU 0)\n```\n\n起不来。\n"
        )
    );
    let imported = of_notes(&text);
    let refused = imported.results.last().unwrap();
    assert!(refused.error.is_some(), "{refused:?}");
    assert_eq!(flags(refused), "maxBatchSize=200 npuMemSize=30");
    assert_eq!(refused.section.last().unwrap(), "试验 2");
    assert_eq!(imported.unread, []);
}
