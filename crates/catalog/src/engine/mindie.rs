//! MindIE's `conf/config.json`: read, checked, and given its defaults.
//!
//! Defaults and checks are those of its open repository (Ascend/MindIE-LLM: conf/config.json,
//! config_manager) and of the documentation; not run here. Unknown keys are kept out of the way,
//! since each release adds some.

use crate::with_defaults;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::resolved::ResolvedFlags;
use super::{EngineKind, Version};

mod rules;

/// The largest file that it reads: (0, 10 MB].
pub const LARGEST_FILE: usize = 10 * 1024 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Config {
    #[serde(rename = "ServerConfig")]
    pub server: Server,
    #[serde(rename = "BackendConfig")]
    pub backend: Backend,
}

with_defaults! {
    #[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
    #[serde(default, rename_all = "camelCase")]
    pub struct Server {
        pub ip_address: String = "127.0.0.1".into(),
        pub management_ip_address: String = "127.0.0.2".into(),
        pub port: u16 = 1025,
        pub management_port: u16 = 1026,
        pub metrics_port: u16 = 1027,
        pub max_link_num: u64 = 1000,
        pub https_enabled: bool = true,
        pub full_text_enabled: bool = false,
        pub infer_mode: String = "standard".into(),
        pub token_timeout: u64 = 600,
        pub e2e_timeout: u64 = 600,
    }

    #[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
    #[serde(default, rename_all = "camelCase")]
    pub struct Backend {
        pub npu_device_ids: Vec<Vec<u32>> = vec![vec![0, 1, 2, 3]],
        pub tokenizer_process_number: u64 = 8,
        pub multi_nodes_infer_enabled: bool = false,
        #[serde(rename = "ModelDeployConfig")]
        pub deploy: Deploy = Deploy::default(),
        #[serde(rename = "ScheduleConfig")]
        pub schedule: Schedule = Schedule::default(),
    }

    #[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
    #[serde(default, rename_all = "camelCase")]
    pub struct Deploy {
        pub max_seq_len: u64 = 2560,
        pub max_input_token_len: u64 = 2048,
        /// Longer prompts are cut instead of rejected; older files say 0 or 1.
        #[serde(deserialize_with = "flag_or_number")]
        pub truncation: bool = false,
        /// The models; the standard template has one.
        #[serde(rename = "ModelConfig")]
        pub models: Vec<Model> = vec![Model::default()],
    }

    #[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
    #[serde(default, rename_all = "camelCase")]
    pub struct Model {
        pub model_name: String = "llama_65b".into(),
        pub model_weight_path: String = "/data/atb_testdata/weights/llama1-65b-safetensors".into(),
        pub world_size: u32 = 4,
        pub cpu_mem_size: u64 = 0,
        pub npu_mem_size: i64 = -1,
        pub backend_type: String = "atb".into(),
    }

    #[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
    #[serde(default, rename_all = "camelCase")]
    pub struct Schedule {
        pub template_type: String = "Standard".into(),
        pub template_name: String = "Standard_LLM".into(),
        pub cache_block_size: u64 = 128,
        pub max_prefill_batch_size: u64 = 50,
        pub max_prefill_tokens: u64 = 8192,
        pub prefill_time_ms_per_req: u64 = 150,
        pub prefill_policy_type: u64 = 0,
        pub decode_time_ms_per_req: u64 = 50,
        pub decode_policy_type: u64 = 0,
        pub max_batch_size: u64 = 200,
        pub max_iter_times: u64 = 512,
        pub max_preempt_count: u64 = 0,
        pub support_select_batch: bool = false,
        pub max_queue_delay_microseconds: u64 = 5000,
        pub max_first_token_wait_time: u64 = 2500,
    }
}

/// Why a file is not a configuration of MindIE.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Not JSON, or a value of the wrong type.
    #[error("not a MindIE configuration: {0}")]
    Json(#[from] serde_json::Error),
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

    /// What to look the model up by: the folder of its weights, or the name that is known of a path
    /// of another machine.
    pub fn model_name(&self) -> String {
        let model = self.backend.deploy.models.first();
        let model = model.cloned().unwrap_or_default();
        let path = model.model_weight_path;
        if std::path::Path::new(&path).is_dir() {
            return path;
        }
        let is_known = |name: &str| crate::model::Model::named(name).is_some();
        if is_known(&model.model_name) && !is_known(&path) {
            return model.model_name;
        }
        path
    }

    /// Its keys about model and schedule as flags, by the last part of their names.
    pub fn flags(&self) -> Vec<(String, Option<String>)> {
        fn leaves(name: &str, value: &Value, all: &mut Vec<(String, Option<String>)>) {
            match value {
                Value::Object(keys) => {
                    for (key, value) in keys {
                        leaves(key, value, all);
                    }
                }
                // The models: the standard template has one.
                Value::Array(items) if items.iter().any(Value::is_object) => {
                    items
                        .first()
                        .into_iter()
                        .for_each(|first| leaves(name, first, all));
                }
                value => {
                    let text = value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned);
                    all.push((name.to_owned(), Some(text)));
                }
            }
        }
        let mut all = Vec::new();
        let parts = serde_json::to_value((&self.backend.deploy, &self.backend.schedule));
        for part in parts
            .ok()
            .as_ref()
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            leaves("", part, &mut all);
        }
        all
    }

    /// Those of its flags that say how it serves: what its template says as well is left out, but
    /// for the cards that share the model.
    pub fn chosen_flags(&self) -> Vec<(String, Option<String>)> {
        let usual = Config::default().flags();
        let of_model = ["modelName", "modelWeightPath"];
        let mut flags = self.flags();
        flags.retain(|flag| {
            let name = flag.0.as_str();
            name == "worldSize" || !(of_model.contains(&name) || usual.contains(flag))
        });
        flags
    }

    /// Settings in the form of the other engines; what only MindIE has is in the file itself.
    pub fn resolved(&self, version: Version) -> ResolvedFlags {
        let schedule = &self.backend.schedule;
        let model = self.backend.deploy.models.first();
        let model = model.cloned().unwrap_or_default();
        ResolvedFlags {
            model: model.model_weight_path.clone(),
            served_names: vec![model.model_name.clone()],
            host: Some(self.server.ip_address.clone()),
            port: self.server.port,
            max_model_len: self.backend.deploy.max_seq_len,
            max_num_seqs: schedule.max_batch_size,
            max_num_batched_tokens: schedule.max_prefill_tokens,
            block_size: schedule.cache_block_size,
            // NPU_MEMORY_FRACTION.
            gpu_memory_utilization: 0.8,
            kv_cache_memory_bytes: u64::try_from(model.npu_mem_size)
                .ok()
                .map(|gib| gib.saturating_mul(1 << 30)),
            tensor_parallel: model.world_size.max(1),
            enforce_eager: true,
            max_queued_requests: Some(self.server.max_link_num),
            ..ResolvedFlags::plain(EngineKind::Mindie, version)
        }
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
mod tests;
