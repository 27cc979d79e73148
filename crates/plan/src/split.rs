//! Prefill and decode on workers of their own: x workers compute prompts and hand what they computed
//! over a link to y workers, which answer.

use crate::flags::{Flag, restored, stored};
use inferometer_catalog::device::Device;
use inferometer_catalog::engine::EngineKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Split {
    /// Flags of a prefill worker; a switch is empty.
    prefill_flags: BTreeMap<String, String>,
    /// How many prefill workers there are, and how many that decode.
    pub workers: [u32; 2],
    /// GB/s at which each card sends keys and values.
    pub link_gbs: f64,
}

impl Split {
    /// Workers of which each has so many cards, linked as such cards are.
    pub fn new(prefill: &[Flag], workers: [u32; 2], cards: [u32; 2], device: &Device) -> Split {
        let mut split = Split {
            prefill_flags: stored(prefill),
            workers,
            link_gbs: 0.0,
        };
        split.link_gbs = device.path_gbs(split.cards(cards));
        split
    }

    /// Whether it is known how an engine's workers of two kinds are started.
    pub(crate) fn is_known_of(engine: EngineKind) -> bool {
        engine == EngineKind::Mindie || Side::Prefill.flag(engine).is_some()
    }

    pub fn prefill_flags(&self) -> Vec<Flag> {
        restored(&self.prefill_flags)
    }

    /// Cards of all workers, of which one has so many.
    pub fn cards(&self, [prefill, decode]: [u32; 2]) -> u32 {
        let [x, y] = self.workers;
        (x.saturating_mul(prefill)).saturating_add(y.saturating_mul(decode))
    }
}

/// A kind of worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Prefill,
    Decode,
}

impl Side {
    /// What tells an engine that it is a worker of this kind: vLLM its connector, SGLang and
    /// TensorRT-LLM their mode. Absent for engines that are told by a file.
    pub fn flag(self, engine: EngineKind) -> Option<Flag> {
        let (name, prefill, decode) = match engine {
            EngineKind::Vllm => (
                "kv-transfer-config",
                r#"{"kv_connector":"NixlConnector","kv_role":"kv_producer"}"#,
                r#"{"kv_connector":"NixlConnector","kv_role":"kv_consumer"}"#,
            ),
            EngineKind::Sglang => ("disaggregation-mode", "prefill", "decode"),
            EngineKind::Trtllm => ("server_role", "CONTEXT", "GENERATION"),
            EngineKind::Mindie | EngineKind::LlamaServer | EngineKind::Custom => return None,
        };
        let value = match self {
            Side::Prefill => prefill,
            Side::Decode => decode,
        };
        Some((name.to_owned(), Some(value.to_owned())))
    }
}
