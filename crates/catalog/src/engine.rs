//! Facts about serving engines: how they are started, which flags they know, what they refuse and
//! in which words, what their logs and metrics say.
//!
//! The flow is `words → LaunchCommand → ResolvedFlags`, or a [`Refusal`] on the way. Each table
//! says where its facts come from: "run" means an engine that was run for it.

pub mod command;
pub mod defaults;
pub mod failure;
mod failure_class;
pub mod flag;
mod fp8_cache;
pub mod log;
pub mod metric;
pub mod mindie;
mod parallelism;
pub mod refusal;
pub mod repair;
pub mod resolve;
mod resolved;
pub mod value;
pub mod version;
pub mod words;

pub use crate::nearest::nearest;
pub use command::{Form, GivenFlag, LaunchCommand, Stray};
pub use defaults::{DeviceClass, DeviceKind, ModelLimits, UsageContext};
pub use failure::Failure;
pub use failure_class::FailureClass;
pub use flag::{
    Flag, Lookup, Restart, flag, flags, in_other_version, lookup, name_for, nearest_names,
};
pub use fp8_cache::Fp8Cache;
pub use log::{Fact, read_line, ready_line, write_line};
pub use metric::{Metric, MetricKind, metrics};
pub use parallelism::Parallelism;
pub use refusal::{Refusal, Rule};
pub use repair::{Change, Repaired, repair};
pub use resolve::resolve;
pub use resolved::{Policy, ResolvedFlags, Speculative};
pub use value::{Kind, Value};
pub use version::Version;

use serde::{Deserialize, Serialize};

/// The engines that we know; anything else is [`EngineKind::Custom`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(strum::Display, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum EngineKind {
    Vllm,
    Sglang,
    /// Huawei's MindIE, configured by a file.
    Mindie,
    /// NVIDIA's TensorRT-LLM, by `trtllm-serve`.
    Trtllm,
    /// llama.cpp's `llama-server`.
    LlamaServer,
    /// Any other command: no flag of it is understood.
    #[default]
    Custom,
}

impl EngineKind {
    /// The word for it on our own command line.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The newest version whose facts the tables hold.
    pub fn newest(self) -> Version {
        match self {
            Self::Vllm => Version::new(0, 32, 0),
            Self::Sglang => Version::new(0, 5, 18),
            Self::Mindie => Version::new(2, 3, 0),
            Self::Trtllm => Version::new(1, 2, 0),
            // llama.cpp counts builds, not versions.
            Self::LlamaServer | Self::Custom => Version::new(0, 0, 0),
        }
    }

    /// The port that it listens on unless told otherwise.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Vllm | Self::Trtllm | Self::Custom => 8000,
            Self::Sglang => 30000,
            Self::Mindie => 1025,
            Self::LlamaServer => 8080,
        }
    }
}
