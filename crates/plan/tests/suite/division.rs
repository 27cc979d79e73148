//! The planner and the simulated engine divide a card alike: for one command, the tokens that
//! `plan memory` computes are those that the simulated engine logs.

use inferometer_catalog::device::Device;
use inferometer_catalog::engine::{EngineKind, Fact, LaunchCommand, read_line};
use inferometer_plan::flags::command;
use inferometer_plan::memory::{Answer, MemoryError, Part, Question, answer};
use inferometer_plan::model::KnownModel;
use inferometer_sim::launch::{self, Host, Launch, LaunchError};

fn host(device: &str) -> Host {
    Host {
        device: Device::named(device).expect("a preset").clone(),
        cards: 8,
        version: None,
        timing: None,
        stamp: "01-01 00:00:00".to_owned(),
    }
}

fn planned(line: &str, device: &str) -> Result<Answer, MemoryError> {
    let command = LaunchCommand::parse_line(line).expect("a command");
    let model = launch::model(&command).expect("a known model");
    answer(&Question {
        model: &model,
        device: Device::named(device).expect("a preset"),
        cards: 8,
        command,
        version: None,
        varied: Vec::new(),
        lengths: None,
    })
}

fn simulated(line: &str, device: &str) -> Result<Launch, LaunchError> {
    let command = LaunchCommand::parse_line(line).expect("a command");
    Launch::of_command(&command, &host(device))
}

fn logged_tokens(launch: &Launch) -> u64 {
    let facts = launch.log.iter();
    let mut facts = facts.filter_map(|(_, line)| read_line(launch.engine, line));
    let tokens = facts.find_map(|fact| match fact {
        Fact::KvCacheTokens { tokens } | Fact::KvCacheCapacity { tokens, .. } => Some(tokens),
        Fact::PoolSized { tokens, .. } => Some(tokens),
        _ => None,
    });
    tokens.expect("the engine logs the size of its cache")
}

/// The tokens of the cache, which both users must agree on.
fn tokens(line: &str, device: &str) -> u64 {
    let launch = simulated(line, device).expect("it starts");
    let answer = planned(line, device).expect("it is planned");
    assert_eq!(answer.kv_tokens, Some(logged_tokens(&launch)), "{line}");
    let blocks = u64::from(launch.config.blocks);
    assert_eq!(answer.blocks, Some(blocks), "{line}");
    logged_tokens(&launch)
}

/// vLLM's `get_kv_cache_configs`: the override replaces the bytes that are available, however
/// these came about.
#[test]
fn a_number_of_blocks_wins_over_bytes_for_the_cache() {
    let flags = "--num-gpu-blocks-override 30000 --kv-cache-memory-bytes 4G";
    let both = tokens(&format!("vllm serve qwen2.5-7b {flags}"), "h100");
    assert_eq!(both, 30_000 * 16);
}

/// The bytes are of each card, which holds the layers of its own stage; all stages then have as
/// many blocks as the one with the fewest.
#[test]
fn bytes_for_the_cache_hold_more_tokens_where_a_card_has_fewer_layers() {
    let line = "vllm serve qwen2.5-7b --kv-cache-memory-bytes 4G";
    let whole = tokens(line, "h100");
    let halves = tokens(&format!("{line} --pipeline-parallel-size 2"), "h100");
    assert!(halves.abs_diff(2 * whole) <= 32, "{halves} {whole}");
    // 28 layers on three stages: 9, 10, 9.
    let thirds = tokens(&format!("{line} --pipeline-parallel-size 3"), "h100");
    assert!(thirds.abs_diff(whole * 28 / 10) <= 32, "{thirds} {whole}");
}

/// vLLM's `ModelConfig._verify_quantization` and SGLang's choices: neither starts.
#[test]
fn an_unknown_quantization_is_refused() {
    for line in [
        "vllm serve qwen2.5-7b --quantization abracadabra",
        "python -m sglang.launch_server --model-path qwen2.5-7b --quantization abracadabra",
    ] {
        assert!(planned(line, "h100").is_err(), "{line}");
        let Err(LaunchError::Refused(refusal)) = simulated(line, "h100") else {
            panic!("{line}: it is refused");
        };
        assert!(refusal.message.contains("abracadabra"), "{refusal:?}");
    }
    tokens("vllm serve qwen2.5-7b --quantization fp8", "h100");
}

/// SGLang reserves for the largest batch with a graph, not for all requests that may run.
#[test]
fn sglang_samples_as_many_sequences_as_its_largest_graph_has() {
    let line = "python -m sglang.launch_server --model-path llama-3.1-8b";
    tokens(line, "h100");
    tokens(
        &format!("{line} --max-total-tokens 200000 --page-size 64"),
        "h100",
    );
    let activations = |line: &str| {
        let answer = planned(line, "h100").expect("it is planned");
        let parts = answer.parts.iter();
        let planned = parts.filter(|(part, _)| *part == Part::Activations);
        planned.map(|(_, bytes)| *bytes).sum::<f64>()
    };
    let more = format!("{line} --max-running-requests 4096");
    assert_eq!(activations(line), activations(&more));
}

/// vLLM's `FusedMoEParallelConfig`: experts are divided among all cards of all replicas; each
/// replica has the rest, and a cache, of its own.
#[test]
fn replicas_share_experts_and_repeat_the_rest() {
    let line = "vllm serve qwen3-30b-a3b";
    let alone = tokens(line, "h100");
    let replicas = tokens(&format!("{line} --data-parallel-size 4"), "h100");
    let experts = "--data-parallel-size 4 --enable-expert-parallel";
    let shared = tokens(&format!("{line} {experts}"), "h100");
    assert!(
        shared > alone && replicas > alone,
        "{shared} {replicas} {alone}"
    );
    let groups = "--tensor-parallel-size 2 --enable-expert-parallel";
    tokens(&format!("{line} {groups}"), "h100");
    let attention = "--tp-size 8 --dp-size 8 --enable-dp-attention --ep-size 8";
    let line = format!("python -m sglang.launch_server --model-path deepseek-v3 {attention}");
    tokens(&line, "h200");
    assert_eq!(
        planned(&line, "h200").expect("it is planned").engine,
        EngineKind::Sglang
    );
}

#[test]
fn mindie_has_the_blocks_that_were_planned() {
    let model = KnownModel::find("qwen2.5-7b").expect("a preset");
    for npu_mem_size in [-1, 20] {
        let flag = |name: &str, value: i64| (name.to_owned(), Some(value.to_string()));
        let flags = [flag("worldSize", 2), flag("npuMemSize", npu_mem_size)];
        let answer = answer(&Question {
            model: &model,
            device: Device::named("910b3").expect("a preset"),
            cards: 8,
            command: command(EngineKind::Mindie, "", &flags).expect("a command"),
            version: None,
            varied: Vec::new(),
            lengths: None,
        });
        let text = format!(
            r#"{{"BackendConfig": {{"npuDeviceIds": [[0, 1]], "ModelDeployConfig":
            {{"ModelConfig": [{{"modelWeightPath": "/data/qwen2.5-7b", "worldSize": 2,
            "npuMemSize": {npu_mem_size}}}]}}}}}}"#
        );
        let launch = Launch::of_mindie(&text, &host("910b3")).expect("it starts");
        let planned = answer.expect("it is planned");
        assert_eq!(planned.blocks, Some(u64::from(launch.config.blocks)));
    }
}
