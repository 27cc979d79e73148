//! Will it fit: how an engine divides a card between weights, activations, graphs, the system
//! and the KV cache, and what that cache holds.

mod answer;
mod mindie;
mod remedy;

pub use answer::{Answer, Part, SCHEMA};
pub use inferometer_catalog::memory::Fit;
pub use mindie::MindieSizes;
pub use remedy::Remedy;

use crate::flags::Flag;
use crate::refusal::with_remedy;
use inferometer_catalog::device::Device;
use inferometer_catalog::engine::{
    DeviceClass, EngineKind, Fp8Cache, LaunchCommand, ModelLimits, ResolvedFlags, Rule, Version,
    nearest_names, resolve,
};
use inferometer_catalog::memory::{self, UnknownQuantization};
use inferometer_catalog::model::KnownModel;
use serde::Serialize;
use thiserror::Error;

/// One combination of model, card, engine and flags.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    pub model: &'a KnownModel,
    pub device: &'a Device,
    /// Cards of the host.
    pub cards: u32,
    /// What starts the engine; MindIE's has the keys of its configuration file for flags.
    pub command: LaunchCommand,
    /// Absent: as the command says, or the newest known.
    pub version: Option<Version>,
    /// Flags that tell this question from others that are asked with it.
    pub varied: Vec<Flag>,
    /// Lengths at which concurrency is asked for; absent: the longest request.
    pub lengths: Option<Lengths>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lengths {
    pub input: u32,
    pub output: u32,
}

impl Lengths {
    pub fn total(self) -> u64 {
        u64::from(self.input) + u64::from(self.output)
    }
}

#[derive(Debug, Error)]
pub enum MemoryError {
    #[error("{engine} refuses these flags: {message}{}", nearest.as_ref().map_or(String::new(), |name| format!("; the nearest name is {name}")))]
    Refused {
        engine: EngineKind,
        message: String,
        /// The flag nearest to one that it does not know.
        nearest: Option<&'static str>,
    },
    #[error(
        "these flags need {needed} cards ({how}), and the host has {have}; ask for fewer, or say --cards {needed}"
    )]
    Cards {
        needed: u64,
        have: u32,
        /// Of what they are the product.
        how: String,
    },
    #[error(transparent)]
    Quantization(#[from] UnknownQuantization),
    /// No such key of MindIE's configuration, or no such value.
    #[error("mindie: {0}")]
    Mindie(String),
    #[error(
        "mindie runs on Ascend cards, and {0} is not one; choose 910b3 or 910b4, or kind=ascend"
    )]
    NotAscend(String),
    #[error("how {0} divides memory is not known; choose vllm, sglang, trtllm or mindie")]
    UnknownEngine(EngineKind),
}

/// How the card is divided, and what would help where it does not fit.
pub fn answer(question: &Question<'_>) -> Result<Answer, MemoryError> {
    let mut answer = divide(question)?;
    if answer.fit != Fit::Fits {
        answer.remedies = remedy::remedies(question, &answer);
    }
    Ok(answer)
}

fn divide(question: &Question<'_>) -> Result<Answer, MemoryError> {
    match question.command.engine {
        EngineKind::Mindie => mindie::divide(question),
        EngineKind::Vllm | EngineKind::Sglang | EngineKind::Trtllm => {
            let flags = resolved(question)?;
            refuse_too_many_cards(question, &flags)?;
            let division = memory::divide(&flags, question.model, question.device)?;
            let lengths = question.lengths;
            let (engine, version) = (question.command.engine, flags.version);
            let capability = question.device.capability;
            Ok(Answer {
                fp8_cache: Fp8Cache::of(engine, version, &flags.kv_cache_dtype, capability),
                warnings: flags.warnings,
                ..Answer::new(question, version, lengths, division)
            })
        }
        other => Err(MemoryError::UnknownEngine(other)),
    }
}

fn resolved(question: &Question<'_>) -> Result<ResolvedFlags, MemoryError> {
    let command = &question.command;
    let class = DeviceClass::of(question.device, question.cards);
    let limits = ModelLimits::of(&question.model.model);
    let version = command.version(question.version);
    resolve(command, version, &class, &limits).map_err(|refusal| MemoryError::Refused {
        engine: command.engine,
        message: with_remedy(&refusal, &limits, question.cards),
        nearest: {
            let strays = command.extra.iter().map(|stray| stray.word.as_str());
            let is_unknown = refusal.rule == Rule::UnknownFlag && refusal.hint.is_none();
            let unknown = is_unknown.then_some(refusal.flag.as_str());
            let mut words = strays.chain(unknown);
            words.find_map(|word| {
                let names = nearest_names(command.engine, version, word);
                names.first().copied()
            })
        },
    })
}

/// Flags that put a part of the replicas or of the layers on other hosts.
const OTHER_HOSTS: [&str; 3] = [
    "nnodes",
    "data-parallel-size-local",
    "data-parallel-address",
];

fn refuse_too_many_cards(
    question: &Question<'_>,
    flags: &ResolvedFlags,
) -> Result<(), MemoryError> {
    let parallelism = flags.parallelism();
    let needed = parallelism.cards();
    let elsewhere = OTHER_HOSTS.iter().any(|name| flags.get(name).is_some());
    if needed <= u64::from(question.cards) || elsewhere {
        return Ok(());
    }
    let (tensor, pipeline) = (parallelism.tensor, parallelism.pipeline);
    let mut how = format!("{tensor} tensor × {pipeline} pipeline");
    if !parallelism.replicas_share_cards {
        how += &format!(" × {} data parallel", parallelism.replicas);
    }
    Err(MemoryError::Cards {
        needed,
        have: question.cards,
        how,
    })
}

#[cfg(test)]
mod tests;
