//! What a card holds beside weights and cache.

use super::{MemorySettings, Reserve};
use crate::device::{Device, Kind, Parallel};
use crate::engine::Version;
use crate::model::Model;
use crate::units::GIB;

/// How vLLM draws tokens from logits, which its trial run does for as many sequences as it allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampler {
    /// With FlashInfer's kernel, which needs logits and probabilities.
    #[default]
    Kernel,
    /// By sorting the vocabulary: values, places, probabilities, their sums and the way back.
    Sorting,
}

impl Sampler {
    /// That of a version of vLLM: its own engine of 0.8 sorts, until FlashInfer's kernel became
    /// the default (pull request 40376, spring of 2026).
    pub fn of_vllm(version: Version) -> Sampler {
        let sorts = version >= Version::new(0, 8, 0) && version < Version::new(0, 20, 0);
        if sorts {
            Sampler::Sorting
        } else {
            Sampler::Kernel
        }
    }

    /// Numbers of 32 bits for each entry of the vocabulary. Nine for sorting: gpt-oss-120b left
    /// 7.4 GiB less for the cache than weights and share say, with 8192 and with 1024 tokens
    /// per step alike (issues 23278 and 27508), of which 1024 sequences × 201,088 entries are 6.9.
    fn numbers(self) -> f64 {
        match self {
            Sampler::Kernel => 2.0,
            Sampler::Sorting => 9.0,
        }
    }
}

/// What a step takes of a card beside weights and cache, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activations {
    per_token: f64,
    per_sequence: f64,
}

impl Activations {
    /// Gate, up and their product of one feed-forward layer and a few copies of the residual
    /// stream for each token; logits in 32 bits for each sequence, gathered on every card.
    pub fn new(model: &Model, parallel: &Parallel) -> Activations {
        let tensor = f64::from(parallel.tensor.max(1));
        let width = match model.experts {
            // Every token is copied once for each expert that it visits.
            Some(experts) => {
                let routed = f64::from(experts.active) * f64::from(experts.intermediate);
                routed.max(f64::from(model.intermediate))
            }
            None => f64::from(model.intermediate),
        };
        Activations {
            per_token: (3.0 * width / tensor + 4.0 * f64::from(model.hidden)) * 2.0,
            per_sequence: logits(model, Sampler::Kernel),
        }
    }

    pub fn sampled_by(self, model: &Model, sampler: Sampler) -> Activations {
        Activations {
            per_sequence: logits(model, sampler),
            ..self
        }
    }

    /// The peak of a step with these numbers of tokens and sequences.
    pub fn peak(&self, tokens: u32, sequences: u32) -> f64 {
        let layer = f64::from(tokens) * self.per_token;
        layer.max(f64::from(sequences) * self.per_sequence)
    }
}

fn logits(model: &Model, sampler: Sampler) -> f64 {
    f64::from(model.vocabulary) * 4.0 * sampler.numbers()
}

/// What a card holds beside weights and cache, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Overhead {
    pub activations: f64,
    /// Context and libraries, outside the allocator.
    pub non_torch: f64,
    pub graphs: f64,
}

impl Overhead {
    /// What the settings give to the cache beside `weights`; negative where nothing is left.
    pub fn cache(&self, settings: &MemorySettings, total: f64, weights: f64) -> f64 {
        let share = settings.utilization * total - weights - self.non_torch;
        match settings.reserve {
            Reserve::Profiled => share - self.activations - self.graphs,
            Reserve::Remainder => share,
            Reserve::Free => {
                let rest = self.non_torch + self.activations + self.graphs;
                settings.utilization * (total - weights - rest)
            }
        }
    }
}

/// What the system of an Ascend card holds at rest: of 64 GiB npu-smi shows 3.3 in use
/// (vllm-ascend's issue 1903), and frameworks see 60.9 to 61.3 (pull request 8289, issue 6611).
pub(super) const ASCEND_SYSTEM: f64 = 3.4 * GIB;

/// The memory of a card that its framework sees, bytes: shares are taken of this.
pub(super) fn seen_by_framework(device: &Device) -> f64 {
    match device.kind {
        Kind::Cuda | Kind::Rocm => device.memory_bytes(),
        Kind::Ascend => (device.memory_bytes() - ASCEND_SYSTEM).max(0.0),
    }
}

/// Context and libraries on a card that serves alone.
const ALONE: f64 = 0.15 * GIB;
/// What communication adds over NVLink: vLLM's own profile of Llama-3-8B says 3.58 GiB on two
/// H100 and 1.79 GiB on one (pull request 10511).
const OVER_NVLINK: f64 = 1.79 * GIB;
/// The same over PCIe: profiles of two and more RTX 4090 say 0.20 to 0.25 GiB with all else
/// (issue 13061, pull request 14447).
const OVER_PCIE: f64 = 0.08 * GIB;
/// HCCL's buffers to send and to receive, 200 MB each for a group of cards.
const OF_HCCL: f64 = 0.4e9;
/// Slower links between cards are PCIe's, GB/s.
const SLOWEST_NVLINK: f64 = 100.0;

fn communication(device: &Device) -> f64 {
    match device.kind {
        Kind::Ascend => OF_HCCL,
        Kind::Cuda | Kind::Rocm if device.link_gbs < SLOWEST_NVLINK => OVER_PCIE,
        Kind::Cuda | Kind::Rocm => OVER_NVLINK,
    }
}

pub(super) fn overhead(
    model: &Model,
    device: &Device,
    parallel: &Parallel,
    settings: &MemorySettings,
) -> Overhead {
    Overhead {
        activations: Activations::new(model, parallel)
            .sampled_by(model, settings.sampler)
            .peak(settings.max_num_batched_tokens, settings.max_num_seqs),
        non_torch: match parallel.tensor {
            0 | 1 => ALONE,
            _ => ALONE + communication(device),
        },
        graphs: if settings.enforce_eager {
            0.0
        } else {
            graph_bytes(model)
        },
    }
}

/// Graphs keep their workspaces, which grow with the layers.
fn graph_bytes(model: &Model) -> f64 {
    f64::from(model.layers) * 6.0e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(device: &str, tensor: u32) -> Overhead {
        let parallel = Parallel::tensor(tensor);
        let model = Model::named("llama-3.1-8b").unwrap();
        let device = Device::named(device).unwrap();
        overhead(&model, device, &parallel, &MemorySettings::default())
    }

    #[test]
    fn cards_on_pcie_hold_small_buffers_and_those_on_nvlink_large_ones() {
        let gib = |device, tensor| held(device, tensor).non_torch / GIB;
        let pcie = gib("rtx-4090", 2);
        assert!((0.20..=0.25).contains(&pcie), "{pcie}");
        assert!(gib("h100", 2) > 1.7);
        assert_eq!(gib("h100", 1), gib("rtx-4090", 1));
    }

    #[test]
    fn an_ascend_card_shows_its_framework_less_than_it_has() {
        let seen = |name| seen_by_framework(Device::named(name).unwrap()) / GIB;
        assert!((seen("910b3") - 60.96).abs() < 0.5, "{}", seen("910b3"));
        assert!(seen("910b4") < 29.5);
        assert_eq!(
            seen("h100"),
            Device::named("h100").unwrap().memory_bytes() / GIB
        );
    }

    #[test]
    fn versions_that_sort_the_vocabulary_take_more_for_it() {
        let bytes = |version| {
            let settings = MemorySettings {
                sampler: Sampler::of_vllm(version),
                ..MemorySettings::default()
            };
            let model = Model::named("llama-3.1-8b").unwrap();
            let device = Device::named("h100").unwrap();
            overhead(&model, device, &Parallel::default(), &settings).activations
        };
        let (sorting, kernel) = (bytes(Version::new(0, 10, 1)), bytes(Version::new(0, 32, 0)));
        assert!(sorting > 3.0 * kernel, "{sorting} {kernel}");
        assert_eq!(kernel, bytes(Version::new(0, 6, 3)));
    }
}
