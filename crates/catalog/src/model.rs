//! Shapes of models: parameters, weight bytes and KV bytes by data type and parallelism.
//!
//! Presets lie in `data/models.toml`; [`Model::from_config_json`] reads any other model's own
//! `config.json`.

mod config_json;
mod dtype;
pub mod folder;
mod known;
mod layers;
pub mod safetensors;
mod source;
mod weights;

use std::sync::LazyLock;

use crate::nearest::a_few;
use serde::{Deserialize, Serialize};

pub use config_json::{Described, ModelError};
pub use dtype::Dtype;
pub use known::{KnownModel, LARGEST_CONFIG, Weights};
pub use layers::{Layers, Recurrent};
pub use safetensors::SafetensorsError;
pub use source::SourceError;
pub use weights::{LayerBytes, Plain, Quantised, StepWeights};

/// The shape of a decoder-only transformer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Model {
    /// Name of the preset, or what the caller calls it.
    pub name: String,
    /// Hugging Face repositories of this shape whose name does not follow from `name`.
    #[serde(default)]
    pub repositories: Vec<String>,
    pub layers: u32,
    /// Width of the residual stream.
    pub hidden: u32,
    pub heads: u32,
    /// Key/value heads (fewer than `heads` under grouped-query attention).
    pub kv_heads: u32,
    /// Width of a head's key.
    pub head_dim: u32,
    /// Width of a dense feed-forward layer.
    pub intermediate: u32,
    #[serde(default)]
    pub feed_forward: FeedForward,
    pub vocabulary: u32,
    /// The longest context that the model was made for.
    pub max_position: u32,
    /// Whether the output layer reuses the embedding.
    #[serde(default)]
    pub tied_embeddings: bool,
    /// Whether query, key and value projections have a bias.
    #[serde(default)]
    pub attention_bias: bool,
    /// Format of the layers' weights.
    #[serde(default)]
    pub dtype: Dtype,
    /// What a quantised copy says beyond its format.
    #[serde(default)]
    pub quantised: Option<Quantised>,
    /// Tokens that attention looks back at, where it is not everything.
    #[serde(default)]
    pub sliding_window: Option<u32>,
    #[serde(default)]
    pub experts: Option<Experts>,
    #[serde(default)]
    pub mla: Option<Mla>,
    /// The layers by kind, where they are not all alike.
    #[serde(default)]
    pub mix: Option<Layers>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FeedForward {
    /// Up, down, and a gate beside up.
    #[default]
    Gated,
    Plain,
}

/// The routed part of a mixture-of-experts model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Experts {
    /// Routed experts in a layer.
    pub count: u32,
    /// Routed experts that a token visits.
    pub active: u32,
    /// Width of a routed expert.
    pub intermediate: u32,
    /// Width of the experts that every token visits, together.
    #[serde(default)]
    pub shared_intermediate: u32,
    #[serde(default)]
    pub dense_layers: u32,
}

/// Multi-head latent attention (DeepSeek-V2 and later): the cache holds one latent vector
/// per token instead of keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mla {
    /// Rank of the compressed query; 0 where queries are not compressed.
    pub query_rank: u32,
    /// Rank of the compressed keys and values.
    pub kv_rank: u32,
    /// Part of a key that carries no position.
    pub nope_dim: u32,
    /// Part of a key that carries the position.
    pub rope_dim: u32,
    /// Width of a head's value.
    pub value_dim: u32,
    /// What chooses the tokens that are attended to; absent: all are.
    #[serde(default)]
    pub indexer: Option<Indexer>,
}

/// Sparse attention (DeepSeek-V3.2, GLM-5): a small attention of its own, in 8 bits, looks at the
/// whole context and chooses the tokens that the layer attends to. Every card has all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Indexer {
    pub heads: u32,
    /// Width of a head; the key, which the heads share, is as wide.
    pub dim: u32,
    /// Tokens that are chosen.
    pub top: u32,
}

impl Indexer {
    /// Bytes of a token's key in one layer: 8 bits each and a scale.
    pub fn key_bytes(&self) -> f64 {
        f64::from(self.dim) + 4.0
    }

    /// Floating-point operations in one layer between one token and one token before it.
    pub fn flops_per_pair(&self) -> f64 {
        2.0 * f64::from(self.heads) * f64::from(self.dim)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Presets {
    model: Vec<Model>,
}

static PRESETS: LazyLock<Vec<Model>> = LazyLock::new(|| {
    let presets: Presets =
        toml::from_str(include_str!("../data/models.toml")).expect("the shipped models parse");
    presets.model
});

impl Model {
    pub fn presets() -> &'static [Model] {
        &PRESETS
    }

    /// A few names of presets, those nearest to one that is not known first.
    pub fn presets_near(name: &str) -> String {
        let names: Vec<&str> = PRESETS.iter().map(|model| model.name.as_str()).collect();
        // Of a repository, the name without the publisher's.
        a_few(&names, name.rsplit('/').next().unwrap_or(name))
    }

    /// A preset by its own name, by a Hugging Face repository or by the last part of a path
    /// (`Qwen/Qwen2.5-7B-Instruct`, `/weights/Qwen2.5-7B-Instruct-AWQ/`). The endings that
    /// publishers add are ignored, but for those of a quantised copy, which set the data type.
    pub fn named(name: &str) -> Option<Model> {
        let exact = |model: &&Model| {
            let mut repositories = model.repositories.iter();
            repositories.any(|repository| repository.eq_ignore_ascii_case(name))
        };
        if let Some(model) = PRESETS.iter().find(exact) {
            return Some(model.clone());
        }
        let last = name.trim_end_matches('/').rsplit('/').next()?;
        let mut short = last.to_ascii_lowercase().replace('_', "-");
        if let Some(rest) = short.strip_prefix("meta-") {
            short = rest.to_owned();
        }
        let mut dtype = None;
        loop {
            let is_so_called = |model: &&Model| {
                let mut names = model
                    .repositories
                    .iter()
                    .filter_map(|it| it.rsplit('/').next());
                model.name == short || names.any(|name| name.eq_ignore_ascii_case(&short))
            };
            if let Some(model) = PRESETS.iter().find(is_so_called) {
                return Some(match dtype {
                    Some(dtype) => model.stored_as(dtype),
                    None => model.clone(),
                });
            }
            let (rest, ending) = short.rsplit_once('-')?;
            dtype = match ending {
                "instruct" | "chat" | "base" | "hf" | "preview" | "it" => dtype,
                "v0.1" | "v1" | "v1.0" | "v1.5" => dtype,
                // Of an ending that nobody knows, the shape may be another.
                _ => {
                    let own = Dtype::named(ending)?;
                    Some(dtype.unwrap_or(own))
                }
            };
            short = rest.to_owned();
        }
    }

    /// Reads a model folder's `config.json`; one whose weights cannot be counted is refused.
    pub fn from_config_json(name: &str, text: &str) -> Result<Model, ModelError> {
        let described = Self::described(name, text)?;
        match described.uncountable {
            Some(error) => Err(error),
            None => Ok(described.model),
        }
    }

    /// All that a `config.json` says, for those who know the weights from elsewhere.
    pub fn described(name: &str, text: &str) -> Result<Described, ModelError> {
        config_json::read(name, text)
    }

    /// What chooses the tokens that are attended to, where not all are.
    pub fn indexer(&self) -> Option<Indexer> {
        self.mla?.indexer
    }

    /// Floating-point operations of attention between one token and one token before it.
    pub fn attention_flops_per_pair(&self) -> f64 {
        let width = match self.mla {
            Some(mla) => {
                f64::from(mla.nope_dim) + f64::from(mla.rope_dim) + f64::from(mla.value_dim)
            }
            None => 2.0 * f64::from(self.head_dim),
        };
        2.0 * width * f64::from(self.heads) * f64::from(self.kinds().attention())
    }
}

#[cfg(test)]
mod tests;
