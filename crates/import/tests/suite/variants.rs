//! The same results as other people write them: other spacing, units and colons, tables turned
//! around, Windows line ends, English and Chinese.

use inferometer_import::{ImportedResult, Tool, read};

fn codes(found: &ImportedResult) -> Vec<&'static str> {
    found.doubts.iter().map(|doubt| doubt.code.name()).collect()
}

fn only(text: &str) -> ImportedResult {
    let mut imported = read("variant", text);
    assert_eq!(imported.results.len(), 1, "{text}\n{imported:#?}");
    imported.results.remove(0)
}

const EVALSCOPE: &str = "Benchmarking summary:\n\
    Time taken for tests: 50.000 seconds\n\
    Expected number of requests: 200\n\
    Number of concurrency: 16\n\
    Total requests: 150\n\
    Succeed requests: 150\n\
    Failed requests: 0\n\
    Average QPS: 3.000\n\
    Average latency: 2.000\n\
    Throughput(average output tokens per second): 300.000\n\
    Average time to first token: 2.000\n\
    Average output tokens per request: 100.000\n\
    Percentile of request latency:\n\
        p50: 2.1\n\
        p90: 2.9\n\
        p99: 2.5\n";

#[test]
fn every_flag_of_impossible_data_is_raised_however_the_block_is_written() {
    let full_width = EVALSCOPE.replace(": ", "：").replace(":\n", "：\n");
    let tight = EVALSCOPE.replace(": ", ":");
    let wide = EVALSCOPE.replace(": ", "  :   ");
    let crlf = format!("\u{feff}{}", EVALSCOPE.replace('\n', "\r\n"));
    let quoted: String = EVALSCOPE
        .lines()
        .map(|line| format!("> {line}\n"))
        .collect();
    let logged: String = EVALSCOPE
        .lines()
        .map(|line| format!("2024-05-06 10:11:12,345 - INFO - {line}\n"))
        .collect();
    for (name, text) in [
        ("plain", EVALSCOPE.to_owned()),
        ("full width", full_width),
        ("tight", tight),
        ("wide", wide),
        ("crlf", crlf),
        ("quoted", quoted),
        ("logged", logged),
    ] {
        let found = only(&text);
        let summary = found.summary.as_ref().unwrap();
        assert_eq!(found.tool, Tool::Evalscope2024, "{name}");
        assert_eq!(summary.requests.ok, Some(150), "{name}");
        assert_eq!(
            summary.latency.e2e_ms.as_ref().unwrap().mean,
            Some(2000.0),
            "{name}"
        );
        for code in [
            "lost-requests",
            "shrunk-concurrency",
            "disordered-percentiles",
        ] {
            assert!(codes(&found).contains(&code), "{name}: {:?}", codes(&found));
        }
    }
}

#[test]
fn a_vllm_block_is_the_same_in_any_spacing() {
    let block = "============ Serving Benchmark Result ============\n\
        Successful requests:                     100\n\
        Benchmark duration (s):                  10.00\n\
        Total input tokens:                      20000\n\
        Total generated tokens:                  5000\n\
        Request throughput (req/s):              10.00\n\
        Output token throughput (tok/s):         500.00\n\
        Mean TTFT (ms):                          120.50\n\
        Median TTFT (ms):                        110.00\n\
        P99 TTFT (ms):                           300.00\n\
        ==================================================\n";
    let single: String = block
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n")
        .collect();
    let tabs = block.replace("    ", "\t");
    let upper = block.replace("requests:", "Requests:");
    for text in [
        block.to_owned(),
        single,
        tabs,
        upper,
        block.replace('\n', "\r\n"),
    ] {
        let found = only(&text);
        let summary = found.summary.as_ref().unwrap();
        let ttft = summary.latency.ttft_ms.as_ref().unwrap();
        assert_eq!(
            (found.tool, summary.requests.ok),
            (Tool::Vllm, Some(100)),
            "{text}"
        );
        assert_eq!((ttft.mean, ttft.p99), (Some(120.5), Some(300.0)), "{text}");
    }
}

#[test]
fn a_table_is_read_with_concurrency_along_either_side() {
    let across = "| 并发数 | 4 | 8 |\n|---|---|---|\n| QPS | 2.0 | 3.5 |\n| 平均延迟(s) | 2.0 | 2.3 |\n| 输出吞吐量(tok/s) | 200 | |\n";
    let down = "| concurrency | QPS | avg latency (ms) | output throughput (tok/s) |\n| ---: | ---: | ---: | ---: |\n| 4 | 2.0 | 2000 | 200 |\n| 8 | 3.5 | 2300 | |\n";
    for text in [across, down] {
        let imported = read("table", text);
        assert_eq!(imported.results.len(), 2, "{text}\n{imported:#?}");
        for (found, (streams, rate, latency)) in imported
            .results
            .iter()
            .zip([(4, 2.0, 2000.0), (8, 3.5, 2300.0)])
        {
            let summary = found.summary.as_ref().unwrap();
            assert_eq!(found.point["concurrency"], streams, "{text}");
            assert_eq!(summary.throughput.requests_per_s, Some(rate), "{text}");
            assert_eq!(
                summary.latency.e2e_ms.as_ref().unwrap().mean,
                Some(latency),
                "{text}"
            );
        }
        let blank = imported.results[1].summary.as_ref().unwrap();
        assert_eq!(
            blank.throughput.output_tokens_per_s, None,
            "a blank is not 0: {text}"
        );
    }
}

#[test]
fn a_megabyte_of_notes_is_read_whole() {
    let mut text = String::new();
    let mut blocks = 0;
    while text.len() < 1_000_000 {
        text.push_str("Some prose between the results, with numbers such as 12 and 3.5 s.\n\n");
        text.push_str(EVALSCOPE);
        blocks += 1;
    }
    let imported = read("notes", &text);
    assert_eq!(imported.results.len(), blocks);
}
