//! Will it fit: how an engine divides a card between weights, activations, graphs, the system
//! and the KV cache, and what that cache holds.

mod counted;
mod division;
mod layout;
mod mindie;
mod remedy;
mod shown;

pub use mindie::MindieSizes;
pub use remedy::Remedy;
pub use shown::SCHEMA;

use crate::flags::{Flag, command};
use crate::model::{KnownModel, Weights};
use inferometer_catalog::device::{Device, Kind};
use inferometer_catalog::engine::command::CommandError;
use inferometer_catalog::engine::{
    DeviceClass, DeviceKind, EngineKind, ModelLimits, ResolvedFlags, Version, nearest_names,
    resolve,
};
use inferometer_catalog::memory::GIB;
use inferometer_catalog::model::Dtype;
use serde::Serialize;
use thiserror::Error;

/// One combination of model, card, engine and flags.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    pub model: &'a KnownModel,
    pub device: &'a Device,
    pub cards: u32,
    pub engine: EngineKind,
    /// Its version; absent: the newest known.
    pub version: Option<Version>,
    /// Its flags, under vLLM's names or its own.
    pub flags: Vec<Flag>,
    /// Those of them that tell this question from others that are asked with it.
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

/// A part of a card's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Part {
    Weights,
    Activations,
    Graphs,
    System,
    KvCache,
    /// What the engine leaves alone.
    Unused,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fit {
    /// It starts, and serves its longest request.
    Fits,
    /// Nothing is left for the cache; bytes that a card lacks for one block.
    NoCache(f64),
    /// The cache is too small for one request of the greatest length; bytes that a card lacks.
    TooLong(f64),
    /// The cache that the flags ask for has no room beside the rest; bytes that a card lacks.
    Cache(f64),
}

/// Consecutive layers on one group of cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShownStage {
    /// Which stage, from 1.
    pub number: u32,
    pub of: u32,
    pub layers: u32,
}

/// How a card is divided; all bytes are those of one card.
#[derive(Clone, Debug)]
pub struct Answer {
    pub model: String,
    pub device: String,
    pub engine: EngineKind,
    pub version: Version,
    pub cards: u32,
    /// Replicas, each with a cache of its own.
    pub replicas: u32,
    /// The stage of layers that the card holds, where there are several: the one whose cache
    /// holds the fewest tokens.
    pub stage: Option<ShownStage>,
    /// Flags that tell it from other answers.
    pub varied: Vec<Flag>,
    /// Given flags that change memory in ways which are not counted here.
    pub not_counted: Vec<String>,
    pub total: f64,
    /// Its parts; their sum is `total` where it fits.
    pub parts: Vec<(Part, f64)>,
    /// Weights of the whole model, and how they are known.
    pub weights: Weights,
    /// Encoders of other modalities that the weights leave out, by their keys.
    pub left_out: Vec<&'static str>,
    /// What is left for the cache, or what the flags ask for it; negative where nothing is left.
    pub kv: f64,
    /// What the card has for a cache beside all else.
    pub room: f64,
    pub kv_per_token: f64,
    /// What the popular formula, with query heads in place of key/value heads, would say.
    pub popular_kv_per_token: f64,
    pub kv_dtype: Dtype,
    pub block_size: u32,
    /// Blocks; absent where it does not fit.
    pub blocks: Option<u64>,
    /// Tokens that the cache holds; absent where it does not fit.
    pub kv_tokens: Option<u64>,
    /// Longest request that is allowed.
    pub max_model_len: u64,
    /// Longest request that the cache and the model could take; absent where none can.
    pub longest: Option<u64>,
    /// Tokens of a request for which `max_concurrency` holds.
    pub request_tokens: u64,
    /// Such requests at once; absent where it does not fit, and where they are longer than
    /// `max_model_len`.
    pub max_concurrency: Option<f64>,
    pub fit: Fit,
    /// What would make it fit.
    pub remedies: Vec<Remedy>,
    pub mindie: Option<MindieSizes>,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum MemoryError {
    /// The engine refuses its flags.
    #[error("{engine} refuses these flags: {message}{}", nearest.as_ref().map_or(String::new(), |name| format!("; the nearest name is {name}")))]
    Refused {
        engine: EngineKind,
        message: String,
        /// The flag nearest to one that it does not know.
        nearest: Option<&'static str>,
    },
    /// The flags make no command line.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// More cards than there are.
    #[error(
        "these flags need {needed} cards ({how}), and the host has {have}; ask for fewer, or say --cards {needed}"
    )]
    Cards {
        needed: u64,
        have: u32,
        /// Of what they are the product.
        how: String,
    },
    /// The weights' size under a method is not known.
    #[error(
        "how large weights are under quantization={0} is not known; give the quantised copy's own config.json, folder or URL, or one of awq, gptq, fp8, int8, mxfp4, nvfp4, bitsandbytes"
    )]
    Quantisation(String),
    /// No such flag of MindIE, or no such value.
    #[error("mindie: {0}")]
    Mindie(String),
    #[error("mindie runs on Ascend cards, and {0} is none; choose 910b3 or 910b4, or kind=ascend")]
    NotAscend(String),
    /// The planner does not know how it divides memory.
    #[error("how {0} divides memory is not known; choose vllm, sglang or mindie")]
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
    match question.engine {
        EngineKind::Mindie => mindie::divide(question),
        EngineKind::Vllm | EngineKind::Sglang => {
            let flags = resolved(question)?;
            division::divide(question, &flags)
        }
        other => Err(MemoryError::UnknownEngine(other)),
    }
}

fn class_of(device: &Device, count: u32) -> DeviceClass {
    DeviceClass {
        kind: match device.kind {
            Kind::Cuda => DeviceKind::Gpu,
            Kind::Ascend => DeviceKind::Npu,
        },
        name: device.title.clone(),
        memory_gib: device.memory_bytes() / GIB,
        count,
    }
}

fn resolved(question: &Question<'_>) -> Result<ResolvedFlags, MemoryError> {
    let model = &question.model.model;
    let command = command(question.engine, &model.name, &question.flags)?;
    let class = class_of(question.device, question.cards);
    let limits = ModelLimits {
        max_position: u64::from(model.max_position),
        heads: model.heads,
        multimodal: false,
    };
    let version = question.version.unwrap_or(question.engine.newest());
    resolve(&command, version, &class, &limits).map_err(|refusal| MemoryError::Refused {
        engine: question.engine,
        message: refusal.message,
        nearest: command.extra.iter().find_map(|stray| {
            let names = nearest_names(question.engine, version, &stray.word);
            names.first().copied()
        }),
    })
}

#[cfg(test)]
mod tests;
