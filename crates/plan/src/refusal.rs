//! A refusal in the engine's words, with what would be accepted.

use crate::device::CARDS_OF_HOST;
use inferometer_catalog::engine::{ModelLimits, Refusal, Rule};

/// Where cards cannot share a layer, how many could.
pub(crate) fn with_remedy(refusal: &Refusal, limits: &ModelLimits, cards: u32) -> String {
    if refusal.rule != Rule::HeadsNotDivisible {
        return refusal.to_string();
    }
    let reason = refusal.message.trim_end_matches('.');
    format!("{reason}; {}", choose_one(limits, cards))
}

/// The numbers of cards that can share a layer, up to so many or a host's.
pub(crate) fn choose_one(limits: &ModelLimits, cards: u32) -> String {
    let sizes = limits.divisors(cards.max(CARDS_OF_HOST));
    let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
    format!("choose one of {}", sizes.join(", "))
}
