//! What a model keeps of requests on one card, and how many of them a budget of bytes holds.

use crate::model::{Dtype, Model};

/// What a model keeps of a request on one of the cards that share it.
#[derive(Clone, Debug, PartialEq)]
pub struct KvLayout {
    pub model: Model,
    /// Cards that share each layer.
    pub tensor: u32,
    /// Share of what the layers keep, by the card's stage and by cards that share a sequence.
    pub share: f64,
    pub dtype: Dtype,
    /// Tokens per block.
    pub block_size: u32,
}

impl KvLayout {
    pub fn token_bytes(&self) -> f64 {
        self.model.kv_bytes_per_token(self.tensor, self.dtype) * self.share
    }

    pub fn request_bytes(&self, tokens: u64) -> f64 {
        self.model.request_bytes(self.tensor, self.dtype, tokens) * self.share
    }

    pub fn block_bytes(&self) -> f64 {
        self.token_bytes() * f64::from(self.block_size)
    }

    /// The least that a cache needs: one block, and a state where the model has one.
    pub fn least_bytes(&self) -> f64 {
        self.block_bytes().max(self.request_bytes(1))
    }

    pub fn whole_blocks(&self, tokens: u64) -> u64 {
        (tokens.checked_next_multiple_of(u64::from(self.block_size))).unwrap_or(tokens)
    }

    /// Whether every layer keeps every token, so that a cache is a number of tokens.
    pub fn keeps_everything(&self) -> bool {
        self.model.kinds().keep_everything()
    }

    /// Blocks that `bytes` hold. Where some layers keep less, as many as requests of
    /// `max_model_len` tokens would fill in a model without such layers.
    pub fn blocks(&self, bytes: f64, max_model_len: u64) -> u64 {
        let plain = (bytes / self.block_bytes()).max(0.0);
        if self.keeps_everything() || max_model_len == 0 {
            return plain as u64;
        }
        let saved = max_model_len as f64 * self.token_bytes() / self.request_bytes(max_model_len);
        (plain * saved) as u64
    }

    /// The longest request that `bytes` hold and the model takes.
    pub fn longest_request(&self, bytes: f64) -> Option<u64> {
        let (mut low, mut high) = (0, u64::from(self.model.max_position));
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.request_bytes(middle) <= bytes {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        (low > 0).then_some(low)
    }
}
