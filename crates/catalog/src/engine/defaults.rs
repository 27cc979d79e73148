//! Defaults that depend on the device, the model or the version.

use serde::Serialize;

use super::Version;
use crate::device::{Device, Kind};
use crate::model::Model;
use crate::units::GIB;

/// What kind of device runs the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// A GPU by CUDA or HIP.
    Gpu,
    Npu,
    Cpu,
}

/// What defaults and refusals depend on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceClass {
    pub kind: DeviceKind,
    /// Its name as the driver gives it, such as `NVIDIA A100-SXM4-80GB`.
    pub name: String,
    pub memory_gib: f64,
    pub count: u32,
}

impl DeviceClass {
    /// A host with `count` of these cards.
    pub fn of(device: &Device, count: u32) -> DeviceClass {
        DeviceClass {
            kind: match device.kind {
                Kind::Cuda | Kind::Rocm => DeviceKind::Gpu,
                Kind::Ascend => DeviceKind::Npu,
            },
            name: device.title.clone(),
            memory_gib: device.memory_bytes() / GIB,
            count,
        }
    }
}

/// What refusals need to know of the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelLimits {
    /// The longest sequence that its configuration allows.
    pub max_position: u64,
    pub heads: u32,
    /// Heads of keys and values; absent where all heads share a latent, or nobody knows.
    pub kv_heads: Option<u32>,
    /// Does it take pictures or sound too?
    pub multimodal: bool,
    /// Is it known to have no experts?
    pub dense: bool,
}

impl ModelLimits {
    /// Whether so many cards can share a layer: each has as many heads as the others, and as many
    /// of keys and values, or a copy of one that as many others have.
    pub fn is_divided_by(&self, cards: u32) -> bool {
        self.heads.is_multiple_of(cards)
            && self
                .kv_heads
                .is_none_or(|kv| kv.is_multiple_of(cards) || cards.is_multiple_of(kv))
    }

    /// All such numbers up to `most`.
    pub fn divisors(&self, most: u32) -> Vec<u32> {
        (1..=most)
            .filter(|&cards| self.is_divided_by(cards))
            .collect()
    }

    /// What heads `cards` do not divide, in words.
    pub fn undivided_heads(&self, cards: u32) -> String {
        match self.kv_heads {
            Some(kv) if self.heads.is_multiple_of(cards) => format!("{kv} KV heads"),
            _ => format!("{} attention heads", self.heads),
        }
    }

    /// Those of a model of which only the text part is known.
    pub fn of(model: &Model) -> ModelLimits {
        ModelLimits {
            max_position: u64::from(model.max_position),
            heads: model.heads,
            kv_heads: model.mla.is_none().then_some(model.kv_heads),
            multimodal: false,
            dense: model.experts.is_none(),
        }
    }
}

/// In which role vLLM runs: its defaults differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageContext {
    /// `vllm serve`.
    ApiServer,
    /// `LLM(…)` in a script.
    LlmClass,
}

/// Tokens and sequences in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchDefaults {
    /// `max_num_batched_tokens`.
    pub tokens: u64,
    /// `max_num_seqs`.
    pub seqs: u64,
}

/// vLLM's batch defaults before they are fitted to the model.
///
/// From the sources of 0.6.3, 0.8.5, 0.9.2 and 0.32 (`get_batch_defaults`); the API server's
/// values for the CPU and for an H200 were also seen by running it.
pub fn vllm_batch_defaults(
    version: Version,
    device: &DeviceClass,
    context: UsageContext,
    world_size: u64,
) -> BatchDefaults {
    let pick = |server: u64, script: u64| match context {
        UsageContext::ApiServer => server,
        UsageContext::LlmClass => script,
    };
    if version < Version::new(0, 8, 0) {
        // Not by device then; without chunked prefill the model's length takes its place.
        let tokens = if version < Version::new(0, 6, 5) {
            512
        } else {
            2048
        };
        return BatchDefaults { tokens, seqs: 256 };
    }
    if device.kind == DeviceKind::Cpu && version >= Version::new(0, 9, 0) {
        if version < Version::new(0, 10, 0) {
            return BatchDefaults {
                tokens: pick(2048, 4096),
                seqs: pick(32, 128),
            };
        }
        return BatchDefaults {
            tokens: pick(2048, 4096).saturating_mul(world_size),
            seqs: pick(128, 256).saturating_mul(world_size),
        };
    }
    // A large batch slowed the A100, so that it was taken out in 0.9.
    let is_a100 = device.name.to_ascii_lowercase().contains("a100");
    let large = device.memory_gib >= 70.0 && !(is_a100 && version >= Version::new(0, 9, 0));
    if version >= Version::new(0, 28, 0) && device.memory_gib >= 160.0 {
        BatchDefaults {
            tokens: 16384,
            seqs: 1024,
        }
    } else if large {
        BatchDefaults {
            tokens: pick(8192, 16384),
            seqs: 1024,
        }
    } else {
        BatchDefaults {
            tokens: pick(2048, 8192),
            seqs: 256,
        }
    }
}

/// Is chunked prefill on by default?
///
/// Always since 0.8; before that only above 32k of context on a GPU (0.5.4 to 0.7, source).
pub fn vllm_chunked_by_default(
    version: Version,
    device: &DeviceClass,
    max_model_len: u64,
    multimodal: bool,
) -> bool {
    if version >= Version::new(0, 8, 0) {
        return true;
    }
    version >= Version::new(0, 5, 4)
        && max_model_len > 32768
        && device.kind == DeviceKind::Gpu
        && !multimodal
}

/// Is prefix caching on by default? Since 0.8 (source).
pub fn vllm_prefix_caching_by_default(version: Version) -> bool {
    version >= Version::new(0, 8, 0)
}

/// The KV block that vLLM chooses: 16 tokens, 128 on the CPU (run: 0.32).
pub fn vllm_block_size(device: &DeviceClass) -> u64 {
    match device.kind {
        DeviceKind::Cpu => 128,
        DeviceKind::Npu => 128,
        DeviceKind::Gpu => 16,
    }
}

/// SGLang's defaults by device memory (source of August 2026).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SglangDefaults {
    /// `chunked_prefill_size`.
    pub chunk: u64,
    /// Largest batch with a CUDA graph.
    pub graph_batch: u64,
    /// `mem_fraction_static`.
    pub memory_fraction: f64,
}

/// SGLang's defaults; `chunk` is what the user gave, if anything.
pub fn sglang_defaults(
    device: &DeviceClass,
    tp: u64,
    pp: u64,
    chunk: Option<i64>,
) -> SglangDefaults {
    let gib = device.memory_gib;
    let wide = tp >= 4;
    let (by_memory, graph_batch) = match gib {
        gib if gib < 20.0 => (2048, 8),
        gib if gib < 35.0 => (2048, if wide { 80 } else { 24 }),
        gib if gib < 60.0 => (4096, if wide { 160 } else { 32 }),
        gib if gib < 160.0 => (8192, if wide { 512 } else { 256 }),
        _ => (16384, 512),
    };
    let chunk_tokens = chunk
        .filter(|chunk| *chunk > 0)
        .map_or(by_memory, |chunk| chunk as u64);
    let active = if chunk.is_some_and(|chunk| chunk <= 0) {
        16384
    } else {
        chunk_tokens.max(2048)
    };
    // MiB kept back: constants, activations by token, large groups, graphs (about 2 MiB per sequence of the batch).
    let mut reserved = 512.0
        + active as f64 * 1.5
        + (tp.saturating_mul(pp)) as f64 / 8.0 * 1024.0
        + graph_batch as f64 * 2.0;
    if gib > 60.0 {
        reserved = f64::max(reserved, 10.0 * 1024.0);
    }
    let total = gib * 1024.0;
    let fraction = if total > reserved {
        (total - reserved) / total
    } else {
        0.1
    };
    SglangDefaults {
        chunk: chunk_tokens,
        graph_batch,
        memory_fraction: (fraction * 1000.0).round() / 1000.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(name: &str, memory_gib: f64) -> DeviceClass {
        DeviceClass {
            kind: DeviceKind::Gpu,
            name: name.into(),
            memory_gib,
            count: 1,
        }
    }

    fn server(version: Version, device: &DeviceClass) -> (u64, u64) {
        let defaults = vllm_batch_defaults(version, device, UsageContext::ApiServer, 1);
        (defaults.tokens, defaults.seqs)
    }

    /// What the function of vLLM 0.32 gave for pretended devices.
    #[test]
    fn batch_defaults_are_those_of_the_real_function() {
        let rows: Vec<(String, f64, u64, u64, u64, u64)> = serde_json::from_str(include_str!(
            "../../../../fixtures/engine/vllm/batch-defaults.json"
        ))
        .unwrap();
        for (name, memory, server_tokens, server_seqs, tokens, seqs) in rows {
            let device = gpu(&name, memory);
            let new = Version::new(0, 32, 0);
            assert_eq!(server(new, &device), (server_tokens, server_seqs), "{name}");
            let script = vllm_batch_defaults(new, &device, UsageContext::LlmClass, 1);
            assert_eq!((script.tokens, script.seqs), (tokens, seqs), "{name}");
        }
    }

    #[test]
    fn batch_defaults_follow_the_version() {
        let h200 = gpu("NVIDIA H200", 139.8);
        assert_eq!(server(Version::new(0, 6, 3), &h200), (512, 256));
        assert_eq!(server(Version::new(0, 8, 5), &h200), (8192, 1024));
        assert_eq!(
            server(Version::new(0, 26, 0), &gpu("NVIDIA B200", 180.0)),
            (8192, 1024)
        );
        assert_eq!(
            server(Version::new(0, 8, 5), &gpu("NVIDIA A100-SXM4-80GB", 79.2)),
            (8192, 1024)
        );
    }

    #[test]
    fn sglang_keeps_ten_gib_free_on_large_devices() {
        let defaults = sglang_defaults(&gpu("NVIDIA H100", 79.6), 1, 1, None);
        assert_eq!(defaults.chunk, 8192);
        assert!(defaults.memory_fraction < 0.88 && defaults.memory_fraction > 0.7);
    }
}
