//! vLLM: its defaults and the order of its checks (model, cache, parallel, scheduler, whole).

use super::super::command::LaunchCommand;
use super::super::defaults::{self, DeviceClass, DeviceKind, ModelLimits};
use super::super::flag;
use super::super::refusal::{BrokenBound, Refusal, Rule, Voice};
use super::super::{EngineKind, Fp8Cache, Value, Version};
use super::given::Given;
use super::{Policy, ResolvedFlags, Speculative, served_names};
use crate::device::Device;

mod batch;

use batch::{Batch, batch, check_batch, scheduler_bounds};

/// The model that vLLM serves when none is named (run: 0.32).
const MODEL_WITHOUT_A_NAME: &str = "Qwen/Qwen3-0.6B";

pub(super) fn resolve(
    command: &LaunchCommand,
    given: Given,
    voice: Voice,
    device: &DeviceClass,
    limits: &ModelLimits,
) -> Result<ResolvedFlags, Refusal> {
    let version = voice.version;
    let model = command.model.clone().unwrap_or_else(|| match voice.engine {
        EngineKind::Custom => "model".into(),
        _ if version < Version::new(0, 10, 0) => "facebook/opt-125m".into(),
        _ => MODEL_WITHOUT_A_NAME.into(),
    });
    let max_model_len = max_model_len(command, &given, voice, limits)?;
    for class in ["ModelConfig", "CacheConfig", "ParallelConfig"] {
        refuse_out_of_range(&given.out_of_range, voice, class)?;
    }

    let tensor = given.size("tensor-parallel-size");
    let pipeline = given.size("pipeline-parallel-size");
    let data = given.size("data-parallel-size");
    let world = u64::from(tensor) * u64::from(pipeline);
    refuse_too_many_devices(&given, voice, device, world)?;

    let chunked = given.switch("enable-chunked-prefill").unwrap_or_else(|| {
        defaults::vllm_chunked_by_default(version, device, max_model_len, limits.multimodal)
    });
    let (tokens, seqs) = batch(&given, version, device, world, chunked, max_model_len);
    let scheduler = scheduler_bounds(&given, tokens, seqs);
    refuse_out_of_range(&scheduler, voice, "SchedulerConfig")?;
    for broken in &given.out_of_range {
        refuse_out_of_range(&given.out_of_range, voice, &broken.class)?;
    }
    let threshold = given.count("long-prefill-token-threshold").unwrap_or(0);
    let batch = Batch {
        tokens,
        seqs,
        max_model_len,
        chunked,
        threshold,
    };
    check_batch(voice, batch)?;
    if limits.heads.is_multiple_of(tensor) && !limits.is_divided_by(tensor) {
        // A bare assertion of its workers.
        let heads = limits.undivided_heads(tensor);
        let message =
            format!("--tensor-parallel-size {tensor} does not divide the model's {heads}");
        return Err(voice.plain(Rule::HeadsNotDivisible, "tensor-parallel-size", message));
    }
    if !limits.heads.is_multiple_of(tensor) {
        return Err(voice.value_error(
            Rule::HeadsNotDivisible,
            "tensor-parallel-size",
            "VllmConfig",
            format!(
                "Total number of attention heads ({}) must be divisible by tensor parallel size \
                 ({tensor}).",
                limits.heads
            ),
        ));
    }

    let whole_experts = given.is_on("enable-expert-parallel");
    // Source of 0.8 and later.
    if whole_experts && limits.dense && version >= Version::new(0, 8, 0) {
        return Err(voice.value_error(
            Rule::NoExperts,
            "enable-expert-parallel",
            "VllmConfig",
            "Number of experts in the model must be greater than 0 when expert parallelism is \
             enabled."
                .to_owned(),
        ));
    }

    refuse_block_size(&given, voice, device)?;
    refuse_fp8_cache(&given, voice, device)?;

    let mut warnings = Vec::new();
    if tokens > seqs.saturating_mul(max_model_len) {
        warnings.push(format!(
            "max_num_batched_tokens ({tokens}) exceeds max_num_seqs * max_model_len ({}). This may \
             lead to unexpected behavior.",
            seqs.saturating_mul(max_model_len)
        ));
    }
    warnings.extend(set_aside_by_eager(&given));
    let eager = given.is_on("enforce-eager")
        || given.text("optimization-level").as_deref() == Some("0")
        || device.kind == DeviceKind::Cpu;
    let utilization = given.float("gpu-memory-utilization").unwrap_or_else(|| {
        flag::flag(EngineKind::Vllm, version, "gpu-memory-utilization")
            .and_then(|flag| flag.default_in(version)?.parse().ok())
            .unwrap_or(0.9)
    });
    Ok(ResolvedFlags {
        engine: voice.engine,
        version,
        served_names: served_names(&given, "served-model-name", &model),
        model,
        host: given.text("host"),
        port: port(&given, voice.engine),
        api_keys: given.list("api-key"),
        seed: given.int("seed").unwrap_or(0),
        max_model_len,
        max_num_seqs: seqs,
        max_num_batched_tokens: tokens,
        block_size: given
            .count("block-size")
            .filter(|size| *size > 0)
            .unwrap_or_else(|| defaults::vllm_block_size(device)),
        gpu_memory_utilization: utilization,
        kv_cache_memory_bytes: given.count("kv-cache-memory-bytes"),
        num_gpu_blocks_override: given.count("num-gpu-blocks-override"),
        kv_cache_dtype: given.text_or("kv-cache-dtype", "auto"),
        dtype: given.text_or("dtype", "auto"),
        quantization: given.text("quantization"),
        tensor_parallel: tensor,
        pipeline_parallel: pipeline,
        data_parallel: data,
        expert_parallel: whole_experts,
        chunked_prefill: chunked,
        prefix_caching: given
            .switch("enable-prefix-caching")
            .unwrap_or_else(|| defaults::vllm_prefix_caching_by_default(version)),
        enforce_eager: eager,
        max_graph_batch: if eager {
            0
        } else {
            graph_batch(&given, version, seqs)
        },
        // On by itself since 0.14, where nothing speaks against it (source).
        async_scheduling: given
            .switch("async-scheduling")
            .unwrap_or(version >= Version::new(0, 14, 0)),
        long_prefill_token_threshold: threshold,
        stream_interval: given.count("stream-interval").unwrap_or(1).max(1),
        // As many as replicas by themselves (source).
        api_servers: given
            .count("api-server-count")
            .unwrap_or(data.into())
            .max(1),
        policy: match given.text("scheduling-policy").as_deref() {
            Some("priority") => Policy::Priority,
            _ => Policy::Fcfs,
        },
        speculative: speculative(&given),
        scheduler_delay_factor: given
            .float("scheduler-delay-factor")
            .unwrap_or(0.0)
            .max(0.0),
        scheduler_steps: given.count("num-scheduler-steps").unwrap_or(1).max(1),
        max_queued_requests: given.count("max-num-queued-reqs"),
        given: given.values,
        without_effect: given.without_effect,
        warnings,
    })
}

pub(super) fn port(given: &Given, engine: EngineKind) -> u16 {
    given
        .count("port")
        .and_then(|port| u16::try_from(port).ok())
        .unwrap_or(engine.default_port())
}

fn max_model_len(
    command: &LaunchCommand,
    given: &Given,
    voice: Voice,
    limits: &ModelLimits,
) -> Result<u64, Refusal> {
    let Some(asked) = given.int("max-model-len").filter(|asked| *asked != -1) else {
        return Ok(limits.max_position);
    };
    let Some(asked) = u64::try_from(asked).ok().filter(|asked| *asked > 0) else {
        return Err(voice.value_error(
            Rule::BadValue,
            "max-model-len",
            "ModelConfig",
            format!("max_model_len must be a positive integer, got int: {asked}. Example: max_model_len=2048"),
        ));
    };
    let mut environment = command.environment.iter();
    let overridden =
        environment.any(|(name, value)| name == "VLLM_ALLOW_LONG_MAX_MODEL_LEN" && is_yes(value));
    // A longer context by YaRN and its like: how long it becomes, only the engine can say.
    let stretched = ["hf-overrides", "rope-scaling"];
    let stretched = (stretched.iter()).any(|name| given.values.contains_key(*name));
    if asked <= limits.max_position || overridden || stretched {
        return Ok(asked);
    }
    // Run: 0.32 writes the model's length as a float; the older sources do not.
    let own = if voice.version >= Version::new(0, 28, 0) {
        format!("{}.0", limits.max_position)
    } else {
        limits.max_position.to_string()
    };
    let mut message = format!(
        "User-specified max_model_len ({asked}) is greater than the derived max_model_len \
         (max_position_embeddings={own} or model_max_length=None in model's config.json). "
    );
    message.push_str(if voice.version >= Version::new(0, 10, 0) {
        "To allow overriding this maximum, set the env var VLLM_ALLOW_LONG_MAX_MODEL_LEN=1. \
         VLLM_ALLOW_LONG_MAX_MODEL_LEN must be used with extreme caution. If the model uses \
         relative position encoding (RoPE), positions exceeding derived_max_model_len lead to nan. \
         If the model uses absolute position encoding, positions exceeding derived_max_model_len \
         will cause a CUDA array out-of-bounds error."
    } else {
        "This may lead to incorrect model outputs or CUDA errors. To allow overriding this \
         maximum, set the env var VLLM_ALLOW_LONG_MAX_MODEL_LEN=1"
    });
    Err(voice.value_error(
        Rule::ModelLenAboveModel,
        "max-model-len",
        "ModelConfig",
        message,
    ))
}

/// As vLLM reads its switches of the environment.
fn is_yes(value: &str) -> bool {
    matches!(value.trim().to_lowercase().as_str(), "1" | "true")
}

/// Refuses for all numbers of a class together, in the order of its fields, as pydantic does.
fn refuse_out_of_range(all: &[BrokenBound], voice: Voice, class: &str) -> Result<(), Refusal> {
    let mut broken: Vec<BrokenBound> = all.iter().filter(|b| b.class == class).cloned().collect();
    let Some(first) = broken.first().map(|bound| bound.flag.clone()) else {
        return Ok(());
    };
    let place = |bound: &BrokenBound| {
        flag::table(EngineKind::Vllm)
            .iter()
            .position(|flag| flag.name == bound.flag)
    };
    broken.sort_by_key(place);
    Err(voice.out_of_range(&first, class, &broken))
}

fn refuse_too_many_devices(
    given: &Given,
    voice: Voice,
    device: &DeviceClass,
    world: u64,
) -> Result<(), Refusal> {
    let other_hosts = given.count("nnodes").unwrap_or(1) > 1
        || given
            .text("distributed-executor-backend")
            .is_some_and(|backend| backend == "ray");
    if device.kind != DeviceKind::Gpu || world <= u64::from(device.count) || other_hosts {
        return Ok(());
    }
    // The text is of 0.13 and later; before, the start failed in the workers.
    let mut refusal = voice.value_error(
        Rule::TooManyDevices,
        "tensor-parallel-size",
        "ParallelConfig",
        format!(
            "World size ({world}) is larger than the number of available GPUs ({}) in this node.",
            device.count
        ),
    );
    let printed = format!(
        "{} If this is intentional and you are using:\n- ray, set \
         '--distributed-executor-backend ray'.\n- multiprocessing, set '--nnodes' appropriately.",
        refusal.message
    );
    refusal.printed = refusal.printed.replacen(&refusal.message, &printed, 1);
    Err(refusal)
}

/// KV blocks are a multiple of this (run on the CPU; source of FlashAttention on a GPU).
pub(in super::super) fn block_unit(device: &DeviceClass) -> Option<u64> {
    match device.kind {
        DeviceKind::Cpu => Some(32),
        DeviceKind::Gpu => Some(16),
        DeviceKind::Npu => None,
    }
}

/// Found only in the workers, after the weights are loaded.
fn refuse_block_size(given: &Given, voice: Voice, device: &DeviceClass) -> Result<(), Refusal> {
    let (Some(size), Some(unit)) = (given.count("block-size"), block_unit(device)) else {
        return Ok(());
    };
    if size.is_multiple_of(unit) || voice.version < Version::new(0, 28, 0) {
        return Ok(());
    }
    let backend = if device.kind == DeviceKind::Cpu {
        "CPU_ATTN"
    } else {
        "FLASH_ATTN"
    };
    let message = format!("No common block size for {size} ({backend}: [MultipleOf({unit})]).");
    Err(Refusal {
        rule: Rule::BadBlockSize,
        flag: "block-size".into(),
        printed: format!(
            "ValueError: {message}\nRuntimeError: Engine core initialization failed. See root cause \
             above. Failed core proc(s): {{'EngineCore': 1}}"
        ),
        message,
        hint: None,
        exit_code: 1,
    })
}

/// Found only in the workers too; its words differ from version to version.
fn refuse_fp8_cache(given: &Given, voice: Voice, device: &DeviceClass) -> Result<(), Refusal> {
    let dtype = given.text_or("kv-cache-dtype", "auto");
    let capability = Device::named(&device.name).and_then(|card| card.capability);
    let found = Fp8Cache::of(voice.engine, voice.version, &dtype, capability);
    if found != Some(Fp8Cache::Refused) {
        return Ok(());
    }
    let message = format!(
        "--kv-cache-dtype {dtype} on {}: no attention kernels of vLLM 0.8 and later read a KV \
         cache in FP8 on this card; use auto",
        device.name
    );
    Err(voice.plain(Rule::Fp8CacheWithoutKernels, "kv-cache-dtype", message))
}

/// Graphs that are asked for beside `--enforce-eager`, which it sets aside without a refusal (source
/// of 0.32).
fn set_aside_by_eager(given: &Given) -> Option<String> {
    let mode = match given.values.get("compilation-config") {
        Some(Value::Json(config)) => config.get("cudagraph_mode").and_then(|mode| mode.as_str()),
        _ => None,
    };
    let mode = mode.filter(|mode| !mode.eq_ignore_ascii_case("none"));
    let mode = mode.map(|mode| format!("cudagraph_mode {mode}"));
    let sizes = ["cudagraph-capture-sizes", "max-cudagraph-capture-size"];
    let sizes = sizes.iter().find(|name| given.values.contains_key(**name));
    let asked = mode.or_else(|| sizes.map(|name| format!("--{name}")))?;
    given.is_on("enforce-eager").then(|| {
        format!(
            "--enforce-eager disables CUDA graphs, and {asked} is without effect; leave one out"
        )
    })
}

/// Graphs are captured up to twice the sequences, at most 512 (source of 0.32); by batch size
/// up to 256 in 2024.
fn graph_batch(given: &Given, version: Version, seqs: u64) -> u64 {
    let listed = given
        .list("cudagraph-capture-sizes")
        .iter()
        .filter_map(|size| size.parse::<u64>().ok())
        .max();
    let default = if version < Version::new(0, 8, 0) {
        seqs.min(256)
    } else {
        seqs.saturating_mul(2).min(512)
    };
    listed
        .or(given.count("max-cudagraph-capture-size"))
        .unwrap_or(default)
}

fn speculative(given: &Given) -> Option<Speculative> {
    if let Some(Value::Json(config)) = given.values.get("speculative-config") {
        let text = |key: &str| config.get(key)?.as_str().map(str::to_owned);
        return Some(Speculative {
            method: text("method").unwrap_or_else(|| "draft_model".into()),
            tokens: config
                .get("num_speculative_tokens")
                .and_then(|n| n.as_u64())
                .unwrap_or(1),
            model: text("model"),
        });
    }
    let method = given.text("spec-method");
    let model = given
        .text("spec-model")
        .or_else(|| given.text("speculative-model"));
    if method.is_none() && model.is_none() {
        return None;
    }
    let ngram = model.as_deref() == Some("[ngram]");
    let usual = if ngram { "ngram" } else { "draft_model" };
    Some(Speculative {
        method: method.unwrap_or_else(|| usual.into()),
        tokens: given
            .count("spec-tokens")
            .or_else(|| given.count("num-speculative-tokens"))
            .unwrap_or(1),
        model: model.filter(|_| !ngram),
    })
}
