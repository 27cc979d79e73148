//! What the layers of a model are, where they are not all alike, and what each keeps of a
//! request: keys and values of all tokens, of those in a window, or a state of fixed size.

use serde::{Deserialize, Serialize};

use super::{Dtype, Model};

/// The layers of a model by kind. A layer may count twice: once for how it mixes tokens, once for
/// its feed-forward part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Layers {
    /// Layers that attend to every token.
    pub full: u32,
    /// Layers that attend to the tokens of the model's window.
    #[serde(default)]
    pub windowed: u32,
    /// Layers that keep a state of fixed size.
    #[serde(default)]
    pub recurrent: Option<Recurrent>,
    /// Layers with a dense feed-forward part.
    pub dense: u32,
    #[serde(default)]
    pub sparse: u32,
}

/// Layers of linear attention or of a state-space model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recurrent {
    pub layers: u32,
    pub parameters: u64,
    /// Bytes of one's state of one request, on all cards together.
    pub state_bytes: f64,
}

impl Layers {
    pub fn attention(&self) -> u32 {
        self.full.saturating_add(self.windowed)
    }

    /// Whether every layer keeps every token, so that a cache is a number of tokens.
    pub fn keep_everything(&self) -> bool {
        self.windowed == 0 && self.recurrent.is_none()
    }
}

impl Model {
    /// The layers by kind: all alike but for the first dense ones, where the model says nothing
    /// else.
    pub fn kinds(&self) -> Layers {
        self.mix.unwrap_or_else(|| self.alike())
    }

    /// The same model with every window as wide as the context.
    pub fn without_windows(&self) -> Model {
        let kinds = self.kinds();
        let mix = Layers {
            full: kinds.attention(),
            windowed: 0,
            ..kinds
        };
        Model {
            sliding_window: None,
            mix: Some(mix),
            ..self.clone()
        }
    }

    pub(super) fn alike(&self) -> Layers {
        let (full, windowed) = match self.sliding_window {
            Some(_) => (0, self.layers),
            None => (self.layers, 0),
        };
        let dense = match self.experts {
            Some(experts) => experts.dense_layers.min(self.layers),
            None => self.layers,
        };
        Layers {
            full,
            windowed,
            recurrent: None,
            dense,
            sparse: self.layers - dense,
        }
    }

    /// Bytes that a token takes in the KV cache of one card while it is in every window. Heads
    /// are divided by tensor parallelism and repeated where there are fewer than cards; a latent
    /// is never divided.
    pub fn kv_bytes_per_token(&self, tensor_parallel: u32, dtype: Dtype) -> f64 {
        f64::from(self.kinds().attention()) * self.kv_bytes_per_layer(tensor_parallel, dtype)
    }

    /// Bytes that a request of `tokens` tokens takes on one card.
    pub fn request_bytes(&self, tensor_parallel: u32, dtype: Dtype, tokens: u64) -> f64 {
        let kinds = self.kinds();
        let tokens = tokens as f64;
        let in_window = self
            .sliding_window
            .map_or(tokens, |window| tokens.min(f64::from(window)));
        let kept = f64::from(kinds.full) * tokens + f64::from(kinds.windowed) * in_window;
        let state = kinds.recurrent.map_or(0.0, |recurrent| {
            let cards = f64::from(tensor_parallel.max(1));
            f64::from(recurrent.layers) * recurrent.state_bytes / cards
        });
        kept * self.kv_bytes_per_layer(tensor_parallel, dtype) + state
    }

    fn kv_bytes_per_layer(&self, tensor_parallel: u32, dtype: Dtype) -> f64 {
        let numbers = match self.mla {
            Some(mla) => f64::from(mla.kv_rank) + f64::from(mla.rope_dim),
            None => {
                let heads = self.kv_heads.div_ceil(tensor_parallel.max(1)).max(1);
                f64::from(heads) * 2.0 * f64::from(self.head_dim)
            }
        };
        numbers * dtype.bytes() + self.indexer().map_or(0.0, |indexer| indexer.key_bytes())
    }
}
