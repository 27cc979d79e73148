//! SGLang, from its sources (August 2026).

use super::super::command::LaunchCommand;
use super::super::defaults::{DeviceClass, ModelLimits, sglang_defaults};
use super::super::refusal::{Refusal, Rule, Voice};
use super::given::Given;
use super::vllm::port;
use super::{Policy, ResolvedFlags, Speculative, no_model, served_names};

/// Running requests when none are named: between 2048 and 4096 by memory; the lower end.
const RUNNING_REQUESTS: u64 = 2048;
/// Sizes of groups that a refusal names, at most.
const MOST_CARDS: u32 = 64;

pub(super) fn resolve(
    command: &LaunchCommand,
    given: Given,
    voice: Voice,
    device: &DeviceClass,
    limits: &ModelLimits,
) -> Result<ResolvedFlags, Refusal> {
    let Some(model) = command.model.clone() else {
        return Err(no_model(voice, "model-path"));
    };
    if let Some(broken) = given.out_of_range.first() {
        return Err(voice.out_of_range(&broken.flag, "ServerArgs", std::slice::from_ref(broken)));
    }
    let max_model_len = match given.count("context-length") {
        Some(asked) if asked > limits.max_position => {
            return Err(voice.value_error(
                Rule::ModelLenAboveModel,
                "context-length",
                "ModelConfig",
                format!(
                    "Warning: User-specified context_length ({asked}) is greater than the derived \
                     context_length ({}). This may lead to incorrect model outputs or CUDA errors. \
                     Note that the derived context_length may differ from max_position_embeddings \
                     in the model's config. To allow overriding this maximum, set the env var \
                     SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1",
                    limits.max_position
                ),
            ));
        }
        Some(asked) if asked > 0 => asked,
        _ => limits.max_position,
    };
    let tensor = given.size("tp-size");
    let pipeline = given.size("pp-size");
    refuse_heads(&given, voice, limits, tensor)?;
    refuse_groups(&given, voice, tensor)?;
    let given_chunk = given.int("chunked-prefill-size");
    refuse_pages(&given, voice, given_chunk)?;
    let defaults = sglang_defaults(device, tensor.into(), pipeline.into(), given_chunk);
    // Where attention is divided into groups, each has its share of a chunk and of the requests.
    let groups = if given.is_on("enable-dp-attention") {
        u64::from(given.size("dp-size"))
    } else {
        1
    };
    let chunked = given_chunk.is_none_or(|chunk| chunk > 0);
    let whole_prompts = given
        .count("max-prefill-tokens")
        .unwrap_or(16384)
        .max(max_model_len);
    let eager = given.is_on("disable-cuda-graph");
    let speculative = given
        .text("speculative-algorithm")
        .map(|method| Speculative {
            method,
            tokens: given.count("speculative-num-draft-tokens").unwrap_or(1),
            model: given.text("speculative-draft-model-path"),
        });
    Ok(ResolvedFlags {
        served_names: served_names(&given, "served-model-name", &model),
        model,
        host: given.text("host").or_else(|| Some("127.0.0.1".into())),
        port: port(&given, voice.engine),
        api_keys: given.list("api-key"),
        seed: given.int("random-seed").unwrap_or(0),
        max_model_len,
        max_num_seqs: given
            .count("max-running-requests")
            .map_or(RUNNING_REQUESTS, |requests| requests / groups)
            .max(1),
        max_num_batched_tokens: if chunked {
            (defaults.chunk / groups).max(1)
        } else {
            whole_prompts
        },
        block_size: given.count("page-size").unwrap_or(1).max(1),
        gpu_memory_utilization: given
            .float("mem-fraction-static")
            .unwrap_or(defaults.memory_fraction),
        num_gpu_blocks_override: given.count("max-total-tokens"),
        kv_cache_dtype: given.text_or("kv-cache-dtype", "auto"),
        dtype: given.text_or("dtype", "auto"),
        quantization: given.text("quantization"),
        tensor_parallel: tensor,
        pipeline_parallel: pipeline,
        data_parallel: given.size("dp-size"),
        expert_parallel: given.count("ep-size").is_some_and(|size| size > 1),
        chunked_prefill: chunked,
        prefix_caching: !given.is_on("disable-radix-cache"),
        enforce_eager: eager,
        max_graph_batch: if eager {
            0
        } else {
            given
                .count("cuda-graph-max-bs")
                .unwrap_or(defaults.graph_batch)
        },
        async_scheduling: !given.is_on("disable-overlap-schedule"),
        stream_interval: given.count("stream-interval").unwrap_or(1).max(1),
        api_servers: given.count("tokenizer-worker-num").unwrap_or(1).max(1),
        policy: match given.text("schedule-policy").as_deref() {
            Some("lpm") => Policy::LongestPrefix,
            Some("priority") => Policy::Priority,
            _ => Policy::Fcfs,
        },
        speculative,
        max_queued_requests: given.count("max-queued-requests"),
        given: given.values,
        without_effect: given.without_effect,
        ..ResolvedFlags::plain(voice.engine, voice.version)
    })
}

/// Found by the workers. With data-parallel attention each group has heads of its own.
fn refuse_heads(
    given: &Given,
    voice: Voice,
    limits: &ModelLimits,
    tensor: u32,
) -> Result<(), Refusal> {
    let is_grouped = given.is_on("enable-dp-attention");
    if is_grouped || limits.is_divided_by(tensor) {
        return Ok(());
    }
    let message = format!(
        "--tp-size {tensor} does not divide the model's {}",
        limits.undivided_heads(tensor)
    );
    Err(voice.plain(Rule::HeadsNotDivisible, "tp-size", message))
}

/// Attention in groups is a bare assertion of its arguments. Experts whole on cards: where weights
/// are quantised in blocks its workers say so, else some cards are in no group, and they fail.
fn refuse_groups(given: &Given, voice: Voice, tensor: u32) -> Result<(), Refusal> {
    let groups = given.size("dp-size");
    if given.is_on("enable-dp-attention") && !tensor.is_multiple_of(groups) {
        let message = format!(
            "--enable-dp-attention: --dp-size {groups} does not divide --tp-size {tensor}; choose {}",
            divisors(tensor)
        );
        return Err(voice.plain(Rule::GroupsNotDivisible, "dp-size", message));
    }
    let experts = given.size("ep-size");
    if !tensor.is_multiple_of(experts) {
        let message = format!(
            "tp_size {tensor} must be divisible by ep_size {experts}; choose {}",
            divisors(tensor)
        );
        return Err(voice.plain(Rule::GroupsNotDivisible, "ep-size", message));
    }
    Ok(())
}

fn divisors(cards: u32) -> String {
    let all = (1..=cards.min(MOST_CARDS)).filter(|size| cards.is_multiple_of(*size));
    let all: Vec<String> = all.map(|size| size.to_string()).collect();
    all.join(", ")
}

fn refuse_pages(given: &Given, voice: Voice, chunk: Option<i64>) -> Result<(), Refusal> {
    let (Some(chunk), Some(page)) = (chunk, given.int("page-size")) else {
        return Ok(());
    };
    if chunk <= 0 || page <= 0 || chunk % page == 0 {
        return Ok(());
    }
    let message = format!(
        "chunked_prefill_size must be divisible by page_size: it is {chunk}, and a page has {page} tokens"
    );
    Err(voice.plain(Rule::ChunkNotOfPages, "chunked-prefill-size", message))
}
