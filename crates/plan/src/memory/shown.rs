//! The answer as programs read it.

use super::{Answer, Fit, Part};
use crate::model::Weights;
use inferometer_catalog::memory::GIB;
use serde_json::{Value, json};

/// Name and version of the form.
pub const SCHEMA: &str = "inferometer.memory/1";

impl Answer {
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
        let parts: Vec<Value> = self
            .parts
            .iter()
            .map(|(part, bytes)| json!({ "name": part, "gib": bytes / GIB }))
            .collect();
        let remedies: Vec<Value> = self
            .remedies
            .iter()
            .map(|remedy| remedy.to_json())
            .collect();
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
            "remedies": remedies,
            "mindie": self.mindie,
        })
    }
}
