//! Prompts on workers of their own, in virtual time.

use inferometer_catalog::{device::Device, engine::LaunchCommand};
use inferometer_sim::{
    engine::{
        Engine, EngineConfig, Request,
        virtual_time::{Keep, Run, closed_loop},
    },
    launch::{Host, Launch},
};

const ENGINES: [&str; 3] = [
    "vllm serve llama-3.1-8b",
    "python -m sglang.launch_server --model-path llama-3.1-8b",
    "trtllm-serve llama-3.1-8b",
];

fn worker(line: &str) -> EngineConfig {
    let host = Host {
        device: Device::named("h100").expect("a preset").clone(),
        cards: 1,
        version: None,
        timing: None,
        stamp: "01-01 00:00:00".to_owned(),
    };
    let command = LaunchCommand::parse_line(line).expect("a command");
    Launch::of_command(&command, &host)
        .expect("it starts")
        .config
}

fn split(line: &str, workers: [u32; 2], link: f64) -> EngineConfig {
    worker(line).fed_by(worker(line), workers, link)
}

fn serve(config: EngineConfig, streams: usize) -> Run {
    let requests = (0..4 * streams as u64).map(|id| Request::new(id, 4000 + id as u32, 100));
    let keep = Keep {
        steps: true,
        ..Keep::default()
    };
    let run = closed_loop(&mut Engine::new(config, 1), requests, streams, keep);
    assert!(run.served.iter().all(|served| served.tokens == 100));
    run
}

#[test]
fn no_step_computes_prompts_beside_answers_and_all_are_answered() {
    for line in ENGINES {
        let run = serve(split(line, [1, 1], 450e9), 8);
        let mixed = |step: &&_| step_is_mixed(step);
        assert_eq!(run.steps.iter().filter(mixed).count(), 0, "{line}");
        let decoded: u32 = run.steps.iter().map(|step| step.decode_tokens).sum();
        // The first token of an answer comes with its prompt.
        assert_eq!(decoded, 32 * 99, "{line}");
    }
}

fn step_is_mixed(step: &inferometer_sim::engine::StepRecord) -> bool {
    step.prefill_tokens > 0 && step.decode_tokens > 0
}

#[test]
fn answers_flow_undisturbed_by_prompts() {
    for line in ENGINES {
        let tpot = |config| {
            serve(config, 8)
                .mean(|served| served.tpot_ms())
                .expect("a mean")
        };
        let (together, apart) = (tpot(worker(line)), tpot(split(line, [1, 1], 450e9)));
        assert!(apart < 0.9 * together, "{line}: {apart} of {together} ms");
    }
}

#[test]
fn a_slow_link_delays_first_tokens_by_what_the_prompt_left_in_the_cache() {
    let config = split(ENGINES[0], [1, 1], 450e9);
    let bytes = config.token_bytes.expect("a divided card") * 4000.0;
    let ttft = |link| {
        let run = serve(split(ENGINES[0], [1, 1], link), 1);
        run.served[0].ttft_ms().expect("a first token")
    };
    let delay = (ttft(1e9) - ttft(1e12)) / 1e3;
    assert!((delay / (bytes / 1e9) - 1.0).abs() < 0.02, "{delay} s");
}

#[test]
fn more_prefill_workers_shorten_the_queue_for_first_tokens() {
    let ttft = |workers| {
        let run = serve(split(ENGINES[0], workers, 450e9), 32);
        run.mean(|served| served.ttft_ms()).expect("a mean")
    };
    assert!(ttft([3, 1]) < 0.6 * ttft([1, 1]));
}
