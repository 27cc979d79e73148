//! Other tools' numbers, checked by hand on a few records.

use inferometer_core::environment::{Ending, Environment, Probe};
use inferometer_core::options::Options;
use inferometer_core::record::{
    BareChunk, BareKind, Chunks, Failure, FailureClass, Outcome, PerToken, Phase, Record, Stage,
    Usage,
};
use inferometer_core::scenario::Scenario;
use inferometer_core::units::Offset;
use inferometer_dialect as dialect;
use inferometer_dialect::{Dialect, DialectError, Foreign, Source, sglang};
use std::time::Duration;
use strum::VariantArray as _;

fn scenario(toml: &str) -> Scenario {
    Options::from_toml(toml).unwrap().resolve().unwrap()
}

fn ms(millis: u64) -> Offset {
    Offset::after(Duration::from_millis(millis))
}

fn bare(at: u64, kind: BareKind) -> BareChunk {
    BareChunk { at: ms(at), kind }
}

/// A chat answer: role chunk, tokens, finish, usage, end.
fn chat(index: u64, sent: u64, tokens: &[u64], output: u32) -> Record {
    let first = tokens[0];
    let last = *tokens.last().unwrap();
    Record {
        index,
        sent: Some(ms(sent)),
        chunks: Chunks {
            at: tokens.iter().copied().map(ms).collect(),
            tokens: None,
            same_read: vec![false; tokens.len()],
        },
        bare: vec![
            bare(first - 10, BareKind::Empty),
            bare(last + 5, BareKind::Finish),
            bare(last + 7, BareKind::NoChoice),
        ],
        end: Some(ms(last + 8)),
        outcome: Outcome::Done,
        status: Some(200),
        usage: Some(Usage {
            input: Some(41),
            output: Some(output),
            cached: None,
        }),
        input_tokens_asked: Some(32),
        output_tokens_asked: Some(4),
        streamed: true,
        ..Record::default()
    }
}

fn failed(index: u64, sent: u64, end: u64, class: FailureClass) -> Record {
    Record {
        index,
        sent: Some(ms(sent)),
        end: Some(ms(end)),
        outcome: Outcome::Failed(Failure {
            phase: Phase::Status,
            class,
            detail: "no".to_owned(),
        }),
        streamed: true,
        ..Record::default()
    }
}

struct Run {
    records: Vec<Record>,
    scenario: Scenario,
    environment: Environment,
    ending: Ending,
}

impl Run {
    fn source(&self) -> Source<'_> {
        Source {
            records: &self.records,
            scenario: &self.scenario,
            environment: &self.environment,
            ending: &self.ending,
            invalid: &[],
        }
    }
}

#[test]
fn a_run_that_is_invalid_says_so_in_every_dialect_and_is_read_back_so() {
    let run = two_answers();
    for foreign in Foreign::VARIANTS {
        for written in [dialect::text, dialect::json] {
            let valid = written(*foreign, &run.source()).unwrap();
            let codes = ["lost-requests", "client-late"];
            let source = Source {
                invalid: &codes,
                ..run.source()
            };
            let invalid = written(*foreign, &source).unwrap();
            assert!(!valid.contains("inferometer"), "{valid}");
            let results = inferometer_import::read("saved", &invalid).results;
            assert!(!results.is_empty(), "{invalid}");
            for found in &results {
                let summary = found.summary.as_ref().unwrap();
                let doubts: Vec<&str> = found.doubts.iter().map(|it| it.text.as_str()).collect();
                let doubts = doubts.join("\n");
                assert!(!summary.valid, "{invalid}");
                assert!(
                    doubts.contains("lost-requests, client-late"),
                    "{doubts}\n{invalid}"
                );
            }
        }
    }
}

/// Two answers, one failure and a warm-up. By hand, for vllm (ms):
/// a: sent 1000, messages 1090 1100 1120 1140 1145 → TTFT 90, gaps 10 20 20 5, E2EL 145,
///    3 tokens: TPOT 55 / 2 = 27.5
/// b: sent 1100, messages 1290 1300 1350 1355 → TTFT 190, gaps 10 50 5, E2EL 255,
///    2 tokens: TPOT 65
/// duration: 1000 … 3000 = 2 s.
fn two_answers() -> Run {
    let warmup = Record {
        stage: Stage::Warmup,
        ..chat(0, 10, &[500, 600], 2)
    };
    Run {
        records: vec![
            failed(3, 1200, 3000, FailureClass::ServerError),
            chat(2, 1100, &[1300, 1350], 2),
            chat(1, 1000, &[1100, 1120, 1140], 3),
            warmup,
        ],
        scenario: scenario(
            "[run]\nlabel = \"two\"\n[load]\nconcurrency = 8\n[objectives]\n\
             slo = [\"ttft=100ms\", \"tpot=50ms\", \"e2e.p99=1s\"]\n",
        ),
        environment: Environment {
            started: "2026-11-15T02:23:34+08:00".to_owned(),
            server: Probe {
                api: "chat".to_owned(),
                model: "tiny".to_owned(),
                ..Probe::default()
            },
            ..Environment::default()
        },
        ending: Ending {
            planned: 3,
            measured_from: ms(1000),
            ..Ending::default()
        },
    }
}

#[test]
fn the_vllm_block_has_the_tool_s_numbers_to_the_column() {
    let text = dialect::text(Foreign::Vllm, &two_answers().source()).unwrap();
    // Trailing blanks are part of the block.
    insta::assert_snapshot!("vllm_block", text.replace(" \n", "·\n"));
    for line in text.lines() {
        let length = if line.contains("--") || line.contains("==") {
            50
        } else {
            51
        };
        assert_eq!(line.len(), length, "{line}");
    }
}

#[test]
fn vllm_s_clock_starts_before_connecting() {
    let mut run = two_answers();
    run.records.retain(|record| record.index == 1);
    run.records[0].connect = Some(Duration::from_millis(30));
    let text = dialect::text(Foreign::Vllm, &run.source()).unwrap();
    assert!(
        text.contains("Mean TTFT (ms):                          120.00"),
        "{text}"
    );
}

#[test]
fn an_error_inside_a_stream_is_a_success_to_vllm() {
    let mut run = two_answers();
    run.records[2].outcome = Outcome::Failed(Failure {
        phase: Phase::Stream,
        class: FailureClass::InBandError,
        detail: "engine died".to_owned(),
    });
    let text = dialect::text(Foreign::Vllm, &run.source()).unwrap();
    assert!(
        text.contains("Successful requests:                     2 "),
        "{text}"
    );
}

#[test]
fn vllm_prints_nought_where_nothing_succeeded() {
    let mut run = two_answers();
    run.records.truncate(1);
    let text = dialect::text(Foreign::Vllm, &run.source()).unwrap();
    assert!(text.contains("Mean TTFT (ms):                          0.00"));
    assert!(text.contains("Failed requests:                         1 "));
}

#[test]
fn the_vllm_object_has_the_tool_s_keys_in_their_order() {
    let text = dialect::json(Foreign::Vllm, &two_answers().source()).unwrap();
    insta::assert_snapshot!("vllm_json", text);
    let read: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["std_ttft_ms"], 50.0);
    assert_eq!(read["request_goodput"], 0.5);
}

#[test]
fn an_open_loop_states_its_rate_and_cap() {
    let mut run = two_answers();
    run.scenario = scenario("[load]\nrate = 5\narrival = \"constant\"\nmax-concurrency = 8\n");
    let text = dialect::text(Foreign::Vllm, &run.source()).unwrap();
    assert!(text.contains("Request rate configured (RPS):           5.00      \n"));
    let object = dialect::json(Foreign::Vllm, &run.source()).unwrap();
    assert!(
        object.contains("\"request_rate\": 5.0, \"burstiness\": Infinity, \"max_concurrency\": 8")
    );
}

/// By hand, for sglang (ms): a: TTFT 100, gaps 20 20, E2E 148, TPOT 24; b: TTFT 200, gap 50,
/// E2E 258, TPOT 58; concurrency (148 + 258) / 2000.
#[test]
fn the_sglang_block_has_the_tool_s_numbers_to_the_column() {
    let text = dialect::text(Foreign::Sglang, &two_answers().source()).unwrap();
    insta::assert_snapshot!("sglang_block", text.replace(" \n", "·\n"));
}

#[test]
fn the_sglang_line_has_the_tool_s_keys_in_their_order() {
    let text = dialect::json(Foreign::Sglang, &two_answers().source()).unwrap();
    insta::assert_snapshot!("sglang_json", text);
}

#[test]
fn sglang_counts_the_asked_length_where_the_server_says_none() {
    let mut run = two_answers();
    for record in &mut run.records {
        record.usage = None;
    }
    let text = dialect::text(Foreign::Sglang, &run.source()).unwrap();
    assert!(
        text.contains("Total generated tokens:                  8 "),
        "{text}"
    );
}

#[test]
fn sglang_has_no_block_without_a_success() {
    let mut run = two_answers();
    run.records.truncate(1);
    assert_eq!(
        sglang::measure(&run.source()).unwrap_err(),
        DialectError::NoSuccess("sglang")
    );
}

#[test]
fn dialects_are_known_by_their_words() {
    let words: Vec<&str> = Dialect::words().collect();
    assert_eq!(words.len(), 9);
    for word in words {
        let foreign = Dialect::from_word(word).unwrap().foreign();
        assert_eq!(foreign.map_or("ours", Into::into), word);
    }
    assert_eq!(Dialect::from_word("evalscope-2023"), None);
}

/// Two answers of 3 and 2 tokens from 1.0 to 3.0 s of a run that began at 02:23:34, so that the
/// clock went from :35 to :37. By hand: a took 148 ms, b 258 ms.
#[test]
fn the_grid_log_has_the_log_s_lines_and_whole_seconds() {
    let mut run = two_answers();
    run.scenario = scenario(
        "[load]\nconcurrency = 8\n[work]\ninput-chars = 4000\nask-chars = 500\ntemplate = \"zh\"\n",
    );
    for record in &mut run.records {
        (record.input_chars, record.output_chars) = (4_027, 100);
    }
    let text = dialect::text(Foreign::GridLog, &run.source()).unwrap();
    insta::assert_snapshot!("grid_log", text);
    let speed = (3.0 / 0.148 + 2.0 / 0.258) / 2.0;
    let json: serde_json::Value =
        serde_json::from_str(&dialect::json(Foreign::GridLog, &run.source()).unwrap()).unwrap();
    assert_eq!(json["duration"], 2);
    assert_eq!(json["prompt-tokens/second"], 41.0);
    assert_eq!(json["completion-tokens/second"], 2.5);
    assert_eq!(json["prompt-chars/second"], 4_027.0);
    assert_eq!(json["QPS"], 1.0);
    let found = json["tokens-speed-per-request/second(终端用户视角)"].as_f64();
    assert!((found.unwrap() - speed).abs() < 1e-9);
}

#[test]
fn the_grid_log_breaks_off_where_its_tool_divides_by_nothing() {
    let mut run = two_answers();
    run.records.truncate(2);
    run.records.remove(0);
    let shown = dialect::text(Foreign::GridLog, &run.source());
    assert_eq!(shown, Err(DialectError::NoSecond("grid-log")));
    run.records.clear();
    let shown = dialect::text(Foreign::GridLog, &run.source());
    assert_eq!(shown, Err(DialectError::NoSuccess("grid-log")));
}

/// By hand, for evalscope-2024 (ms): a: packages 1090 1100 1120 1140 1145 1147, first 90, between
/// the ends 4 packages in 55, latency 148; b: packages 1290 1300 1350 1355 1357, first 190,
/// 3 packages in 65, latency 258. Packages: 7 / 2 + 2; their latency 120 / 7.
#[test]
fn evalscope_2024_is_reproduced_to_the_digit() {
    let text = dialect::text(Foreign::Evalscope2024, &two_answers().source()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "Benchmarking summary: ",
            " Time taken for tests: 2.000 seconds",
            " Expected number of requests: 3",
            " Number of concurrency: 8",
            " Total requests: 3",
            " Succeed requests: 2",
            " Failed requests: 1",
            " Average QPS: 1.000",
            " Average latency: 0.203",
            " Throughput(average output tokens per second): 2.500",
            " Average time to first token: 0.140",
            " Average input tokens per request: 41.000",
            " Average output tokens per request: 2.500",
            " Average time per output token: 0.40000",
            " Average package per request: 5.500",
            " Average package latency: 0.017",
            " Too little data to calculate quantiles!",
        ]
    );
}

#[test]
fn percentiles_of_evalscope_2024_are_values_by_a_truncated_index() {
    let mut run = two_answers();
    // Latencies of 108, 208 … 1008 ms: p50 is the sixth of ten, p99 the last.
    run.records = (0..10)
        .map(|index| chat(index, 1000, &[1050, 1100 + index * 100], 2))
        .collect();
    let text = dialect::text(Foreign::Evalscope2024, &run.source()).unwrap();
    let (_, latency) = text.split_once("Percentile of request latency").unwrap();
    assert!(latency.contains("p50: 0.6080\n"), "{text}");
    assert!(latency.contains("p66: 0.7080\n"), "{text}");
    assert!(latency.contains("p99: 1.0080\n"), "{text}");
}

#[test]
fn without_a_stream_the_first_token_of_evalscope_2024_is_the_end() {
    let mut run = two_answers();
    let whole = |index, end| Record {
        streamed: false,
        chunks: Chunks::default(),
        bare: Vec::new(),
        end: Some(ms(end)),
        ..chat(index, 1000, &[1100], 4)
    };
    run.records = vec![whole(1, 1200), whole(2, 1400)];
    let text = dialect::text(Foreign::Evalscope2024, &run.source()).unwrap();
    assert!(text.contains("Average latency: 0.300\n"), "{text}");
    assert!(
        text.contains("Average time to first token: 0.300\n"),
        "{text}"
    );
    assert!(
        text.contains("Average package per request: 1.000\n"),
        "{text}"
    );
    assert!(text.contains("Average package latency: 0.300\n"), "{text}");
}

/// By hand, for evalscope (ms): a: TTFT 100, gaps 20 20, latency to the usage 147, TPOT 23.5;
/// b: TTFT 200, gap 50, latency 257, TPOT 57.
#[test]
fn evalscope_is_reproduced_to_the_column() {
    let text = dialect::text(Foreign::Evalscope, &two_answers().source()).unwrap();
    insta::assert_snapshot!("evalscope_tables", text);
    for row in [
        "│ Test Duration (s)         │         2 │",
        "│ Total / Success / Failed  │ 3 / 2 / 1 │",
        "│ Avg Latency (s)           │     0.202 │",
        "│ Avg TTFT (ms)             │       150 │",
        "│ Avg TPOT (ms)             │     40.25 │",
        "│ Avg ITL (ms)              │        30 │",
        "│ Total Throughput (tok/s)  │      43.5 │",
    ] {
        assert!(text.contains(row), "{row}\n{text}");
    }
    let json = dialect::json(Foreign::Evalscope, &two_answers().source()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["benchmark_summary"]["Avg TPOT (ms)"], 40.25);
    assert_eq!(value["benchmark_summary"]["Failed Requests"], 1);
    // Nearest rank: the median of two is the smaller.
    assert_eq!(value["benchmark_percentile"][5]["Percentiles"], "50%");
    assert_eq!(value["benchmark_percentile"][5]["TTFT (ms)"], 100.0);
}

#[test]
fn evalscope_has_tables_for_a_run_without_a_success() {
    let mut run = two_answers();
    run.records.truncate(1);
    let text = dialect::text(Foreign::Evalscope, &run.source()).unwrap();
    assert!(text.contains("1 / 0 / 1"), "{text}");
    assert!(text.contains("—"), "{text}");
}

/// By hand, for MindIE (ms): first tokens 100 200; gaps 20 20 50, of each answer 20 50 on
/// average; whole times 145 255; lpct 300 / 82.
#[test]
fn the_tables_of_mindie_are_reproduced_to_the_column() {
    let text = dialect::text(Foreign::Mindie, &two_answers().source()).unwrap();
    insta::assert_snapshot!("mindie_tables", text);
    let row = |name: &str| {
        let line = text
            .lines()
            .find(|line| line.contains(&format!(" {name} |")));
        let cells = line.unwrap().split('|').map(|cell| cell.trim().to_owned());
        cells
            .filter(|cell| !cell.is_empty())
            .skip(1)
            .collect::<Vec<String>>()
    };
    let first = [
        "150.0 ms", "200.0 ms", "100.0 ms", "175.0 ms", "190.0 ms", "190.0 ms",
    ];
    assert_eq!(row("FirstTokenTime")[..6], first);
    let decode = [
        "30.0 ms", "50.0 ms", "20.0 ms", "35.0 ms", "44.0 ms", "47.0 ms",
    ];
    assert_eq!(row("DecodeTime")[..6], decode);
    assert_eq!(row("GeneratedTokens")[..4], ["2.5", "3", "2", "2.75"]);
    assert_eq!(row("lpct"), ["3.6585 ms"]);
    assert_eq!(row("Failed"), ["1( 33.33% )"]);
    assert_eq!(row("GenerateSpeedPerClient"), ["0.3125 token/s"]);
    assert_eq!(row("QueueWaitTime")[0], "/ μs");
}

#[test]
fn batches_and_waits_that_a_server_tells_are_in_the_tables_of_mindie() {
    let mut run = two_answers();
    let told = [
        (vec![2, 8, 9], vec![700, 20, 30]),
        (vec![1, 4], vec![50, 0]),
    ];
    let answered = (run.records.iter_mut()).filter(|it| it.is_done() && it.is_measured());
    for (record, (batch_size, queue_wait_us)) in answered.zip(told) {
        record.per_token = Some(Box::new(PerToken {
            batch_size,
            queue_wait_us,
        }));
    }
    let text = dialect::text(Foreign::Mindie, &run.source()).unwrap();
    let row = |name: &str| {
        let line = text.lines().find(|line| line.contains(name)).unwrap();
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        cells[2..8].join(" ")
    };
    assert_eq!(row("PrefillBatchsize"), "1.5 2 1 1.75 1.9 1.9");
    assert_eq!(row("DecoderBatchsize"), "7.0 9 4 8.5 8.8 /");
    let waits = "160.0 μs 700 μs 0 μs 50.0 μs 440.0 μs / μs";
    assert_eq!(row("QueueWaitTime"), waits);
}

#[test]
fn an_answer_of_one_token_has_a_last_decode_time_of_nought_in_mindie() {
    let mut run = two_answers();
    run.records = vec![chat(1, 1000, &[1100], 1), chat(2, 1000, &[1100, 1130], 2)];
    let text = dialect::text(Foreign::Mindie, &run.source()).unwrap();
    let row = |name: &str| text.lines().find(|line| line.contains(name)).unwrap();
    assert!(row("LastDecodeTime").contains(" 0 ms |"), "{text}");
    assert!(!row("MaxDecodeTime").contains(" 0 ms |"), "{text}");
}

#[test]
fn a_hostile_model_name_does_not_break_the_tables_of_mindie() {
    let mut run = two_answers();
    run.environment.server.model = "a\n| b | \u{1b}[2J".to_owned();
    let text = dialect::text(Foreign::Mindie, &run.source()).unwrap();
    let line = text
        .lines()
        .find(|line| line.contains("ModelName"))
        .unwrap();
    assert_eq!(line.matches('|').count(), 3, "{line}");
    assert!(!text.contains('\u{1b}'));
}

/// By hand, for AIPerf (ms): a: TTFT 100, last text 140, ITL 40 / 2 = 20; b: TTFT 200, last text
/// 250, ITL 50. The window is 2 s, for the failure ends at 3000. Adjusted values are 140, 250 and
/// an infinite one, which is not written.
#[test]
fn aiperf_is_reproduced_with_failures_as_infinite_times() {
    let text = dialect::text(Foreign::Aiperf, &two_answers().source()).unwrap();
    insta::assert_snapshot!("aiperf_table", text);
    let json = dialect::json(Foreign::Aiperf, &two_answers().source()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["request_latency"]["avg"], 195.0);
    assert_eq!(value["inter_token_latency"]["p50"], 35.0);
    assert_eq!(value["output_token_throughput_per_user"]["max"], 50.0);
    assert_eq!(value["request_count"]["avg"], 2.0);
    let rate = value["request_throughput"]["avg"].as_f64().unwrap();
    assert!((rate - 2.0 / 2.0).abs() < 1e-9);
    assert_eq!(value["adj_request_latency"]["p50"], 250.0);
    assert_eq!(value["adj_request_latency"].get("p99"), None);
    assert_eq!(value["adj_request_latency"].get("avg"), None);
    assert_eq!(value["adj_request_latency"]["count"], 3);

    let mut run = two_answers();
    run.records.remove(0);
    let json = dialect::json(Foreign::Aiperf, &run.source()).unwrap();
    assert!(!json.contains("adj_"));
}

/// By hand, for GuideLLM (ms): TPOT a: 140 / 3 with weight 3, b: 250 / 2 with weight 2, mean
/// (140 + 250) / 5 = 78; ITL a: 20 with weight 2, b: 50 with weight 1, mean 30.
#[test]
fn guidellm_weights_by_tokens_and_has_the_first_token_in_its_tpot() {
    let text = dialect::text(Foreign::Guidellm, &two_answers().source()).unwrap();
    insta::assert_snapshot!("guidellm_table", text);
    let json = dialect::json(Foreign::Guidellm, &two_answers().source()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let metrics = &value["benchmarks"][0]["metrics"];
    let mean = |key: &str| metrics[key]["successful"]["mean"].as_f64().unwrap();
    assert!((mean("time_per_output_token_ms") - 78.0).abs() < 1e-9);
    assert!((mean("inter_token_latency_ms") - 30.0).abs() < 1e-9);
    let median = metrics["inter_token_latency_ms"]["successful"]["median"].as_f64();
    assert!(median.is_some_and(|median| (median - 20.0).abs() < 1e-9));
    assert_eq!(metrics["request_totals"]["errored"], 1);
}

#[test]
fn every_dialect_answers_or_refuses_a_run_without_records() {
    let mut run = two_answers();
    run.records.clear();
    for &foreign in Foreign::VARIANTS {
        let text = dialect::text(foreign, &run.source());
        let json = dialect::json(foreign, &run.source());
        assert_eq!(text.is_ok(), json.is_ok(), "{foreign:?}");
        assert!(!text.is_ok_and(|text| text.is_empty()), "{foreign:?}");
    }
}
