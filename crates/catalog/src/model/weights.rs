//! How many parameters a model has, part by part, and how many bytes they take.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Dtype, FeedForward, Model};

/// How the layers of a quantised copy are stored, where its files say more than the format does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quantised {
    /// Bytes of a quantised number, its share of scales and zero points included.
    pub bytes: f64,
    #[serde(default)]
    pub plain: Plain,
}

/// Shares of the layers' weights, from 0 to 1, that a quantised copy leaves in 16 bits. Router,
/// norms, embedding and output always stay so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plain {
    pub attention: f64,
    /// Of layers with a state.
    pub recurrent: f64,
    pub feed_forward: f64,
    /// Of experts that every token visits.
    pub shared: f64,
    pub experts: f64,
}

/// Parameters by the part of the model that they belong to, in all its layers.
struct Parameters {
    attention: u128,
    recurrent: u128,
    feed_forward: u128,
    shared: u128,
    expert: u128,
    small: u128,
    embedding: u128,
    output: u128,
}

impl Parameters {
    /// Everything in the layers that every token passes.
    fn common(&self) -> u128 {
        self.attention + self.recurrent + self.feed_forward + self.shared + self.small
    }
}

/// Parameters and bytes of all layers; `expert` is one routed expert of each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepWeights {
    /// Parameters that every token is multiplied with in the format of the layers.
    pub common: f64,
    /// The same in 16 bits, where a quantised copy leaves some so.
    pub common_in_16_bits: f64,
    /// Bytes of both and of the output layer.
    pub common_bytes: f64,
    pub expert: f64,
    pub expert_bytes: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerBytes {
    pub common: f64,
    pub experts: f64,
}

impl Model {
    fn count(&self) -> Parameters {
        let wide = u128::from;
        let kinds = self.kinds();
        let hidden = wide(self.hidden);
        let matrices = match self.feed_forward {
            FeedForward::Gated => 3,
            FeedForward::Plain => 2,
        };
        let feed_forward = |width: u32| matrices * hidden * wide(width);
        let sparse = wide(kinds.sparse);
        let experts = self.experts.filter(|_| sparse > 0);
        let of_experts = |part: &dyn Fn(super::Experts) -> u128| experts.map_or(0, part) * sparse;
        let embedding = wide(self.vocabulary) * hidden;
        let recurrent = kinds.recurrent;
        Parameters {
            attention: wide(kinds.attention()) * self.attention_parameters(),
            recurrent: recurrent.map_or(0, |of| wide(of.layers) * u128::from(of.parameters)),
            feed_forward: wide(kinds.dense) * feed_forward(self.intermediate),
            shared: of_experts(&|experts| feed_forward(experts.shared_intermediate)),
            expert: of_experts(&|experts| feed_forward(experts.intermediate)),
            small: of_experts(&|experts| hidden * wide(experts.count))
                + wide(self.layers) * 2 * hidden
                + hidden,
            embedding,
            output: if self.tied_embeddings { 0 } else { embedding },
        }
    }

    fn attention_parameters(&self) -> u128 {
        let wide = u128::from;
        let (hidden, heads) = (wide(self.hidden), wide(self.heads));
        let Some(mla) = self.mla else {
            let query = heads * wide(self.head_dim);
            let key = wide(self.kv_heads) * wide(self.head_dim);
            let bias = if self.attention_bias {
                query + 2 * key
            } else {
                0
            };
            return 2 * hidden * query + 2 * hidden * key + bias;
        };
        let key = wide(mla.nope_dim) + wide(mla.rope_dim);
        let query = match wide(mla.query_rank) {
            0 => hidden * heads * key,
            rank => hidden * rank + rank + rank * heads * key,
        };
        let (rank, value) = (wide(mla.kv_rank), wide(mla.value_dim));
        let indexer = mla.indexer.map_or(0, |indexer| {
            let (heads, dim) = (wide(indexer.heads), wide(indexer.dim));
            wide(mla.query_rank) * heads * dim + hidden * (dim + heads) + 2 * dim
        });
        query
            + indexer
            + hidden * (rank + wide(mla.rope_dim))
            + rank
            + rank * heads * (wide(mla.nope_dim) + value)
            + heads * value * hidden
    }

    pub fn parameters(&self) -> u64 {
        let count = self.count();
        let experts = self.experts.map_or(0, |experts| u128::from(experts.count));
        narrow(count.common() + experts * count.expert + count.embedding + count.output)
    }

    /// Parameters of the output layer, which only the last token of a sequence passes.
    pub fn output_parameters(&self) -> f64 {
        self.count().embedding as f64
    }

    /// Whether the layers have fewer bits than they are computed in.
    pub fn is_quantised(&self) -> bool {
        self.quantised.is_some() || self.dtype.cache() != self.dtype
    }

    /// The same model with all its layers in one format.
    pub fn stored_as(&self, dtype: Dtype) -> Model {
        Model {
            dtype,
            quantised: None,
            ..self.clone()
        }
    }

    pub fn weight_bytes(&self) -> f64 {
        let layers = self.layer_bytes(0..self.layers);
        layers.common + layers.experts + self.embedding_bytes() + self.output_bytes()
    }

    pub fn embedding_bytes(&self) -> f64 {
        self.count().embedding as f64 * self.wide()
    }

    /// Bytes of the output layer; none where it reuses the embedding.
    pub fn output_bytes(&self) -> f64 {
        self.count().output as f64 * self.wide()
    }

    /// Bytes of some consecutive layers. Where kinds of layers alternate, all layers count alike;
    /// dense ones before the first with experts are told from the rest.
    pub fn layer_bytes(&self, layers: Range<u32>) -> LayerBytes {
        let part = |some: u32, all: u32| f64::from(some) / f64::from(all.max(1));
        let whole = part(layers.len() as u32, self.layers);
        let kinds = self.kinds();
        let (dense, sparse) = match self.mix {
            Some(_) => (whole, whole),
            None => {
                let first = layers.start.min(kinds.dense)..layers.end.min(kinds.dense);
                let dense = first.len() as u32;
                let sparse = layers.len() as u32 - dense;
                (part(dense, kinds.dense), part(sparse, kinds.sparse))
            }
        };
        let bytes = self.bytes_by_part(&self.count());
        let experts = self.experts.map_or(0.0, |experts| f64::from(experts.count));
        LayerBytes {
            common: (bytes.attention + bytes.recurrent + bytes.small) * whole
                + bytes.feed_forward * dense
                + bytes.shared * sparse,
            experts: experts * bytes.expert * sparse,
        }
    }

    /// What a step reads and multiplies with, by what every token passes and what is routed.
    pub fn step_weights(&self) -> StepWeights {
        let count = self.count();
        let bytes = self.bytes_by_part(&count);
        let plain = self.quantised.map(|quantised| quantised.plain);
        let plain = plain.unwrap_or_default();
        let in_16_bits = count.attention as f64 * plain.attention
            + count.recurrent as f64 * plain.recurrent
            + count.feed_forward as f64 * plain.feed_forward
            + count.shared as f64 * plain.shared;
        let layers = bytes.attention + bytes.recurrent + bytes.feed_forward + bytes.shared;
        StepWeights {
            common: count.common() as f64 - in_16_bits,
            common_in_16_bits: in_16_bits,
            common_bytes: layers + bytes.small + count.embedding as f64 * self.wide(),
            expert: count.expert as f64,
            expert_bytes: bytes.expert,
        }
    }

    /// Routed experts of a layer that some of so many tokens visit, taking routing as even.
    pub fn touched_experts(&self, tokens: f64) -> f64 {
        self.experts.map_or(0.0, |experts| {
            let total = f64::from(experts.count).max(1.0);
            let missed = (1.0 - (f64::from(experts.active) / total).min(1.0)).powf(tokens);
            total * (1.0 - missed)
        })
    }

    /// Bytes of weights that a step reads which carries `tokens` tokens: of routed experts only
    /// those that some token visits, taking routing as even.
    pub fn weight_bytes_read(&self, tokens: f64) -> f64 {
        let weights = self.step_weights();
        weights.common_bytes + self.touched_experts(tokens) * weights.expert_bytes
    }

    /// Bytes of what is never quantised.
    fn wide(&self) -> f64 {
        self.dtype.bytes().max(Dtype::Bf16.bytes())
    }

    fn bytes_by_part(&self, count: &Parameters) -> PartBytes {
        let Quantised { bytes, plain } = self.quantised.unwrap_or(Quantised {
            bytes: self.dtype.bytes(),
            plain: Plain::default(),
        });
        let of = |parameters: u128, share: f64| {
            parameters as f64 * (share * self.wide() + (1.0 - share) * bytes)
        };
        PartBytes {
            attention: of(count.attention, plain.attention),
            recurrent: of(count.recurrent, plain.recurrent),
            feed_forward: of(count.feed_forward, plain.feed_forward),
            shared: of(count.shared, plain.shared),
            expert: of(count.expert, plain.experts),
            small: count.small as f64 * self.wide(),
        }
    }
}

/// Bytes of what [`Parameters`] counts.
struct PartBytes {
    attention: f64,
    recurrent: f64,
    feed_forward: f64,
    shared: f64,
    /// One routed expert of every layer.
    expert: f64,
    small: f64,
}

fn narrow(count: u128) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
