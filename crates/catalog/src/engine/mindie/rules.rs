//! The checks of MindIE's start, and the nearest configuration that passes them.

use super::super::refusal::{Refusal, Rule};
use super::{Config, Model};

/// The largest prompt that it allows.
const LONGEST_INPUT: u64 = 4 * 1024 * 1024;

impl Config {
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
        let prefill_batch = self.prefill_batch();
        let (decode, prefill) = (
            schedule.decode_time_ms_per_req,
            schedule.prefill_time_ms_per_req,
        );
        let (delay, wait) = (
            schedule.max_queue_delay_microseconds,
            schedule.max_first_token_wait_time,
        );
        let most = schedule.max_batch_size;
        range("cacheBlockSize", schedule.cache_block_size, 1, 128);
        range("decodeTimeMsPerReq", decode, 0, 1000);
        range("maxBatchSize", most, 1, 819_200);
        range(
            "maxPrefillTokens",
            schedule.max_prefill_tokens,
            1,
            LONGEST_INPUT,
        );
        range("maxPrefillBatchSize", prefill_batch, 1, most);
        range("maxQueueDelayMicroseconds", delay, 500, 1_000_000);
        range("maxFirstTokenWaitTime", wait, 0, 3_600_000);
        range("prefillTimeMsPerReq", prefill, 0, 1000);
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

    /// The nearest configuration that the checks let pass.
    pub fn repaired(&self) -> Self {
        if self.refusals().is_empty() {
            return self.clone();
        }
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
        hint: None,
        exit_code: 1,
    }
}
