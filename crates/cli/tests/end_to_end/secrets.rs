//! Keys: where they come from, and that they are never written.

use crate::support::{Crooked, Ended, Place, Run, Sim, answer};

const KEY: &str = "sk-very-secret-4711";
const FEW: [&str; 6] = [
    "--requests",
    "4",
    "--concurrency",
    "2",
    "--output-tokens",
    "4",
];

fn guarded() -> Sim {
    Sim::start_with(&["--api-key-env", "SIM_KEY"], |command| {
        command.env("SIM_KEY", KEY);
    })
}

/// Neither the output nor any file below the place holds the secret, but those that it came from.
fn assert_kept(place: &Place, ended: &Ended, secret: &str, given_in: Option<&str>) {
    assert!(
        !ended.stdout.contains(secret) && !ended.stderr.contains(secret),
        "{ended:?}"
    );
    for file in place.files("") {
        if given_in.is_none_or(|given| !file.ends_with(given)) {
            let content = std::fs::read(&file).unwrap();
            let found = content
                .windows(secret.len())
                .any(|part| part == secret.as_bytes());
            assert!(!found, "{} holds the secret", file.display());
        }
    }
}

fn assert_fine(run: &Run) {
    run.assert_all_ok(4);
    assert_eq!(run.ended.code, Some(0), "{:?}", run.ended);
}

#[test]
fn a_server_that_wants_a_key_refuses_without_it_and_the_remedy_is_told() {
    let sim = guarded();
    let place = Place::new();
    place
        .run(&["run", &sim.url, "--lang", "en"])
        .assert_refused(&["401", "OPENAI_API_KEY", "--api-key-file"]);
    assert!(place.files("inferometer-runs").is_empty());
}

#[test]
fn the_key_comes_from_the_environment_or_a_file_and_is_written_nowhere() {
    let sim = guarded();
    let place = Place::new();
    let default = place.measure_with(&sim.url, &FEW, |command| {
        command.env("OPENAI_API_KEY", KEY);
    });
    assert_fine(&default);
    let named = place.measure_with(
        &sim.url,
        &[&FEW[..], &["--api-key-env", "MY_KEY"]].concat(),
        |command| {
            command.env("MY_KEY", KEY);
        },
    );
    assert_fine(&named);
    let file = place.write("key.txt", format!("{KEY}\n"));
    let from_file = place.measure(&sim.url, &[&FEW[..], &["--api-key-file", &file]].concat());
    assert_fine(&from_file);
    let header = place.measure(
        &sim.url,
        &[
            &FEW[..],
            &["--header", &format!("Authorization=Bearer {KEY}")],
        ]
        .concat(),
    );
    assert_fine(&header);
    for run in [&default, &named, &from_file, &header] {
        assert_kept(&place, &run.ended, KEY, Some("key.txt"));
    }
}

#[test]
fn a_named_place_without_a_key_is_told() {
    let place = Place::new();
    let empty = place.write("empty", "\n");
    place
        .run(&["run", "--api-key-env", "NO_SUCH_KEY"])
        .assert_refused(&["NO_SUCH_KEY", "set it"]);
    place
        .run(&["run", "--api-key-file", "nowhere"])
        .assert_refused(&["nowhere", "check"]);
    place
        .run(&["run", "--api-key-file", &empty])
        .assert_refused(&["empty", "put the key"]);
}

#[test]
fn header_values_and_passwords_in_addresses_are_written_nowhere() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let with_password = sim.url.replace("http://", "http://user:pass-word-4711@");
    let run = place.measure(
        &with_password,
        &[&FEW[..], &["--header", "X-Team=team-secret-4711"]].concat(),
    );
    assert_fine(&run);
    for secret in ["team-secret-4711", "pass-word-4711"] {
        assert_kept(&place, &run.ended, secret, None);
    }
    let scenario = std::fs::read_to_string(run.path.join("scenario.toml")).unwrap();
    assert!(
        scenario.contains("X-Team"),
        "the name is kept, to be asked for again: {scenario}"
    );
    let again = place.run(&[
        "run",
        "--config",
        run.path.join("scenario.toml").to_str().unwrap(),
    ]);
    again.assert_refused(&["X-Team", "--header X-Team=VALUE"]);
    // As curl takes it, and not we.
    let mistyped = place.run(&["run", &sim.url, "--header", "X-Api-Key: key-4711"]);
    mistyped.assert_refused(&["--header", "write KEY=VALUE"]);
    assert!(!mistyped.stderr.contains("4711"), "{mistyped:?}");
}

/// Lists a model, answers the preflight, and then refuses with the request's own headers.
fn echo() -> Crooked {
    let answered = std::sync::atomic::AtomicU32::new(0);
    Crooked::answering(move |head| {
        if head.starts_with("GET") {
            return answer("200 OK", "application/json", r#"{"data":[{"id":"m"}]}"#);
        }
        if answered.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 {
            let body = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#;
            return answer("200 OK", "application/json", body);
        }
        answer("500 Oh", "text/plain", &format!("you said {head}"))
    })
}

#[test]
fn a_key_that_the_server_repeats_is_written_nowhere() {
    let place = Place::new();
    let server = echo();
    let run = place.measure_with(
        &server.url(),
        &[&FEW[..], &["--header", "X-Team=team-secret-4711"]].concat(),
        |command| {
            command.env("OPENAI_API_KEY", KEY);
        },
    );
    assert_eq!((run.ended.code, run.summary.requests.failed), (Some(1), 4));
    assert!(
        run.summary.failures[0].sample.contains("you said"),
        "{:?}",
        run.summary.failures
    );
    for secret in [KEY, "team-secret-4711"] {
        assert_kept(&place, &run.ended, secret, None);
    }
    let report = place.run(&[
        "report",
        run.path.to_str().unwrap(),
        "--format",
        "json",
        "--format",
        "text",
        "--lang",
        "en",
    ]);
    assert_kept(&place, &report, KEY, None);

    let refusing =
        Crooked::answering(|head| answer("401 No", "text/plain", &format!("wrong key in {head}")));
    let mut command = place.command(["run", &refusing.url(), "--lang", "en"]);
    command.env("OPENAI_API_KEY", KEY);
    let refused = crate::support::Started::new(command).wait();
    refused.assert_refused(&["401", "wrong key", "OPENAI_API_KEY"]);
    assert_kept(&place, &refused, KEY, None);
}

#[test]
fn a_key_in_a_header_of_ones_own_is_written_nowhere_when_the_server_repeats_it_alone() {
    let place = Place::new();
    let refusing = Crooked::answering(|head| {
        let key = head
            .lines()
            .find_map(|line| line.strip_prefix("Authorization: Bearer "));
        let body = format!("Incorrect API key provided: {}.", key.unwrap_or("none"));
        answer("401 No", "text/plain", &body)
    });
    let header = format!("Authorization=Bearer {KEY}");
    let refused = place.run(&["run", &refusing.url(), "--lang", "en", "--header", &header]);
    refused.assert_refused(&["Incorrect API key provided"]);
    assert_kept(&place, &refused, KEY, None);
}

#[test]
fn secrets_among_the_fields_of_a_request_are_sent_and_written_nowhere() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let extra = [
        "--extra",
        r#"{"auth": {"api_key": "extra-secret-4711"}, "top_k": 3}"#,
    ];
    let run = place.measure(&sim.url, &[&FEW[..], &extra].concat());
    assert_fine(&run);
    assert_kept(&place, &run.ended, "extra-secret-4711", None);
    let scenario = run.path.join("scenario.toml");
    let stored = std::fs::read_to_string(&scenario).unwrap();
    assert!(
        stored.contains("top_k") && stored.contains("api_key"),
        "{stored}"
    );
    place
        .run(&["run", "--config", scenario.to_str().unwrap()])
        .assert_refused(&["--extra", "again"]);

    let server = echo();
    let failed = place.measure(&server.url(), &[&FEW[..], &extra].concat());
    assert_kept(&place, &failed.ended, "extra-secret-4711", None);
}

#[test]
fn plans_of_sweeps_and_searches_hold_no_secret() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let url = sim.url.replace("http://", "http://user:pass-word-4711@");
    let metrics = format!("{}/metrics", url.trim_end_matches('/'));
    let extra = r#"{"api_key": "extra-secret-4711"}"#;
    let secret = [
        "--server-metrics",
        &metrics,
        "--extra",
        extra,
        "--input-tokens",
        "16",
    ];
    let sweep = ["sweep", &url, "--quiet", "--out", "grid"];
    let swept = place.run(
        &[
            &sweep[..],
            &secret,
            &["--requests", "2", "--concurrency", "1,2"],
        ]
        .concat(),
    );
    let search = [
        "capacity",
        &url,
        "--quiet",
        "--out",
        "search",
        "--slo",
        "ttft.p50=30s",
    ];
    let levels = [
        "--over",
        "concurrency",
        "--highest",
        "2",
        "--budget",
        "2000",
        "--output-tokens",
        "4",
    ];
    let searched = place.run(&[&search[..], &secret, &levels].concat());
    assert!(place.path("grid/sweep.json").is_file(), "{swept:?}");
    assert!(place.path("search/probes.jsonl").is_file(), "{searched:?}");
    for secret in ["extra-secret-4711", "pass-word-4711"] {
        assert_kept(&place, &swept, secret, None);
        assert_kept(&place, &searched, secret, None);
    }
}

#[test]
fn the_password_of_a_models_address_is_not_told() {
    let place = Place::new();
    let config = r#"{"architectures": ["Qwen2ForCausalLM"], "hidden_size": 3584,
        "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
        "num_key_value_heads": 4, "vocab_size": 8192, "max_position_embeddings": 32768,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16", "model_type": "qwen2"}"#;
    let server = Crooked::answering(move |head| {
        if head.starts_with("GET /model/config.json") {
            answer("200 OK", "application/json", config)
        } else {
            answer("404 Not Found", "text/plain", "nothing")
        }
    });
    let base = server
        .url()
        .replace("http://", "http://user:pass-word-4711@");
    for (path, format, code) in [
        ("model", "text", Some(0)),
        ("model", "json", Some(0)),
        ("nowhere", "text", Some(2)),
    ] {
        let model = format!("{}/{path}", base.trim_end_matches('/'));
        let words = ["plan", "memory", "--model", &model, "--device", "h200"];
        let ended = place.run(&[&words[..], &["--format", format]].concat());
        assert_eq!(ended.code, code, "{ended:?}");
        assert_kept(&place, &ended, "pass-word-4711", None);
    }
}

#[test]
fn a_key_that_the_engine_prints_is_not_in_its_log() {
    let place = Place::new();
    let talkative = place.script("talkative", "echo \"starting with $*\"; exec \"$@\"");
    let engine = [
        "--",
        &talkative,
        env!("CARGO_BIN_EXE_inferometer"),
        "sim",
        "--listen",
        "127.0.0.1:{port}",
        "--",
        "vllm",
        "serve",
        "qwen2.5-7b",
        "--api-key",
        KEY,
    ];
    let words = [
        "run",
        "--lang",
        "en",
        "--quiet",
        "--out",
        "out",
        "--input-tokens",
        "16",
    ];
    let mut command = place.command([&words[..], &FEW, &engine].concat());
    command.env("OPENAI_API_KEY", KEY);
    let ended = crate::support::Started::new(command).wait();
    let log = std::fs::read_to_string(place.path("out/server/engine.log")).unwrap_or_default();
    assert!(log.contains("starting with"), "{ended:?} {log}");
    assert!(log.contains("--api-key [redacted]"), "{log}");
    let secret = KEY;
    for file in place.files("out") {
        let content = std::fs::read(&file).unwrap();
        let found = content
            .windows(secret.len())
            .any(|part| part == secret.as_bytes());
        assert!(!found, "{} holds the secret", file.display());
    }
}

#[test]
fn a_key_in_the_names_that_a_server_gives_is_written_nowhere() {
    let place = Place::new();
    let server = Crooked::answering(|head| {
        let body = if head.starts_with("GET") {
            format!(r#"{{"data":[{{"id":"m-{KEY}"}}]}}"#)
        } else {
            format!(
                r#"{{"model":"m-{KEY}","choices":[{{"message":{{"content":"hi"}},"finish_reason":"{KEY}"}}],"usage":{{"prompt_tokens":1,"completion_tokens":1}}}}"#
            )
        };
        let said = answer("200 OK", "application/json", &body);
        said.replacen("\r\n", &format!("\r\nServer: proxy/{KEY}\r\n"), 1)
    });
    let run = place.measure_with(
        &server.url(),
        &[&FEW[..], &["--no-stream"]].concat(),
        |command| {
            command.env("OPENAI_API_KEY", KEY);
        },
    );
    assert_eq!(run.summary.requests.ok, 4, "{:?}", run.ended);
    assert_kept(&place, &run.ended, KEY, None);
}
