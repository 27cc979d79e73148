//! What a step holds: tokens of prompts and of answers, and what they attend to.

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepShape {
    pub prefill_tokens: u32,
    /// Sum over prompt tokens of the tokens that each attends to.
    pub prefill_pairs: u64,
    /// The same in layers with a window.
    pub prefill_pairs_in_window: u64,
    /// Tokens of sequences that decode; more than one each under speculation.
    pub decode_tokens: u32,
    /// Sum over decoding sequences of the tokens in their cache.
    pub decode_context: u64,
    /// The same in layers with a window.
    pub decode_context_in_window: u64,
    pub sequences: u32,
}

impl StepShape {
    /// One of `parts` equal parts.
    pub(super) fn part(&self, parts: u32) -> StepShape {
        let wide = u64::from(parts);
        StepShape {
            prefill_tokens: self.prefill_tokens.div_ceil(parts),
            prefill_pairs: self.prefill_pairs.div_ceil(wide),
            prefill_pairs_in_window: self.prefill_pairs_in_window.div_ceil(wide),
            decode_tokens: self.decode_tokens.div_ceil(parts),
            decode_context: self.decode_context.div_ceil(wide),
            decode_context_in_window: self.decode_context_in_window.div_ceil(wide),
            sequences: self.sequences.div_ceil(parts),
        }
    }
}
