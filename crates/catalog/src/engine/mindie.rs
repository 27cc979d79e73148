//! MindIE's `conf/config.json`: read, checked, and given its defaults.
//!
//! Defaults and checks are those of its open repository (Ascend/MindIE-LLM: conf/config.json,
//! config_manager) and of the documentation; not run here. Unknown keys are kept out of the way,
//! since each release adds some.

use serde::{Deserialize, Serialize};

use super::refusal::{Refusal, Rule};
use super::resolve::{Policy, ResolvedFlags};
use super::{EngineKind, Version};

/// The largest prompt that it allows.
const LONGEST_INPUT: u64 = 4 * 1024 * 1024;

/// The largest file that it reads: (0, 10 MB].
pub const LARGEST_FILE: usize = 10 * 1024 * 1024;

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Config {
    /// Ports, TLS.
    #[serde(rename = "ServerConfig")]
    pub server: Server,
    /// Devices, model, scheduler.
    #[serde(rename = "BackendConfig")]
    pub backend: Backend,
}

/// `ServerConfig`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(
    missing_docs,
    reason = "the engine's own names; data/engine/mindie.toml explains them"
)]
pub struct Server {
    pub ip_address: String,
    pub management_ip_address: String,
    pub port: u16,
    pub management_port: u16,
    pub metrics_port: u16,
    pub max_link_num: u64,
    pub https_enabled: bool,
    pub full_text_enabled: bool,
    pub infer_mode: String,
    pub token_timeout: u64,
    pub e2e_timeout: u64,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            ip_address: "127.0.0.1".into(),
            management_ip_address: "127.0.0.2".into(),
            port: 1025,
            management_port: 1026,
            metrics_port: 1027,
            max_link_num: 1000,
            https_enabled: true,
            full_text_enabled: false,
            infer_mode: "standard".into(),
            token_timeout: 600,
            e2e_timeout: 600,
        }
    }
}

/// `BackendConfig`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Backend {
    /// Devices of each instance.
    pub npu_device_ids: Vec<Vec<u32>>,
    /// Tokenizer processes.
    pub tokenizer_process_number: u64,
    /// Several hosts.
    pub multi_nodes_infer_enabled: bool,
    /// The model.
    #[serde(rename = "ModelDeployConfig")]
    pub deploy: Deploy,
    /// The scheduler.
    #[serde(rename = "ScheduleConfig")]
    pub schedule: Schedule,
}

impl Default for Backend {
    fn default() -> Self {
        Self {
            npu_device_ids: vec![vec![0, 1, 2, 3]],
            tokenizer_process_number: 8,
            multi_nodes_infer_enabled: false,
            deploy: Deploy::default(),
            schedule: Schedule::default(),
        }
    }
}

/// `ModelDeployConfig`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Deploy {
    /// Longest prompt plus answer.
    pub max_seq_len: u64,
    /// Longest prompt.
    pub max_input_token_len: u64,
    /// Longer prompts are cut instead of rejected; older files say 0 or 1.
    #[serde(deserialize_with = "flag_or_number")]
    pub truncation: bool,
    /// The models; the standard template has one.
    #[serde(rename = "ModelConfig")]
    pub models: Vec<Model>,
}

impl Default for Deploy {
    fn default() -> Self {
        Self {
            max_seq_len: 2560,
            max_input_token_len: 2048,
            truncation: false,
            models: vec![Model::default()],
        }
    }
}

/// One entry of `ModelConfig`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(
    missing_docs,
    reason = "the engine's own names; data/engine/mindie.toml explains them"
)]
pub struct Model {
    pub model_name: String,
    pub model_weight_path: String,
    pub world_size: u32,
    pub cpu_mem_size: u64,
    pub npu_mem_size: i64,
    pub backend_type: String,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            model_name: "llama_65b".into(),
            model_weight_path: "/data/atb_testdata/weights/llama1-65b-safetensors".into(),
            world_size: 4,
            cpu_mem_size: 0,
            npu_mem_size: -1,
            backend_type: "atb".into(),
        }
    }
}

/// `ScheduleConfig`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(
    missing_docs,
    reason = "the engine's own names; data/engine/mindie.toml explains them"
)]
pub struct Schedule {
    pub template_type: String,
    pub template_name: String,
    pub cache_block_size: u64,
    pub max_prefill_batch_size: u64,
    pub max_prefill_tokens: u64,
    pub prefill_time_ms_per_req: u64,
    pub prefill_policy_type: u64,
    pub decode_time_ms_per_req: u64,
    pub decode_policy_type: u64,
    pub max_batch_size: u64,
    pub max_iter_times: u64,
    pub max_preempt_count: u64,
    pub support_select_batch: bool,
    pub max_queue_delay_microseconds: u64,
    pub max_first_token_wait_time: u64,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            template_type: "Standard".into(),
            template_name: "Standard_LLM".into(),
            cache_block_size: 128,
            max_prefill_batch_size: 50,
            max_prefill_tokens: 8192,
            prefill_time_ms_per_req: 150,
            prefill_policy_type: 0,
            decode_time_ms_per_req: 50,
            decode_policy_type: 0,
            max_batch_size: 200,
            max_iter_times: 512,
            max_preempt_count: 0,
            support_select_batch: false,
            max_queue_delay_microseconds: 5000,
            max_first_token_wait_time: 2500,
        }
    }
}

/// Why a file is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Not JSON, or a value of the wrong type.
    #[error("not a MindIE configuration: {0}")]
    Json(#[from] serde_json::Error),
    /// Larger than MindIE reads.
    #[error("not a MindIE configuration: {0} bytes, where MindIE reads at most {LARGEST_FILE}")]
    TooLarge(usize),
    /// Some other JSON.
    #[error("not a MindIE configuration: it has neither ServerConfig nor BackendConfig")]
    Foreign,
}

impl Config {
    /// Reads a file's text; keys that are absent have their defaults.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        if text.len() > LARGEST_FILE {
            return Err(ConfigError::TooLarge(text.len()));
        }
        let value: serde_json::Value = serde_json::from_str(text)?;
        if value.get("ServerConfig").is_none() && value.get("BackendConfig").is_none() {
            return Err(ConfigError::Foreign);
        }
        Ok(serde_json::from_value(value)?)
    }

    /// Prompts of one prefill batch; 0 in the file stands for the batch size.
    pub fn prefill_batch(&self) -> u64 {
        match self.backend.schedule.max_prefill_batch_size {
            0 => self.backend.schedule.max_batch_size,
            size => size,
        }
    }

    /// The checks of its start, in its order; all broken ones, since it prints all.
    pub fn refusals(&self) -> Vec<Refusal> {
        let schedule = &self.backend.schedule;
        let deploy = &self.backend.deploy;
        let mut found = Vec::new();
        let mut range = |key: &str, value: u64, min: u64, max: u64| {
            let message = if value > max {
                format!("scheduleParam.{key} [{value}] is out of bound [{max}]")
            } else if value < min {
                format!("scheduleParam.{key} [{value}] is less than [{min}]")
            } else {
                return;
            };
            found.push(refusal(
                Rule::OutOfRange,
                &format!("BackendConfig.ScheduleConfig.{key}"),
                message,
            ));
        };
        range("cacheBlockSize", schedule.cache_block_size, 1, 128);
        range(
            "decodeTimeMsPerReq",
            schedule.decode_time_ms_per_req,
            0,
            1000,
        );
        range("maxBatchSize", schedule.max_batch_size, 1, 819_200);
        range(
            "maxPrefillTokens",
            schedule.max_prefill_tokens,
            1,
            LONGEST_INPUT,
        );
        range(
            "maxPrefillBatchSize",
            self.prefill_batch(),
            1,
            schedule.max_batch_size,
        );
        range(
            "maxQueueDelayMicroseconds",
            schedule.max_queue_delay_microseconds,
            500,
            1_000_000,
        );
        range(
            "maxFirstTokenWaitTime",
            schedule.max_first_token_wait_time,
            0,
            3_600_000,
        );
        range(
            "prefillTimeMsPerReq",
            schedule.prefill_time_ms_per_req,
            0,
            1000,
        );
        let mut check = |broken: bool, rule: Rule, key: &str, message: String| {
            if broken {
                found.push(refusal(rule, key, message));
            }
        };
        check(
            schedule.max_preempt_count > schedule.max_batch_size,
            Rule::Inconsistent,
            "BackendConfig.ScheduleConfig.maxPreemptCount",
            "The maxPreemptCount cannot be set greater than maxBatchsize, please set \
             'maxPreemptCount' to be not greater than 'maxBatchsize' in config.json."
                .into(),
        );
        check(
            !matches!(schedule.template_type.as_str(), "Standard" | "Mix"),
            Rule::BadValue,
            "BackendConfig.ScheduleConfig.templateType",
            format!(
                "The templateType must be Standard or Mix, but is {}",
                schedule.template_type
            ),
        );
        check(
            deploy.max_seq_len == 0,
            Rule::OutOfRange,
            "BackendConfig.ModelDeployConfig.maxSeqLen",
            "The value of modelParam.maxSeqLen can not be 0.".into(),
        );
        check(
            deploy.max_input_token_len == 0 || deploy.max_input_token_len > LONGEST_INPUT,
            Rule::OutOfRange,
            "BackendConfig.ModelDeployConfig.maxInputTokenLen",
            "The value of modelParam.maxInputTokenLen should be in [1, 4194304].".into(),
        );
        // The documentation asks for it; the text is ours, since the sources that we saw only
        // fail the long prompts later.
        check(
            schedule.max_prefill_tokens < deploy.max_input_token_len,
            Rule::Inconsistent,
            "BackendConfig.ScheduleConfig.maxPrefillTokens",
            format!(
                "maxPrefillTokens ({}) must not be less than maxInputTokenLen ({})",
                schedule.max_prefill_tokens, deploy.max_input_token_len
            ),
        );
        check(
            schedule.template_type == "Standard" && deploy.models.len() != 1,
            Rule::Inconsistent,
            "BackendConfig.ModelDeployConfig.ModelConfig",
            "There should be one modelParam for Standard templateType.".into(),
        );
        for (index, model) in deploy.models.iter().enumerate() {
            self.check_model(index, model, &mut check);
        }
        found
    }

    fn check_model(
        &self,
        index: usize,
        model: &Model,
        check: &mut impl FnMut(bool, Rule, &str, String),
    ) {
        let key = |name: &str| format!("BackendConfig.ModelDeployConfig.ModelConfig.{name}");
        check(
            model.world_size == 0,
            Rule::OutOfRange,
            &key("worldSize"),
            "The value of modelParam.worldSize can not be 0.".into(),
        );
        check(
            !matches!(model.backend_type.as_str(), "atb" | "ms" | "torch"),
            Rule::BadValue,
            &key("backendType"),
            "Backend type only supports atb, ms, torch.".into(),
        );
        check(
            model.npu_mem_size == 0 || model.npu_mem_size < -1,
            Rule::OutOfRange,
            &key("npuMemSize"),
            format!(
                "The value of 'npuMemSize' in ModelDeployConfig in config.json is {} it should be \
                 within (0, 4294967295] or -1please set 'npuMemSize' in config.json within \
                 (0, 4294967295] or -1",
                model.npu_mem_size
            ),
        );
        let devices = self.backend.npu_device_ids.get(index).map_or(0, Vec::len);
        check(
            !self.backend.multi_nodes_infer_enabled && devices != model.world_size as usize,
            Rule::TooManyDevices,
            &key("worldSize"),
            format!(
                "worldSize ({}) does not match the {devices} devices of npuDeviceIds",
                model.world_size
            ),
        );
    }

    /// Settings in the form of the other engines; what only MindIE has is in the file itself.
    pub fn resolved(&self, version: Version) -> ResolvedFlags {
        let schedule = &self.backend.schedule;
        let model = self
            .backend
            .deploy
            .models
            .first()
            .cloned()
            .unwrap_or_default();
        ResolvedFlags {
            engine: EngineKind::Mindie,
            version,
            model: model.model_weight_path.clone(),
            served_names: vec![model.model_name.clone()],
            host: Some(self.server.ip_address.clone()),
            port: self.server.port,
            api_keys: Vec::new(),
            seed: 0,
            max_model_len: self.backend.deploy.max_seq_len,
            max_num_seqs: schedule.max_batch_size,
            max_num_batched_tokens: schedule.max_prefill_tokens,
            block_size: schedule.cache_block_size,
            // NPU_MEMORY_FRACTION.
            gpu_memory_utilization: 0.8,
            kv_cache_memory_bytes: u64::try_from(model.npu_mem_size)
                .ok()
                .map(|gib| gib.saturating_mul(1 << 30)),
            num_gpu_blocks_override: None,
            kv_cache_dtype: "auto".into(),
            dtype: "auto".into(),
            quantization: None,
            tensor_parallel: model.world_size.max(1),
            pipeline_parallel: 1,
            data_parallel: 1,
            expert_parallel: false,
            chunked_prefill: false,
            prefix_caching: false,
            enforce_eager: true,
            max_graph_batch: 0,
            async_scheduling: false,
            long_prefill_token_threshold: 0,
            stream_interval: 1,
            policy: Policy::Fcfs,
            speculative: None,
            scheduler_delay_factor: 0.0,
            scheduler_steps: 1,
            max_queued_requests: Some(self.server.max_link_num),
            given: Default::default(),
            without_effect: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The nearest configuration that the checks let pass.
    pub fn repaired(&self) -> Self {
        let mut config = self.clone();
        let schedule = &mut config.backend.schedule;
        let deploy = &mut config.backend.deploy;
        schedule.cache_block_size = schedule.cache_block_size.clamp(1, 128);
        schedule.decode_time_ms_per_req = schedule.decode_time_ms_per_req.min(1000);
        schedule.prefill_time_ms_per_req = schedule.prefill_time_ms_per_req.min(1000);
        schedule.max_batch_size = schedule.max_batch_size.clamp(1, 819_200);
        schedule.max_prefill_batch_size =
            schedule.max_prefill_batch_size.min(schedule.max_batch_size);
        schedule.max_preempt_count = schedule.max_preempt_count.min(schedule.max_batch_size);
        schedule.max_queue_delay_microseconds =
            schedule.max_queue_delay_microseconds.clamp(500, 1_000_000);
        schedule.max_first_token_wait_time = schedule.max_first_token_wait_time.min(3_600_000);
        if !matches!(schedule.template_type.as_str(), "Standard" | "Mix") {
            schedule.template_type = "Standard".into();
        }
        deploy.max_seq_len = deploy.max_seq_len.max(1);
        deploy.max_input_token_len = deploy.max_input_token_len.clamp(1, LONGEST_INPUT);
        schedule.max_prefill_tokens = schedule
            .max_prefill_tokens
            .clamp(deploy.max_input_token_len, LONGEST_INPUT);
        if deploy.models.is_empty() {
            deploy.models.push(Model::default());
        }
        if schedule.template_type == "Standard" {
            deploy.models.truncate(1);
        }
        let devices = &mut config.backend.npu_device_ids;
        devices.resize(deploy.models.len().max(devices.len()), Vec::new());
        for (model, ids) in deploy.models.iter_mut().zip(devices) {
            if ids.is_empty() {
                ids.extend(0..model.world_size.clamp(1, 8));
            }
            if !config.backend.multi_nodes_infer_enabled || model.world_size == 0 {
                model.world_size = ids.len() as u32;
            }
            if model.npu_mem_size == 0 || model.npu_mem_size < -1 {
                model.npu_mem_size = -1;
            }
            if !matches!(model.backend_type.as_str(), "atb" | "ms" | "torch") {
                model.backend_type = "atb".into();
            }
        }
        config
    }
}

fn refusal(rule: Rule, key: &str, message: String) -> Refusal {
    Refusal {
        rule,
        flag: key.into(),
        printed: message.clone(),
        message,
        exit_code: 1,
    }
}

fn flag_or_number<'de, D: serde::Deserializer<'de>>(source: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Flag(bool),
        Number(i64),
    }
    Ok(match Either::deserialize(source)? {
        Either::Flag(flag) => flag,
        Either::Number(number) => number != 0,
    })
}

#[cfg(test)]
mod tests {
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
            let path = format!("/{}", flag.name.replace('.', "/"))
                .replace("/ModelConfig/", "/ModelConfig/0/");
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
}
