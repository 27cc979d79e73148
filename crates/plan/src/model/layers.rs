//! What each kind of layer keeps of a request: keys and values of all tokens, of those in a
//! window, or a state of fixed size.

use inferometer_catalog::model::{Dtype, Model};
use serde_json::Value;
use thiserror::Error;

/// The layers of a model by what they keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KvLayers {
    /// Layers that keep every token.
    pub full: u32,
    /// Layers that keep the tokens of a window.
    pub windowed: u32,
    /// That window, tokens; absent without such layers.
    pub window: Option<u32>,
    /// Layers that keep a state of fixed size.
    pub linear: Option<LinearLayers>,
}

/// Layers of linear attention or of a state-space model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearLayers {
    /// How many.
    pub layers: u32,
    /// Bytes of one layer's state of one request, on all cards together.
    pub state_bytes: f64,
}

/// Layers that nothing is known of.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnknownLayers {
    /// A word that is no kind of layer.
    #[error(
        "config.json of {model}: layers of kind '{kind}' are not known, so that their cache cannot be computed"
    )]
    Kind {
        /// The model.
        model: String,
        /// The word.
        kind: String,
    },
    /// As many kinds as layers are needed.
    #[error("config.json of {model}: {given} kinds are given for {layers} layers")]
    Count {
        /// The model.
        model: String,
        /// Kinds.
        given: usize,
        /// Layers.
        layers: u32,
    },
    /// Linear layers whose state has no size.
    #[error(
        "config.json of {model}: it has layers with a state, and no `{key}` to compute its size from"
    )]
    State {
        /// The model.
        model: String,
        /// What is missing.
        key: &'static str,
    },
    /// Nothing says which layers keep a state.
    #[error(
        "config.json of {model}: `{key}` speaks of linear or state-space layers, but nothing says which layers they are; add `layer_types`, a word for each layer"
    )]
    Which {
        /// The model's name.
        model: String,
        /// What speaks of them.
        key: String,
    },
}

/// What a layer keeps.
#[derive(Clone, Copy, PartialEq)]
enum Keeps {
    All,
    Window,
    State,
    Nothing,
}

impl KvLayers {
    /// All layers alike.
    pub fn uniform(model: &Model) -> KvLayers {
        let (full, windowed) = match model.sliding_window {
            Some(_) => (0, model.layers),
            None => (model.layers, 0),
        };
        KvLayers {
            full,
            windowed,
            window: model.sliding_window,
            linear: None,
        }
    }

    /// As the model's own `config.json` says.
    pub fn of_config(model: &Model, text: &str) -> Result<KvLayers, UnknownLayers> {
        let value: Value = serde_json::from_str(text).unwrap_or_default();
        let config = value.get("text_config").unwrap_or(&value);
        let kinds = kinds(model, config)?;
        let count = |kind: Keeps| kinds.iter().filter(|&&keeps| keeps == kind).count() as u32;
        let number = |key: &str| config.get(key).and_then(Value::as_u64);
        let mut windowed = count(Keeps::Window);
        let window = number("sliding_window")
            .or_else(|| number("attention_chunk_size"))
            .and_then(|window| u32::try_from(window).ok())
            .filter(|&window| window > 0 && windowed > 0);
        let mut full = count(Keeps::All);
        if window.is_none() {
            full += std::mem::take(&mut windowed);
        }
        let linear = match count(Keeps::State) {
            0 => None,
            layers => Some(LinearLayers {
                layers,
                state_bytes: state_bytes(model, config)?,
            }),
        };
        Ok(KvLayers {
            full,
            windowed,
            window,
            linear,
        })
    }

    /// Whether every layer keeps every token, so that a cache is a number of tokens.
    pub fn keep_everything(&self) -> bool {
        self.windowed == 0 && self.linear.is_none()
    }

    /// Bytes that a token takes on one card while it is in every window.
    pub fn bytes_per_token(&self, model: &Model, tensor: u32, dtype: Dtype) -> f64 {
        f64::from(self.full + self.windowed) * per_layer(model, tensor, dtype)
    }

    /// Bytes that a request of `tokens` tokens takes on one card.
    pub fn request_bytes(&self, model: &Model, tensor: u32, dtype: Dtype, tokens: u64) -> f64 {
        let tokens = tokens as f64;
        let in_window = self
            .window
            .map_or(tokens, |window| tokens.min(f64::from(window)));
        let kept = f64::from(self.full) * tokens + f64::from(self.windowed) * in_window;
        let state = self.linear.map_or(0.0, |linear| {
            f64::from(linear.layers) * linear.state_bytes / f64::from(tensor.max(1))
        });
        kept * per_layer(model, tensor, dtype) + state
    }
}

fn per_layer(model: &Model, tensor: u32, dtype: Dtype) -> f64 {
    model.kv_bytes_per_token(tensor, dtype) / f64::from(model.layers.max(1))
}

fn kinds(model: &Model, config: &Value) -> Result<Vec<Keeps>, UnknownLayers> {
    let words = ["layer_types", "layers_block_type"]
        .into_iter()
        .find_map(|key| config.get(key)?.as_array());
    if let Some(words) = words {
        let kinds: Vec<Keeps> = words
            .iter()
            .map(|word| of_word(model, word.as_str().unwrap_or_default()))
            .collect::<Result<_, _>>()?;
        return counted(model, kinds);
    }
    if let Some(pattern) = config
        .get("hybrid_override_pattern")
        .and_then(Value::as_str)
    {
        let kinds = pattern.chars().map(|sign| match sign {
            'M' => Ok(Keeps::State),
            '*' => Ok(Keeps::All),
            '-' | 'E' => Ok(Keeps::Nothing),
            other => Err(unknown(model, &other.to_string())),
        });
        let kinds = kinds.collect::<Result<_, _>>()?;
        return counted(model, kinds);
    }
    let number = |key: &str| config.get(key).and_then(Value::as_u64);
    let layers = u64::from(model.layers);
    let each = |kind: &dyn Fn(u64) -> Keeps| (0..layers).map(kind).collect();
    // Jamba: attention in every n-th layer.
    if let Some(period) = number("attn_layer_period").filter(|&period| period > 0) {
        let offset = number("attn_layer_offset").unwrap_or(0);
        return Ok(each(&|layer| match layer % period == offset % period {
            true => Keeps::All,
            false => Keeps::State,
        }));
    }
    // Qwen3-Next: the last of every n layers sees everything.
    if let Some(interval) = number("full_attention_interval").filter(|&interval| interval > 0) {
        return Ok(each(&|layer| match (layer + 1) % interval {
            0 => Keeps::All,
            _ => Keeps::State,
        }));
    }
    // A number for each layer (MiniMax): 0 is linear, 1 sees everything.
    if let Some(list) = config.get("attn_type_list").and_then(Value::as_array) {
        let kinds = list.iter().map(|kind| match kind.as_u64() {
            Some(0) => Ok(Keeps::State),
            Some(1) => Ok(Keeps::All),
            _ => Err(unknown(model, &kind.to_string())),
        });
        return counted(model, kinds.collect::<Result<_, _>>()?);
    }
    // States without a word on which layers have them: all alike would be an invention.
    if let Some(key) = state_key(config) {
        return Err(UnknownLayers::Which {
            model: model.name.clone(),
            key,
        });
    }
    // Gemma 3: every n-th layer sees everything; Gemma 2: every second.
    let kind = config.get("model_type").and_then(Value::as_str);
    let pattern = number("sliding_window_pattern").or_else(|| {
        kind.is_some_and(|kind| kind.starts_with("gemma2"))
            .then_some(2)
    });
    if let Some(pattern) = pattern.filter(|&pattern| pattern > 0) {
        return Ok(each(&|layer| match (layer + 1) % pattern {
            0 => Keeps::All,
            _ => Keeps::Window,
        }));
    }
    let Some(_) = model.sliding_window else {
        return Ok(vec![Keeps::All; model.layers as usize]);
    };
    // Qwen2 with a window: the layers below `max_window_layers` see everything.
    let below = match number("max_window_layers") {
        Some(below) if config.get("use_sliding_window").and_then(Value::as_bool) == Some(true) => {
            below
        }
        _ => 0,
    };
    Ok(each(&|layer| match layer < below {
        true => Keeps::All,
        false => Keeps::Window,
    }))
}

/// A key that only models with linear or state-space layers have.
fn state_key(config: &Value) -> Option<String> {
    let keys = config.as_object()?.keys();
    let of_state = |key: &&String| {
        let begins = ["mamba_", "ssm_", "linear_num_", "time_mix", "rwkv"];
        begins.iter().any(|begin| key.starts_with(begin))
    };
    keys.filter(|key| !config[key.as_str()].is_null())
        .find(of_state)
        .map(|key| key.chars().take(40).collect())
}

fn counted(model: &Model, kinds: Vec<Keeps>) -> Result<Vec<Keeps>, UnknownLayers> {
    match kinds.len() == model.layers as usize {
        true => Ok(kinds),
        false => Err(UnknownLayers::Count {
            model: model.name.clone(),
            given: kinds.len(),
            layers: model.layers,
        }),
    }
}

fn unknown(model: &Model, kind: &str) -> UnknownLayers {
    UnknownLayers::Kind {
        model: model.name.clone(),
        kind: kind.chars().take(40).collect(),
    }
}

fn of_word(model: &Model, word: &str) -> Result<Keeps, UnknownLayers> {
    Ok(match word {
        "full_attention" | "attention" | "global_attention" => Keeps::All,
        "sliding_attention" | "chunked_attention" | "local_attention" => Keeps::Window,
        "linear_attention" | "mamba" | "mamba2" => Keeps::State,
        "mlp" | "moe" => Keeps::Nothing,
        other => return Err(unknown(model, other)),
    })
}

/// The state of one linear layer: that of the recurrence, in 32 bits, and that of the short
/// convolution before it, in 16.
fn state_bytes(model: &Model, config: &Value) -> Result<f64, UnknownLayers> {
    let number = |keys: &[&'static str]| {
        let found = keys.iter().find_map(|key| config.get(key)?.as_f64());
        found.ok_or_else(|| UnknownLayers::State {
            model: model.name.clone(),
            key: keys[0],
        })
    };
    // Gated delta net (Qwen3-Next): a matrix for each value head.
    if config.get("linear_num_value_heads").is_some() {
        let values = number(&["linear_num_value_heads"])?;
        let keys = number(&["linear_num_key_heads"])?;
        let key_width = number(&["linear_key_head_dim"])?;
        let value_width = number(&["linear_value_head_dim"])?;
        let taps = number(&["linear_conv_kernel_dim"])?;
        let channels = 2.0 * keys * key_width + values * value_width;
        return Ok(values * key_width * value_width * 4.0 + channels * (taps - 1.0) * 2.0);
    }
    let state = number(&["mamba_d_state", "ssm_state_size", "state_size"])?;
    let taps = number(&["mamba_d_conv", "conv_kernel", "conv_kernel_size"])?;
    let heads = number(&["mamba_n_heads", "mamba_num_heads"]);
    let inner = match heads {
        Ok(heads) => heads * number(&["mamba_d_head", "mamba_head_dim"])?,
        // Mamba 1 has no heads, only a width.
        Err(_) => number(&["mamba_expand", "expand"])? * f64::from(model.hidden),
    };
    let groups = number(&["mamba_n_groups", "n_groups"]).unwrap_or(0.0);
    Ok(inner * state * 4.0 + (inner + 2.0 * groups * state) * (taps - 1.0) * 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(more: &str) -> String {
        format!(
            r#"{{"hidden_size":64,"intermediate_size":128,"num_hidden_layers":4,
            "num_attention_heads":4,"num_key_value_heads":2,"vocab_size":1000{more}}}"#
        )
    }

    fn layers(more: &str) -> Result<KvLayers, UnknownLayers> {
        let text = config(more);
        let model = Model::from_config_json("m", &text).unwrap();
        KvLayers::of_config(&model, &text)
    }

    #[test]
    fn windows_are_read_in_every_spelling() {
        let parts = |more: &str| {
            let layers = layers(more).unwrap();
            (layers.full, layers.windowed, layers.window)
        };
        assert_eq!(parts(""), (4, 0, None));
        assert_eq!(parts(r#","sliding_window":512"#), (0, 4, Some(512)));
        assert_eq!(
            parts(r#","sliding_window":512,"use_sliding_window":false"#),
            (4, 0, None)
        );
        assert_eq!(
            parts(r#","sliding_window":512,"use_sliding_window":true,"max_window_layers":3"#),
            (3, 1, Some(512))
        );
        assert_eq!(
            parts(r#","sliding_window":512,"sliding_window_pattern":4"#),
            (1, 3, Some(512))
        );
        assert_eq!(
            parts(r#","sliding_window":512,"model_type":"gemma2""#),
            (2, 2, Some(512))
        );
        assert_eq!(
            parts(
                r#","sliding_window":512,"layer_types":["sliding_attention","full_attention","sliding_attention","full_attention"]"#
            ),
            (2, 2, Some(512))
        );
    }

    #[test]
    fn a_window_bounds_what_a_long_request_takes() {
        let text = config(r#","sliding_window":512"#);
        let model = Model::from_config_json("m", &text).unwrap();
        let layers = KvLayers::of_config(&model, &text).unwrap();
        let bytes = |tokens| layers.request_bytes(&model, 1, Dtype::Bf16, tokens);
        assert_eq!(bytes(512), bytes(100_000));
        assert_eq!(bytes(256) * 2.0, bytes(512));
    }

    #[test]
    fn linear_layers_keep_a_state_that_does_not_grow() {
        let more = r#","layer_types":["linear_attention","linear_attention","linear_attention","full_attention"],
            "linear_num_value_heads":4,"linear_num_key_heads":2,"linear_key_head_dim":8,
            "linear_value_head_dim":8,"linear_conv_kernel_dim":4"#;
        let layers = layers(more).unwrap();
        assert_eq!((layers.full, layers.linear.unwrap().layers), (1, 3));
        // 4 × 8 × 8 × 4 bytes, and 64 channels × 3 taps × 2 bytes.
        assert_eq!(layers.linear.unwrap().state_bytes, 1024.0 + 384.0);
    }

    #[test]
    fn linear_layers_are_read_in_every_spelling() {
        let parts = |more: &str| {
            let more = format!(
                r#"{more},"linear_num_value_heads":4,"linear_num_key_heads":2,
                "linear_key_head_dim":8,"linear_value_head_dim":8,"linear_conv_kernel_dim":4"#
            );
            let layers = layers(&more).unwrap();
            (layers.full, layers.linear.unwrap().layers)
        };
        assert_eq!(parts(r#","full_attention_interval":4"#), (1, 3));
        assert_eq!(parts(r#","attn_type_list":[0,1,0,1]"#), (2, 2));
        assert_eq!(
            parts(r#","attn_layer_period":2,"attn_layer_offset":1"#),
            (2, 2)
        );
    }

    #[test]
    fn unknown_layers_are_refused_and_nothing_is_invented() {
        let error = |more: &str| layers(more).unwrap_err().to_string();
        assert!(error(r#","layer_types":["a","b","c","d"]"#).contains("kind 'a'"));
        assert!(error(r#","layer_types":["mamba"]"#).contains("1 kinds"));
        assert!(error(r#","hybrid_override_pattern":"M*-M""#).contains("`mamba_d_state`"));
        assert!(error(r#","hybrid_override_pattern":"M?-M""#).contains("kind '?'"));
        assert!(error(r#","mamba_d_state":16"#).contains("`mamba_d_state` speaks of linear"));
    }
}
