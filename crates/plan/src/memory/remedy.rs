//! What would make a model fit: each remedy is tried, none is guessed.

use super::{Answer, Fit, Question, divide};
use crate::flags::with;
use crate::model::{KnownModel, Weights};
use inferometer_catalog::model::Dtype;
use serde_json::{Value, json};

/// A change with which it fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Remedy {
    /// So many cards share each layer.
    TensorParallel(u32),
    /// Weights of a smaller format.
    Weights(Dtype),
    /// A cache of a smaller format.
    Cache(Dtype),
    /// No request longer than this.
    MaxModelLen(u64),
}

impl Remedy {
    pub(super) fn to_json(self) -> Value {
        match self {
            Remedy::TensorParallel(cards) => json!({ "tensor-parallel-size": cards }),
            Remedy::Weights(dtype) => json!({ "weights": dtype }),
            Remedy::Cache(dtype) => json!({ "kv-cache-dtype": dtype }),
            Remedy::MaxModelLen(tokens) => json!({ "max-model-len": tokens }),
        }
    }
}

/// The most cards that are tried: those of one host.
const MOST_CARDS: u32 = 16;
/// A window that is worth serving.
const LEAST_LENGTH: u64 = 256;

pub(super) fn remedies(question: &Question<'_>, answer: &Answer) -> Vec<Remedy> {
    let mut found = Vec::new();
    let fits = |question: &Question<'_>| divide(question).is_ok_and(|tried| tried.fit == Fit::Fits);
    if let Some(longest) = answer.longest.filter(|&longest| longest >= LEAST_LENGTH)
        && matches!(answer.fit, Fit::TooLong(_))
    {
        // A round number below what fits, since blocks are whole.
        let longest = longest / 64 * 64;
        let flags = with(&question.flags, "max-model-len", &longest.to_string());
        if fits(&Question {
            flags,
            ..question.clone()
        }) {
            found.push(Remedy::MaxModelLen(longest));
        }
    }
    let mut cards = answer.cards.max(1).saturating_mul(2);
    while cards <= MOST_CARDS {
        let flags = with(&question.flags, "tensor-parallel-size", &cards.to_string());
        let tried = Question {
            flags,
            cards: question.cards.max(cards),
            ..question.clone()
        };
        if fits(&tried) {
            found.push(Remedy::TensorParallel(cards));
            break;
        }
        cards = cards.saturating_mul(2);
    }
    for dtype in [Dtype::Fp8, Dtype::Int4] {
        if dtype.bytes() >= question.model.model.dtype.bytes() {
            continue;
        }
        let model = quantised(question.model, dtype);
        if fits(&Question {
            model: &model,
            ..question.clone()
        }) {
            found.push(Remedy::Weights(dtype));
            break;
        }
    }
    if answer.kv_dtype.bytes() > Dtype::Fp8.bytes() {
        let flags = with(&question.flags, "kv-cache-dtype", "fp8");
        if fits(&Question {
            flags,
            ..question.clone()
        }) {
            found.push(Remedy::Cache(Dtype::Fp8));
        }
    }
    found
}

fn quantised(known: &KnownModel, dtype: Dtype) -> KnownModel {
    let mut model = known.clone();
    model.model.dtype = dtype;
    model.weights = Weights::Computed(model.model.weight_bytes());
    model
}
