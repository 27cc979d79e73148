//! A KV cache in FP8 on cards that do not compute in it.
//!
//! vLLM stored such a cache on every card before its second engine (0.8) and computed in 16 bits
//! (issues 3965 and 4827 of its repository). Since then it depends on the attention kernels: those
//! of FlashInfer convert (pull request 24577, seen on an A100), Triton's refuse E4M3 below
//! compute capability 8.9 ("type fp8e4nv not supported in this architecture", issue 26431), and
//! FlashAttention 2 has none. FlashInfer needs 7.5, so that nothing is left for a V100. What other
//! engines do there is not known here, and nothing is said of it.

use serde::Serialize;

use super::{EngineKind, Version};
use crate::model::Dtype;

/// Compute capability from which a card computes in FP8.
const NATIVE: f64 = 8.9;
/// The least for which FlashInfer has kernels.
const FLASHINFER: f64 = 7.5;
/// vLLM's second engine.
const SECOND_ENGINE: Version = Version::new(0, 8, 0);

/// What an engine does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fp8Cache {
    /// Stored in FP8, and converted to 16 bits in every step.
    Converted,
    /// The same with FlashInfer's kernels; others refuse it.
    ByFlashInfer,
    Refused,
}

impl Fp8Cache {
    /// Whether cards of this compute capability do.
    pub fn computes_in_fp8(capability: f64) -> bool {
        capability >= NATIVE
    }

    /// Absent where the card computes in FP8, where the cache is in another format, and where it
    /// is not known.
    pub fn of(
        engine: EngineKind,
        version: Version,
        kv_cache_dtype: &str,
        capability: Option<f64>,
    ) -> Option<Fp8Cache> {
        let capability = capability.filter(|it| *it < NATIVE)?;
        if engine != EngineKind::Vllm || Dtype::named(kv_cache_dtype) != Some(Dtype::Fp8) {
            return None;
        }
        Some(match () {
            () if version < SECOND_ENGINE => Fp8Cache::Converted,
            () if capability >= FLASHINFER => Fp8Cache::ByFlashInfer,
            () => Fp8Cache::Refused,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;

    #[test]
    fn a_cache_in_fp8_is_converted_or_refused_where_the_card_has_none() {
        use Fp8Cache::{ByFlashInfer, Converted, Refused};
        let of = |device: &str, version, dtype: &str| {
            let capability = Device::named(device).unwrap().capability;
            Fp8Cache::of(EngineKind::Vllm, version, dtype, capability)
        };
        let (old, new) = (Version::new(0, 6, 3), Version::new(0, 11, 0));
        for (device, dtype, then, now) in [
            ("v100-32g", "fp8", Some(Converted), Some(Refused)),
            ("a100-80g", "fp8_e5m2", Some(Converted), Some(ByFlashInfer)),
            ("a100-80g", "auto", None, None),
            ("h100", "fp8", None, None),
        ] {
            let found = (of(device, old, dtype), of(device, new, dtype));
            assert_eq!(found, (then, now), "{device}");
        }
    }
}
