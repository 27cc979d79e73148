//! The answer: how a card is divided, as people and programs read it.

use super::{Lengths, MindieSizes, Question, Remedy};
use crate::flags::Flag;
use inferometer_catalog::engine::{EngineKind, Fp8Cache, Version};
use inferometer_catalog::memory::{CardStage, Division, Fit, KvLayout};
use inferometer_catalog::model::{Dtype, Weights};
use inferometer_catalog::units::GIB;
use serde::Serialize;
use serde_json::{Value, json};

pub const SCHEMA: &str = "inferometer.memory/1";

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

/// How a card is divided; all bytes are those of one card.
#[derive(Clone, Debug)]
pub struct Answer {
    pub model: String,
    pub device: String,
    pub engine: EngineKind,
    pub version: Version,
    pub cards: u64,
    /// Replicas, each with a cache of its own.
    pub replicas: u32,
    /// The stage of layers that the card holds, where there are several: the one whose cache
    /// holds the fewest tokens.
    pub stage: Option<CardStage>,
    pub varied: Vec<Flag>,
    /// Given flags that change memory in ways which are not counted here.
    pub not_counted: Vec<String>,
    /// What the engine warns of when it starts.
    pub warnings: Vec<String>,
    /// What the engine does with a KV cache in FP8, where the card does not compute in it.
    pub fp8_cache: Option<Fp8Cache>,
    pub total: f64,
    /// Their sum is `total` where it fits.
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
    /// Absent where it does not fit.
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

impl Answer {
    pub(super) fn new(
        question: &Question<'_>,
        version: Version,
        lengths: Option<Lengths>,
        division: Division,
    ) -> Answer {
        let layout = &division.layout;
        let engine = question.command.engine;
        let (fit, kv, room) = (division.fit(), division.kv, division.room());
        let mut parts = vec![
            (Part::Weights, division.weights),
            (Part::Activations, division.activations),
            (Part::Graphs, division.graphs),
            (Part::System, division.system),
            (Part::KvCache, kv.max(0.0)),
            (Part::Unused, (room - kv.max(0.0)).max(0.0)),
        ];
        parts.retain(|(part, _)| engine != EngineKind::Mindie || *part != Part::Graphs);
        let exists = !matches!(fit, Fit::NoCache(_) | Fit::Cache(_));
        let size = u64::from(layout.block_size);
        let longest = division.max_model_len;
        let request_tokens = lengths.map_or(longest, Lengths::total).max(1);
        let served = fit == Fit::Fits && request_tokens <= longest;
        let parallelism = question.command.parallelism();
        Answer {
            model: question.model.model.name.clone(),
            device: question.device.name.clone(),
            engine,
            version,
            cards: parallelism.cards(),
            replicas: parallelism.replicas,
            stage: division.stage,
            varied: question.varied.clone(),
            total: division.total,
            parts,
            left_out: match division.model_weights {
                Weights::Computed(_) => question.model.left_out.clone(),
                Weights::Stored(_) => Vec::new(),
            },
            weights: division.model_weights,
            kv,
            room,
            kv_per_token: layout.token_bytes(),
            popular_kv_per_token: popular_token_bytes(layout),
            kv_dtype: layout.dtype,
            block_size: layout.block_size,
            blocks: exists.then_some(division.blocks),
            kv_tokens: exists.then(|| division.kv_tokens()),
            max_model_len: longest,
            // A request takes whole blocks.
            longest: (layout.longest_request(kv.min(room))).map(|tokens| tokens / size * size),
            request_tokens,
            max_concurrency: served.then(|| division.concurrency(request_tokens)),
            fit,
            remedies: Vec::new(),
            mindie: None,
            not_counted: division.not_counted,
            warnings: Vec::new(),
            fp8_cache: None,
        }
    }

    /// How many times the popular formula overstates the cache.
    pub fn popular_factor(&self) -> f64 {
        self.popular_kv_per_token / self.kv_per_token
    }

    /// Bytes that a card lacks; `None` where it fits.
    pub fn lacking(&self) -> Option<f64> {
        match self.fit {
            Fit::Fits => None,
            Fit::NoCache(bytes) | Fit::TooLong(bytes) | Fit::Cache(bytes) => Some(bytes),
        }
    }

    /// The object that `plan memory --format json` prints.
    pub fn to_json(&self) -> Value {
        let part = |(part, bytes): &(Part, f64)| json!({ "name": part, "gib": bytes / GIB });
        let parts: Vec<Value> = self.parts.iter().map(part).collect();
        let weights = self.parts.iter().find(|(part, _)| *part == Part::Weights);
        let varied: serde_json::Map<String, Value> = (self.varied.iter())
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        json!({
            "schema": SCHEMA,
            "model": self.model,
            "device": self.device,
            "engine": self.engine.word(),
            "version": self.version.to_string(),
            "cards": self.cards,
            "replicas": self.replicas,
            "stage": self.stage,
            "varied": varied,
            "flags_not_counted": self.not_counted,
            "warnings": self.warnings,
            "fp8_cache": self.fp8_cache,
            "fits": self.fit == Fit::Fits,
            "lacking_gib": self.lacking().map(|bytes| bytes / GIB),
            "total_gib": self.total / GIB,
            "weights_gib": weights.map(|(_, bytes)| bytes / GIB),
            "weights_from": match self.weights {
                Weights::Computed(_) => "shape",
                Weights::Stored(_) => "safetensors",
            },
            "weights_without": self.left_out,
            "kv_bytes_per_token": self.kv_per_token,
            "kv_dtype": self.kv_dtype,
            "popular_kv_bytes_per_token": self.popular_kv_per_token,
            "popular_factor": self.popular_factor(),
            "kv_gib": self.kv / GIB,
            "kv_tokens": self.kv_tokens,
            "block_size": self.block_size,
            "blocks": self.blocks,
            "max_model_len": self.max_model_len,
            "largest_max_model_len": self.longest,
            "request_tokens": self.request_tokens,
            "max_concurrency": self.max_concurrency,
            "parts": parts,
            "remedies": self.remedies,
            "mindie": self.mindie,
        })
    }
}

/// Bytes per token by query heads, as popular posts compute it.
fn popular_token_bytes(layout: &KvLayout) -> f64 {
    let model = &layout.model;
    let head = match model.mla {
        Some(mla) => f64::from(mla.nope_dim) + f64::from(mla.value_dim),
        None => 2.0 * f64::from(model.head_dim),
    };
    let heads = f64::from(model.heads) / f64::from(layout.tensor.max(1));
    f64::from(model.layers) * layout.share * heads * head * layout.dtype.bytes()
}
