//! Engines on several cards, in virtual time.

use inferometer_catalog::{device::Device, engine::LaunchCommand};
use inferometer_sim::{
    engine::{
        Engine, Request,
        virtual_time::{Keep, Run, closed_loop},
    },
    launch::{Host, Launch},
};

fn run(line: &str, streams: usize) -> Run {
    let host = Host {
        device: Device::named("h100").expect("a preset").clone(),
        cards: 8,
        version: None,
        timing: None,
        stamp: "01-01 00:00:00".to_owned(),
    };
    let command = LaunchCommand::parse_line(line).expect("a command");
    let launch = Launch::of_command(&command, &host).expect("it starts");
    assert_eq!(launch.without_effect, Vec::<String>::new());
    let mut engine = Engine::new(launch.config, 3);
    let count = 4 * streams as u64;
    let requests = (0..count).map(|id| Request::new(id, 256, 64));
    let run = closed_loop(&mut engine, requests, streams, Keep::default());
    assert!(run.served.iter().all(|served| served.tokens == 64));
    run
}

#[test]
fn replicas_multiply_throughput_and_leave_a_lone_request_as_it_is() {
    let one = "vllm serve qwen2.5-7b --max-num-seqs 32";
    let four = "vllm serve qwen2.5-7b --max-num-seqs 32 --data-parallel-size 4";
    let gain = run(four, 256).tokens_per_second() / run(one, 256).tokens_per_second();
    assert!((2.5..=4.2).contains(&gain), "{gain}");
    let tpot = |line: &str| {
        run(line, 1)
            .mean(|served| served.tpot_ms())
            .expect("a mean")
    };
    let change = tpot(four) / tpot(one);
    assert!((0.9..=1.1).contains(&change), "{change}");
}

#[test]
fn a_pipeline_is_idle_with_one_stream_and_catches_up_with_many() {
    let tensor = "vllm serve qwen2.5-72b --max-model-len 8192 --tensor-parallel-size 4";
    let pipeline = "vllm serve qwen2.5-72b --max-model-len 8192 --pipeline-parallel-size 4";
    let speed = |line: &str, streams| run(line, streams).tokens_per_second();
    let alone = speed(pipeline, 1) / speed(tensor, 1);
    assert!(alone < 0.5, "{alone}");
    let many = speed(pipeline, 128) / speed(tensor, 128);
    assert!(many > 1.5 * alone, "{many} of {alone}");
}
