//! Statistics: intervals, tests and sequential decisions, deterministic by seed.
//!
//! Distribution functions come from `statrs`. The tests themselves are ours: no crate that is
//! kept has them with ties, seeds and the refusal of samples that cannot support an answer.

mod batch_means;
mod binomial;
mod concurrency;
mod difference;
mod distribution;
mod exact_sum;
mod groups;
mod intervals;
mod sequential;
mod timeline;
mod trend;
mod two_samples;

pub use batch_means::{BatchMeans, batch_means};
pub use binomial::share_bounds;
pub use concurrency::{InFlight, UnderWay};
pub use difference::Difference;
pub use distribution::{normal_quantile, normal_tail, student_quantile, student_tail};
pub use exact_sum::ExactSum;
pub use intervals::{Batches, design_effect};
pub use sequential::{Sprt, SprtError, SprtStep, SprtVerdict};
pub use timeline::{Accumulated, Timeline};
pub use trend::{climbs, mser5, rising_trend};

pub use two_samples::{Shift, divisions, hodges_lehmann, mann_whitney, permutation};

/// A statistic and how likely chance alone gives one as large.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    pub statistic: f64,
    /// Probability under the null hypothesis.
    pub p_value: f64,
}

/// Values of a standard normal distribution, for tests.
#[cfg(test)]
pub(crate) fn normal_values(n: usize, seed: u64) -> Vec<f64> {
    use inferometer_core::seed::{Dimension, rng};
    use rand_distr::{Distribution, StandardNormal};
    let mut random = rng(seed, Dimension::Words, 0);
    (0..n).map(|_| StandardNormal.sample(&mut random)).collect()
}
