//! Accelerators: memory, speed, links. Presets lie in `data/devices.toml`.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::model::Dtype;
use crate::nearest::a_few;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Cuda,
    Rocm,
    Ascend,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    pub name: String,
    /// The name that its driver reports.
    pub title: String,
    pub kind: Kind,
    /// Cards with the same kernels, where coefficients were fitted for them together.
    pub generation: Option<String>,
    /// Memory that the driver offers a process, MiB.
    pub memory_mib: u64,
    /// Dense 16-bit TFLOP/s.
    pub half_tflops: f64,
    /// Dense 8-bit TFLOP/s, where the card has them.
    pub fp8_tflops: Option<f64>,
    /// Dense 4-bit TFLOP/s, where the card has them.
    pub fp4_tflops: Option<f64>,
    /// Memory bandwidth, GB/s.
    pub bandwidth_gbs: f64,
    /// One direction of the fastest path between two cards, GB/s.
    pub link_gbs: f64,
    /// Cards that this path reaches.
    #[serde(default = "of_host")]
    pub link_cards: u32,
    /// Whether it computes in bfloat16.
    #[serde(default = "yes")]
    pub bf16: bool,
    /// CUDA's compute capability, where the card is older than FP8.
    pub capability: Option<f64>,
    /// Greatest power of the board, W, where it is published.
    pub board_watts: Option<f64>,
}

fn yes() -> bool {
    true
}

fn of_host() -> u32 {
    8
}

/// GB/s between cards of several hosts: a 400 Gb/s adapter for each card, as in the usual servers of
/// eight.
const NETWORK_GBS: f64 = 50.0;

/// How a model is spread over cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Parallel {
    /// Cards that share each layer.
    pub tensor: u32,
    /// Groups of cards that hold consecutive layers.
    pub pipeline: u32,
    pub experts: ExpertGroup,
    /// A library of its own (DeepEP) brings tokens to the cards of their experts, whose products
    /// then hold the tokens of all replicas.
    pub grouped_experts: bool,
}

/// How cards share routed experts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExpertGroup {
    /// Each card has a slice of every expert.
    #[default]
    Sliced,
    /// So many cards have some of the experts each; other replicas may be among them.
    Whole(u32),
}

impl Default for Parallel {
    fn default() -> Parallel {
        Parallel::tensor(1)
    }
}

impl Parallel {
    /// One group of cards that share each layer.
    pub fn tensor(tensor: u32) -> Parallel {
        Parallel {
            tensor,
            pipeline: 1,
            experts: ExpertGroup::Sliced,
            grouped_experts: false,
        }
    }

    /// Cards in all; at least 1.
    pub fn cards(&self) -> f64 {
        f64::from(self.tensor.max(1)) * f64::from(self.pipeline.max(1))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Presets {
    device: Vec<Device>,
}

static PRESETS: LazyLock<Vec<Device>> = LazyLock::new(|| {
    let presets: Presets =
        toml::from_str(include_str!("../data/devices.toml")).expect("the shipped devices parse");
    presets.device
});

impl Device {
    pub fn presets() -> &'static [Device] {
        &PRESETS
    }

    /// A few names of presets, those nearest to one that is not known first.
    pub fn presets_near(name: &str) -> String {
        let names: Vec<&str> = PRESETS.iter().map(|device| device.name.as_str()).collect();
        a_few(&names, name)
    }

    /// What is wrong with the value of an option that names no card.
    pub fn unknown(option: &str, value: &str) -> String {
        let counted = value
            .split_once(':')
            .and_then(|(card, _)| Device::named(card));
        if let Some(card) = counted {
            let card = &card.name;
            return format!(
                "{option} takes a card without a number, here {card}: how many serve is said by the flags of the engine, such as --tensor-parallel-size"
            );
        }
        let known = Device::presets_near(value);
        format!(
            "{option} {value} is not known; choose one of: {known} (see inferometer sim --help)"
        )
    }

    /// A preset by its name or by the name that its driver reports, in any case.
    pub fn named(name: &str) -> Option<&'static Device> {
        let mut presets = PRESETS.iter();
        presets.find(|device| {
            device.name.eq_ignore_ascii_case(name) || device.title.eq_ignore_ascii_case(name)
        })
    }

    /// Memory that the driver offers a process, bytes.
    pub fn memory_bytes(&self) -> f64 {
        self.memory_mib as f64 * 1024.0 * 1024.0
    }

    /// Dense operations per second on weights of a format. Formats that are only stored small
    /// are multiplied in 16 bits.
    pub fn flops(&self, dtype: Dtype) -> f64 {
        let tflops = match dtype {
            Dtype::F32 => self.half_tflops / 2.0,
            Dtype::Fp8 | Dtype::Int8 => self.fp8_tflops.unwrap_or(self.half_tflops),
            Dtype::Bf16 | Dtype::F16 => self.half_tflops,
            Dtype::Nvfp4 | Dtype::Mxfp4 => self.fp4_tflops.unwrap_or(self.half_tflops),
            Dtype::Int4 | Dtype::Nf4 => self.half_tflops,
        };
        tflops * 1e12
    }

    /// Memory bandwidth, bytes per second.
    pub fn bandwidth(&self) -> f64 {
        self.bandwidth_gbs * 1e9
    }

    /// Bytes per second between two cards.
    pub fn link(&self) -> f64 {
        self.link_gbs * 1e9
    }

    /// One direction of the path between two of so many cards, GB/s: beyond those that its own
    /// link reaches, the network's.
    pub fn path_gbs(&self, cards: u32) -> f64 {
        if cards <= self.link_cards {
            self.link_gbs
        } else {
            self.link_gbs.min(NETWORK_GBS)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_that_users_name_is_there() {
        let names = "t4 v100-32g a100-40g a100-80g a800 l4 l20 l40s h20 h800 h100 h200 b200 b300 \
                     gb200 gb300 rtx-pro-6000 mi300x mi325x mi355x 910b1 910b2 910b3 910b4 910c";
        for name in names.split(' ') {
            assert!(Device::named(name).is_some(), "{name}");
        }
        let h200 = Device::named("nvidia h200").unwrap();
        assert_eq!(h200.name, "h200");
        assert_eq!(Device::named("abacus"), None);
    }

    #[test]
    fn every_figure_of_a_device_is_positive() {
        for device in Device::presets() {
            let name = &device.name;
            for figure in [
                device.memory_bytes(),
                device.bandwidth(),
                device.link(),
                device.half_tflops,
            ] {
                assert!(figure > 0.0, "{name}");
            }
            // Of Ascend cards none is published.
            let watts = device.board_watts;
            assert_eq!(watts.is_none(), device.kind == Kind::Ascend, "{name}");
            assert!(watts.is_none_or(|watts| (50.0..2000.0).contains(&watts)));
        }
    }
}
