//! Tests of launching.

use super::*;
use inferometer_catalog::engine::read_line;

fn host(device: &str) -> Host {
    Host {
        device: Device::named(device).unwrap().clone(),
        cards: 1,
        version: None,
        timing: None,
        stamp: "01-01 00:00:00".to_owned(),
    }
}

fn launched(line: &str, device: &str) -> Result<Launch, LaunchError> {
    Launch::of_command(&LaunchCommand::parse_line(line).unwrap(), &host(device))
}

#[test]
fn the_flags_of_a_command_reach_the_scheduler() {
    let launch = launched(
        "vllm serve Qwen/Qwen2.5-7B-Instruct --max-num-seqs 64 --max-num-batched-tokens 2048 \
         --served-model-name q --port 9001 --no-enable-prefix-caching",
        "a100-80g",
    )
    .unwrap();
    let Policy::Vllm(policy) = &launch.config.policy else {
        panic!("vLLM's scheduler");
    };
    let (seqs, tokens) = (policy.max_num_seqs, policy.max_num_batched_tokens);
    assert_eq!((seqs, tokens, launch.port), (64, 2048, 9001));
    assert_eq!(launch.served, ["q"]);
    assert!(!launch.config.prefix_caching && launch.config.blocks > 1000);
}

#[test]
fn the_start_is_told_in_lines_that_a_launcher_understands() {
    let launch = launched("vllm serve qwen2.5-7b", "h200").unwrap();
    let facts: Vec<Fact> = (launch.log.iter())
        .filter_map(|(_, line)| read_line(EngineKind::Vllm, line))
        .collect();
    assert!(facts.contains(&Fact::Ready));
    let blocks = u64::from(launch.config.blocks) * u64::from(launch.config.block_size);
    assert!(facts.iter().any(|fact| matches!(
        fact,
        Fact::KvCacheTokens { tokens } | Fact::KvCacheCapacity { tokens, .. } if *tokens == blocks
    )));
    let times: Vec<_> = launch.log.iter().map(|(at, _)| *at).collect();
    assert!(times.is_sorted());
}

#[test]
fn refusals_and_lack_of_memory_are_the_engines_own() {
    let refused = launched(
        "vllm serve qwen2.5-7b --max-num-seqs 512 --max-num-batched-tokens 256",
        "a100-80g",
    );
    let Err(LaunchError::Refused(refusal)) = refused else {
        panic!("it is refused");
    };
    assert!(refusal.message.contains("max_num_batched_tokens"));
    assert_ne!(refusal.exit_code, 0);

    let too_large = launched("vllm serve qwen2.5-72b", "a100-80g");
    let Err(LaunchError::Memory(_, lines)) = too_large else {
        panic!("it does not fit");
    };
    let mut facts = lines
        .iter()
        .filter_map(|line| read_line(EngineKind::Vllm, line));
    assert!(facts.any(|fact| fact == Fact::EngineCoreFailed));
    let too_long = launched(
        "vllm serve qwen2.5-32b --gpu-memory-utilization 0.83",
        "a100-80g",
    );
    assert!(matches!(too_long, Err(LaunchError::Memory(_, lines)) if lines.len() > 2));
}

#[test]
fn an_image_of_2024_is_an_engine_of_2024() {
    let launch = launched(
        "docker run --gpus all -p 8001:8000 vllm/vllm-openai:v0.6.3 --model \
         Qwen/Qwen2.5-7B-Instruct --enable-chunked-prefill false --max-model-len 4096",
        "a100-80g",
    )
    .unwrap();
    assert_eq!(launch.version, "0.6.3".parse().unwrap());
    assert!(matches!(&launch.config.policy, Policy::Vllm(policy) if !policy.chunked_prefill));
}

#[test]
fn memory_for_the_cache_and_graphs_are_as_the_flags_say() {
    let plain = launched("vllm serve qwen2.5-7b", "h200").unwrap().config;
    let small = launched("vllm serve qwen2.5-7b --kv-cache-memory-bytes 4G", "h200");
    let blocks = small.unwrap().config.blocks;
    assert!(blocks > 0 && blocks < plain.blocks / 10, "{blocks}");
}

#[test]
fn an_unknown_model_is_named_with_those_that_are_known() {
    let error = launched("vllm serve nobody/knows", "h100").unwrap_err();
    let said = error.to_string();
    assert!(said.contains("nobody/knows") && said.contains("qwen2.5-7b"));
}

#[test]
fn a_mindie_file_starts_its_own_scheduler() {
    let text = r#"{"ServerConfig": {"port": 1025}, "BackendConfig": {
        "npuDeviceIds": [[0]],
        "ModelDeployConfig": {"maxSeqLen": 4096, "maxInputTokenLen": 2048, "ModelConfig": [
            {"modelName": "qwen", "modelWeightPath": "/data/qwen2.5-7b", "worldSize": 1, "npuMemSize": 8}]},
        "ScheduleConfig": {"maxPrefillBatchSize": 1, "maxBatchSize": 40}}}"#;
    let launch = Launch::of_mindie(text, &host("910b4")).unwrap();
    let Policy::Mindie(policy) = &launch.config.policy else {
        panic!("MindIE's scheduler");
    };
    assert_eq!(policy.max_prefill_batch_size, 1);
    assert_eq!(policy.max_batch_size, 40);
    assert_eq!((launch.port, launch.served[0].as_str()), (1025, "qwen"));
}
