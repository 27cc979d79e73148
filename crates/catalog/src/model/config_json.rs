//! A model folder's `config.json`.

mod keys;
mod kinds;
mod pattern;
mod quantisation;
mod recurrent;

use serde_json::Value;
use thiserror::Error;

use super::{Dtype, Experts, FeedForward, Indexer, Mla, Model};
use keys::Config;
use kinds::Routed;

/// Why a `config.json` was not understood.
#[derive(Debug, Error)]
#[error("config.json of {model}: {problem}")]
pub struct ModelError {
    model: String,
    problem: Problem,
}

#[derive(Debug, Error)]
enum Problem {
    #[error("not a JSON object: {0}")]
    NotJson(String),
    /// A key is absent that the shape needs.
    #[error("no `{0}`; is this a decoder-only transformer?")]
    Missing(&'static str),
    /// A value is not a whole number in its range.
    #[error("`{key}` is {value}, expected a whole number from {least} to {most}")]
    Range {
        key: &'static str,
        value: String,
        least: u32,
        most: u32,
    },
    #[error(
        "a '{0}' has states and no attention, so that there is no KV cache to plan; choose a model with attention"
    )]
    NoAttention(String),
    /// A word that does not name a kind of layer.
    #[error("layers of kind '{0}' are not known, so that their cache cannot be computed")]
    Kind(String),
    /// As many kinds as layers are needed.
    #[error("{given} kinds are given for {layers} layers")]
    KindCount { given: usize, layers: u32 },
    #[error("it has layers with a state, and no `{0}` to compute its size from")]
    State(&'static str),
    #[error(
        "`{0}` speaks of linear or state-space layers, but nothing says which layers they are; add `layer_types`, a word for each layer"
    )]
    Which(String),
    /// Nobody knows how large the weights are; what the file says of them.
    #[error(
        "the weights are quantised ({0}) in a way whose size is not known; give the folder or URL with the safetensors files, whose headers say it"
    )]
    Quantisation(String),
}

/// What a `config.json` says of a model.
#[derive(Debug)]
pub struct Described {
    pub model: Model,
    /// Why the weights cannot be computed from it, where they cannot.
    pub uncountable: Option<ModelError>,
    /// Encoders of other modalities, by their keys, which the shape leaves out.
    pub encoders: Vec<&'static str>,
}

/// Bound on layers: above any model.
const MOST_LAYERS: u32 = 4096;

impl Config<'_> {
    /// The format that numbers are computed in.
    fn dtype(&self) -> Dtype {
        let name = ["torch_dtype", "dtype"]
            .iter()
            .find_map(|key| self.anywhere(key)?.as_str());
        name.and_then(Dtype::named).unwrap_or_default()
    }

    fn experts(&self, intermediate: u32) -> Result<Option<Experts>, ModelError> {
        let count = self.number(&["num_local_experts", "n_routed_experts", "num_experts"], 0)?;
        let Some(count) = count.filter(|&count| count > 1) else {
            return Ok(None);
        };
        let width = self.number(&["moe_intermediate_size", "intermediate_size"], 1)?;
        let width = width.unwrap_or(intermediate);
        let shared = [
            "shared_expert_intermediate_size",
            "moe_shared_expert_intermediate_size",
        ];
        let shared = match self.number(&shared, 0)? {
            Some(shared) => shared,
            None => width.saturating_mul(self.number(&["n_shared_experts"], 0)?.unwrap_or(0)),
        };
        let active = self.number(&["num_experts_per_tok"], 1)?;
        Ok(Some(Experts {
            count,
            active: active.unwrap_or(2).min(count),
            intermediate: width,
            shared_intermediate: shared,
            dense_layers: self.number(&["first_k_dense_replace"], 0)?.unwrap_or(0),
        }))
    }

    fn mla(&self, hidden: u32, heads: u32) -> Result<Option<Mla>, ModelError> {
        let Some(kv_rank) = self.number(&["kv_lora_rank"], 1)? else {
            return Ok(None);
        };
        Ok(Some(Mla {
            query_rank: self.number(&["q_lora_rank"], 0)?.unwrap_or(0),
            kv_rank,
            nope_dim: self.required(&["qk_nope_head_dim"])?,
            rope_dim: self.required(&["qk_rope_head_dim"])?,
            // MiniCPM3 leaves it out, and its code takes an even share of the width.
            value_dim: match self.number(&["v_head_dim"], 1)? {
                Some(width) => width,
                None => (hidden / heads).max(1),
            },
            indexer: self.indexer()?,
        }))
    }

    fn indexer(&self) -> Result<Option<Indexer>, ModelError> {
        let Some(top) = self.number(&["index_topk"], 1)? else {
            return Ok(None);
        };
        Ok(Some(Indexer {
            heads: self.required(&["index_n_heads"])?,
            dim: self.required(&["index_head_dim"])?,
            top,
        }))
    }

    fn heads(&self) -> Result<u32, ModelError> {
        let kind = self.text("model_type").unwrap_or_default();
        let heads = self.number(&["num_attention_heads", "n_head"], 1)?;
        heads.ok_or_else(|| {
            if kind.contains("mamba") || kind.starts_with("rwkv") {
                self.without_attention()
            } else {
                self.missing("num_attention_heads")
            }
        })
    }

    fn without_attention(&self) -> ModelError {
        let kind = self.text("model_type").unwrap_or("model");
        self.refused(Problem::NoAttention(kind.chars().take(40).collect()))
    }

    fn kv_heads(&self, heads: u32) -> Result<u32, ModelError> {
        let keys = [
            "num_key_value_heads",
            "num_kv_heads",
            "multi_query_group_num",
        ];
        let grouped = self.number(&keys, 1)?;
        // Falcon and StarCoder: one for all, unless Falcon's newer layout is on.
        let one = self.flag("multi_query") == Some(true)
            && self.flag("new_decoder_architecture") != Some(true);
        // ChatGLM gives a number of groups also where it has none.
        let none = self.flag("multi_query_attention") == Some(false);
        Ok(match (one, none) {
            (true, _) => 1,
            (false, true) => heads,
            (false, false) => grouped.unwrap_or(heads),
        })
    }

    /// The longest context, as vLLM derives it: 2048 where the file does not say.
    fn max_position(&self) -> Result<u32, ModelError> {
        let keys = [
            "model_max_length",
            "max_position_embeddings",
            "n_positions",
            "max_seq_len",
            "seq_length",
            "max_sequence_length",
        ];
        let written = self.number(&keys, 1)?.unwrap_or(2048);
        let scaling = self.any(&["rope_scaling", "rope_parameters"]);
        let of = |key: &str| scaling.and_then(|scaling| scaling.get(key));
        let kind = of("rope_type")
            .or_else(|| of("type"))
            .and_then(Value::as_str);
        let original = of("original_max_position_embeddings").and_then(Value::as_f64);
        let factor = of("factor").and_then(Value::as_f64).unwrap_or(1.0);
        let stretched = match kind {
            // Their files state the longer context already.
            None | Some("su" | "longrope" | "llama3" | "default" | "mrope") => return Ok(written),
            _ if self.text("model_type") == Some("gemma3_text") => return Ok(written),
            Some("yarn") => original.unwrap_or(f64::from(written)) * factor,
            Some(_) => f64::from(written) * factor,
        };
        let most = f64::from(1 << 28);
        Ok(if stretched.is_finite() && stretched >= 1.0 {
            stretched.min(most) as u32
        } else {
            written
        })
    }

    fn window(&self) -> Result<Option<u32>, ModelError> {
        let window = self.number(&["sliding_window", "attention_chunk_size"], 1)?;
        Ok(window.filter(|_| self.flag("use_sliding_window").unwrap_or(true)))
    }

    fn intermediate(&self, hidden: u32) -> Result<u32, ModelError> {
        let keys = [
            "intermediate_size_mlp",
            "intermediate_size",
            "ffn_hidden_size",
            "n_inner",
        ];
        match (self.number(&keys, 1)?, self.feed_forward()) {
            // The first Qwen counts gate and up together.
            (Some(width), _) if self.text("model_type") == Some("qwen") => Ok((width / 2).max(1)),
            (Some(width), _) => Ok(width),
            (None, FeedForward::Plain) => Ok(hidden.saturating_mul(4)),
            (None, FeedForward::Gated) => Err(self.missing("intermediate_size")),
        }
    }
}

pub(super) fn read(name: &str, text: &str) -> Result<Described, ModelError> {
    let json = |reason: String| ModelError {
        model: name.to_owned(),
        problem: Problem::NotJson(reason),
    };
    let value: Value = serde_json::from_str(text).map_err(|error| json(error.to_string()))?;
    let whole = value
        .as_object()
        .ok_or_else(|| json("another kind of value".to_owned()))?;
    let config = Config::new(name, whole);

    let hidden = config.required(&["hidden_size", "n_embd", "d_model"])?;
    let heads = config.heads()?;
    let layers = ["num_hidden_layers", "num_layers", "n_layer"];
    let layers = config.bounded(&layers, 1, MOST_LAYERS)?;
    let layers = layers.ok_or_else(|| config.missing("num_hidden_layers"))?;
    let mla = config.mla(hidden, heads)?;
    let head_dim = ["head_dim", "attention_head_dim", "kv_channels"];
    let head_dim = match (mla, config.number(&head_dim, 1)?) {
        (Some(mla), _) => mla.nope_dim + mla.rope_dim,
        (None, Some(head_dim)) => head_dim,
        (None, None) => (hidden / heads).max(1),
    };
    let intermediate = config.intermediate(hidden)?;
    let experts = config.experts(intermediate)?;
    let sliding_window = config.window()?;
    // Only the first Qwen and Qwen2 have biases without saying so.
    let kind = config.text("model_type");
    let qwen = kind.is_some_and(|kind| kind == "qwen" || kind.starts_with("qwen2"));
    let bias = config.any(&["attention_bias", "add_qkv_bias"]);
    let tied = config.anywhere("tie_word_embeddings");
    let (stored, unknown) = match quantisation::read(&config, layers) {
        Ok(stored) => (stored, None),
        Err(how) => (None, Some(how)),
    };
    let mut model = Model {
        name: name.to_owned(),
        repositories: Vec::new(),
        layers,
        hidden,
        heads,
        kv_heads: config.kv_heads(heads)?,
        head_dim,
        intermediate,
        feed_forward: config.feed_forward(),
        vocabulary: config.required(&["padded_vocab_size", "vocab_size"])?,
        max_position: config.max_position()?,
        tied_embeddings: tied.and_then(Value::as_bool).unwrap_or(false),
        attention_bias: bias.and_then(Value::as_bool).unwrap_or(qwen),
        dtype: stored
            .as_ref()
            .map_or(config.dtype(), |stored| stored.dtype),
        quantised: stored.and_then(|stored| stored.quantised),
        sliding_window,
        experts,
        mla,
        mix: None,
    };
    let routed = match experts {
        Some(_) => Routed::Experts,
        None => Routed::Nothing,
    };
    let mix = kinds::read(&config, layers, hidden, sliding_window, routed)?;
    if mix.attention() == 0 {
        return Err(config.without_attention());
    }
    // A window that no layer has.
    model.sliding_window = sliding_window.filter(|_| mix.windowed > 0);
    model.mix = (mix != model.alike()).then_some(mix);
    Ok(Described {
        model,
        uncountable: unknown.map(|how| config.refused(Problem::Quantisation(how))),
        encoders: config.encoders(),
    })
}

#[cfg(test)]
mod tests;
