//! Lengths of answers by index.

use crate::length_sampler::{LengthError, Sampler};
use inferometer_core::seed::{Dimension, rng};
use inferometer_core::work::Output;

/// Output tokens to ask for, by index: drawn, one limit for all, or nothing.
#[derive(Clone, Debug)]
pub struct OutputLengths {
    lengths: Lengths,
    seed: u64,
}

#[derive(Clone, Debug)]
enum Lengths {
    Drawn(Sampler),
    AtMost(u32),
    /// The prompt says it, or nobody does.
    Unsaid,
}

impl OutputLengths {
    /// Lengths as the scenario asks for them.
    pub fn new(output: &Output, seed: u64) -> Result<Self, LengthError> {
        let lengths = match output {
            Output::Tokens(spec) => Lengths::Drawn(Sampler::new(spec)?),
            Output::AtMost(limit) => Lengths::AtMost(*limit),
            Output::FromWork | Output::Free => Lengths::Unsaid,
        };
        Ok(OutputLengths { lengths, seed })
    }

    /// Output tokens to ask for in request `index`; absent where the prompt itself says it or
    /// the server decides.
    pub fn tokens(&self, index: u64) -> Option<u32> {
        match &self.lengths {
            Lengths::Drawn(sampler) => {
                Some(sampler.sample(&mut rng(self.seed, Dimension::OutputLength, index)))
            }
            Lengths::AtMost(limit) => Some(*limit),
            Lengths::Unsaid => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::length::{Distribution, LengthSpec};

    fn lengths(output: &Output, seed: u64) -> OutputLengths {
        OutputLengths::new(output, seed).unwrap()
    }

    #[test]
    fn lengths_follow_the_index_and_the_seed() {
        let spec = LengthSpec::Drawn(Distribution::Uniform(1, 1_000_000));
        let output = Output::Tokens(spec);
        let drawn = lengths(&output, 7);
        assert_eq!(drawn.tokens(3), drawn.tokens(3));
        assert_ne!(drawn.tokens(3), drawn.tokens(4));
        assert_ne!(drawn.tokens(3), lengths(&output, 8).tokens(3));
    }

    #[test]
    fn a_limit_is_the_same_for_all() {
        let limit = lengths(&Output::AtMost(99), 7);
        assert_eq!((limit.tokens(0), limit.tokens(1)), (Some(99), Some(99)));
    }

    #[test]
    fn what_others_decide_is_absent() {
        for output in [Output::Free, Output::FromWork] {
            assert_eq!(lengths(&output, 7).tokens(0), None);
        }
    }
}
