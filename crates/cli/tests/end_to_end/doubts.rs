//! Doubts that a run must raise by itself.

use crate::support::{Crooked, Place, Run, Sim};
use inferometer_core::doubt::{DoubtCode, Severity};
use inferometer_core::record::TokenSource;
use std::io::{BufRead, BufReader, Read, Write};

fn run(sim: &Sim, options: &[&str]) -> Run {
    Place::new().measure(&sim.url, options)
}

/// The doubt has its severity, a text and a remedy, and is in the report.
#[track_caller]
fn assert_doubt(run: &Run, code: DoubtCode, severity: Severity) {
    let found = run.summary.doubts.iter().find(|doubt| doubt.code == code);
    let doubt = found.unwrap_or_else(|| panic!("{code} is missing in {:?}", run.summary.doubts));
    assert_eq!(doubt.severity, severity);
    assert!(!doubt.text.is_empty() && !doubt.remedy.is_empty());
    assert!(
        run.ended.stdout.contains(code.into_str()),
        "{}",
        run.ended.stdout
    );
    assert_eq!(
        run.summary.valid,
        run.summary
            .doubts
            .iter()
            .all(|doubt| doubt.severity != Severity::Invalid)
    );
}

#[test]
fn a_healthy_run_raises_no_warning() {
    // In virtual time, where no busy host gives reason to doubt.
    let options = [
        "--sim-clock",
        "virtual",
        "--requests",
        "48",
        "--concurrency",
        "4",
        "--output-tokens",
        "16",
    ];
    let run = Place::new().measure("", &options);
    run.assert_all_ok(48);
    assert_eq!(run.ended.code, Some(0), "{:?}", run.ended);
    let warnings: Vec<_> = run
        .summary
        .doubts
        .iter()
        .filter(|doubt| doubt.severity != Severity::Note)
        .collect();
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn few_samples_are_told_with_the_number_that_is_needed() {
    let sim = Sim::start(&[]);
    let run = run(
        &sim,
        &[
            "--requests",
            "10",
            "--concurrency",
            "2",
            "--output-tokens",
            "4",
        ],
    );
    assert_doubt(&run, DoubtCode::FewSamples, Severity::Note);
    assert!(run.ended.stdout.contains("459"));
}

#[test]
fn answers_without_usage_have_no_token_count_and_that_is_told() {
    let sim = Sim::with_faults("usage=missing");
    let run = run(
        &sim,
        &[
            "--requests",
            "10",
            "--concurrency",
            "2",
            "--output-tokens",
            "4",
        ],
    );
    run.assert_all_ok(10);
    assert_doubt(&run, DoubtCode::TokenSource, Severity::Note);
    assert_eq!(
        (run.summary.tokens.source, run.summary.tokens.output),
        (TokenSource::None, None)
    );
    assert_eq!(run.summary.throughput.output_tokens_per_s, None);
    assert!(run.summary.latency.tpot_ms.is_none() && run.summary.latency.ttft_ms.is_some());
}

#[test]
fn chunks_of_several_tokens_without_counts_are_told() {
    let sim = Sim::with_faults("tokens-per-chunk=4,usage=own");
    let without = run(
        &sim,
        &[
            "--requests",
            "10",
            "--concurrency",
            "2",
            "--output-tokens",
            "16",
        ],
    );
    assert_doubt(&without, DoubtCode::ChunkNotToken, Severity::Note);
    assert!(!without.summary.latency.itl_is_per_token);
    let sim = Sim::with_faults("tokens-per-chunk=4");
    let with = run(
        &sim,
        &[
            "--requests",
            "10",
            "--concurrency",
            "2",
            "--output-tokens",
            "16",
        ],
    );
    assert!(
        !with.doubts(DoubtCode::ChunkNotToken),
        "the server gives counts per chunk when asked"
    );
    assert!(with.summary.latency.itl_is_per_token);
}

#[test]
fn answers_of_another_length_than_asked_are_told() {
    // Says that it takes everything, and answers three tokens whatever is asked.
    let server = Crooked::start(|mut stream| {
        let mut lines = BufReader::new(stream.try_clone().unwrap());
        let mut head = String::new();
        while lines.read_line(&mut head).is_ok_and(|read| read > 2) {}
        let length = head.lines().find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("content-length:")?
                .trim()
                .parse()
                .ok()
        });
        let _ = lines.read_exact(&mut vec![0; length.unwrap_or(0)]);
        let body = if head.starts_with("GET") {
            r#"{"data":[{"id":"short"}]}"#.to_owned()
        } else {
            let token =
                "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x \"}}]}\n\n".repeat(3);
            let usage = r#""usage":{"prompt_tokens":16,"completion_tokens":3}"#;
            format!(
                "{token}data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"stop\"}}],{usage}}}\n\ndata: [DONE]\n\n"
            )
        };
        let kind = if head.starts_with("GET") {
            "application/json"
        } else {
            "text/event-stream"
        };
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
    });
    let run = Place::new().measure(
        &server.url(),
        &[
            "--requests",
            "10",
            "--concurrency",
            "1",
            "--output-tokens",
            "16",
        ],
    );
    run.assert_all_ok(10);
    assert_doubt(&run, DoubtCode::OutputLengths, Severity::Warn);
}

#[test]
fn answers_that_end_at_the_limit_are_told_unless_they_were_to_be_as_long() {
    let sim = Sim::start(&[]);
    let ended = |limits: &[&str]| {
        let load = ["--requests", "12", "--concurrency", "2"];
        let run = run(&sim, &[&load[..], limits].concat());
        run.assert_all_ok(12);
        run
    };
    let capped = ended(&["--max-tokens", "1"]);
    assert_doubt(&capped, DoubtCode::OutputCapped, Severity::Note);
    let wanted = ended(&["--max-tokens", "5", "--min-tokens", "5"]);
    let wanted = wanted.summary.doubts;
    assert!(wanted.iter().all(|it| it.code != DoubtCode::OutputCapped));
}

#[test]
fn one_prompt_again_and_again_is_told() {
    let sim = Sim::start(&[]);
    let run = run(
        &sim,
        &[
            "--requests",
            "12",
            "--concurrency",
            "2",
            "--prompt",
            "Tell me a joke.",
            "--max-tokens",
            "5",
        ],
    );
    run.assert_all_ok(12);
    assert_doubt(&run, DoubtCode::RepeatedPrompts, Severity::Warn);
}

#[test]
fn starting_all_at_once_is_told() {
    let sim = Sim::start(&[]);
    let at_once = run(
        &sim,
        &["--rate", "inf", "--requests", "6", "--output-tokens", "4"],
    );
    assert_doubt(&at_once, DoubtCode::AllAtOnce, Severity::Note);
    let unstaggered = run(
        &sim,
        &[
            "--concurrency",
            "3",
            "--stagger",
            "none",
            "--requests",
            "6",
            "--output-tokens",
            "4",
        ],
    );
    assert_doubt(&unstaggered, DoubtCode::AllAtOnce, Severity::Note);
    let staggered = run(
        &sim,
        &[
            "--concurrency",
            "3",
            "--requests",
            "6",
            "--output-tokens",
            "4",
        ],
    );
    assert!(!staggered.doubts(DoubtCode::AllAtOnce));
}

#[test]
fn stalls_inside_answers_are_told() {
    let sim = Sim::start(&["--seed", "3", "--faults", "stall(700ms)=30%"]);
    let run = run(
        &sim,
        &[
            "--requests",
            "20",
            "--concurrency",
            "10",
            "--warmup",
            "0",
            "--output-tokens",
            "24",
        ],
    );
    run.assert_all_ok(20);
    assert_doubt(&run, DoubtCode::Stalls, Severity::Note);
    // A chunk that is read late makes the gap after it shorter.
    assert!(run.summary.latency.max_gap_ms.unwrap().max >= 350.0);
}

#[test]
fn a_server_that_dies_under_way_makes_the_run_invalid_and_all_is_accounted_for() {
    for load in [["--concurrency", "4"], ["--rate", "200"]] {
        let sim = Sim::with_faults("die-after=20");
        let run = run(
            &sim,
            &[
                &load[..],
                &["--requests", "60", "--output-tokens", "8", "--warmup", "0"],
                &["--give-up-after", "1s"],
            ]
            .concat(),
        );
        assert_eq!(run.ended.code, Some(1));
        assert!(
            run.ended.stdout.starts_with("INVALID"),
            "{}",
            run.ended.stdout
        );
        assert_doubt(&run, DoubtCode::ServerDied, Severity::Invalid);
        let accounts = run.summary.requests;
        assert_eq!(accounts.planned, 60);
        let rest = accounts.failed + accounts.unsent;
        assert!(accounts.ok >= 15 && rest > 30, "{accounts:?}");
        let closed = load[0] == "--concurrency";
        assert_eq!(
            accounts.unsent > 0,
            closed,
            "a closed loop asks ever more rarely"
        );
        assert_eq!(
            run.summary
                .failures
                .iter()
                .map(|kind| kind.count)
                .sum::<u64>(),
            accounts.failed
        );
    }
}

/// The engine below answers 23.3 requests a second at most.
#[test]
fn an_overload_is_told_and_a_queue_near_its_limit_is_not_one() {
    let place = Place::new();
    let told = |rate: &str, requests: &str, seed: u32| {
        let command = format!(
            "run --sim-clock virtual --quiet --no-html --format json --rate {rate} \
             --requests {requests} --seed {seed} --input-tokens uniform(64,448) \
             --output-tokens lognormal(128,80) --out {rate}-{seed} \
             -- vllm serve qwen2.5-7b --max-num-seqs 48"
        );
        let ended = place.run(&command.split_whitespace().collect::<Vec<_>>());
        ended.stdout.contains("\"code\": \"overload\"")
    };
    let seeds = 1..=5;
    let count = |rate: &str, requests: &str| {
        let told = seeds.clone().filter(|&seed| told(rate, requests, seed));
        told.count()
    };
    assert_eq!(count("21.6", "1000"), 0);
    assert!(count("26.7", "1000") >= 4);
}

#[test]
fn no_length_of_run_is_advised_where_the_server_is_overloaded() {
    let place = Place::new();
    let load = ["--rate", "40", "--requests", "600", "--sim-device", "l20"];
    let fixed = ["run", "--sim-clock", "virtual", "--lang", "en"];
    let told = place.run(&[&fixed[..], &load].concat());
    assert!(told.stdout.contains("overload:"), "{}", told.stdout);
    assert!(told.stdout.contains("none: overloaded"), "{}", told.stdout);
    assert!(!told.stdout.contains("requests needed"), "{}", told.stdout);
}
