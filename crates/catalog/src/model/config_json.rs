//! A model folder's `config.json`.

use serde_json::{Map, Value};
use thiserror::Error;

use super::{Dtype, Experts, Mla, Model};

/// Why a `config.json` was not understood.
#[derive(Debug, Error)]
pub enum ModelError {
    /// It is not JSON, or not an object.
    #[error("config.json of {model}: not a JSON object: {reason}")]
    Json {
        /// The model's name.
        model: String,
        /// What the parser said.
        reason: String,
    },
    /// A key is absent that the shape needs.
    #[error("config.json of {model}: no `{key}`; is this a decoder-only transformer?")]
    Missing {
        /// The model's name.
        model: String,
        /// The absent key.
        key: &'static str,
    },
    /// A value is not a whole number in its range.
    #[error(
        "config.json of {model}: `{key}` is {value}, expected a whole number from {least} to {most}"
    )]
    Range {
        /// The model's name.
        model: String,
        /// The key.
        key: &'static str,
        /// What it holds.
        value: String,
        /// Least value.
        least: u32,
        /// Greatest value.
        most: u32,
    },
}

/// Bound on every dimension: above any model, below any overflow.
const MOST: u32 = 1 << 24;

struct Config<'a> {
    model: &'a str,
    map: &'a Map<String, Value>,
}

impl Config<'_> {
    /// A whole number in `least..=MOST`; `None` where the key is absent or null.
    fn number(&self, key: &'static str, least: u32) -> Result<Option<u32>, ModelError> {
        let value = match self.map.get(key) {
            None | Some(Value::Null) => return Ok(None),
            Some(value) => value,
        };
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        match number.filter(|number| (least..=MOST).contains(number)) {
            Some(number) => Ok(Some(number)),
            None => Err(ModelError::Range {
                model: self.model.to_owned(),
                key,
                value: value.to_string().chars().take(40).collect(),
                least,
                most: MOST,
            }),
        }
    }

    fn required(&self, key: &'static str) -> Result<u32, ModelError> {
        self.number(key, 1)?.ok_or(ModelError::Missing {
            model: self.model.to_owned(),
            key,
        })
    }

    fn flag(&self, key: &str) -> Option<bool> {
        self.map.get(key)?.as_bool()
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.map.get(key)?.as_str()
    }

    fn dtype(&self) -> Dtype {
        let quantisation = self
            .map
            .get("quantization_config")
            .and_then(Value::as_object);
        if let Some(quantisation) = quantisation {
            let method = quantisation.get("quant_method").and_then(Value::as_str);
            let bits = quantisation.get("bits").and_then(Value::as_u64);
            match (bits, method.and_then(Dtype::named)) {
                (Some(4), _) => return Dtype::Int4,
                (Some(8), _) => return Dtype::Int8,
                (_, Some(dtype)) => return dtype,
                _ => {}
            }
        }
        let name = self.text("torch_dtype").or_else(|| self.text("dtype"));
        name.and_then(Dtype::named).unwrap_or_default()
    }

    fn experts(&self, intermediate: u32) -> Result<Option<Experts>, ModelError> {
        let count = match self.number("num_local_experts", 0)? {
            Some(count) => Some(count),
            None => match self.number("n_routed_experts", 0)? {
                Some(count) => Some(count),
                None => self.number("num_experts", 0)?,
            },
        };
        let Some(count) = count.filter(|&count| count > 1) else {
            return Ok(None);
        };
        let width = self
            .number("moe_intermediate_size", 1)?
            .unwrap_or(intermediate);
        let shared = match self.number("shared_expert_intermediate_size", 0)? {
            Some(shared) => shared,
            None => width.saturating_mul(self.number("n_shared_experts", 0)?.unwrap_or(0)),
        };
        Ok(Some(Experts {
            count,
            active: self
                .number("num_experts_per_tok", 1)?
                .unwrap_or(2)
                .min(count),
            intermediate: width,
            shared_intermediate: shared,
            dense_layers: self.number("first_k_dense_replace", 0)?.unwrap_or(0),
        }))
    }

    fn mla(&self) -> Result<Option<Mla>, ModelError> {
        let Some(kv_rank) = self.number("kv_lora_rank", 1)? else {
            return Ok(None);
        };
        Ok(Some(Mla {
            query_rank: self.number("q_lora_rank", 0)?.unwrap_or(0),
            kv_rank,
            nope_dim: self.required("qk_nope_head_dim")?,
            rope_dim: self.required("qk_rope_head_dim")?,
            value_dim: self.required("v_head_dim")?,
        }))
    }
}

pub(super) fn read(model: &str, text: &str) -> Result<Model, ModelError> {
    let json = |reason: String| ModelError::Json {
        model: model.to_owned(),
        reason,
    };
    let value: Value = serde_json::from_str(text).map_err(|error| json(error.to_string()))?;
    let outer = value
        .as_object()
        .ok_or_else(|| json("another kind of value".to_owned()))?;
    // Models of several modalities keep the language model apart.
    let map = outer
        .get("text_config")
        .and_then(Value::as_object)
        .unwrap_or(outer);
    let config = Config { model, map };

    let hidden = config.required("hidden_size")?;
    let heads = config.required("num_attention_heads")?;
    let mla = config.mla()?;
    let head_dim = match (mla, config.number("head_dim", 1)?) {
        (Some(mla), _) => mla.nope_dim + mla.rope_dim,
        (None, Some(head_dim)) => head_dim,
        (None, None) => (hidden / heads).max(1),
    };
    let intermediate = config.required("intermediate_size")?;
    // Only Qwen2 has biases without saying so.
    let qwen2 = config
        .text("model_type")
        .is_some_and(|kind| kind.starts_with("qwen2"));
    let window = config.number("sliding_window", 1)?;
    Ok(Model {
        name: model.to_owned(),
        repositories: Vec::new(),
        layers: config.required("num_hidden_layers")?,
        hidden,
        heads,
        kv_heads: config.number("num_key_value_heads", 1)?.unwrap_or(heads),
        head_dim,
        intermediate,
        vocabulary: config.required("vocab_size")?,
        max_position: config.number("max_position_embeddings", 1)?.unwrap_or(2048),
        tied_embeddings: config.flag("tie_word_embeddings").unwrap_or(false),
        attention_bias: config.flag("attention_bias").unwrap_or(qwen2),
        dtype: config.dtype(),
        sliding_window: window.filter(|_| config.flag("use_sliding_window").unwrap_or(true)),
        experts: config.experts(intermediate)?,
        mla,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const QWEN: &str = r#"{"architectures":["Qwen2ForCausalLM"],"model_type":"qwen2",
        "hidden_size":3584,"intermediate_size":18944,"num_hidden_layers":28,
        "num_attention_heads":28,"num_key_value_heads":4,"vocab_size":152064,
        "max_position_embeddings":32768,"tie_word_embeddings":false,"torch_dtype":"bfloat16",
        "sliding_window":131072,"use_sliding_window":false}"#;

    #[test]
    fn a_config_file_gives_the_same_shape_as_the_preset() {
        let read = read("qwen2.5-7b", QWEN).unwrap();
        assert_eq!(Some(read), Model::named("qwen2.5-7b"));
    }

    #[test]
    fn experts_and_latents_are_read_by_their_hugging_face_names() {
        let text = r#"{"model_type":"deepseek_v3","hidden_size":7168,"intermediate_size":18432,
            "num_hidden_layers":61,"num_attention_heads":128,"num_key_value_heads":128,
            "vocab_size":129280,"max_position_embeddings":163840,"n_routed_experts":256,
            "num_experts_per_tok":8,"moe_intermediate_size":2048,"n_shared_experts":1,
            "first_k_dense_replace":3,"q_lora_rank":1536,"kv_lora_rank":512,
            "qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,
            "quantization_config":{"quant_method":"fp8"}}"#;
        let model = read("deepseek-v3", text).unwrap();
        let preset = Model::named("deepseek-v3").unwrap();
        assert_eq!(model.parameters(), preset.parameters());
        assert_eq!(
            (model.mla, model.experts, model.dtype),
            (preset.mla, preset.experts, preset.dtype)
        );
    }

    #[test]
    fn what_cannot_be_a_shape_is_refused_by_name() {
        let error = |text: &str| read("m", text).unwrap_err().to_string();
        assert!(error("[]").contains("not a JSON object"));
        assert!(error("{").contains("not a JSON object"));
        assert!(error("{}").contains("`hidden_size`"));
        let zero = QWEN.replace("\"num_attention_heads\":28", "\"num_attention_heads\":0");
        assert!(error(&zero).contains("`num_attention_heads` is 0"));
        let huge = QWEN.replace("18944", "18446744073709551615");
        assert!(error(&huge).contains("`intermediate_size`"));
    }
}
