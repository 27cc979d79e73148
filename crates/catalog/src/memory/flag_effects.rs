//! Flags that change memory in ways of their own: those that are counted, and the names of those
//! that are not.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::engine::{EngineKind, ResolvedFlags, Value, Version};
use crate::model::{FeedForward, Model};
use crate::units::GIB;
use crate::with_defaults;

with_defaults! {
    /// What less usual flags change on a card.
    pub(super) struct FlagEffects {
        /// Bytes of weights that stay in the host's memory.
        pub offloaded: f64 = 0.0,
        /// Bytes of empty slots for adapters.
        pub adapters: f64 = 0.0,
        /// Cards that share the tokens of a sequence.
        pub context: u32 = 1,
        pub windows: Windows = Windows::Kept,
        /// Given flags that are not counted.
        pub not_counted: Vec<String> = Vec::new(),
    }
}

/// What layers with a window keep.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Windows {
    /// The tokens of the window.
    Kept,
    /// Every token.
    Ignored,
}

/// Flags of any engine that change memory, and whose effect depends on more than is known here.
static NOT_COUNTED: LazyLock<Vec<String>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Listed {
        not_counted: Vec<String>,
    }
    let listed: Listed = toml::from_str(include_str!("../../data/engine/flags_not_counted.toml"))
        .expect("the shipped list of flags parses");
    listed.not_counted
});

impl FlagEffects {
    pub fn of(flags: &ResolvedFlags, model: &Model, tensor: u32) -> FlagEffects {
        let number = |name: &str| flags.get(name).and_then(Value::as_f64);
        let mut not_counted: Vec<String> = (flags.given.iter())
            .filter(|(name, value)| NOT_COUNTED.contains(name) && **value != Value::Bool(false))
            .map(|(name, _)| name.clone())
            .collect();
        let mut adapters = 0.0;
        if flags.is_on("enable-lora") {
            let slots = number("max-loras").unwrap_or(1.0);
            let rank = number("max-lora-rank").unwrap_or(16.0);
            match adapter_bytes(model, tensor).filter(|_| flags.engine == EngineKind::Vllm) {
                Some(each) => adapters = slots.max(0.0) * rank.max(0.0) * each,
                None => not_counted.push("enable-lora".to_owned()),
            }
        }
        let context = flags.get("decode-context-parallel-size");
        let context = context.and_then(Value::as_i64);
        let context = context.and_then(|cards| u32::try_from(cards).ok());
        FlagEffects {
            offloaded: number("cpu-offload-gb").unwrap_or(0.0).max(0.0) * GIB,
            adapters,
            context: context.unwrap_or(1).max(1),
            windows: if flags.is_on("disable-hybrid-kv-cache-manager") || one_kind_of_layers(flags)
            {
                Windows::Ignored
            } else {
                Windows::Kept
            },
            not_counted,
        }
    }
}

/// Whether the engine keeps the same of all layers: vLLM until 0.9.1, which brought
/// `HybridKVCacheCoordinator`.
fn one_kind_of_layers(flags: &ResolvedFlags) -> bool {
    flags.engine == EngineKind::Vllm && flags.version < Version::new(0, 9, 1)
}

/// Bytes of one slot for an adapter of rank 1 on one card: two thin matrices of 16 bits beside
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
