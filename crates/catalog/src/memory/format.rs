//! The formats in which weights and cache are kept, as the flags ask for them.

use crate::engine::ResolvedFlags;
use crate::model::{Dtype, KnownModel, Weights};

/// A `--quantization` whose effect on the weights' size is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "how large weights are under quantization={0} is not known; give the quantised copy's own config.json, folder or URL, or one of awq, gptq, fp8, int8, mxfp4, nvfp4, bitsandbytes"
)]
pub struct UnknownQuantization(pub String);

/// The model with its weights in the format that the flags ask for, and the format of its cache.
pub(super) fn formats(
    known: &KnownModel,
    flags: &ResolvedFlags,
) -> Result<(KnownModel, Dtype), UnknownQuantization> {
    let model = &known.model;
    let wanted = match flags.quantization.as_deref() {
        Some(method) => match Dtype::named(method) {
            // A method of many formats: the model's own files say which.
            None if model.is_quantised() => None,
            None => return Err(UnknownQuantization(method.chars().take(60).collect())),
            wanted => wanted,
        },
        // Quantised weights stay so, whatever they are computed in.
        None if model.is_quantised() => None,
        None => Dtype::named(&flags.dtype).or(Some(model.dtype.by_default())),
    };
    let dtype = wanted.unwrap_or(model.dtype);
    let cache = Dtype::named(&flags.kv_cache_dtype).unwrap_or(dtype.cache());
    if dtype.bytes() == model.dtype.bytes() {
        return Ok((known.clone(), cache));
    }
    let other = model.stored_as(dtype);
    let weights = match known.weights {
        // All numbers of a plain checkpoint change alike.
        Weights::Stored(bytes) if !model.is_quantised() && dtype.cache() == dtype => {
            Weights::Stored(bytes * dtype.bytes() / model.dtype.bytes())
        }
        _ => Weights::Computed(other.weight_bytes()),
    };
    let known = KnownModel {
        model: other,
        weights,
        left_out: known.left_out.clone(),
    };
    Ok((known, cache))
}
