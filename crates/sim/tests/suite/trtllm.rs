//! What TensorRT-LLM's scheduler shows, in virtual time.

use inferometer_catalog::{device::Device, engine::LaunchCommand};
use inferometer_sim::{
    engine::{
        Engine, EngineConfig, Rejection, Request,
        virtual_time::{Keep, Run, closed_loop, open_loop},
    },
    launch::{Host, Launch, LaunchError},
};

fn launch(line: &str) -> Result<EngineConfig, LaunchError> {
    let host = Host {
        device: Device::named("h100").expect("a preset").clone(),
        cards: 8,
        version: None,
        timing: None,
        stamp: "01-01 00:00:00".to_owned(),
    };
    let command = LaunchCommand::parse_line(line).expect("a command");
    Ok(Launch::of_command(&command, &host)?.config)
}

fn engine(flags: &str) -> EngineConfig {
    launch(&format!("trtllm-serve llama-3.1-8b {flags}")).expect("it starts")
}

/// Answers of 400 tokens by a cache that holds five of them whole, and twelve prompts.
fn crowded(policy: &str) -> Run {
    let flag = format!("--scheduler_config.capacity_scheduler_policy {policy}");
    let mut config = engine(&flag);
    config.blocks = 80;
    let requests = (0..24).map(|id| Request::new(id, 100, 400));
    let keep = Keep {
        steps: true,
        ..Keep::default()
    };
    let run = closed_loop(&mut Engine::new(config, 1), requests, 12, keep);
    assert!(run.served.iter().all(|served| served.tokens == 400));
    run
}

#[test]
fn nobody_is_put_back_where_that_is_guaranteed_and_more_run_where_it_is_not() {
    let preempted = |run: &Run| {
        run.served
            .iter()
            .map(|served| served.preemptions)
            .sum::<u32>()
    };
    let most = |run: &Run| run.steps.iter().map(|step| step.running).max();
    let (guaranteed, utilised) = (crowded("GUARANTEED_NO_EVICT"), crowded("MAX_UTILIZATION"));
    assert_eq!(preempted(&guaranteed), 0);
    assert_eq!(most(&guaranteed), Some(5));
    assert!(preempted(&utilised) > 0);
    assert!(most(&utilised) > Some(5));
}

#[test]
fn a_prompt_longer_than_a_step_is_refused_unless_it_may_be_computed_in_pieces() {
    let served = |flags: &str| {
        let mut engine = Engine::new(engine(flags), 1);
        let run = open_loop(
            &mut engine,
            [(0, Request::new(0, 5000, 4))],
            Keep::default(),
        );
        run.served[0].refused
    };
    let refused = Rejection::TooLongForStep {
        prompt: 5000,
        most: 2048,
    };
    assert_eq!(served("--max_num_tokens 2048"), Some(refused));
    assert_eq!(
        served("--max_num_tokens 2048 --enable_chunked_prefill"),
        None
    );
}

#[test]
fn prompts_share_steps_with_answers_and_wait_for_each_other_where_they_are_told_to() {
    let run = |flags: &str| {
        let requests = (0..256).map(|id| Request::new(id, 400 + id as u32, 100 + id as u32));
        let keep = Keep {
            steps: true,
            ..Keep::default()
        };
        closed_loop(&mut Engine::new(engine(flags), 1), requests, 16, keep)
    };
    let prefills = |run: &Run| {
        run.steps
            .iter()
            .filter(|step| step.prefill_tokens > 0)
            .count()
    };
    let plain = run("");
    let mixed = plain
        .steps
        .iter()
        .any(|step| step.prefill_tokens > 0 && step.decode_tokens > 0);
    assert!(mixed);
    let waiting = run("--batch_wait_timeout_iters 40 --batch_wait_max_tokens_ratio 0.9");
    assert!(prefills(&waiting) * 3 < prefills(&plain) * 2);
}

#[test]
fn what_cannot_be_divided_is_refused_with_what_can() {
    let said = |flags: &str| {
        let line = format!("trtllm-serve llama-3.1-8b {flags}");
        launch(&line).expect_err("it does not start").to_string()
    };
    assert!(said("--tp_size 3").contains("32 attention heads"));
    assert!(said("--tp_size 4 --ep_size 3").contains("--ep_size 3"));
    assert!(said("--tensor-parallel 2").contains("--tensor-parallel"));
    assert_eq!(engine("--tp_size 4 --enable_attention_dp").replicas, 4);
}
