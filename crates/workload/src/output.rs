//! Lengths of answers by index.

use inferometer_core::work::Output;
use inferometer_core::seed::{Dimension, rng};

/// Output tokens to ask for, by index: drawn from a distribution, or one limit for all.
#[derive(Clone, Debug)]
pub struct OutputLengths {
    output: Output,
    seed: u64,
}

impl OutputLengths {
    /// Lengths as the scenario asks for them.
    pub fn new(output: Output, seed: u64) -> Self {
        OutputLengths { output, seed }
    }

    /// Output tokens to ask for in request `index`.
    pub fn tokens(&self, index: u64) -> u32 {
        match &self.output {
            Output::Tokens(inferometer_core::length::LengthSpec::Drawn(spec)) => {
                spec.sample(&mut rng(self.seed, Dimension::OutputLength, index))
            }
            Output::AtMost(limit) => *limit,
            _ => todo!(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::length::LengthSpec;

    #[test]
    fn lengths_follow_the_index_and_the_seed() {
        let output = Output::Tokens(LengthSpec::Uniform(1, 1_000_000));
        let lengths = OutputLengths::new(output, 7);
        assert_eq!(lengths.tokens(3), lengths.tokens(3));
        assert_ne!(lengths.tokens(3), lengths.tokens(4));
        assert_ne!(lengths.tokens(3), OutputLengths::new(output, 8).tokens(3));
    }

    #[test]
    fn a_limit_is_the_same_for_all() {
        let lengths = OutputLengths::new(Output::AtMost(99), 7);
        assert_eq!((lengths.tokens(0), lengths.tokens(1)), (99, 99));
    }
}
