//! What a model keeps of requests, and how many of them a budget of bytes holds.

use super::{Answer, Fit, Lengths, Part, Question};
use crate::model::Weights;
use inferometer_catalog::engine::Version;
use inferometer_catalog::model::{Dtype, Model};

/// What a model keeps of a request on one of the cards that share it.
pub(super) struct Layout<'a> {
    pub model: &'a Model,
    /// Cards that share each layer.
    pub tensor: u32,
    /// Share of what the layers keep, by the card's stage and by cards that share a sequence.
    pub share: f64,
    pub dtype: Dtype,
}

/// Bytes of one card for the cache.
#[derive(Clone, Copy)]
pub(super) struct Budget {
    /// What it gets; negative where nothing is left.
    pub kv: f64,
    /// What the card has for it beside all else.
    pub room: f64,
}

impl Budget {
    pub fn unused(self) -> f64 {
        (self.room - self.kv.max(0.0)).max(0.0)
    }

    /// What it gets beyond what the card has; a byte of rounding is nothing.
    fn excess(self) -> Option<f64> {
        let excess = self.kv - self.room;
        (excess > 1.0).then_some(excess)
    }
}

impl Layout<'_> {
    pub fn per_token(&self) -> f64 {
        self.model.kv_bytes_per_token(self.tensor, self.dtype) * self.share
    }

    fn request(&self, tokens: u64) -> f64 {
        self.model.request_bytes(self.tensor, self.dtype, tokens) * self.share
    }

    /// The same by query heads, as popular posts compute it.
    fn popular_per_token(&self) -> f64 {
        let model = self.model;
        let head = match model.mla {
            Some(mla) => f64::from(mla.nope_dim) + f64::from(mla.value_dim),
            None => 2.0 * f64::from(model.head_dim),
        };
        let heads = f64::from(model.heads) / f64::from(self.tensor.max(1));
        f64::from(model.layers) * self.share * heads * head * self.dtype.bytes()
    }

    fn keeps_everything(&self) -> bool {
        self.model.kinds().keep_everything()
    }

    /// What a budget of bytes holds.
    pub fn cache(
        &self,
        budget: Budget,
        block_size: u32,
        longest: u64,
        lengths: Option<Lengths>,
    ) -> Cache {
        let kv = budget.kv;
        let token = self.per_token();
        let block = token * f64::from(block_size.max(1));
        let whole = |tokens: u64| {
            tokens.div_ceil(u64::from(block_size.max(1))) * u64::from(block_size.max(1))
        };
        let one_block = block.max(self.request(1));
        let needed = self.request(whole(longest));
        let fit = if kv < one_block {
            Fit::NoCache(one_block - kv)
        } else if let Some(excess) = budget.excess() {
            Fit::Cache(excess)
        } else if needed > kv
            && self.blocks_for(kv, block, longest) * u64::from(block_size) < longest
        {
            Fit::TooLong(needed - kv)
        } else {
            Fit::Fits
        };
        let exists = !matches!(fit, Fit::NoCache(_) | Fit::Cache(_));
        let request_tokens = lengths.map_or(longest, Lengths::total).max(1);
        let blocks = self.blocks_for(kv, block, longest);
        let served = fit == Fit::Fits && request_tokens <= longest;
        let max_concurrency = match self.keeps_everything() {
            true => {
                let each = request_tokens.div_ceil(u64::from(block_size.max(1)));
                blocks as f64 / each.max(1) as f64
            }
            false => kv / self.request(whole(request_tokens)),
        };
        Cache {
            kv,
            token,
            popular: self.popular_per_token(),
            dtype: self.dtype,
            block_size,
            room: budget.room,
            blocks: exists.then_some(blocks),
            tokens: exists.then_some(blocks.saturating_mul(u64::from(block_size))),
            max_model_len: longest,
            longest: self.longest(kv.min(budget.room)),
            request_tokens,
            max_concurrency: served.then_some(max_concurrency),
            fit,
        }
    }

    /// Blocks of the cache. Where some layers keep less, as many as requests of the greatest
    /// length would fill in a model without such layers.
    fn blocks_for(&self, kv: f64, block: f64, longest: u64) -> u64 {
        let plain = (kv / block).max(0.0);
        if self.keeps_everything() || longest == 0 {
            return plain as u64;
        }
        let saved = longest as f64 * self.per_token() / self.request(longest);
        (plain * saved) as u64
    }

    /// The longest request that the bytes hold and the model takes.
    fn longest(&self, kv: f64) -> Option<u64> {
        let (mut low, mut high) = (0, u64::from(self.model.max_position));
        while low < high {
            let middle = (low + high).div_ceil(2);
            match self.request(middle) <= kv {
                true => low = middle,
                false => high = middle - 1,
            }
        }
        (low > 0).then_some(low)
    }
}

/// What a budget of bytes holds.
pub(super) struct Cache {
    kv: f64,
    room: f64,
    token: f64,
    popular: f64,
    dtype: Dtype,
    block_size: u32,
    pub blocks: Option<u64>,
    tokens: Option<u64>,
    max_model_len: u64,
    longest: Option<u64>,
    request_tokens: u64,
    max_concurrency: Option<f64>,
    fit: Fit,
}

impl Cache {
    /// With all else that an answer says, for one card.
    pub fn answer(
        self,
        question: &Question<'_>,
        version: Version,
        parts: Vec<(Part, f64)>,
        weights: Weights,
    ) -> Answer {
        Answer {
            model: question.model.model.name.clone(),
            device: question.device.name.clone(),
            engine: question.engine,
            version,
            cards: 1,
            replicas: 1,
            stage: None,
            varied: question.varied.clone(),
            not_counted: Vec::new(),
            total: question.device.memory_bytes(),
            parts,
            left_out: match weights {
                Weights::Computed(_) => question.model.left_out.clone(),
                Weights::Stored(_) => Vec::new(),
            },
            weights,
            kv: self.kv,
            room: self.room,
            kv_per_token: self.token,
            popular_kv_per_token: self.popular,
            kv_dtype: self.dtype,
            block_size: self.block_size,
            blocks: self.blocks,
            kv_tokens: self.tokens,
            max_model_len: self.max_model_len,
            longest: self.longest,
            request_tokens: self.request_tokens,
            max_concurrency: self.max_concurrency,
            fit: self.fit,
            remedies: Vec::new(),
            mindie: None,
        }
    }
}
