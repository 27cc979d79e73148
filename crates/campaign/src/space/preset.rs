//! Spaces with a name: the flags of an engine that usually matter, with ranges.

use super::definition::{Dimension, SpaceError};
use super::domain::{Domain, Spacing};
use super::value::Value;
use inferometer_catalog::engine::EngineKind;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// `vllm-scheduler`.
    pub name: &'static str,
    pub engine: EngineKind,
    flags: &'static [(&'static str, Range)],
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Range {
    /// Powers of two between two bounds.
    Doubled(i64, i64),
    Shares([f64; 2], f64),
    Switch,
    Words(&'static [&'static str]),
    Numbers(&'static [i64]),
}

pub const PRESETS: &[Preset] = &[
    Preset {
        name: "vllm-scheduler",
        engine: EngineKind::Vllm,
        flags: &[
            ("max-num-seqs", Range::Doubled(16, 1024)),
            ("max-num-batched-tokens", Range::Doubled(256, 16384)),
            ("enable-chunked-prefill", Range::Switch),
            ("enable-prefix-caching", Range::Switch),
        ],
    },
    Preset {
        name: "vllm-memory",
        engine: EngineKind::Vllm,
        flags: &[
            ("gpu-memory-utilization", Range::Shares([0.8, 0.95], 0.05)),
            ("kv-cache-dtype", Range::Words(&["auto", "fp8"])),
            ("block-size", Range::Numbers(&[16, 32, 64])),
        ],
    },
    Preset {
        name: "sglang-scheduler",
        engine: EngineKind::Sglang,
        flags: &[
            ("max-running-requests", Range::Doubled(16, 1024)),
            ("chunked-prefill-size", Range::Doubled(512, 16384)),
            ("schedule-policy", Range::Words(&["fcfs", "lpm"])),
            ("disable-radix-cache", Range::Switch),
        ],
    },
    Preset {
        name: "mindie-scheduler",
        engine: EngineKind::Mindie,
        flags: &[
            (
                "BackendConfig.ScheduleConfig.maxBatchSize",
                Range::Doubled(16, 512),
            ),
            (
                "BackendConfig.ScheduleConfig.maxPrefillBatchSize",
                Range::Doubled(1, 64),
            ),
            (
                "BackendConfig.ScheduleConfig.maxPrefillTokens",
                Range::Doubled(2048, 32768),
            ),
            (
                "BackendConfig.ScheduleConfig.supportSelectBatch",
                Range::Switch,
            ),
        ],
    },
    Preset {
        name: "llama-server",
        engine: EngineKind::LlamaServer,
        flags: &[
            ("parallel", Range::Doubled(1, 64)),
            ("batch-size", Range::Doubled(512, 8192)),
            ("ubatch-size", Range::Doubled(128, 2048)),
        ],
    },
];

pub(super) fn named(name: &str) -> Result<&'static Preset, SpaceError> {
    let found = PRESETS.iter().find(|preset| preset.name == name);
    let known = || PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>();
    found.ok_or_else(|| SpaceError::UnknownPreset {
        given: name.to_owned(),
        known: known().join(", "),
    })
}

impl Preset {
    pub fn dimensions(&self) -> Vec<Dimension> {
        let flags = self.flags.iter();
        flags
            .map(|&(name, range)| (name, range.domain()).into())
            .collect()
    }
}

impl Range {
    fn domain(self) -> Domain {
        let domain = match self {
            Range::Doubled(low, high) => Domain::int(low, high, Spacing::Log(Some(2.0))),
            Range::Shares([low, high], step) => {
                Domain::float(low, high, Spacing::Linear(Some(step)))
            }
            Range::Switch => Ok(Domain::bool()),
            Range::Words(words) => Domain::choice(
                words
                    .iter()
                    .map(|&word| Value::Text(word.to_owned()))
                    .collect(),
            ),
            Range::Numbers(numbers) => {
                Domain::choice(numbers.iter().map(|&number| Value::Int(number)).collect())
            }
        };
        domain.expect("the presets are legal: a test makes them all")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_catalog::engine::flag;

    #[test]
    fn every_flag_of_a_preset_is_one_of_its_engine() {
        for preset in PRESETS {
            for dimension in preset.dimensions() {
                let known = flag(preset.engine, preset.engine.newest(), &dimension.name);
                let known = known.unwrap_or_else(|| panic!("{}", dimension.name));
                for level in dimension.domain.levels() {
                    if !matches!(level, Value::Bool(_)) {
                        assert!(
                            known.parse(&level.to_string()).is_ok(),
                            "{} {level}",
                            known.name
                        );
                    }
                }
            }
        }
    }
}
