//! Shapes of models: parameters, weight bytes and KV bytes by data type and parallelism.
//!
//! Presets lie in `data/models.toml`; [`Model::from_config_json`] reads any other model's own
//! `config.json`.

mod config_json;
mod dtype;

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

pub use config_json::ModelError;
pub use dtype::Dtype;

/// The shape of a decoder-only transformer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Name of the preset, or what the caller calls it.
    pub name: String,
    /// Hugging Face repositories of this shape whose name does not follow from `name`.
    #[serde(default)]
    pub repositories: Vec<String>,
    /// Transformer layers.
    pub layers: u32,
    /// Width of the residual stream.
    pub hidden: u32,
    /// Query heads.
    pub heads: u32,
    /// Key/value heads (fewer than `heads` under grouped-query attention).
    pub kv_heads: u32,
    /// Width of a head's key.
    pub head_dim: u32,
    /// Width of a dense feed-forward layer.
    pub intermediate: u32,
    /// Entries of the vocabulary.
    pub vocabulary: u32,
    /// The longest context that the model was made for.
    pub max_position: u32,
    /// Whether the output layer reuses the embedding.
    #[serde(default)]
    pub tied_embeddings: bool,
    /// Whether query, key and value projections have a bias.
    #[serde(default)]
    pub attention_bias: bool,
    /// Format of the weights.
    #[serde(default)]
    pub dtype: Dtype,
    /// Tokens that attention looks back at, where it is not everything.
    #[serde(default)]
    pub sliding_window: Option<u32>,
    /// Mixture of experts.
    #[serde(default)]
    pub experts: Option<Experts>,
    /// Multi-head latent attention.
    #[serde(default)]
    pub mla: Option<Mla>,
}

/// The routed part of a mixture-of-experts model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    /// First layers that are dense.
    #[serde(default)]
    pub dense_layers: u32,
}

/// Multi-head latent attention (DeepSeek-V2 and later): the cache holds one latent vector a
/// token instead of keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
}

/// Parameters by the part of the model that they belong to.
struct Parameters {
    /// Everything in the layers that every token passes.
    common: u128,
    /// One routed expert, in all layers that have experts.
    expert: u128,
    embedding: u128,
    output: u128,
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
    /// All presets.
    pub fn presets() -> &'static [Model] {
        &PRESETS
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
            if let Some(model) = PRESETS.iter().find(|model| model.name == short) {
                let mut model = model.clone();
                model.dtype = dtype.unwrap_or(model.dtype);
                return Some(model);
            }
            let (rest, ending) = short.rsplit_once('-')?;
            dtype = match ending {
                "instruct" | "chat" | "base" | "hf" | "preview" | "it" => dtype,
                "v0.1" | "v1" | "v1.0" | "v1.5" => dtype,
                _ => Some(dtype.or(Dtype::named(ending))?),
            };
            short = rest.to_owned();
        }
    }

    /// Reads a model folder's `config.json` with the key names of Llama, Qwen2, Mistral, Mixtral
    /// and DeepSeek.
    pub fn from_config_json(name: &str, text: &str) -> Result<Model, ModelError> {
        config_json::read(name, text)
    }

    fn count(&self) -> Parameters {
        let wide = u128::from;
        let (hidden, heads) = (wide(self.hidden), wide(self.heads));
        let attention = match self.mla {
            Some(mla) => {
                let key = wide(mla.nope_dim) + wide(mla.rope_dim);
                let query = match wide(mla.query_rank) {
                    0 => hidden * heads * key,
                    rank => hidden * rank + rank + rank * heads * key,
                };
                let (rank, value) = (wide(mla.kv_rank), wide(mla.value_dim));
                query
                    + hidden * (rank + wide(mla.rope_dim))
                    + rank
                    + rank * heads * (wide(mla.nope_dim) + value)
                    + heads * value * hidden
            }
            None => {
                let query = heads * wide(self.head_dim);
                let key = wide(self.kv_heads) * wide(self.head_dim);
                let bias = if self.attention_bias {
                    query + 2 * key
                } else {
                    0
                };
                2 * hidden * query + 2 * hidden * key + bias
            }
        };
        let feed_forward = |width: u32| 3 * hidden * wide(width);
        let layers = wide(self.layers);
        let (dense, moe_common, expert, sparse) = match self.experts {
            None => (layers, 0, 0, 0),
            Some(experts) => {
                let dense = wide(experts.dense_layers.min(self.layers));
                let router = hidden * wide(experts.count);
                let common = router + feed_forward(experts.shared_intermediate);
                (
                    dense,
                    common,
                    feed_forward(experts.intermediate),
                    layers - dense,
                )
            }
        };
        let embedding = wide(self.vocabulary) * hidden;
        Parameters {
            common: layers * (attention + 2 * hidden)
                + dense * feed_forward(self.intermediate)
                + sparse * moe_common
                + hidden,
            expert: sparse * expert,
            embedding,
            output: if self.tied_embeddings { 0 } else { embedding },
        }
    }

    /// All parameters.
    pub fn parameters(&self) -> u64 {
        let count = self.count();
        let experts = self.experts.map_or(0, |experts| u128::from(experts.count));
        narrow(count.common + experts * count.expert + count.embedding + count.output)
    }

    /// Parameters that one token uses.
    pub fn active_parameters(&self) -> u64 {
        let count = self.count();
        let experts = self.experts.map_or(0, |experts| u128::from(experts.active));
        narrow(count.common + experts * count.expert + count.embedding + count.output)
    }

    /// Parameters of the layers that one token is multiplied with, without embedding and output.
    pub fn active_layer_parameters(&self) -> f64 {
        let count = self.count();
        let experts = self.experts.map_or(0, |experts| u128::from(experts.active));
        (count.common + experts * count.expert) as f64
    }

    /// Parameters of the output layer, which only the last token of a sequence passes.
    pub fn output_parameters(&self) -> f64 {
        self.count().embedding as f64
    }

    /// Bytes of all weights. Embedding and output stay at 16 bits in quantised models.
    pub fn weight_bytes(&self) -> f64 {
        let count = self.count();
        let experts = self.experts.map_or(0, |experts| u128::from(experts.count));
        (count.common + experts * count.expert) as f64 * self.dtype.bytes()
            + (count.embedding + count.output) as f64 * self.dtype.bytes().max(2.0)
    }

    /// Bytes of weights that a step reads which carries `tokens` tokens: of routed experts only
    /// those that some token visits, taking routing as even.
    pub fn weight_bytes_read(&self, tokens: f64) -> f64 {
        let count = self.count();
        let touched = self.experts.map_or(0.0, |experts| {
            let total = f64::from(experts.count).max(1.0);
            let missed = (1.0 - (f64::from(experts.active) / total).min(1.0)).powf(tokens);
            total * (1.0 - missed)
        });
        (count.common as f64 + touched * count.expert as f64) * self.dtype.bytes()
            + count.embedding as f64 * self.dtype.bytes().max(2.0)
    }

    /// Bytes that a token takes in the KV cache of one card. Heads are divided by tensor
    /// parallelism and repeated where there are fewer than cards; a latent is never divided.
    pub fn kv_bytes_per_token(&self, tensor_parallel: u32, dtype: Dtype) -> f64 {
        let numbers = match self.mla {
            Some(mla) => f64::from(mla.kv_rank) + f64::from(mla.rope_dim),
            None => {
                let heads = self.kv_heads.div_ceil(tensor_parallel.max(1)).max(1);
                f64::from(heads) * 2.0 * f64::from(self.head_dim)
            }
        };
        numbers * f64::from(self.layers) * dtype.bytes()
    }

    /// Floating-point operations of attention between one token and one token before it.
    pub fn attention_flops_per_pair(&self) -> f64 {
        let width = match self.mla {
            Some(mla) => {
                f64::from(mla.nope_dim) + f64::from(mla.rope_dim) + f64::from(mla.value_dim)
            }
            None => 2.0 * f64::from(self.head_dim),
        };
        2.0 * width * f64::from(self.heads) * f64::from(self.layers)
    }

    /// How many of `context` tokens attention looks at.
    pub fn attended(&self, context: u64) -> u64 {
        self.sliding_window
            .map_or(context, |window| context.min(u64::from(window)))
    }
}

fn narrow(count: u128) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preset(name: &str) -> Model {
        Model::named(name).unwrap_or_else(|| panic!("no preset {name}"))
    }

    #[test]
    fn parameter_counts_are_those_that_publishers_state() {
        for (name, billions) in [
            ("qwen2-0.5b", 0.494),
            ("qwen1.5-7b", 7.721),
            ("qwen2.5-7b", 7.616),
            ("qwen2.5-14b", 14.77),
            ("qwen2.5-32b", 32.76),
            ("qwen2.5-72b", 72.71),
            ("llama-3.1-8b", 8.030),
            ("llama-3.1-70b", 70.55),
            ("deepseek-coder-6.7b", 6.74),
            ("sus-chat-34b", 34.39),
            ("mixtral-8x7b", 46.70),
            ("qwq-32b", 32.76),
            ("deepseek-v3", 671.0),
        ] {
            let count = preset(name).parameters() as f64 / 1e9;
            assert!((count / billions - 1.0).abs() < 0.002, "{name}: {count} B");
        }
        assert_eq!(preset("llama-3.1-8b").parameters(), 8_030_261_248);
        assert_eq!(preset("qwen2.5-7b").parameters(), 7_615_616_512);
    }

    #[test]
    fn a_mixture_of_experts_uses_a_part_of_its_parameters() {
        let mixtral = preset("mixtral-8x7b").active_parameters() as f64 / 1e9;
        assert!((mixtral - 12.9).abs() < 0.1, "{mixtral}");
        let deepseek = preset("deepseek-v3").active_parameters() as f64 / 1e9;
        assert!((deepseek - 37.0).abs() < 1.0, "{deepseek}");
    }

    #[test]
    fn a_step_reads_the_experts_that_its_tokens_visit() {
        let model = preset("mixtral-8x7b");
        let one = model.weight_bytes_read(1.0);
        let many = model.weight_bytes_read(256.0);
        assert!((one / 2e9 - 12.75).abs() < 0.1, "{one}");
        assert!((many / 2e9 - 46.57).abs() < 0.1, "{many}");
    }

    #[test]
    fn the_cache_counts_key_value_heads_not_query_heads() {
        let llama = preset("llama-3.1-8b");
        assert_eq!(llama.kv_bytes_per_token(1, Dtype::Bf16), 131_072.0);
        assert_eq!(llama.kv_bytes_per_token(2, Dtype::Bf16), 65_536.0);
        assert_eq!(llama.kv_bytes_per_token(1, Dtype::Fp8), 65_536.0);
        let deepseek = preset("deepseek-v3");
        assert_eq!(
            deepseek.kv_bytes_per_token(8, Dtype::Bf16),
            576.0 * 61.0 * 2.0
        );
    }

    #[test]
    fn heads_are_repeated_where_there_are_fewer_than_cards() {
        let qwen = preset("qwen2.5-7b");
        assert_eq!(
            qwen.kv_bytes_per_token(8, Dtype::Bf16),
            qwen.kv_bytes_per_token(4, Dtype::Bf16)
        );
    }

    #[test]
    fn models_are_found_by_repository_and_by_path() {
        for (name, preset) in [
            ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"),
            ("Qwen/Qwen1.5-7B-Chat", "qwen1.5-7b"),
            ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b"),
            ("meta-llama/Llama-3.1-70B", "llama-3.1-70b"),
            ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"),
            (
                "deepseek-ai/deepseek-coder-6.7b-instruct",
                "deepseek-coder-6.7b",
            ),
            ("SUSTech/SUS-Chat-34B", "sus-chat-34b"),
            ("/weights/qwq32b_mindie/QwQ-32B/", "qwq-32b"),
            ("deepseek-ai/DeepSeek-R1", "deepseek-v3"),
        ] {
            assert_eq!(
                Model::named(name).map(|model| model.name),
                Some(preset.to_owned()),
                "{name}"
            );
        }
        for unknown in ["", "/", "gpt2", "Qwen/Qwen2.5-7B-Coder", "-", "qwen2.5-7b-"] {
            assert_eq!(Model::named(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn the_name_of_a_quantised_copy_sets_the_data_type() {
        let model = preset("Qwen/Qwen2.5-7B-Instruct-AWQ");
        assert_eq!(model.dtype, Dtype::Int4);
        let gb = model.weight_bytes() / 1e9;
        assert!((gb - 5.58).abs() < 0.06, "{gb}");
        assert_eq!(
            preset("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8").dtype,
            Dtype::Int8
        );
    }
}
