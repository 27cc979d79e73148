//! TensorRT-LLM's `trtllm-serve`, from its sources (early 2026).

use super::super::command::LaunchCommand;
use super::super::defaults::ModelLimits;
use super::super::refusal::{Refusal, Rule, Voice};
use super::given::Given;
use super::vllm::port;
use super::{ResolvedFlags, no_model};

const BATCH: u64 = 2048;
const STEP_TOKENS: u64 = 8192;
const BLOCK_TOKENS: u64 = 32;
const FREE_MEMORY: f64 = 0.9;
const GRAPH_BATCH: u64 = 128;

pub(super) fn resolve(
    command: &LaunchCommand,
    given: Given,
    voice: Voice,
    limits: &ModelLimits,
) -> Result<ResolvedFlags, Refusal> {
    let Some(model) = command.model.clone() else {
        return Err(no_model(voice, "model"));
    };
    if let Some(broken) = given.out_of_range.first() {
        return Err(voice.out_of_range(&broken.flag, "LlmArgs", std::slice::from_ref(broken)));
    }
    let cards = given.size("tp_size");
    let experts = given.size("ep_size");
    let attends_apart = given.is_on("enable_attention_dp");
    refuse_division(voice, limits, cards, experts, attends_apart)?;
    // Each card of a group attends for requests of its own, and all share the experts.
    let (tensor, replicas) = if attends_apart {
        (1, cards)
    } else {
        (cards, 1)
    };
    let graph_batch = given
        .count("cuda_graph_config.max_batch_size")
        .unwrap_or(GRAPH_BATCH);
    Ok(ResolvedFlags {
        served_names: vec![model.rsplit('/').next().unwrap_or(&model).to_owned()],
        model,
        host: given.text("host").or_else(|| Some("localhost".into())),
        port: port(&given, voice.engine),
        max_model_len: given.count("max_seq_len").unwrap_or(limits.max_position),
        max_num_seqs: given.count("max_batch_size").unwrap_or(BATCH),
        max_num_batched_tokens: given.count("max_num_tokens").unwrap_or(STEP_TOKENS),
        block_size: given
            .count("kv_cache_config.tokens_per_block")
            .unwrap_or(BLOCK_TOKENS),
        gpu_memory_utilization: given
            .float("kv_cache_free_gpu_memory_fraction")
            .unwrap_or(FREE_MEMORY),
        kv_cache_dtype: given.text_or("kv_cache_config.dtype", "auto"),
        tensor_parallel: tensor,
        pipeline_parallel: given.size("pp_size"),
        data_parallel: replicas,
        expert_parallel: experts > 1 || attends_apart,
        chunked_prefill: given.is_on("enable_chunked_prefill"),
        prefix_caching: given
            .switch("kv_cache_config.enable_block_reuse")
            .unwrap_or(true),
        enforce_eager: graph_batch == 0,
        max_graph_batch: graph_batch,
        async_scheduling: !given.is_on("disable_overlap_scheduler"),
        stream_interval: given.count("stream_interval").unwrap_or(1),
        given: given.values,
        without_effect: given.without_effect,
        ..ResolvedFlags::plain(voice.engine, voice.version)
    })
}

fn refuse_division(
    voice: Voice,
    limits: &ModelLimits,
    cards: u32,
    experts: u32,
    attends_apart: bool,
) -> Result<(), Refusal> {
    if !attends_apart && !limits.is_divided_by(cards) {
        let message = format!(
            "--tp_size {cards} does not divide the model's {}",
            limits.undivided_heads(cards)
        );
        return Err(voice.plain(Rule::HeadsNotDivisible, "tp_size", message));
    }
    if !cards.is_multiple_of(experts) {
        let message = format!("--ep_size {experts} does not divide --tp_size {cards}");
        return Err(voice.plain(Rule::BadValue, "ep_size", message));
    }
    Ok(())
}
