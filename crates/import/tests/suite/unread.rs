//! Whatever a real file says is in its result or named, with the reason.

use crate::peers::{all_are_in, all_of_the_block_are_in, at, number, numbers, one, text};
use inferometer_import::{ImportedResult, UnreadReason, read};
use inferometer_text::Lang;
use serde_json::Value;

/// Every number of a value with the path of its keys; lists have no keys of their own.
fn walk(value: &Value, path: &str, into: &mut Vec<(String, f64)>) {
    match value {
        Value::Number(number) => into.extend(number.as_f64().map(|it| (path.to_owned(), it))),
        Value::Array(values) => values.iter().for_each(|value| walk(value, path, into)),
        Value::Object(values) => {
            for (key, value) in values {
                let inner = match path {
                    "" => key.clone(),
                    path => format!("{path}.{key}"),
                };
                walk(value, &inner, into);
            }
        }
        _ => {}
    }
}

/// Whether a path, or one that it lies in, is listed as not read.
fn is_listed(found: &ImportedResult, path: &str) -> bool {
    found.unread.iter().any(|listed| {
        let mut keys = path.split('.');
        let mut listed = listed.split('.');
        listed.all(|listed| {
            keys.next()
                .is_some_and(|key| listed == "*" || listed == key)
        })
    })
}

/// Fails on numbers of an object that are neither in the result nor listed.
fn all_are_told(name: &str, found: &ImportedResult, object: &Value) {
    let mut own = Vec::new();
    numbers(&serde_json::to_value(found).unwrap(), &mut own);
    let is_in = |value: f64| {
        let near = |own: f64, value: f64| (own - value).abs() <= 1e-9 * value.abs().max(1e-9);
        let mut scaled = [value, value * 1000.0].into_iter();
        scaled.any(|value| own.iter().any(|own| near(*own, value)))
    };
    let mut told = Vec::new();
    walk(object, "", &mut told);
    assert!(told.len() > 20, "{name}: {} numbers", told.len());
    for (path, value) in told {
        let is_told = is_listed(found, &path) || is_in(value);
        assert!(is_told, "{name}: {path} = {value}; {:?}", found.unread);
    }
}

fn every_name_has_a_reason(found: &ImportedResult) {
    for name in &found.unread {
        let reason = found.unread_because.get(name);
        let reason = reason.unwrap_or_else(|| panic!("{}: {name}", found.file));
        assert!(!reason.text(Lang::En).is_empty() && !reason.text(Lang::Zh).is_empty());
    }
    assert_eq!(found.unread.len(), found.unread_because.len());
}

#[test]
fn every_number_of_a_json_file_is_read_or_listed_with_the_reason() {
    for name in [
        "aiperf-0.13.0/profile_export_aiperf.json",
        "aiperf-0.13.0-faults/profile_export_aiperf.json",
        "aiperf-0.3.0/profile_export_aiperf.json",
        "aiperf-0.3.0-faults/profile_export_aiperf.json",
        "guidellm-0.8.1/benchmarks.json",
        "guidellm-0.8.1-faults/benchmarks.json",
        "guidellm-0.3.1.json",
        "guidellm-0.3.1-faults.json",
        "sglang-0.5.5.jsonl",
        "sglang-0.5.5-faults.jsonl",
        "vllm-0.11.1.json",
        "vllm-0.11.1-faults.json",
        "vllm-0.32.0.json",
        "vllm-rs-0.32.0-faults.json",
    ] {
        let found = one(name);
        let file = text(name).replace("Infinity", "\"inf\"");
        let object: Value = serde_json::from_str(&file).expect(name);
        let object = object.pointer("/benchmarks/0").unwrap_or(&object);
        all_are_told(name, &found, object);
        every_name_has_a_reason(&found);
    }
}

#[test]
fn a_reason_says_what_a_number_is() {
    let found = one("guidellm-0.8.1-faults/benchmarks.json");
    for (name, reason) in [
        ("requests", UnreadReason::PerRequest),
        ("config", UnreadReason::NotMeasured),
        ("metrics.*.errored", UnreadReason::NotAnswered),
        ("metrics.*.successful.variance", UnreadReason::NoCounterpart),
        ("metrics.text", UnreadReason::NoCounterpart),
    ] {
        assert_eq!(found.unread_because.get(name), Some(&reason), "{name}");
    }
    let found = one("sglang-0.5.5.jsonl");
    let because = &found.unread_because;
    assert_eq!(because["random_input_len"], UnreadReason::NotMeasured);
    let other = &found.summary.as_ref().unwrap().other;
    assert_eq!(other["total_output_tokens_retokenized"], 3511);

    let table = "| Concurrency | 8 |\n| --- | --- |\n| TTFT (ms) | 350 |\n| Output tok/s | 420 |\n\
        | TTFT change (%) | 12 |\n| Foo | 7 |\n| TPOT (ms) | 12/13 |\n| E2E (ms) | -3 |\n";
    let found = &read("notes.md", table).results[0];
    every_name_has_a_reason(found);
    for (name, reason) in [
        ("TTFT change (%)", UnreadReason::Change),
        ("Foo", UnreadReason::UnknownName),
        ("TPOT (ms)", UnreadReason::NotANumber),
        ("E2E (ms)", UnreadReason::DoesNotFit),
    ] {
        assert_eq!(found.unread_because.get(name), Some(&reason), "{name}");
    }
}

#[test]
fn every_number_of_blocks_of_a_year_ago_is_read() {
    for (name, ok) in [
        ("vllm-0.11.1", 40),
        ("vllm-0.11.1-faults", 29),
        ("sglang-0.5.5", 40),
        ("sglang-0.5.5-faults", 29),
    ] {
        let found = one(&format!("{name}.txt"));
        assert_eq!(at(&found, "/requests/ok"), ok, "{name}");
        assert_eq!(at(&found, "/requests/planned"), 40, "{name}");
        assert_eq!(found.point["concurrency"], 4);
        assert_eq!(found.unread, [""; 0], "{name}");
        all_of_the_block_are_in(&found);
    }
}

#[test]
fn every_number_of_guidellms_tables_of_a_year_ago_is_read() {
    // Wrapped at 80 columns, and on a wide console.
    for name in ["guidellm-0.3.1", "guidellm-0.3.1-faults"] {
        let found = one(&format!("{name}.txt"));
        let file = text(&format!("{name}.txt"));
        let (_, tables) = file.split_once("Benchmarks Info:").expect("tables");
        let cells = tables.split(['|', '\n']).filter_map(number);
        all_are_in(&found, cells.map(|value| (String::new(), value)));
        every_name_has_a_reason(&found);
        assert_eq!(found.point["concurrency"], 4);

        let exact = one(&format!("{name}.json"));
        for (pointer, rounding) in [
            ("/requests/ok", 0.0),
            ("/requests/failed", 0.0),
            ("/requests/planned", 0.0),
            ("/throughput/requests_per_s", 0.005),
            ("/throughput/output_tokens_per_s", 0.05),
            ("/throughput/total_tokens_per_s", 0.05),
            ("/concurrency/mean", 0.005),
            ("/tokens/input_mean", 0.05),
            ("/latency/e2e_ms/p50", 5.0),
            ("/latency/ttft_ms/p99", 0.05),
            ("/latency/itl_ms/mean", 0.05),
            ("/latency/tpot_ms/p99", 0.05),
        ] {
            let [told, exact] = [&found, &exact].map(|it| at(it, pointer).as_f64().unwrap());
            let far = (told - exact).abs();
            assert!(far <= rounding + 1e-9, "{name} {pointer}: {told} {exact}");
        }
    }
}

#[test]
fn guidellms_tables_have_a_result_for_each_rate() {
    let found = read("console", &text("guidellm-0.3.1-rates.txt"));
    assert_eq!(found.unread, []);
    let figures = |result: &ImportedResult| {
        let ttft = at(result, "/latency/ttft_ms/mean").as_f64().unwrap();
        (result.point["rate"].as_f64().unwrap(), ttft)
    };
    let figures: Vec<_> = found.results.iter().map(figures).collect();
    assert_eq!(figures, [(5.0, 85.9), (10.0, 210.4)]);
    // The second table may be missing, and a table that is cut off is none.
    let file = text("guidellm-0.3.1-rates.txt");
    let (first, _) = file.split_once("Benchmarks Stats:").unwrap();
    assert_eq!(read("console", first).results.len(), 2);
    let (cut, _) = file.split_once("constant@10.00|").unwrap();
    assert_eq!(read("console", cut).results.len(), 0);
}

#[test]
fn what_a_client_prints_on_its_way_names_no_result() {
    let label = |name: &str| one(name).label;
    assert_eq!(label("vllm-0.32.0-faults.txt"), None);
    assert_eq!(label("vllm-0.11.1-faults.txt"), None);
    let block = "============ Serving Benchmark Result ============\n\
        Successful requests:                     40\nMean TTFT (ms):                          30.00\n\
        Request throughput (req/s):              20.00\n\
        ==================================================\n";
    let named = |above: &str| {
        read("notes", &format!("{above}\n\n{block}")).results[0]
            .label
            .clone()
    };
    assert_eq!(named("Error 3: Internal Server Error"), None);
    assert_eq!(named("Error 3"), Some("Error 3".to_owned()));
    assert_eq!(named("Two cards"), Some("Two cards".to_owned()));
}

/// Means of the first token, in milliseconds, by result.
fn first_tokens(table: &str) -> Vec<f64> {
    let results = read("notes.md", table).results;
    let mean = |found: &ImportedResult| at(found, "/latency/ttft_ms/mean").as_f64().unwrap();
    results.iter().map(mean).collect()
}

#[test]
fn first_tokens_without_a_unit_are_as_long_as_the_other_rows_have_it() {
    let by_load = "| Concurrency | 1 | 8 |\n| --- | --- | --- |\n";
    let others = "| TPOT (ms) | 12 | 18 |\n| Output tok/s | 80 | 420 |\n";
    for (rows, expected) in [
        (
            "| TTFT | 0.12 | 0.35 |\n| TTFT P99 (ms) | 150 | 900 |\n",
            [120.0, 350.0],
        ),
        (
            "| TTFT | 120 | 350 |\n| TTFT P99 (s) | 0.15 | 0.9 |\n",
            [120.0, 350.0],
        ),
        (
            "| TTFT | 120 | 350 |\n| TTFT P99 (ms) | 150 | 900 |\n",
            [120.0, 350.0],
        ),
        ("| TTFT | 35 | 42 |\n", [35.0, 42.0]),
        ("| TTFT | 1.2 | 3.5 |\n", [1200.0, 3500.0]),
    ] {
        assert_eq!(
            first_tokens(&format!("{by_load}{rows}{others}")),
            expected,
            "{rows}"
        );
    }
    let by_statistic = "| Metric | Mean | P99 |\n| --- | --- | --- |\n";
    for (rows, expected) in [
        (
            "| TTFT | 350 | 900 |\n| TPOT (ms) | 18 | 30 |\n| E2E latency (s) | 4.2 | 6.1 |\n",
            350.0,
        ),
        (
            "| TTFT | 0.35 | 0.9 |\n| TPOT (ms) | 18 | 30 |\n| E2E latency (ms) | 4200 | 6100 |\n",
            350.0,
        ),
    ] {
        let table = format!("{by_statistic}{rows}");
        assert_eq!(first_tokens(&table), [expected], "{rows}");
        let assumed = &read("notes.md", &table).results[0].assumed;
        assert_eq!(assumed.len(), 1, "{assumed:?}");
    }
}
