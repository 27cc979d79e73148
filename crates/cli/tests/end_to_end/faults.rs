//! Every misbehaviour of a server, and what the run makes of it.

use crate::support::{Place, Sim};
use inferometer_core::doubt::DoubtCode;
use inferometer_core::record::{FailureClass, Phase, TokenSource};

/// With this seed the preflight's request is spared and about half of the others are not.
const SEED: &str = "10";

/// Every fault with what must become of it, and the options that it needs.
const FAULTS: [(&str, Phase, FailureClass, &[&str]); 12] = [
    ("error500", Phase::Status, FailureClass::ServerError, &[]),
    ("error503", Phase::Status, FailureClass::ServerError, &[]),
    ("error429", Phase::Status, FailureClass::RateLimited, &[]),
    ("refuse", Phase::Status, FailureClass::Disconnected, &[]),
    (
        "inband-error",
        Phase::Stream,
        FailureClass::InBandError,
        &[],
    ),
    ("cut", Phase::Truncated, FailureClass::CutStream, &[]),
    ("cut-clean", Phase::Truncated, FailureClass::CutStream, &[]),
    ("empty", Phase::Stream, FailureClass::EmptyStream, &[]),
    ("malformed", Phase::Stream, FailureClass::BadStream, &[]),
    (
        "hang",
        Phase::Timeout,
        FailureClass::ReadTimeout,
        &["--read-timeout", "1s"],
    ),
    (
        "stall(30s)",
        Phase::Timeout,
        FailureClass::ReadTimeout,
        &["--read-timeout", "1s"],
    ),
    (
        "slow-headers(30s)",
        Phase::Timeout,
        FailureClass::RequestTimeout,
        &["--request-timeout", "1s"],
    ),
];

#[test]
fn every_fault_is_a_failure_of_its_own_phase_and_class_and_is_counted() {
    std::thread::scope(|scope| {
        for fault in FAULTS {
            scope.spawn(move || one_fault(fault));
        }
    });
}

fn one_fault((fault, phase, class, options): (&str, Phase, FailureClass, &[&str])) {
    let sim = Sim::start(&["--seed", SEED, "--faults", &format!("{fault}=50%")]);
    let fixed = [
        "--requests",
        "20",
        "--concurrency",
        "10",
        "--warmup",
        "0",
        "--output-tokens",
        "8",
    ];
    let run = Place::new().measure(&sim.url, &[&fixed[..], options].concat());
    let name = fault.split('(').next().unwrap();
    let truth = sim.truth();
    let mut hit = 0;
    for record in &run.records {
        let failure = record.failure();
        if truth[&record.id].fault.as_deref() == Some(name) {
            hit += 1;
            let failure = failure.unwrap_or_else(|| panic!("{fault} passed for success"));
            assert_eq!(
                (failure.phase, failure.class),
                (phase, class),
                "{fault}: {failure:?}"
            );
        } else {
            assert!(record.is_done(), "{fault}: {failure:?}");
        }
    }
    assert!(hit > 4, "{fault} befell {hit}");
    let accounts = run.summary.requests;
    assert_eq!(
        (accounts.ok, accounts.failed, accounts.cut),
        (20 - hit, hit, 0),
        "{fault}"
    );
    let [counted] = run.summary.failures.as_slice() else {
        panic!("{fault}: {:?}", run.summary.failures);
    };
    assert_eq!(
        (counted.phase, counted.class, counted.count),
        (phase, class, hit),
        "{fault}"
    );
    assert!(!counted.sample.is_empty(), "{fault}");
    assert_eq!(run.ended.code, Some(1), "{fault}");
    assert!(
        !run.summary.valid && run.doubts(DoubtCode::Failures),
        "{fault}"
    );
    assert!(
        run.ended.stdout.starts_with("INVALID"),
        "{fault}: {}",
        run.ended.stdout
    );
}

#[test]
fn a_few_failures_are_told_and_do_not_make_a_run_invalid() {
    let sim = Sim::start(&["--seed", SEED, "--faults", "error500=8%"]);
    let run = Place::new().measure(
        &sim.url,
        &[
            "--requests",
            "60",
            "--concurrency",
            "6",
            "--warmup",
            "0",
            "--output-tokens",
            "4",
        ],
    );
    let failed = run.summary.requests.failed;
    assert!((1..12).contains(&failed), "{failed}");
    assert!(run.doubts(DoubtCode::Failures));
    assert!(
        run.ended.stdout.contains("EngineCore encountered an issue"),
        "{}",
        run.ended.stdout
    );
    assert!(
        run.summary
            .doubts
            .iter()
            .all(|doubt| doubt.code != DoubtCode::Failures
                || doubt.severity != inferometer_core::doubt::Severity::Invalid)
    );
}

/// Habits that are no faults: every request is answered, and counted as the server counts.
const HABITS: [&str; 16] = [
    "crlf",
    "no-space",
    "comments",
    "role-first",
    "no-done",
    "http10",
    "split-writes",
    "close",
    "close=50%",
    "tokens-per-chunk=4",
    "events-per-write=3",
    "usage=finish",
    "usage=own",
    "usage=continuous",
    "reasoning=8",
    "crlf,no-space,comments,role-first,split-writes,tokens-per-chunk=3,usage=finish,reasoning=4,no-done",
];

#[test]
fn odd_but_complete_answers_are_successes_with_the_right_token_counts() {
    std::thread::scope(|scope| {
        for habits in HABITS {
            scope.spawn(move || {
                let sim = Sim::with_faults(habits);
                let run = Place::new().measure(
                    &sim.url,
                    &[
                        "--requests",
                        "12",
                        "--concurrency",
                        "3",
                        "--output-tokens",
                        "16",
                    ],
                );
                assert_eq!(
                    run.summary.requests.ok, 12,
                    "{habits}: {:?}",
                    run.summary.failures
                );
                let truth = sim.truth();
                for record in &run.records {
                    let sent: u64 = truth[&record.id].chunks.iter().map(|chunk| chunk.1).sum();
                    assert_eq!(
                        record.output_tokens().map(u64::from),
                        Some(sent),
                        "{habits}"
                    );
                    assert!(
                        record.output_chars > 0 && record.finish.as_deref() == Some("length"),
                        "{habits}"
                    );
                    assert!(record.ttft().unwrap().as_millis() >= 10, "{habits}");
                }
                assert_eq!(run.summary.tokens.output, Some(12 * 16), "{habits}");
                assert_eq!(run.summary.tokens.source, TokenSource::Usage, "{habits}");
                assert!(
                    !run.doubts(DoubtCode::OutputLengths) && !run.doubts(DoubtCode::TokenSource),
                    "{habits}"
                );
            });
        }
    });
}

#[test]
fn a_role_without_text_is_not_the_first_token() {
    let sim = Sim::start(&["--ttft", "150ms", "--faults", "role-first"]);
    let run = Place::new().measure(
        &sim.url,
        &[
            "--requests",
            "4",
            "--concurrency",
            "2",
            "--output-tokens",
            "4",
        ],
    );
    run.assert_all_ok(4);
    for record in &run.records {
        assert_eq!(record.chunks.len(), 4);
        assert!(record.ttft().unwrap().as_millis() >= 150);
        assert!(!record.bare.is_empty());
    }
}

#[test]
fn reasoning_is_counted_and_the_first_answer_is_told_apart() {
    let sim = Sim::start(&["--itl", "20ms", "--faults", "reasoning=8"]);
    let run = Place::new().measure(
        &sim.url,
        &[
            "--requests",
            "4",
            "--concurrency",
            "2",
            "--output-tokens",
            "12",
        ],
    );
    run.assert_all_ok(4);
    let first = run.summary.latency.ttft_ms.unwrap();
    let answer = run.summary.latency.first_answer_ms.unwrap();
    assert!(
        answer.p50 - first.p50 >= 0.5 * 7.0 * 20.0,
        "{} {}",
        answer.p50,
        first.p50
    );
}

#[test]
fn connections_are_kept_where_the_server_keeps_them_and_opened_anew_where_not() {
    let opened = |faults: &str| {
        let sim = Sim::with_faults(faults);
        let run = Place::new().measure(
            &sim.url,
            &[
                "--requests",
                "12",
                "--concurrency",
                "2",
                "--output-tokens",
                "4",
            ],
        );
        run.assert_all_ok(12);
        run.records
            .iter()
            .filter(|record| record.connect.is_some())
            .count()
    };
    assert_eq!(opened("crlf"), 0, "the warm-up opened them");
    assert_eq!(opened("close"), 12);
    assert_eq!(opened("http10"), 12);
}
