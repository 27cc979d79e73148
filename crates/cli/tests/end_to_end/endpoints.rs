//! Endpoints beside chat and completions: what is sent, what is measured, what is refused.

use crate::support::{Crooked, Place, Run, Sim, answer};
use inferometer_core::doubt::DoubtCode;
use inferometer_core::record::{FailureClass, Phase};

const SGLANG: [&str; 6] = [
    "--",
    "python",
    "-m",
    "sglang.launch_server",
    "--model-path",
    "qwen2.5-7b",
];

const FEW: [&str; 4] = ["--requests", "6", "--concurrency", "2"];

fn run(url: &str, options: &[&str]) -> Run {
    let run = Place::new().measure(url, &[&FEW, options].concat());
    run.assert_all_ok(6);
    run
}

/// Nothing of a run without output tokens speaks of any.
fn assert_no_tokens(run: &Run) {
    let (latency, tokens) = (&run.summary.latency, run.summary.tokens);
    assert!(latency.e2e_ms.is_some());
    assert!(latency.ttft_ms.is_none() && latency.tpot_ms.is_none());
    assert_eq!(tokens.output, None);
    assert_eq!(run.summary.throughput.output_tokens_per_s, None);
    for doubt in [DoubtCode::TokenSource, DoubtCode::OutputLengths] {
        assert!(!run.doubts(doubt), "{doubt}");
    }
    let shown = &run.ended.stdout;
    for word in ["TTFT,", "TPOT,", "Output throughput", "not streamed"] {
        assert!(!shown.contains(word), "{word}: {shown}");
    }
    assert!(shown.contains("items/s"), "{shown}");
}

#[test]
fn answers_of_items_have_a_latency_and_items_per_second_but_no_tokens() {
    let sim = Sim::start(&[]);
    for (api, path, items) in [
        ("embeddings", "/v1/embeddings", 4),
        ("rerank", "/v1/rerank", 4),
        ("score", "/v1/score", 4),
        ("classify", "/classify", 4),
        ("pooling", "/pooling", 4),
    ] {
        let run = run(
            &sim.url,
            &["--api", api, "--batch-size", "4", "--input-tokens", "32"],
        );
        assert_no_tokens(&run);
        assert_eq!(run.records[0].url, format!("{}{path}", sim.url));
        assert_eq!(run.summary.items, Some(6 * items), "{api}");
        assert!(run.summary.throughput.items_per_s > run.summary.throughput.requests_per_s);
        for record in &run.records {
            assert_eq!((record.items_asked, record.items), (Some(4), Some(4)));
            assert!(record.input_tokens() >= Some(4 * 32), "{api}");
        }
    }
}

#[test]
fn the_address_may_name_the_endpoint_and_an_engine_may_serve_it() {
    let sim = Sim::scheduled(&["--", "vllm", "serve", "qwen2.5-7b"]);
    let url = format!("{}/v1/embeddings", sim.url);
    let extra = r#"{"dimensions": 8, "encoding_format": "base64"}"#;
    let run = run(&url, &["--extra", extra]);
    assert_no_tokens(&run);
    assert_eq!(run.api, "embeddings");
    assert_eq!(run.summary.items, Some(6));
}

#[test]
fn rows_may_bring_their_own_batches_and_a_stored_run_repeats_itself() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let row = r#"{"query": "which", "documents": ["one", "two", "three"]}"#;
    let data = place.write("rows.jsonl", format!("{row}\n"));
    let options = ["--api", "rerank", "--data", &data, "--data-format", "line"];
    let first = place.measure(&sim.url, &[&FEW[..], &options].concat());
    first.assert_all_ok(6);
    assert_eq!(first.summary.items, Some(18));
    let again = place.run(&[
        "run",
        "--config",
        first.path.join("scenario.toml").to_str().unwrap(),
        "--out",
        place.path("again").to_str().unwrap(),
    ]);
    let again = Run::read(again, place.path("again"));
    again.assert_all_ok(6);
    assert_eq!(again.summary.items, Some(18));
}

/// Holds twenty requests with these options against the faults that the server's log says they met.
pub fn assert_faults_have_their_class(options: &[&str]) {
    for (fault, phase, class) in [
        ("error500", Phase::Status, FailureClass::ServerError),
        ("inband-error", Phase::Stream, FailureClass::InBandError),
        ("malformed", Phase::Stream, FailureClass::BadStream),
        ("cut", Phase::Truncated, FailureClass::CutStream),
    ] {
        let sim = Sim::start(&["--seed", "10", "--faults", &format!("{fault}=50%")]);
        let run = Place::new().measure(&sim.url, &[&["--requests", "20"], options].concat());
        let truth = sim.truth();
        for record in &run.records {
            let hit = truth[&record.id].fault.as_deref() == Some(fault);
            let seen = record.failure().map(|it| (it.phase, it.class));
            assert_eq!(seen, hit.then_some((phase, class)), "{fault}");
        }
        assert!(run.summary.requests.failed > 0, "{fault}");
    }
}

#[test]
fn faults_of_whole_answers_are_failures_of_their_class() {
    assert_faults_have_their_class(&[&FEW[2..], &["--api", "embeddings"]].concat());
}

#[test]
fn what_an_endpoint_cannot_do_is_refused_in_one_line() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let refuse = |options: &[&str], words: &[&str]| {
        let ended = place.run(&[&["run", &sim.url], options].concat());
        ended.assert_refused(words);
    };
    let embeddings = ["--api", "embeddings"];
    let asked = |more: &[&'static str]| [&embeddings[..], more].concat();
    refuse(
        &asked(&["--extra", r#"{"stream": true}"#]),
        &["a stream", "leave out stream"],
    );
    refuse(&asked(&["--output-tokens", "8"]), &["--output-tokens"]);
    refuse(&asked(&["--slo", "ttft=1s"]), &["--slo e2e="]);
    refuse(&asked(&["--batch-size", "0"]), &["--batch-size"]);
    refuse(
        &["--batch-size", "4"],
        &["--batch-size", "--api embeddings"],
    );
    let row = place.write("row.jsonl", "{\"input\": [\"a\"], \"stream\": true}\n");
    refuse(
        &[
            "--api",
            "embeddings",
            "--data",
            &row,
            "--data-format",
            "line",
        ],
        &["\"stream\": true", "leave out stream"],
    );
}

#[test]
fn a_server_without_the_endpoint_is_said_to_offer_others() {
    let sim = Sim::scheduled(&SGLANG);
    let ended = Place::new().run(&["run", &sim.url, "--api", "pooling"]);
    let offers = "it offers chat, completions, responses, messages, generate, transcriptions";
    ended.assert_refused(&["/pooling", offers, "embeddings, rerank", "--api"]);
}

#[test]
fn a_wrong_path_or_an_api_that_is_none_of_ours_is_told_what_the_server_has() {
    let sim = Sim::scheduled(&["--", "vllm", "serve", "qwen2.5-7b"]);
    for (path, words) in [
        (
            "/v9/nothing",
            "without this path it offers chat, completions",
        ),
        ("/v1/audio/speech", "it offers chat, completions, responses"),
    ] {
        let ended = Place::new().run(&["run", &format!("{}{path}", sim.url)]);
        ended.assert_refused(&[path, words, "--api"]);
    }
}

#[test]
fn a_service_of_another_kind_names_its_own_paths() {
    let other = Crooked::answering(|head| match head.split_whitespace().nth(1) {
        Some("/openapi.json") => {
            let told = r#"{"paths": {"/ask": {"post": {}}, "/docs": {"get": {}}}}"#;
            answer("200 OK", "application/json", told)
        }
        _ => answer("404 Not Found", "application/json", "{}"),
    });
    let ended = Place::new().run(&["run", &other.url()]);
    ended.assert_refused(&["lists no model", "it has /ask, of which --api raw asks any"]);
    // One that takes anything says nothing by it.
    let all = Crooked::answering(|head| {
        let status = if head.starts_with("GET") {
            "404 Not Found"
        } else {
            "400 Bad Request"
        };
        answer(status, "application/json", "{}")
    });
    let ended = Place::new().run(&["run", &all.url()]);
    ended.assert_refused(&["lists no model"]);
    assert!(!ended.stderr.contains("offers"), "{}", ended.stderr);
}

/// Six answers of six tokens each, streamed and timed.
fn assert_tokens(run: &Run, api: &str) {
    assert_eq!(run.api, api);
    assert_eq!(run.summary.tokens.output, Some(36), "{api}");
    for record in &run.records {
        assert!(
            record.streamed && record.ttft().is_some(),
            "{api}: {record:?}"
        );
        assert_eq!(record.chunks.len(), 6, "{api}");
        assert!(record.input_tokens() >= Some(32), "{api}");
    }
    assert!(run.ended.stdout.contains("TTFT"));
}

const SIX: [&str; 4] = ["--output-tokens", "6", "--input-tokens", "32"];

#[test]
fn other_endpoints_for_tokens_are_measured_as_chat_is() {
    let sim = Sim::start(&[]);
    for (path, api) in [
        ("/v1/responses", "responses"),
        ("/v1/messages", "messages"),
        ("/generate_stream", "generate"),
        ("/generate", "generate"),
        ("/completion", "generate"),
        ("/api/generate", "generate"),
        ("/api/chat", "generate"),
    ] {
        let run = run(&format!("{}{path}", sim.url), &SIX);
        assert_tokens(&run, api);
        assert_eq!(run.records[0].url, format!("{}{path}", sim.url));
        let whole = self::run(
            &format!("{}{path}", sim.url),
            &[&SIX[..], &["--no-stream"]].concat(),
        );
        assert_eq!(whole.summary.tokens.output, Some(36), "{path}");
        assert!(
            whole.records.iter().all(|record| !record.streamed),
            "{path}"
        );
    }
}

#[test]
fn an_api_is_found_by_its_name_and_engines_serve_theirs() {
    let plain = Sim::start(&[]);
    let vllm = Sim::scheduled(&["--", "vllm", "serve", "qwen2.5-7b"]);
    let sglang = Sim::scheduled(&SGLANG);
    for (sim, api, path) in [
        (&plain, "generate", "/generate_stream"),
        (&vllm, "responses", "/v1/responses"),
        (&vllm, "messages", "/v1/messages"),
        (&sglang, "generate", "/generate"),
    ] {
        let run = run(&sim.url, &[&SIX[..], &["--api", api]].concat());
        assert_tokens(&run, api);
        assert_eq!(run.records[0].url, format!("{}{path}", sim.url));
    }
}

#[test]
fn triton_names_its_model_in_the_path_and_counts_nothing() {
    let sim = Sim::start(&["--model", "m"]);
    let url = format!("{}/v2/models/m/generate_stream", sim.url);
    let run = run(&url, &SIX);
    assert_eq!(run.summary.tokens.output, None);
    assert!(run.records.iter().all(|record| record.chunks.len() == 6));
    assert!(run.doubts(DoubtCode::TokenSource));
}

#[test]
fn reasoning_comes_before_the_answer_in_typed_events() {
    let sim = Sim::with_faults("reasoning=3");
    for api in ["responses", "messages"] {
        let run = run(&sim.url, &[&SIX[..], &["--api", api]].concat());
        assert_tokens(&run, api);
        assert!(run.summary.latency.first_answer_ms.is_some(), "{api}");
        for record in &run.records {
            assert_eq!(record.first_answer, Some(record.chunks.at[3]), "{api}");
        }
    }
}

const RAW: [&str; 8] = [
    "--api",
    "raw",
    "--raw-text",
    "content",
    "--raw-tokens",
    "tokens_predicted",
    "--raw-end",
    "stop_type",
];

#[test]
fn any_json_service_is_measured_by_a_body_and_paths() {
    let sim = Sim::start(&[]);
    let url = format!("{}/completion", sim.url);
    let body = r#"{"prompt": "Q: {prompt}", "n_predict": "{max_tokens}", "stream": true, "ignore_eos": true}"#;
    let run = run(&url, &[&SIX[..], &RAW, &["--raw-body", body]].concat());
    assert_eq!(run.api, "raw");
    assert_eq!(run.records[0].url, url);
    assert_eq!(run.summary.tokens.output, Some(36));
    for record in &run.records {
        assert_eq!(record.chunks.len(), 6);
        assert_eq!(record.finish.as_deref(), Some("limit"));
    }
}

#[test]
fn a_raw_body_without_a_place_for_the_limit_is_not_held_against_one() {
    let sim = Sim::start(&[]);
    let url = format!("{}/completion", sim.url);
    let body = r#"{"prompt": "{prompt}", "n_predict": 6, "stream": true, "ignore_eos": true}"#;
    let run = run(&url, &[&RAW[..], &["--raw-body", body]].concat());
    assert_eq!(run.summary.tokens.output, Some(36));
    assert!(!run.doubts(DoubtCode::OutputLengths));
    assert!(
        run.records
            .iter()
            .all(|it| it.output_tokens_asked.is_none())
    );
}

#[test]
fn a_raw_body_without_a_place_for_the_prompt_is_refused() {
    let place = Place::new();
    let refuse = |options: &[&str], words: &[&str]| {
        let ended = place.run(&[&["run", "http://127.0.0.1:9/x"], options].concat());
        ended.assert_refused(words);
    };
    let body = ["--raw-body", r#"{"prompt": "always the same"}"#];
    refuse(&[&RAW[..], &body].concat(), &["--raw-body", "{prompt}"]);
    refuse(&RAW, &["--raw-body", "{prompt}"]);
    refuse(&body, &["--raw-body", "--api raw"]);
}
