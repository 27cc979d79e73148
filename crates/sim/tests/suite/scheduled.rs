//! What the server answers where a scheduler decides when tokens come.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use crate::support::{CHAT, COMPLETIONS, Client, End, Sim, chat, with};
use inferometer_catalog::{
    device::{Device, Parallel},
    engine::{
        EngineKind, Version,
        metric::{Sample, read},
    },
    memory::MemorySettings,
    model::Model,
    timing::Timing,
};
use inferometer_sim::{
    Config, EngineSetup,
    engine::{
        Engine, EngineConfig, MindiePolicy, Policy, Request, Speculation, StepRecord, VllmPolicy,
        virtual_time::{Keep, open_loop},
    },
};
use serde_json::{Value, json};

fn small(policy: VllmPolicy) -> EngineConfig {
    let device = Device::named("l20").expect("a preset");
    let settings = MemorySettings {
        max_model_len: 2048,
        ..MemorySettings::default()
    };
    let config = EngineConfig::vllm(
        &Model::named("qwen2-0.5b").expect("a preset"),
        device,
        &Parallel::default(),
        &Timing::shipped(device),
        policy,
        &settings,
    );
    EngineConfig {
        prefix_caching: true,
        ..config.expect("it fits")
    }
}

fn serving(setup: EngineSetup) -> Sim {
    Sim::start(Config {
        engine: Some(setup),
        ..Config::default()
    })
}

fn default_setup() -> EngineSetup {
    EngineSetup::new(small(VllmPolicy::default()))
}

fn completion(prompt: &str, tokens: u32) -> Value {
    json!({"prompt": prompt, "max_tokens": tokens, "ignore_eos": true})
}

fn words(count: usize, kind: &str) -> String {
    let words = (0..count).map(|index| format!("{kind}{index}"));
    words.collect::<Vec<_>>().join(" ")
}

fn metric(sim: &Sim, name: &str) -> f64 {
    metric_with(sim, name, |_| true)
}

fn metric_with(sim: &Sim, name: &str, wanted: impl Fn(&Sample<'_>) -> bool) -> f64 {
    let answer = sim.get("/metrics");
    let found = read(answer.text()).find(|sample| sample.name == name && wanted(sample));
    found.unwrap_or_else(|| panic!("{name} in /metrics")).value
}

/// Waits for something that must come, however slow the machine is.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < patience, "{what} never came");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A stream that has begun.
fn begin(sim: &Sim, body: &Value) -> Client {
    let mut client = sim.connect();
    let body = with(body.clone(), "stream", json!(true)).to_string();
    let length = body.len();
    client.send(
        format!(
            "POST {COMPLETIONS} HTTP/1.1\r\nHost: sim\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .as_bytes(),
    );
    while !client.raw_line().starts_with("data: ") {}
    client
}

#[test]
fn a_request_takes_the_time_that_virtual_time_foretells() {
    let sim = serving(default_setup());
    let answer = sim.post(
        COMPLETIONS,
        &with(completion(&words(700, "w"), 60), "stream", json!(true)),
    );
    assert_eq!(answer.chunks().len(), 60);
    let truth = sim.stop().pop().expect("a line");
    let engine = &mut Engine::new(small(VllmPolicy::default()), 0);
    let foretold = open_loop(engine, vec![(0, Request::new(0, 700, 60))], Keep::default());
    let foretold = &foretold.served[0];
    let stamps: Vec<u64> = truth.chunks.iter().map(|chunk| chunk.0).collect();
    let ttft_ms = (stamps[0] - truth.arrival) as f64 * 1e-6;
    let tpot_ms = (stamps[59] - stamps[0]) as f64 * 1e-6 / 59.0;
    for (real, foretold) in [
        (ttft_ms, foretold.ttft_ms().expect("a first token")),
        (tpot_ms, foretold.tpot_ms().expect("more tokens")),
    ] {
        let ratio = real / foretold;
        assert!((0.7..10.0).contains(&ratio), "{real} ms for {foretold} ms");
    }
}

#[test]
fn one_place_in_the_batch_makes_the_second_request_wait_for_the_first() {
    let setup = EngineSetup::new(small(VllmPolicy {
        max_num_seqs: 1,
        ..VllmPolicy::default()
    }));
    let sim = serving(setup);
    let mut first = begin(&sim, &completion("a b c", 600));
    let mut second = sim.connect();
    let body = completion("d e f", 2).to_string();
    let length = body.len();
    second.send(
        format!(
            "POST {COMPLETIONS} HTTP/1.1\r\nHost: sim\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .as_bytes(),
    );
    eventually("the queue", || {
        metric(&sim, "vllm:num_requests_waiting") == 1.0
    });
    assert_eq!(metric(&sim, "vllm:num_requests_running"), 1.0);
    assert_eq!(second.answer().status, 200);
    // The first was done before: all of it is there to read.
    while first.raw_line().trim() != "data: [DONE]" {}
    let queued = metric(&sim, "vllm:request_queue_time_seconds_sum");
    let decoded = metric(&sim, "vllm:request_decode_time_seconds_sum");
    assert!(
        queued > decoded * 0.05,
        "{queued} s in the queue, {decoded} s"
    );
    let mut lines = sim.stop();
    lines.sort_by_key(|line| line.arrival);
    assert!(lines[0].end <= lines[1].chunks[0].0, "{lines:?}");
}

#[test]
fn a_prompt_that_begins_as_an_earlier_one_is_found_in_the_cache() {
    let sim = serving(default_setup());
    let cached = |body: &Value, path: &str| {
        let usage = sim.post(path, body).json()["usage"].clone();
        usage["prompt_tokens_details"]["cached_tokens"].as_u64()
    };
    let shared = words(100, "s");
    assert_eq!(
        cached(&completion(&format!("{shared} one"), 4), COMPLETIONS),
        None
    );
    let again = cached(&completion(&format!("{shared} two three"), 4), COMPLETIONS);
    assert_eq!(again, Some(96));
    assert_eq!(metric(&sim, "vllm:prefix_cache_hits_total"), 96.0);
    assert!(metric(&sim, "vllm:prefix_cache_queries_total") >= 203.0);

    // A chat that goes on finds the answer cached too.
    let question = json!({"role": "user", "content": shared});
    let ask =
        |messages: &Value| json!({"messages": messages, "max_tokens": 64, "ignore_eos": true});
    let first = sim.post(CHAT, &ask(&json!([question]))).json();
    let answer = &first["choices"][0]["message"]["content"];
    let longer = json!([question, {"role": "assistant", "content": answer},
                        {"role": "user", "content": "go on"}]);
    let found = cached(&ask(&longer), CHAT).expect("a hit");
    assert!(found > 107, "{found}");

    let streamed = with(ask(&longer), "stream", json!(true));
    let streamed = with(streamed, "stream_options", json!({"include_usage": true}));
    let chunks = sim.post(CHAT, &streamed).chunks();
    let usage = &chunks.last().expect("chunks")["usage"];
    assert!(usage["prompt_tokens_details"]["cached_tokens"].as_u64() > Some(107));

    assert_eq!(sim.post("/reset_prefix_cache", &json!({})).status, 200);
    assert_eq!(
        cached(&completion(&format!("{shared} one"), 4), COMPLETIONS),
        None
    );
}

#[test]
fn the_step_log_accounts_for_every_token() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("steps.jsonl");
    let sim = serving(EngineSetup {
        steps: Some(file.clone()),
        ..default_setup()
    });
    std::thread::scope(|scope| {
        for kind in ["a", "b", "c"] {
            scope.spawn(|| sim.post(COMPLETIONS, &completion(&words(50, kind), 20)));
        }
    });
    sim.stop();
    let steps: Vec<StepRecord> = std::fs::read_to_string(file)
        .expect("a step log")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a step"))
        .collect();
    assert_eq!(
        steps.iter().map(|step| step.prefill_tokens).sum::<u32>(),
        150
    );
    assert_eq!(
        steps.iter().map(|step| step.decode_tokens).sum::<u32>(),
        3 * 19
    );
    assert!(steps.is_sorted_by_key(|step| step.at_ns));
    assert!(
        steps
            .iter()
            .all(|step| step.duration_ns > 0 && step.batch > 0)
    );
}

#[test]
fn a_client_that_leaves_gives_its_blocks_back() {
    let sim = serving(default_setup());
    let gone = begin(&sim, &completion(&words(200, "w"), 1500));
    assert!(metric(&sim, "vllm:kv_cache_usage_perc") > 0.0);
    assert_eq!(metric(&sim, "vllm:num_requests_running"), 1.0);
    drop(gone);
    eventually("the end", || {
        metric(&sim, "vllm:num_requests_running") == 0.0
    });
    assert_eq!(metric(&sim, "vllm:kv_cache_usage_perc"), 0.0);
    let aborted = metric_with(&sim, "vllm:request_success_total", |sample| {
        sample.label("finished_reason") == Some("abort")
    });
    assert_eq!(aborted, 1.0);
    // The engine goes on.
    assert_eq!(sim.post(COMPLETIONS, &completion("a", 3)).status, 200);
}

#[test]
fn a_fault_in_mid_answer_leaves_nothing_behind_in_the_engine() {
    for (faults, end) in [
        ("cut", End::Cut),
        ("inband-error", End::Proper),
        ("empty", End::Proper),
    ] {
        let sim = Sim::start(Config {
            engine: Some(default_setup()),
            faults: faults.parse().expect("a fault"),
            ..Config::default()
        });
        let answer = sim.post(CHAT, &chat(40));
        assert_eq!((answer.status, answer.end), (200, end), "{faults}");
        eventually("the end", || {
            metric(&sim, "vllm:num_requests_running") == 0.0
        });
        assert_eq!(metric(&sim, "vllm:kv_cache_usage_perc"), 0.0, "{faults}");
    }
}

#[test]
fn chunks_hold_as_many_tokens_as_the_engine_sends_together() {
    let mut config = small(VllmPolicy::default());
    config.speculation = Some(Speculation {
        tokens: 3,
        acceptance: 1.0,
        draft_cost: 0.0,
    });
    let sim = serving(EngineSetup::new(config.clone()));
    let body = with(chat(41), "stream_options", json!({"include_usage": true}));
    let chunks = sim.post(CHAT, &body).chunks();
    let text = |chunk: &Value| {
        let content = chunk["choices"][0]["delta"]["content"].as_str();
        content.map_or(0, |text| text.split_whitespace().count())
    };
    assert_eq!(chunks.iter().map(text).sum::<usize>(), 41);
    assert_eq!(chunks[1..chunks.len() - 1].iter().map(text).max(), Some(4));
    assert_eq!(
        chunks.last().expect("usage")["usage"]["completion_tokens"],
        41
    );
    assert!(metric(&sim, "vllm:spec_decode_num_accepted_tokens_total") >= 27.0);

    config.speculation = None;
    config.stream_interval = 8;
    let sim = serving(EngineSetup::new(config));
    let counts: Vec<usize> = sim
        .post(CHAT, &chat(20))
        .chunks()
        .iter()
        .map(text)
        .collect();
    assert_eq!(counts, [1, 8, 8, 3]);
}

#[test]
fn a_profile_is_a_trace_that_viewers_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("trace.json");
    let sim = serving(EngineSetup {
        profile: Some(file.clone()),
        ..default_setup()
    });
    assert_eq!(sim.post("/stop_profile", &json!({})).status, 400);
    assert_eq!(sim.post("/start_profile", &json!({})).status, 200);
    sim.post(COMPLETIONS, &completion("a b c", 6));
    assert_eq!(sim.post("/stop_profile", &json!({})).status, 200);
    let trace = trace(&file);
    let events = trace["traceEvents"].as_array().expect("events");
    let steps: Vec<_> = events.iter().filter(|event| event["ph"] == "X").collect();
    assert!(steps.len() >= 6, "{trace}");
    assert_eq!(steps[0]["name"], "prefill");
    assert!(steps.iter().all(|step| step["dur"].as_f64() > Some(0.0)));

    let without = serving(default_setup());
    assert_eq!(without.post("/start_profile", &json!({})).status, 404);
}

fn trace(file: &Path) -> Value {
    let text = std::fs::read_to_string(file).expect("a trace");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn tokenize_counts_as_usage_does_and_detokenize_gives_the_words_back() {
    let sim = serving(default_setup());
    let text = "the quick  brown\nfox";
    let tokens = sim
        .post("/tokenize", &json!({"model": "sim", "prompt": text}))
        .json();
    let usage = sim.post(COMPLETIONS, &completion(text, 1)).json()["usage"].clone();
    assert_eq!(tokens["count"], usage["prompt_tokens"]);
    assert_eq!(tokens["max_model_len"], 2048);
    let back = sim
        .post("/detokenize", &json!({"tokens": tokens["tokens"]}))
        .json();
    assert_eq!(back["prompt"], "the quick brown fox");
    // The tokens are a prompt too, and the same one.
    let ids = with(completion("", 1), "prompt", tokens["tokens"].clone());
    assert_eq!(
        sim.post(COMPLETIONS, &ids).json()["usage"]["prompt_tokens"],
        4
    );

    let messages = json!([{"role": "user", "content": "one two three"}]);
    let tokens = sim.post("/tokenize", &json!({"messages": messages})).json();
    let whole = with(chat(1), "stream", json!(false));
    let usage = sim.post(CHAT, &whole).json()["usage"].clone();
    assert_eq!(tokens["count"], usage["prompt_tokens"]);
    for (path, body) in [
        ("/tokenize", json!({"prompt": 5})),
        ("/tokenize", json!([])),
        ("/detokenize", json!({"tokens": ["a"]})),
        ("/detokenize", json!({"tokens": [u64::MAX]})),
    ] {
        assert_eq!(sim.post(path, &body).status, 400, "{path} {body}");
    }
}

#[test]
fn metrics_have_the_names_of_the_version() {
    let sim = serving(default_setup());
    sim.post(COMPLETIONS, &completion(&words(40, "w"), 5));
    let answer = sim.get("/metrics");
    let recorded = include_str!("../../../../fixtures/engine/vllm/metrics.txt");
    let has = |text: &str, name: &str| read(text).any(|sample| sample.name == name);
    for name in [
        "num_requests_running",
        "num_requests_waiting",
        "kv_cache_usage_perc",
        "prefix_cache_queries_total",
        "prefix_cache_hits_total",
        "num_preemptions_total",
        "prompt_tokens_total",
        "generation_tokens_total",
        "request_success_total",
        "time_to_first_token_seconds_bucket",
        "inter_token_latency_seconds_bucket",
        "e2e_request_latency_seconds_bucket",
        "request_queue_time_seconds_bucket",
        "request_prefill_time_seconds_bucket",
        "request_decode_time_seconds_bucket",
        "iteration_tokens_total_bucket",
        "cache_config_info",
    ] {
        let name = format!("vllm:{name}");
        assert!(has(recorded, &name) && has(answer.text(), &name), "{name}");
    }
    assert_eq!(metric(&sim, "vllm:prompt_tokens_total"), 40.0);
    assert_eq!(metric(&sim, "vllm:generation_tokens_total"), 5.0);
    assert_eq!(metric(&sim, "vllm:inter_token_latency_seconds_count"), 4.0);
    assert_eq!(metric(&sim, "vllm:iteration_tokens_total_sum"), 44.0);
    let blocks = small(VllmPolicy::default()).blocks.to_string();
    metric_with(&sim, "vllm:cache_config_info", |sample| {
        sample.label("num_gpu_blocks") == Some(&blocks) && sample.label("block_size") == Some("16")
    });

    let old = serving(EngineSetup {
        version: Version::new(0, 6, 4),
        ..default_setup()
    });
    assert_eq!(old.get("/version").json()["version"], "0.6.4");
    assert_eq!(metric(&old, "vllm:gpu_cache_usage_perc"), 0.0);
}

#[test]
fn what_the_engine_cannot_take_is_refused_with_400() {
    let mut config = small(VllmPolicy::default());
    config.blocks = 4;
    let sim = serving(EngineSetup::new(config));
    let refused = |body: Value| {
        let answer = sim.post(COMPLETIONS, &body);
        assert_eq!(answer.status, 400);
        answer.json()["error"]["message"]
            .as_str()
            .expect("a message")
            .to_owned()
    };
    assert!(refused(completion("", 4)).contains("cannot be empty"));
    assert!(refused(completion(&words(200, "w"), 4)).contains("blocks"));
    assert!(refused(completion("a", 4000)).contains("maximum context length is 2048"));
    assert_eq!(sim.post(COMPLETIONS, &completion("a", 4)).status, 200);
}

#[test]
fn mindie_streams_and_refuses_in_its_own_form() {
    let mut config = small(VllmPolicy::default());
    config.policy = Policy::Mindie(MindiePolicy {
        max_iter_times: 7,
        ..MindiePolicy::default()
    });
    let sim = serving(EngineSetup::new(config));
    let answer = sim.post(CHAT, &chat(50));
    let chunks = answer.chunks();
    assert_eq!(chunks.len(), 8);
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
    let last = &chunks[7];
    assert_eq!(last["choices"][0]["finish_reason"], "length");
    assert_eq!(last["usage"]["completion_tokens"], 7);
    assert_eq!(last["usage"]["batch_size"], json!([1, 1, 1, 1, 1, 1, 1]));
    let waits = last["usage"]["queue_wait_time"].as_array().expect("times");
    assert_eq!(waits.len(), 7);
    assert!(waits[0].as_u64() > Some(0));
    let whole = sim
        .post(CHAT, &with(chat(50), "stream", json!(false)))
        .json();
    assert_eq!(
        whole["usage"]["batch_size"].as_array().map(Vec::len),
        Some(7)
    );

    let refusal = sim
        .post(CHAT, &with(chat(5), "model", json!("other")))
        .json();
    assert!(
        refusal["error"].is_string() && refusal["error_type"].is_string(),
        "{refusal}"
    );
    assert_eq!(sim.get("/v2/health/ready").status, 200);
    assert_eq!(metric(&sim, "num_requests_running"), 0.0);
}

#[test]
fn sglang_flushes_its_cache_and_tells_of_itself() {
    let sim = serving(EngineSetup {
        kind: EngineKind::Sglang,
        version: EngineKind::Sglang.newest(),
        ..default_setup()
    });
    let running = begin(&sim, &completion(&words(64, "w"), 1500));
    assert_eq!(sim.post("/flush_cache", &json!({})).status, 400);
    drop(running);
    eventually("the end", || metric(&sim, "sglang:num_running_reqs") == 0.0);
    let flushed = sim.get("/flush_cache");
    assert_eq!(flushed.status, 200);
    assert!(flushed.text().starts_with("Cache flushed."));
    assert!(sim.get("/get_server_info").json()["max_total_num_tokens"].is_u64());
    assert_eq!(sim.post("/reset_prefix_cache", &json!({})).status, 404);
    let refusal = sim
        .post(CHAT, &with(chat(5), "model", json!("other")))
        .json();
    assert_eq!(
        (&refusal["object"], &refusal["code"]),
        (&json!("error"), &json!(404))
    );
}
