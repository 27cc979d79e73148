//! How well an engine's drafts of coming tokens fared.

use serde::{Deserialize, Serialize};

/// Most places of a draft that are told one by one; none is longer by far.
pub const MOST_POSITIONS: usize = 64;

/// Speculative decoding over the measured part. Both kinds of engines count the token that every
/// step gives beside the accepted ones; their rates are not the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpeculationSummary {
    pub basis: SpeculationBasis,
    /// Tokens of a step with a draft: the accepted ones and the one that is always given.
    pub accepted_length: Option<f64>,
    /// Share of drafted tokens that were accepted.
    pub acceptance_rate: Option<f64>,
    /// Share of all drafts whose token at that place was accepted, the first place first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_position: Vec<f64>,
    /// Drafts, where they are counted.
    pub drafts: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SpeculationBasis {
    /// From counters of drafts, drafted and accepted tokens (vLLM, llama.cpp): of exactly what
    /// was measured.
    Counters,
    /// Means of what the engine itself says of its last batches (SGLang). The length is defined
    /// alike. Up to 0.5.10 its rate counts the token that every step gives among the accepted and
    /// among the drafted ones; of a tree of drafts it counts all branches.
    Gauges,
}

impl SpeculationSummary {
    /// From what counters grew by.
    pub fn counted(
        drafts: f64,
        drafted: Option<f64>,
        accepted: Option<f64>,
        by_position: Vec<f64>,
    ) -> Self {
        SpeculationSummary {
            basis: SpeculationBasis::Counters,
            accepted_length: accepted.map(|accepted| 1.0 + accepted / drafts),
            acceptance_rate: (accepted.zip(drafted))
                .filter(|(_, drafted)| *drafted > 0.0)
                .map(|(accepted, drafted)| accepted / drafted),
            by_position: by_position.iter().map(|count| count / drafts).collect(),
            drafts: Some(drafts),
        }
    }
}
