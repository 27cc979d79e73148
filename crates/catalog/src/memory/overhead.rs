//! What a card holds beside weights and cache.

use super::{MemorySettings, Profile, Reserve};
use crate::device::{Device, Kind, Parallel};
use crate::model::{Experts, Model};
use crate::units::GIB;

/// What a step takes of a card beside weights and cache, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activations {
    /// Of the residual stream, for each token.
    stream: f64,
    /// Of a dense feed-forward layer, for each token.
    dense: f64,
    /// Buffers of the experts, for each token.
    workspace: f64,
    per_sequence: f64,
    keeps_workspace: bool,
}

impl Activations {
    /// Gate, up and their product of one feed-forward layer and a few copies of the residual
    /// stream for each token; logits in 32 bits for each sequence, gathered on every card.
    pub fn new(model: &Model, parallel: &Parallel) -> Activations {
        Activations::profiled(model, parallel, Profile::default())
    }

    /// The same as an engine's own measure finds them.
    pub(super) fn profiled(model: &Model, parallel: &Parallel, profile: Profile) -> Activations {
        let tensor = f64::from(parallel.tensor.max(1));
        let workspace = (model.experts).map_or(0.0, |experts| {
            expert_workspace(&experts, model, tensor, profile)
        });
        let width = match model.kinds().dense {
            0 => 0.0,
            _ => f64::from(model.intermediate) / tensor,
        };
        Activations {
            stream: 4.0 * f64::from(model.hidden) * 2.0,
            dense: 3.0 * width * 2.0,
            workspace,
            per_sequence: f64::from(model.vocabulary) * 4.0 * profile.sampler_numbers,
            keeps_workspace: profile.keeps_workspace,
        }
    }

    /// The peak of a step with these numbers of tokens and sequences.
    pub fn peak(&self, tokens: u32, sequences: u32) -> f64 {
        let (tokens, sequences) = (f64::from(tokens), f64::from(sequences));
        let drawn = sequences * self.per_sequence;
        if self.keeps_workspace {
            tokens * self.workspace + drawn.max(tokens * (self.stream + self.dense))
        } else {
            drawn.max(tokens * (self.stream + self.dense.max(self.workspace)))
        }
    }
}

/// Two buffers with a copy of a token for each expert that it visits: gate and up, or the expert's
/// result, whichever is wider; and what goes into its last matrix. Since these come from one place
/// for all layers, both are as wide as the residual stream (`TritonExperts.workspace_shapes`).
fn expert_workspace(experts: &Experts, model: &Model, tensor: f64, profile: Profile) -> f64 {
    let hidden = f64::from(model.hidden);
    let width = f64::from(experts.intermediate) / tensor;
    let wide = (2.0 * width).max(hidden);
    let narrow = if profile.keeps_workspace {
        width.max(hidden)
    } else {
        width
    };
    f64::from(experts.active) * (wide + narrow) * 2.0
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
            Reserve::Profiled if settings.profile.counts_graphs => {
                share - self.activations - self.graphs
            }
            Reserve::Profiled => share - self.activations,
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

/// What communication adds over PCIe: profiles of two and more RTX 4090 say 0.20 to 0.25 GiB with all else
/// (issue 13061, pull request 14447).
const OVER_PCIE: f64 = 0.08 * GIB;
/// HCCL's buffers to send and to receive, 200 MB each for a group of cards.
const OF_HCCL: f64 = 0.4e9;
/// Slower links between cards are PCIe's, GB/s.
const SLOWEST_NVLINK: f64 = 100.0;

fn communication(device: &Device, profile: Profile) -> f64 {
    match device.kind {
        Kind::Ascend => OF_HCCL,
        Kind::Cuda | Kind::Rocm if device.link_gbs < SLOWEST_NVLINK => OVER_PCIE,
        Kind::Cuda | Kind::Rocm => profile.nvlink_gib * GIB,
    }
}

pub(super) fn overhead(
    model: &Model,
    device: &Device,
    parallel: &Parallel,
    settings: &MemorySettings,
) -> Overhead {
    let profile = settings.profile;
    let alone = profile.context_gib * GIB;
    Overhead {
        activations: Activations::profiled(model, parallel, profile)
            .peak(settings.max_num_batched_tokens, settings.max_num_seqs),
        non_torch: match parallel.tensor {
            0 | 1 => alone,
            _ => alone + communication(device, profile),
        },
        graphs: if settings.enforce_eager {
            0.0
        } else {
            graph_bytes(model, settings)
        },
    }
}

/// Graphs keep their workspaces, which grow with the layers where nothing better is known.
fn graph_bytes(model: &Model, settings: &MemorySettings) -> f64 {
    match settings.profile.graph_mb {
        Some(each) => f64::from(captured_graphs(settings.max_num_seqs)) * each * 1e6,
        None => f64::from(model.layers) * 6.0e6,
    }
}

/// Graphs that vLLM captures: of mixed steps up to twice the sequences, and of decoding alone
/// (`_set_cudagraph_sizes`).
fn captured_graphs(max_num_seqs: u32) -> u32 {
    let mixed = max_num_seqs.saturating_mul(2).min(512);
    captured_sizes(mixed) + captured_sizes(max_num_seqs.min(mixed))
}

/// 1, 2, 4, then every eighth size below 256 and every sixteenth from there.
fn captured_sizes(most: u32) -> u32 {
    let small = [1, 2, 4].iter().filter(|size| **size <= most).count() as u32;
    let eighths = most.min(248) / 8;
    let sixteenths = if most < 256 { 0 } else { (most - 256) / 16 + 1 };
    small + eighths + sixteenths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Version;

    fn held(device: &str, tensor: u32, version: Version) -> Overhead {
        let parallel = Parallel::tensor(tensor);
        let model = Model::named("llama-3.1-8b").unwrap();
        let device = Device::named(device).unwrap();
        let settings = MemorySettings {
            profile: Profile::of_vllm(version),
            ..MemorySettings::default()
        };
        overhead(&model, device, &parallel, &settings)
    }

    #[test]
    fn cards_on_pcie_hold_small_buffers_and_those_on_nvlink_large_ones() {
        let (old, new) = (Version::new(0, 10, 2), Version::new(0, 32, 0));
        let gib = |device, tensor, version| held(device, tensor, version).non_torch / GIB;
        for version in [old, new] {
            let pcie = gib("rtx-4090", 2, version);
            assert!((0.20..=0.25).contains(&pcie), "{pcie}");
            assert_eq!(gib("h100", 1, version), gib("rtx-4090", 1, version));
        }
        assert!(gib("h100", 2, old) > 1.7);
        let since = gib("h100", 2, new);
        assert!((0.4..0.8).contains(&since), "{since}");
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
                profile: Profile::of_vllm(version),
                ..MemorySettings::default()
            };
            let model = Model::named("llama-3.1-8b").unwrap();
            let device = Device::named("h100").unwrap();
            overhead(&model, device, &Parallel::default(), &settings).activations
        };
        let (sorting, kernel) = (bytes(Version::new(0, 10, 1)), bytes(Version::new(0, 32, 0)));
        assert!(sorting > 3.0 * kernel, "{sorting} {kernel}");
        assert_eq!(sorting, bytes(Version::new(0, 6, 3)));
    }

    #[test]
    fn graphs_are_captured_for_the_sizes_that_logs_show() {
        assert_eq!((captured_sizes(512), captured_sizes(256)), (51, 35));
        assert_eq!((captured_sizes(32), captured_sizes(16)), (7, 5));
        assert_eq!(captured_graphs(256), 86);
        assert_eq!(captured_graphs(1024), 102);
        assert_eq!(captured_graphs(1), 3);
    }
}
