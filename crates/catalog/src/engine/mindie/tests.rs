use super::super::flag;
use super::*;
use proptest::prelude::*;

const FILE: &str = r#"{
    "Version": "1.0.0",
    "ServerConfig": {"port": 1040, "httpsEnabled": false, "tlsCaFile": ["ca.pem"]},
    "BackendConfig": {
        "npuDeviceIds": [[0, 1]],
        "ModelDeployConfig": {
            "maxSeqLen": 8192, "maxInputTokenLen": 4096, "truncation": 0,
            "ModelConfig": [{"modelName": "qwen", "modelWeightPath": "/w", "worldSize": 2,
                             "npuMemSize": 8, "backendType": "atb", "models": {}}]
        },
        "ScheduleConfig": {"maxPrefillBatchSize": 1}
    }
}"#;

#[test]
fn a_file_keeps_its_values_and_gets_the_defaults_of_the_rest() {
    let config = Config::parse(FILE).unwrap();
    assert_eq!(config.server.port, 1040);
    assert_eq!(config.backend.schedule.max_prefill_batch_size, 1);
    assert_eq!(config.backend.schedule.max_batch_size, 200);
    assert_eq!(config.refusals(), []);
    let settings = config.resolved(EngineKind::Mindie.newest());
    assert_eq!(settings.kv_cache_memory_bytes, Some(8 << 30));
    assert_eq!(settings.tensor_parallel, 2);
}

#[test]
fn the_defaults_are_legal_and_those_of_the_table() {
    let config = Config::default();
    assert_eq!(config.refusals(), []);
    let text = serde_json::to_value(&config).unwrap();
    for flag in flag::table(EngineKind::Mindie) {
        let path =
            format!("/{}", flag.name.replace('.', "/")).replace("/ModelConfig/", "/ModelConfig/0/");
        let (Some(value), Some(default)) = (
            text.pointer(&path),
            flag.default_in(EngineKind::Mindie.newest()),
        ) else {
            continue;
        };
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        assert_eq!(value, default, "{}", flag.name);
    }
}

#[test]
fn a_prompt_longer_than_a_prefill_is_refused() {
    let mut config = Config::parse(FILE).unwrap();
    config.backend.schedule.max_prefill_tokens = 2048;
    config.backend.schedule.max_prefill_batch_size = 300;
    let rules: Vec<String> = config.refusals().into_iter().map(|r| r.message).collect();
    assert_eq!(
        rules,
        [
            "scheduleParam.maxPrefillBatchSize [300] is out of bound [200]",
            "maxPrefillTokens (2048) must not be less than maxInputTokenLen (4096)"
        ]
    );
}

#[test]
fn other_files_are_named_for_what_they_are() {
    assert!(matches!(Config::parse("{}"), Err(ConfigError::Foreign)));
    assert!(matches!(Config::parse("["), Err(ConfigError::Json(_))));
    assert!(Config::parse(r#"{"ServerConfig": {"port": "x"}}"#).is_err());
}

proptest! {
    #[test]
    fn a_repaired_configuration_passes(
        numbers in prop::array::uniform12(prop_oneof![0..20_u64, 100..10_000_u64, any::<u64>()]),
        memory in -3..40_i64,
        devices in prop::collection::vec(prop::collection::vec(0..8_u32, 0..4), 0..3),
        several in any::<bool>(),
    ) {
        let mut config = Config::default();
        let schedule = &mut config.backend.schedule;
        schedule.cache_block_size = numbers[0];
        schedule.max_prefill_batch_size = numbers[1];
        schedule.max_prefill_tokens = numbers[2];
        schedule.max_batch_size = numbers[3];
        schedule.max_preempt_count = numbers[4];
        schedule.max_queue_delay_microseconds = numbers[5];
        schedule.prefill_time_ms_per_req = numbers[6];
        schedule.max_first_token_wait_time = numbers[7];
        config.backend.deploy.max_seq_len = numbers[8];
        config.backend.deploy.max_input_token_len = numbers[9];
        config.backend.deploy.models[0].world_size = numbers[10] as u32;
        config.backend.deploy.models[0].npu_mem_size = memory;
        config.backend.npu_device_ids = devices;
        config.backend.multi_nodes_infer_enabled = several;
        let repaired = config.repaired();
        prop_assert_eq!(repaired.refusals(), []);
        if config.refusals().is_empty() {
            prop_assert_eq!(repaired, config);
        }
    }
}
