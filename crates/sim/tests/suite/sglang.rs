//! What SGLang's scheduler shows, in virtual time.

use inferometer_catalog::{device::Device, engine::LaunchCommand, timing::Timing};
use inferometer_sim::{
    engine::{
        Engine, Policy, Request,
        virtual_time::{Keep, Run, open_loop},
    },
    launch::{Host, Launch},
};

const SECOND: u64 = 1_000_000_000;

/// Four answers under way when a prompt of 16,000 tokens comes.
fn interrupted(flags: &str) -> Run {
    let line = format!("python -m sglang.launch_server --model-path qwen2.5-7b {flags}");
    let device = Device::named("h100").expect("a preset").clone();
    let host = Host {
        // What the scheduler does, whatever time a fitted front end takes before it.
        timing: Some(Timing::shipped(&device)),
        device,
        cards: 1,
        version: None,
        stamp: "01-01 00:00:00".to_owned(),
    };
    let command = LaunchCommand::parse_line(&line).expect("a command");
    let launch = Launch::of_command(&command, &host).expect("it starts");
    assert!(matches!(launch.config.policy, Policy::Sglang(_)));
    let mut engine = Engine::new(launch.config, 3);
    let short = (0..4).map(|id| (0, Request::new(id, 100, 400)));
    let long = (SECOND, Request::new(4, 16_000, 10));
    let run = open_loop(&mut engine, short.chain([long]), Keep::default());
    assert!(run.served.iter().all(|served| served.finished.is_some()));
    run
}

fn longest_gap_ms(run: &Run) -> f64 {
    let gaps = run.served[..4].iter().map(|served| served.longest_gap);
    gaps.max().unwrap_or(0) as f64 * 1e-6
}

#[test]
fn decoding_waits_for_all_chunks_of_a_prompt_unless_they_are_mixed() {
    let apart = interrupted("--chunked-prefill-size 2048");
    let mixed = interrupted("--chunked-prefill-size 2048 --enable-mixed-chunk");
    let (apart_ms, mixed_ms) = (longest_gap_ms(&apart), longest_gap_ms(&mixed));
    assert!(apart_ms > 4.0 * mixed_ms, "{apart_ms} and {mixed_ms} ms");
    let first = |run: &Run| run.served[4].ttft_ms().expect("a first token");
    assert!(first(&apart) < 1.05 * first(&mixed));
}

#[test]
fn more_requests_than_may_run_wait_in_the_queue() {
    let queue = |flags: &str| interrupted(flags).served[3].queue_ms().expect("it started");
    assert!(queue("--max-running-requests 2") > 20.0 * queue(""));
}
