//! Will it fit: how an engine divides a card between weights, activations, graphs, the system
//! and the KV cache, and what that cache holds.

mod layout;
mod mindie;
mod remedy;
mod shown;

pub use mindie::MindieSizes;
pub use remedy::Remedy;
pub use shown::SCHEMA;

use crate::flags::{Flag, command};
use crate::model::{KnownModel, Weights};
use inferometer_catalog::device::{Device, Kind, Parallel};
use inferometer_catalog::engine::command::CommandError;
use inferometer_catalog::engine::{
    DeviceClass, DeviceKind, EngineKind, ModelLimits, ResolvedFlags, Version, nearest_names,
    resolve,
};
use inferometer_catalog::memory::{GIB, Reserve, VllmMemory, overhead};
use inferometer_catalog::model::Dtype;
use layout::{Budget, Layout};
use serde::Serialize;
use thiserror::Error;

/// One combination of model, card, engine and flags.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The model.
    pub model: &'a KnownModel,
    /// The card.
    pub device: &'a Device,
    /// Cards of the host.
    pub cards: u32,
    /// Who divides it.
    pub engine: EngineKind,
    /// Its version; absent: the newest known.
    pub version: Option<Version>,
    /// Its flags, under vLLM's names or its own.
    pub flags: Vec<Flag>,
    /// Lengths at which concurrency is asked for; absent: the longest request.
    pub lengths: Option<Lengths>,
}

/// Tokens of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Lengths {
    /// Of the prompt.
    pub input: u32,
    /// Of the answer.
    pub output: u32,
}

impl Lengths {
    /// Both together.
    pub fn total(self) -> u64 {
        u64::from(self.input) + u64::from(self.output)
    }
}

/// A part of a card's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Weights.
    Weights,
    /// Activations at their peak.
    Activations,
    /// CUDA graphs.
    Graphs,
    /// Context, libraries, the driver.
    System,
    /// The KV cache.
    KvCache,
    /// What the engine leaves alone.
    Unused,
}

/// Whether it fits.
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

/// How a card is divided; all bytes are those of one card.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The model's name.
    pub model: String,
    /// The card's name.
    pub device: String,
    /// The engine.
    pub engine: EngineKind,
    /// Its version.
    pub version: Version,
    /// Cards that share the model.
    pub cards: u32,
    /// The card's memory.
    pub total: f64,
    /// Its parts; their sum is `total` where it fits.
    pub parts: Vec<(Part, f64)>,
    /// Weights, and how they are known.
    pub weights: Weights,
    /// Encoders of other modalities that the weights leave out, by their keys.
    pub left_out: Vec<&'static str>,
    /// What is left for the cache, or what the flags ask for it; negative where nothing is left.
    pub kv: f64,
    /// What the card has for a cache beside all else.
    pub room: f64,
    /// What a token takes.
    pub kv_per_token: f64,
    /// What the popular formula, with query heads in place of key/value heads, would say.
    pub popular_kv_per_token: f64,
    /// Format of the cache.
    pub kv_dtype: Dtype,
    /// Tokens of a block.
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
    /// Whether it fits.
    pub fit: Fit,
    /// What would make it fit.
    pub remedies: Vec<Remedy>,
    /// MindIE's own sizes.
    pub mindie: Option<MindieSizes>,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum MemoryError {
    /// The engine refuses its flags.
    #[error("{engine} refuses these flags: {message}{}", nearest.as_ref().map_or(String::new(), |name| format!("; the nearest name is {name}")))]
    Refused {
        /// The engine.
        engine: EngineKind,
        /// In its own words.
        message: String,
        /// The flag nearest to one that it does not know.
        nearest: Option<&'static str>,
    },
    /// The flags make no command line.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The weights' size under a method is not known.
    #[error(
        "how large weights are under quantization={0} is not known; give the quantised copy's own config.json, folder or URL, or one of awq, gptq, fp8, int8, mxfp4, nvfp4, bitsandbytes"
    )]
    Quantisation(String),
    /// No such flag of MindIE, or no such value.
    #[error("mindie: {0}")]
    Mindie(String),
    /// MindIE runs on Ascend.
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
            by_flags(question, &flags)
        }
        other => Err(MemoryError::UnknownEngine(other)),
    }
}

fn resolved(question: &Question<'_>) -> Result<ResolvedFlags, MemoryError> {
    let model = &question.model.model;
    let command = command(question.engine, &model.name, &question.flags)?;
    let class = DeviceClass {
        kind: match question.device.kind {
            Kind::Cuda => DeviceKind::Gpu,
            Kind::Ascend => DeviceKind::Npu,
        },
        name: question.device.title.clone(),
        memory_gib: question.device.memory_bytes() / GIB,
        count: question.cards,
    };
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

/// What the flags make of weights and cache.
struct Formats {
    weights: Weights,
    cache: Dtype,
}

fn formats(known: &KnownModel, flags: &ResolvedFlags) -> Result<Formats, MemoryError> {
    let model = &known.model;
    let asked = match flags.quantization.as_deref() {
        Some(method) => match Dtype::named(method) {
            // A method of many formats: the model's own files say which.
            None if model.is_quantised() => None,
            None => return Err(MemoryError::Quantisation(method.chars().take(60).collect())),
            wanted => wanted,
        },
        // Quantised weights stay so, whatever they are computed in.
        None => Dtype::named(&flags.dtype).filter(|_| !model.is_quantised()),
    };
    let dtype = asked.unwrap_or(model.dtype);
    let weights = match dtype.bytes() == model.dtype.bytes() {
        true => known.weights,
        false => Weights::Computed(model.stored_as(dtype).weight_bytes()),
    };
    Ok(Formats {
        weights,
        cache: Dtype::named(&flags.kv_cache_dtype).unwrap_or(dtype.cache()),
    })
}

fn by_flags(question: &Question<'_>, flags: &ResolvedFlags) -> Result<Answer, MemoryError> {
    let known = question.model;
    let formats = formats(known, flags)?;
    let parallel = Parallel {
        tensor: flags.tensor_parallel.max(1),
        pipeline: flags.pipeline_parallel.max(1),
    };
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let settings = VllmMemory {
        utilization: flags.gpu_memory_utilization,
        max_num_batched_tokens: narrow(flags.max_num_batched_tokens),
        max_num_seqs: narrow(flags.max_num_seqs),
        max_model_len: narrow(flags.max_model_len),
        block_size: narrow(flags.block_size).max(1),
        kv_dtype: formats.cache,
        enforce_eager: flags.enforce_eager,
        blocks_override: flags.num_gpu_blocks_override,
        reserve: match question.engine {
            EngineKind::Sglang => Reserve::Remainder,
            _ => Reserve::Profiled,
        },
    };
    let total = question.device.memory_bytes();
    let weights = formats.weights.bytes() / parallel.cards();
    let over = overhead(&known.model, &parallel, &settings);
    let left = over.cache(&settings, total, weights);
    let layout = Layout {
        known,
        parallel,
        dtype: formats.cache,
    };
    let token = layout.per_token();
    let block_size = settings.block_size;
    let kv = match (settings.blocks_override, flags.kv_cache_memory_bytes) {
        // SGLang counts tokens, and never takes more than is left.
        (Some(tokens), _) if settings.reserve == Reserve::Remainder => {
            left.min(tokens as f64 * token)
        }
        (Some(blocks), _) => blocks as f64 * token * f64::from(block_size),
        (None, Some(bytes)) => bytes as f64,
        (None, None) => left,
    };
    let budget = Budget {
        kv,
        room: over.room(total, weights),
    };
    let parts = vec![
        (Part::Weights, weights),
        (Part::Activations, over.activations),
        (Part::Graphs, over.graphs),
        (Part::System, over.non_torch),
        (Part::KvCache, kv.max(0.0)),
        (Part::Unused, budget.unused()),
    ];
    let cache = layout.cache(budget, block_size, flags.max_model_len, question.lengths);
    Ok(cache.answer(question, flags.version, parts, formats.weights, parallel))
}

#[cfg(test)]
mod tests;
