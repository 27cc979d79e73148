//! llama.cpp's server, from its documentation (August 2026).

use super::super::command::LaunchCommand;
use super::super::defaults::ModelLimits;
use super::super::refusal::{Refusal, Rule, Voice};
use super::given::Given;
use super::vllm::port;
use super::{ResolvedFlags, Speculative};

/// Slots when none are named; they share one KV buffer then.
const AUTO_SLOTS: u64 = 4;

const OFF: [&str; 4] = ["off", "disabled", "false", "0"];

pub(super) fn resolve(
    command: &LaunchCommand,
    given: Given,
    voice: Voice,
    limits: &ModelLimits,
) -> Result<ResolvedFlags, Refusal> {
    let model = command
        .model
        .clone()
        .or_else(|| given.text("hf-repo"))
        .or_else(|| given.text("model-url"))
        .unwrap_or_else(|| "model".into());
    let given_slots = given.int("parallel").filter(|slots| *slots != -1);
    if given_slots.is_some_and(|slots| slots < 1) {
        return Err(voice.argument(
            Rule::BadValue,
            "parallel",
            "--parallel",
            "error: invalid value for n_parallel",
        ));
    }
    let values = given.text_or("cache-type-v", "f16");
    let flash = given.text("flash-attn");
    let is_off = flash.is_some_and(|word| OFF.contains(&word.as_str()));
    if is_off && !["f32", "f16", "bf16"].contains(&values.as_str()) {
        return Err(voice.plain(
            Rule::QuantizedWithoutFlash,
            "flash-attn",
            format!("quantized V cache was requested, but this requires Flash Attention: --cache-type-v is {values}, and --flash-attn off"),
        ));
    }
    let slots = given_slots.map_or(AUTO_SLOTS, i64::unsigned_abs);
    let unified = given.switch("kv-unified").unwrap_or(given_slots.is_none());
    let context = given
        .count("ctx-size")
        .filter(|size| *size > 0)
        .unwrap_or(limits.max_position);
    // Without a shared buffer each slot has its part of the context.
    let max_model_len = if unified {
        context
    } else {
        (context / slots).max(1)
    };
    let batch = given.count("batch-size").unwrap_or(2048).max(1);
    let alias = given.text("alias").unwrap_or_else(|| model.clone());
    let draft = given.text("spec-draft-model");
    Ok(ResolvedFlags {
        served_names: alias.split(',').map(str::to_owned).collect(),
        model,
        host: given.text("host").or_else(|| Some("127.0.0.1".into())),
        port: port(&given, voice.engine),
        api_keys: given
            .text("api-key")
            .map(|keys| keys.split(',').map(str::to_owned).collect())
            .unwrap_or_default(),
        seed: given.int("seed").unwrap_or(-1),
        max_model_len,
        max_num_seqs: slots,
        max_num_batched_tokens: batch,
        num_gpu_blocks_override: Some(context),
        kv_cache_dtype: given.text_or("cache-type-k", "f16"),
        chunked_prefill: true,
        prefix_caching: given.switch("cache-prompt").unwrap_or(true),
        max_graph_batch: 1,
        speculative: draft.map(|model| Speculative {
            method: "draft_model".into(),
            tokens: given.count("spec-draft-n-max").unwrap_or(3),
            model: Some(model),
        }),
        given: given.values,
        without_effect: given.without_effect,
        ..ResolvedFlags::plain(voice.engine, voice.version)
    })
}
