//! What the work costs, where the price of a card is given.

use super::Summary;
use serde::{Deserialize, Serialize};

/// Money as it was given: of whichever currency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CostResult {
    /// Of a card (`--price-per-hour`).
    pub price_per_hour: f64,
    /// Cards that served it; 1 where nothing states their number.
    pub cards: f64,
    pub per_million_output_tokens: Option<f64>,
    /// Of prompt and output tokens together.
    pub per_million_tokens: Option<f64>,
    pub per_thousand_requests: Option<f64>,
    /// Where answers consist of vectors or scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_million_items: Option<f64>,
}

impl CostResult {
    /// What a run's throughput costs at a price of one card.
    pub fn of(price_per_hour: f64, summary: &Summary) -> Self {
        let cards = summary.cards().unwrap_or(1.0);
        let per_s = price_per_hour * cards / 3600.0;
        let each = |count: f64, rate: Option<f64>| {
            let rate = rate.filter(|rate| *rate > 0.0)?;
            Some(per_s / rate * count)
        };
        let done = &summary.throughput;
        CostResult {
            price_per_hour,
            cards,
            per_million_output_tokens: each(1e6, done.output_tokens_per_s),
            per_million_tokens: each(1e6, done.total_tokens_per_s),
            per_thousand_requests: each(1e3, done.requests_per_s),
            per_million_items: each(1e6, done.items_per_s),
        }
    }
}
