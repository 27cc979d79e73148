//! How long a run must be for its queue. A run that is shorter than the memory of its queue shows
//! one mood of it: near saturation most runs of hundreds of requests meet what none of many
//! thousands does.
//!
//! Two things tell of that memory. Batches of the run itself show how its neighbours depend on
//! each other, as long as the run is long beside it. A queue near saturation hides it, since it
//! is calm for most of a short run that began idle; but how many wait in it on average says how
//! near it is: a queue of one server with a load of rho holds about 1 / (1 - rho) requests and
//! relaxes in 1 / (1 - sqrt rho)^2 of its service times, which is about four times the square of
//! what it holds, counted in requests. Both grow as the run goes on, until it is long enough.

use inferometer_statistics::normal_quantile;

/// Batches of the longest kind. Where the queue remembers longer than the whole series, so few
/// batches differ by nearly all that there is, and the bound asks for a series several times as
/// long: too short a series cannot pass for a long one.
const FEWEST_BATCHES: usize = 8;
/// One-sided risk that the memory is longer than the bound.
const RISK: f64 = 0.1;

/// Relaxation times of its queue that a run which confirms must last.
const RELAXATIONS: f64 = 20.0;

/// Least requests of a run whose queue had these under way and these TTFTs, and so many waiting
/// on average, where that is known.
pub(super) fn least_run(in_flight: &[f64], ttft: &[f64], waiting: Option<f64>) -> f64 {
    // Memory reaches both ways, and a relaxation time one way.
    let seen = memory(in_flight).max(memory(ttft)) / 2.0;
    let by_theory = waiting.map_or(0.0, |waiting| 4.0 * (1.0 + waiting.max(0.0)).powi(2));
    RELAXATIONS * seen.max(by_theory)
}

/// Upper bound of how many requests tell as much about the mean as one independent one (the
/// integrated autocorrelation time), the largest over batches of all lengths. 1 for what does
/// not vary.
fn memory(values: &[f64]) -> f64 {
    let variance = variance(values);
    if variance <= 0.0 {
        return 1.0;
    }
    let mut means = values.to_vec();
    let (mut length, mut longest) = (1.0, 1.0f64);
    while means.len() >= FEWEST_BATCHES {
        let degrees = means.len() as f64 - 1.0;
        let bound = length * self::variance(&means) / variance * degrees / chi_squared(degrees);
        longest = longest.max(bound);
        means = (means.chunks_exact(2))
            .map(|pair| (pair[0] + pair[1]) / 2.0)
            .collect();
        length *= 2.0;
    }
    longest
}

fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (n - 1.0).max(1.0)
}

/// The value below which a sum of so many squares lies with the accepted risk (Wilson and
/// Hilferty's approximation).
fn chi_squared(degrees: f64) -> f64 {
    let part = 2.0 / (9.0 * degrees);
    degrees * (1.0 - part + normal_quantile(RISK) * part.sqrt()).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::seed::{Dimension, rng};
    use rand::RngExt;

    /// A chain whose neighbours correlate by `correlation`: its memory is
    /// (1 + correlation) / (1 - correlation).
    fn chain(n: usize, correlation: f64, seed: u64) -> Vec<f64> {
        let mut random = rng(seed, Dimension::Words, 0);
        let mut level = 0.0;
        (0..n)
            .map(|_| {
                level = correlation * level + random.random::<f64>() - 0.5;
                level
            })
            .collect()
    }

    #[test]
    fn the_bound_is_above_the_memory_and_not_far_above() {
        for (correlation, truth) in [(0.0, 1.0), (0.9, 19.0), (0.99, 199.0)] {
            let bounds: Vec<f64> = (0..40)
                .map(|seed| memory(&chain(20_000, correlation, seed)))
                .collect();
            let below = bounds.iter().filter(|&&bound| bound < truth).count();
            let mean = bounds.iter().sum::<f64>() / bounds.len() as f64;
            assert!(below <= 4, "{below} of 40 below {truth}");
            assert!(mean < 4.0 * truth, "{mean} for {truth}");
        }
        assert_eq!(memory(&[3.0; 100]), 1.0);
    }

    #[test]
    fn a_series_shorter_than_its_memory_asks_for_a_longer_one() {
        let is_too_short = |seed: &u64| {
            let values = chain(800, 0.9995, *seed);
            least_run(&values, &[], None) > 800.0
        };
        let too_short = (0..40).filter(is_too_short).count();
        assert!(too_short >= 36, "{too_short} of 40");
    }
}
