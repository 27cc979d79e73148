//! Measurements that the card cannot have made.

use super::fit::Target;
use crate::flags::value;
use serde::{Deserialize, Serialize};

/// A point that is faster than the card reads the weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TooFast {
    pub point: String,
    /// What a token took there, ms.
    pub token_ms: f64,
    /// What the card needs at least to read the weights once, ms.
    pub weights_ms: f64,
}

/// Flags under which one reading of the weights gives more than one token.
const SPECULATIVE: [&str; 2] = ["speculative-config", "speculative-model"];

/// The point that breaks the roofline most. Such a calibration may still predict well, but it is
/// of another card, another model or another precision than was said.
pub(super) fn too_fast(targets: &[Target<'_>]) -> Option<TooFast> {
    let broken = targets.iter().filter_map(|target| {
        let flags = &target.observation.flags;
        if SPECULATIVE.iter().any(|name| value(flags, name).is_some()) {
            return None;
        }
        let figures = &target.observation.figures;
        let whole = figures
            .e2e_ms
            .map(|e2e| e2e / target.work.output.mean().max(1.0));
        let token_ms = figures.tpot_ms.or(whole)?;
        let cards = value(flags, "tensor-parallel-size").and_then(|cards| cards.parse().ok());
        let cards: f64 = cards.unwrap_or(1.0);
        let (model, device) = (&target.subject.model, &target.subject.device);
        // One token reads the fewest experts.
        let bytes = model.weight_bytes_read(1.0);
        let weights_ms = bytes / (device.bandwidth() * cards.max(1.0)) * 1e3;
        (token_ms < weights_ms).then(|| TooFast {
            point: target.observation.name.clone(),
            token_ms,
            weights_ms,
        })
    });
    broken.min_by(|a, b| (a.token_ms / a.weights_ms).total_cmp(&(b.token_ms / b.weights_ms)))
}
