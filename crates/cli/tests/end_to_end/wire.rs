//! What connections and answers show of the way to the server.

use crate::support::{Crooked, Place, Sim, answer};
use inferometer_core::doubt::DoubtCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const MODELS: &str = r#"{"object":"list","data":[{"id":"tiny","owned_by":"llamacpp","meta":{"n_ctx_train":8192,"n_ctx":512}}]}"#;

const STREAM: &str = concat!(
    "data: {\"model\":\"tiny\",\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
    "data: {\"model\":\"tiny\",\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"length\"}],",
    "\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":2}}\n\n",
    "data: [DONE]\n\n"
);

const FEW: [&str; 8] = [
    "--requests",
    "12",
    "--concurrency",
    "1",
    "--input-tokens",
    "16",
    "--output-tokens",
    "2",
];

/// A server with one model, which it serves under any name, and closes after each answer.
fn careless() -> Crooked {
    Crooked::answering(|head| {
        if head.starts_with("GET /v1/models") {
            answer("200 OK", "application/json", MODELS)
        } else if head.starts_with("GET") {
            answer("404 Not Found", "text/plain", "no")
        } else {
            answer("200 OK", "text/event-stream", STREAM)
        }
    })
}

#[test]
fn a_model_that_the_server_does_not_list_is_doubted_with_the_list() {
    let server = careless();
    let run = Place::new().measure(&server.url(), &[&FEW[..], &["--model", "gpt-4"]].concat());
    run.assert_all_ok(12);
    assert!(run.doubts(DoubtCode::OtherModel));
    let shown: String = (run.ended.stdout.split_whitespace())
        .collect::<Vec<_>>()
        .join(" ");
    assert!(shown.contains("server lists (tiny)"), "{shown}");
    assert!(shown.contains("12 of 12 answers"), "{shown}");
    assert_eq!(run.records[0].model.as_deref(), Some("tiny"));
    let named = Place::new().measure(&server.url(), &FEW);
    assert!(!named.doubts(DoubtCode::OtherModel));
}

#[test]
fn one_failing_answer_to_the_preflight_ends_no_run() {
    let asked = AtomicUsize::new(0);
    let server = Crooked::answering(move |head| {
        if head.starts_with("GET /v1/models") {
            answer("200 OK", "application/json", MODELS)
        } else if head.starts_with("GET") {
            answer("404 Not Found", "text/plain", "no")
        } else if asked.fetch_add(1, Ordering::Relaxed) == 0 {
            answer("500 Internal Server Error", "text/plain", "once")
        } else {
            answer("200 OK", "text/event-stream", STREAM)
        }
    });
    let run = Place::new().measure(&server.url(), &FEW);
    run.assert_all_ok(12);
}

#[test]
fn connections_closed_after_each_answer_are_counted_and_told() {
    let server = careless();
    let run = Place::new().measure(&server.url(), &FEW);
    assert_eq!(run.summary.requests.connected, 12);
    assert!(run.doubts(DoubtCode::ClosedConnections));
    assert!(!run.doubts(DoubtCode::Resent));
    let kept = Place::new().measure(&Sim::start(&[]).url, &FEW);
    assert!(kept.summary.requests.connected <= 1);
    assert!(!kept.doubts(DoubtCode::ClosedConnections));
}

#[test]
fn the_context_and_the_name_of_llama_cpp_are_read_from_its_list() {
    let server = careless();
    let place = Place::new();
    let looked = place.run(&["doctor", &server.url(), "--lang", "en"]);
    assert!(looked.stdout.contains("512"), "{looked:?}");
    assert!(looked.stdout.contains("llama.cpp"), "{looked:?}");
    let long = [
        "run",
        &server.url(),
        "--lang",
        "en",
        "--input-tokens",
        "600",
    ];
    place
        .run(&long)
        .assert_refused(&["600 input", "states 512"]);
}

#[test]
fn a_buffered_stream_is_doubted_and_has_no_tpot() {
    let sim = Sim::with_faults("events-per-write=1000");
    let run = Place::new().measure(
        &sim.url,
        &[
            "--requests",
            "8",
            "--concurrency",
            "2",
            "--output-tokens",
            "20",
        ],
    );
    run.assert_all_ok(8);
    assert!(run.doubts(DoubtCode::NotStreamed));
    assert_eq!(run.summary.latency.tpot_ms, None);
}

#[test]
fn several_answers_for_one_request_are_refused() {
    let place = Place::new();
    let refused = place.run(&["run", "http://127.0.0.1:9", "--extra", r#"{"n": 2}"#]);
    refused.assert_refused(&["--extra", "one answer"]);
    let rows = r#"{"messages":[{"role":"user","content":"hi"}],"n":3}"#;
    let data = place.write("rows.jsonl", format!("{rows}\n{rows}\n"));
    let sim = Sim::start(&[]);
    let refused = place.run(&["run", &sim.url, "--data", &data, "--lang", "en"]);
    refused.assert_refused(&["3 answers", "leave out n"]);
}

#[test]
fn other_apis_are_unsupported_by_name() {
    let place = Place::new();
    for api in ["/v1/audio/speech", "/v1/images/generations"] {
        let url = format!("http://127.0.0.1:9{api}");
        let refused = place.run(&["run", &url, "--lang", "en"]);
        refused.assert_refused(&["unsupported API", "--api"]);
    }
}

#[test]
fn an_empty_list_of_models_reads_as_such() {
    let server = Crooked::answering(|_| answer("200 OK", "application/json", r#"{"data":[]}"#));
    let refused = Place::new().run(&["run", &server.url(), "--lang", "en"]);
    refused.assert_refused(&["empty list of models", "load a model", "--model"]);
}

#[test]
fn the_preflight_says_what_it_waits_for_and_gives_up_with_its_reason() {
    let silent = Crooked::answering(|head| {
        if head.starts_with("POST") {
            std::thread::sleep(Duration::from_secs(6));
        }
        answer("200 OK", "application/json", MODELS)
    });
    let place = Place::new();
    let run = |url: &str| {
        let options = [
            "--lang",
            "en",
            "--read-timeout",
            "4s",
            "--input-tokens",
            "300",
        ];
        place.run(&[&["run", url], &options[..]].concat())
    };
    let ended = run(&silent.url());
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!((ended.code, lines.len()), (Some(2), 2), "{ended:?}");
    assert!(
        lines[0].contains("waiting since 2s for a first answer"),
        "{ended:?}"
    );
    assert!(lines[0].contains("giving up after 4s"), "{ended:?}");
    assert!(
        lines[1].contains("has not answered a request with a prompt of"),
        "{ended:?}"
    );
    assert!(
        lines[1].contains("(512 tokens) may hang it: lower --input-tokens"),
        "{ended:?}"
    );
    let mute = Crooked::start(|_| std::thread::sleep(Duration::from_secs(6)));
    let ended = run(&mute.url());
    assert!(
        ended
            .stderr
            .contains("waiting since 2s for the list of models"),
        "{ended:?}"
    );
    assert!(
        ended
            .stderr
            .contains("has not answered what models it serves"),
        "{ended:?}"
    );
}

/// What a server is called that lists its models with these headers, and answers one more path.
fn software(headers: &'static str, list: &'static str, path: &'static str) -> String {
    let server = Crooked::answering(move |head| {
        let json = |body: &str| {
            let head = format!("application/json\r\n{headers}");
            answer("200 OK", &head, body)
        };
        match head.split_whitespace().nth(1) {
            Some("/v1/models") => json(list),
            Some(asked) if asked == path => json(r#"{"version":"1.2.3"}"#),
            _ if head.starts_with("POST") => answer("200 OK", "text/event-stream", STREAM),
            _ => answer("404 Not Found", "text/plain", "no"),
        }
    });
    let looked = Place::new().run(&["doctor", &server.url(), "--format", "json"]);
    let probe: serde_json::Value = serde_json::from_str(&looked.stdout).unwrap();
    probe["software"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn software_is_named_though_a_framework_stands_before_it() {
    let vllm = r#"{"data":[{"id":"tiny","owned_by":"vllm"}]}"#;
    let named = r#"{"data":[{"id":"tiny","owned_by":"nobody"}]}"#;
    let dynamo = r#"{"data":[{"id":"tiny","owned_by":"nvidia","context_window":4096}]}"#;
    for (headers, list, path, expected) in [
        ("Server: uvicorn", vllm, "/version", "vLLM 1.2.3, uvicorn"),
        ("X-A: b", named, "/info", "TGI 1.2.3"),
        ("X-A: b", named, "/api/version", "Ollama 1.2.3"),
        (
            "x-litellm-version: 1.9\r\nServer: uvicorn",
            named,
            "-",
            "LiteLLM 1.9",
        ),
        ("X-A: b", dynamo, "-", "NVIDIA Dynamo"),
        ("Server: my own", named, "-", "my own"),
        ("Server: uvicorn", named, "-", "uvicorn"),
    ] {
        assert_eq!(software(headers, list, path), expected, "{headers} {list}");
    }
}
