//! Means of what depends on its neighbours: batch means, and how much less dependent values tell.

use super::distribution::student_quantile;

/// The mean of a series whose neighbours depend on each other, by batches long enough that
/// their means do not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchMeans {
    pub mean: f64,
    pub error: f64,
    /// 95 % interval, by Student's t.
    pub interval: [f64; 2],
    /// Correlation of one batch with the next. Far from 0, batches are too short and the
    /// interval is too narrow.
    pub correlation: f64,
}

/// Mean and error by `batches` batches of equal length; what is left over at the beginning is
/// not used. Absent for fewer than two batches, or fewer values than batches.
pub fn batch_means(values: &[f64], batches: usize) -> Option<BatchMeans> {
    if batches < 2 || values.len() < batches {
        return None;
    }
    let length = values.len() / batches;
    let means: Vec<f64> = values[values.len() - length * batches..]
        .chunks_exact(length)
        .map(|batch| batch.iter().sum::<f64>() / length as f64)
        .collect();
    let n = batches as f64;
    let mean = means.iter().sum::<f64>() / n;
    let squares: f64 = means.iter().map(|batch| (batch - mean).powi(2)).sum();
    let neighbours: f64 = means
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    let error = (squares / (n - 1.0) / n).sqrt();
    let half = student_quantile(0.975, n - 1.0) * error;
    Some(BatchMeans {
        mean,
        error,
        interval: [mean - half, mean + half],
        correlation: if squares > 0.0 {
            neighbours / squares
        } else {
            0.0
        },
    })
}

const EFFECT_BATCHES: usize = 16;

/// Design effect of a sequence of hits and misses in the order in which they came: how many of
/// them tell as much about their share as one independent one would, at least 1. The larger of
/// what neighbours show (a chain of two states) and what batches show, since a queue remembers
/// for longer than one request.
pub fn design_effect(hits: &[bool]) -> f64 {
    let n = hits.len() as f64;
    let share = hits.iter().filter(|&&hit| hit).count() as f64 / n;
    let variance = share * (1.0 - share);
    if hits.len() < 2 * EFFECT_BATCHES || variance <= 0.0 {
        return 1.0;
    }
    let value = |hit: bool| f64::from(u8::from(hit)) - share;
    let neighbours: f64 = (hits.windows(2))
        .map(|pair| value(pair[0]) * value(pair[1]))
        .sum();
    let correlation = (neighbours / (n * variance)).clamp(0.0, 0.99);
    let chain = (1.0 + correlation) / (1.0 - correlation);
    let values: Vec<f64> = hits.iter().map(|&hit| value(hit)).collect();
    let batches = batch_means(&values, EFFECT_BATCHES)
        .map_or(1.0, |means| means.error.powi(2) * n / variance);
    chain.max(batches).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::normal_values as normal;
    use inferometer_core::seed::{Dimension, rng};
    use rand::RngExt;

    #[test]
    fn batch_means_agree_with_a_sum_by_hand() {
        // One value is left over; batches (1 3) (5 7) (2 4): means 2, 6, 3, squares 26/3.
        let found = batch_means(&[99.0, 1.0, 3.0, 5.0, 7.0, 2.0, 4.0], 3).unwrap();
        assert!((found.mean - 11.0 / 3.0).abs() < 1e-12);
        assert!((found.error - (26.0f64 / 3.0 / 6.0).sqrt()).abs() < 1e-12);
        assert!((found.interval[1] - found.mean - 4.3027 * found.error).abs() < 1e-3);
        assert!((found.correlation - (-35.0 / 9.0 - 14.0 / 9.0) / (26.0 / 3.0)).abs() < 1e-12);
        assert_eq!(batch_means(&[1.0], 2), None);
        assert_eq!(batch_means(&[1.0, 2.0], 1), None);
    }

    #[test]
    fn batches_show_the_error_that_dependence_hides() {
        // A first-order chain of 0.9 has 19 times the variance of the mean of its values.
        let (mut level, n) = (0.0, 20_000);
        let chain: Vec<f64> = normal(n, 11)
            .iter()
            .map(|noise| {
                level = 0.9 * level + noise;
                level
            })
            .collect();
        let found = batch_means(&chain, 40).unwrap();
        let true_error = (100.0 / n as f64).sqrt();
        assert!((found.error / true_error - 1.0).abs() < 0.35, "{found:?}");
    }

    #[test]
    fn runs_of_hits_tell_less_than_hits() {
        let mut random = rng(4, Dimension::Words, 2);
        let single: Vec<bool> = (0..8000).map(|_| random.random_bool(0.9)).collect();
        assert!(design_effect(&single) < 1.8);
        // Each value ten times over: ten tell as much as one.
        let tenfold: Vec<bool> = single[..800].iter().flat_map(|&hit| [hit; 10]).collect();
        let effect = design_effect(&tenfold);
        assert!((7.0..28.0).contains(&effect), "{effect}");
        assert_eq!(design_effect(&[true; 100]), 1.0);
        assert_eq!(design_effect(&[]), 1.0);
    }
}
