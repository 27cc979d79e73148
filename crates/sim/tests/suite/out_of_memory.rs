//! An engine that runs out of memory under load, and what its clients see of it.

use crate::support::{COMPLETIONS, Sim, with};
use inferometer_catalog::{device::Device, engine::LaunchCommand};
use inferometer_sim::{
    Config, EngineSetup,
    engine::{
        Engine, Rejection, Request,
        virtual_time::{Keep, closed_loop},
    },
    launch::{Host, Launch, LaunchError},
};
use serde_json::{Value, json};

fn launched(line: &str) -> Result<Launch, LaunchError> {
    let host = Host {
        device: Device::named("a100-80g").expect("a preset").clone(),
        cards: 1,
        version: None,
        timing: None,
        stamp: "01-01 00:00:00".to_owned(),
    };
    Launch::of_command(&LaunchCommand::parse_line(line).expect("a command"), &host)
}

/// Whether prompts of 6000 tokens are all answered.
fn survives(line: &str) -> bool {
    let launch = launched(line).expect("it starts");
    let mut engine = Engine::new(launch.config, 1);
    let requests = (0..20).map(|id| Request::new(id, 6000, 20));
    let run = closed_loop(&mut engine, requests, 8, Keep::default());
    let done = (run.served.iter()).filter(|served| served.finished.is_some());
    let dead = (run.served.iter()).any(|served| served.refused == Some(Rejection::Dead));
    let all = done.count() == 20;
    assert!(all || dead || engine.wake().is_none());
    all
}

#[test]
fn too_large_a_static_share_leaves_too_little_for_long_prompts() {
    let share = |share: &str| {
        format!(
            "python -m sglang.launch_server --model-path qwen2.5-7b --mem-fraction-static {share} --chunked-prefill-size 8192"
        )
    };
    assert!(survives(&share("0.85")));
    assert!(!survives(&share("0.995")));
    // Smaller steps need less.
    assert!(survives(&format!(
        "{} --chunked-prefill-size 1024",
        share("0.99")
    )));
}

#[test]
fn a_cache_that_is_asked_for_may_fit_at_the_start_and_not_under_load() {
    let cache = |size: &str| {
        format!(
            "vllm serve qwen2.5-7b --max-num-batched-tokens 8192 --kv-cache-memory-bytes {size}"
        )
    };
    assert!(survives(
        "vllm serve qwen2.5-7b --gpu-memory-utilization 1.0"
    ));
    assert!(survives(&cache("40G")));
    assert!(!survives(&cache("68400000000")));
    let refused = launched(&cache("70G"));
    let Err(LaunchError::Memory(_, lines)) = refused else {
        panic!("it does not fit");
    };
    assert!(lines.iter().any(|line| line.contains("out of memory")));
}

const DEAD: &str = "EngineCore encountered an issue. See stack trace (above) for the root cause.";

fn serving(faults: &str, headroom_tokens: u32) -> Sim {
    let mut config = launched("vllm serve qwen2-0.5b --max-model-len 4096")
        .expect("it starts")
        .config;
    let headroom = config.headroom.as_mut().expect("it is known");
    headroom.bytes = headroom.activations.peak(headroom_tokens, 1);
    Sim::start(Config {
        engine: Some(EngineSetup::new(config)),
        faults: faults.parse().expect("known faults"),
        ..Config::default()
    })
}

fn asked(words: usize, tokens: u32) -> Value {
    json!({"prompt": "w ".repeat(words), "max_tokens": tokens, "ignore_eos": true})
}

#[test]
fn all_who_wait_hear_that_the_engine_died_and_the_server_ends() {
    let sim = serving("", 400);
    let mut stream = sim.connect();
    let body = with(asked(20, 4000), "stream", json!(true)).to_string();
    let head = format!(
        "POST {COMPLETIONS} HTTP/1.1\r\nHost: sim\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.send(format!("{head}{body}").as_bytes());
    while !stream.raw_line().starts_with("data: ") {}

    let killed = sim.post(COMPLETIONS, &asked(2000, 5));
    assert_eq!(killed.status, 500);
    assert_eq!(killed.json()["error"]["message"], DEAD);
    assert_eq!(killed.json()["error"]["type"], "InternalServerError");
    let mut lines = Vec::new();
    while lines
        .last()
        .is_none_or(|line: &String| !line.starts_with("data: [DONE]"))
    {
        lines.push(stream.raw_line());
    }
    assert!(lines.iter().any(|line| line.contains(DEAD)), "{lines:?}");
    let truths = sim.wait();
    assert_eq!(truths.len(), 2);
}

#[test]
fn a_fault_kills_the_engine_whatever_its_memory() {
    let sim = serving("oom-after=2", 100_000);
    for _ in 0..2 {
        assert_eq!(sim.post(COMPLETIONS, &asked(20, 5)).status, 200);
    }
    assert_eq!(sim.post(COMPLETIONS, &asked(20, 5)).status, 500);
    sim.wait();
}
