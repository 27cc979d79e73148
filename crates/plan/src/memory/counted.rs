//! Flags that change memory in ways of their own: those that are counted, and the names of those
//! that are not.

use inferometer_catalog::engine::{EngineKind, ResolvedFlags, Value};
use inferometer_catalog::memory::GIB;
use inferometer_catalog::model::{FeedForward, Model};

/// What a flag beside the usual ones changes on a card.
pub(super) struct Extras {
    /// Bytes of weights that stay in the host's memory.
    pub offloaded: f64,
    /// Bytes of empty places for adapters.
    pub adapters: f64,
    /// Cards that share the tokens of a sequence.
    pub context: u32,
    /// Whether layers with a window keep every token.
    pub windows: Windows,
    /// Given flags that are not counted.
    pub not_counted: Vec<String>,
}

/// What layers with a window keep.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Windows {
    /// The tokens of the window.
    Kept,
    Ignored,
}

/// Flags that change memory, and whose effect depends on more than is known here.
const NOT_COUNTED: &[&str] = &[
    // vLLM
    "kv-transfer-config",
    "speculative-config",
    "spec-model",
    "spec-method",
    "speculative-model",
    "prefill-context-parallel-size",
    "enable-dbo",
    "enable-eplb",
    "eplb-config",
    "num-redundant-experts",
    "all2all-backend",
    "compilation-config",
    "cudagraph-capture-sizes",
    "max-cudagraph-capture-size",
    "limit-mm-per-prompt",
    "mamba-cache-dtype",
    "mamba-ssm-cache-dtype",
    "enable-prompt-embeds",
    "fully-sharded-loras",
    "hf-overrides",
    "additional-config",
    "offload-backend",
    "offload-group-size",
    "cpu-offload-params",
    "offload-params",
    "lora-target-modules",
    // SGLang
    "speculative-algorithm",
    "speculative-draft-model-path",
    "lora-paths",
    "disaggregation-mode",
    "swa-full-tokens-ratio",
    "disable-hybrid-swa-memory",
    "mamba-full-memory-ratio",
    "max-mamba-cache-size",
    "enable-two-batch-overlap",
    "ep-num-redundant-experts",
    "moe-a2a-backend",
    "deepep-mode",
    "enable-symm-mem",
    "attention-context-parallel-size",
    "moe-data-parallel-size",
    "moe-dense-tp-size",
    "enable-dp-lm-head",
    "json-model-override-args",
];

impl Extras {
    pub fn of(flags: &ResolvedFlags, model: &Model, tensor: u32) -> Extras {
        let number = |name: &str| flags.get(name).and_then(Value::as_f64);
        let mut not_counted: Vec<String> = (flags.given.iter())
            .filter(|(name, value)| {
                NOT_COUNTED.contains(&name.as_str()) && **value != Value::Bool(false)
            })
            .map(|(name, _)| name.clone())
            .collect();
        let mut adapters = 0.0;
        if is_on(flags, "enable-lora") {
            let slots = number("max-loras").unwrap_or(1.0);
            let rank = number("max-lora-rank").unwrap_or(16.0);
            match adapter_bytes(model, tensor).filter(|_| flags.engine == EngineKind::Vllm) {
                Some(each) => adapters = slots.max(0.0) * rank.max(0.0) * each,
                None => not_counted.push("enable-lora".to_owned()),
            }
        }
        Extras {
            offloaded: number("cpu-offload-gb").unwrap_or(0.0).max(0.0) * GIB,
            adapters,
            context: flags
                .get("decode-context-parallel-size")
                .and_then(Value::as_i64)
                .and_then(|cards| u32::try_from(cards).ok())
                .unwrap_or(1)
                .max(1),
            windows: match is_on(flags, "disable-hybrid-kv-cache-manager") {
                true => Windows::Ignored,
                false => Windows::Kept,
            },
            not_counted,
        }
    }
}

pub(super) fn is_on(flags: &ResolvedFlags, name: &str) -> bool {
    flags.get(name) == Some(&Value::Bool(true))
}

/// Bytes of one place for an adapter of rank 1 on one card: two thin matrices of 16 bits beside
/// each projection, of which tensor parallelism divides the end that its own matrix divides.
/// Absent where experts or latents make other shapes.
fn adapter_bytes(model: &Model, tensor: u32) -> Option<f64> {
    if model.experts.is_some() || model.mla.is_some() {
        return None;
    }
    let cards = f64::from(tensor.max(1));
    let hidden = f64::from(model.hidden);
    let query = f64::from(model.heads) * f64::from(model.head_dim) / cards;
    let key = f64::from(model.kv_heads) * f64::from(model.head_dim) / cards;
    let width = f64::from(model.intermediate) / cards;
    let attention = 3.0 * hidden + query + 2.0 * key + (query + hidden);
    let feed_forward = match model.feed_forward {
        FeedForward::Gated => 2.0 * hidden + 2.0 * width + (width + hidden),
        FeedForward::Plain => hidden + width + (width + hidden),
    };
    let kinds = model.kinds();
    let numbers = f64::from(kinds.attention()) * attention + f64::from(kinds.dense) * feed_forward;
    Some(numbers * 2.0)
}
