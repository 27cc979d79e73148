//! Finding the endpoint, the model and what the server understands.

use crate::support::{Crooked, Place, Run, Sim, answer};
use inferometer_core::doubt::DoubtCode;
use std::sync::atomic::{AtomicU32, Ordering};

const FEW: [&str; 6] = [
    "--requests",
    "4",
    "--concurrency",
    "2",
    "--output-tokens",
    "6",
];

fn run(url: &str, options: &[&str]) -> Run {
    let run = Place::new().measure(url, &[&FEW, options].concat());
    run.assert_all_ok(4);
    assert_eq!(run.summary.tokens.output, Some(24));
    run
}

fn endpoint(run: &Run) -> &str {
    &run.records[0].url
}

#[test]
fn the_endpoint_is_found_from_the_base_the_version_or_its_whole_address() {
    let sim = Sim::start(&[]);
    let chat = format!("{}/v1/chat/completions", sim.url);
    for form in ["", "/", "/v1", "/v1/", "/v1/models", "/v1/chat/completions"] {
        assert_eq!(
            endpoint(&run(&format!("{}{form}", sim.url), &[])),
            chat,
            "{form}"
        );
    }
}

#[test]
fn the_endpoint_is_found_behind_a_prefix() {
    let sim = Sim::start(&["--path-prefix", "/deep/gateway"]);
    assert!(sim.url.ends_with("/deep/gateway"));
    let chat = format!("{}/v1/chat/completions", sim.url);
    for form in ["", "/v1", "/v1/chat/completions"] {
        assert_eq!(
            endpoint(&run(&format!("{}{form}", sim.url), &[])),
            chat,
            "{form}"
        );
    }
}

#[test]
fn completions_are_spoken_where_the_address_or_the_option_says_so() {
    let sim = Sim::start(&[]);
    let completions = format!("{}/v1/completions", sim.url);
    assert_eq!(endpoint(&run(&completions, &[])), completions);
    let asked = run(&sim.url, &["--api", "completions"]);
    assert_eq!(endpoint(&asked), completions);
    assert!(
        asked.ended.stdout.contains("completions, streamed"),
        "{}",
        asked.ended.stdout
    );
    assert!(endpoint(&run(&sim.url, &["--api", "chat"])).ends_with("/v1/chat/completions"));
}

#[test]
fn the_model_is_taken_from_the_list_or_by_name_and_a_stranger_is_refused_with_the_list() {
    let sim = Sim::start(&["--model", "org/some-model"]);
    assert!(run(&sim.url, &[]).ended.stdout.contains("org/some-model"));
    run(&sim.url, &["--model", "org/some-model"]);
    let place = Place::new();
    let refused = place.run(&["run", &sim.url, "--lang", "en", "--model", "other"]);
    refused.assert_refused(&["other", "it serves: org/some-model", "--model"]);
    assert!(place.files("inferometer-runs").is_empty());
}

#[test]
fn a_field_that_the_server_refuses_is_left_out_and_noted() {
    for (field, note) in [
        ("ignore_eos", "ignore_eos"),
        ("stream_options", "stream_options"),
    ] {
        let sim = Sim::start(&["--faults", &format!("reject-field={field}")]);
        let run = Place::new().measure(&sim.url, &FEW);
        run.assert_all_ok(4);
        assert!(
            run.notes.iter().any(|said| said.contains(note)),
            "{:?}",
            run.notes
        );
        assert!(run.ended.stdout.contains(note), "{}", run.ended.stdout);
        assert_eq!(
            run.doubts(DoubtCode::TokenSource),
            field == "stream_options"
        );
    }
}

#[test]
fn a_stream_that_breaks_once_does_not_end_a_run_before_it_begins() {
    let answered = AtomicU32::new(0);
    let server = Crooked::answering(move |head| {
        if head.starts_with("GET") {
            return answer("200 OK", "application/json", r#"{"data":[{"id":"m"}]}"#);
        }
        let text = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
        let end =
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        let whole = format!("{text}{end}");
        let broken = answered.fetch_add(1, Ordering::SeqCst) == 0;
        answer(
            "200 OK",
            "text/event-stream",
            if broken { text } else { &whole },
        )
    });
    let run = Place::new().measure(&server.url(), &FEW);
    run.assert_all_ok(4);
}

#[test]
fn a_server_that_wants_the_limit_under_its_new_name_gets_it() {
    let sim = Sim::with_faults("require-max-completion-tokens");
    run(&sim.url, &[]);
}

#[test]
fn prompts_come_from_a_file_in_turn_where_asked() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let file = place.write("prompts.txt", "one\ntwo words\n\nthree more words\n");
    let run = place.measure(
        &sim.url,
        &[
            "--requests",
            "6",
            "--concurrency",
            "1",
            "--data",
            &file,
            "--max-tokens",
            "3",
        ],
    );
    run.assert_all_ok(6);
    let lengths: Vec<u64> = run
        .records
        .iter()
        .map(|record| record.input_chars)
        .collect();
    assert_eq!(lengths, [3, 9, 16, 3, 9, 16]);
}

#[test]
fn the_synthetic_prompts_have_the_asked_length_by_the_servers_count() {
    let sim = Sim::start(&[]);
    let run = Place::new().measure(
        &sim.url,
        &[
            "--requests",
            "8",
            "--concurrency",
            "2",
            "--input-tokens",
            "uniform(20,200)",
            "--output-tokens",
            "2",
        ],
    );
    run.assert_all_ok(8);
    let differences: Vec<_> = (run.records.iter())
        .map(|record| {
            i64::from(record.input_tokens().unwrap())
                - i64::from(record.input_tokens_asked.unwrap())
        })
        .collect();
    // The chat template adds the same to each.
    assert!(
        differences
            .iter()
            .all(|difference| *difference == differences[0]),
        "{differences:?}"
    );
    assert!(!run.doubts(DoubtCode::InputLengths));
}
