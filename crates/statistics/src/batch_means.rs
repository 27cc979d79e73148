//! Means of what depends on its neighbours, by batches.

use super::distribution::student_quantile;

/// The mean of a series whose neighbours depend on each other, by batches long enough that
/// their means do not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchMeans {
    pub mean: f64,
    pub error: f64,
    /// 95 % interval, by Student's t.
    pub interval: [f64; 2],
    /// Of the batches' means: above 0, if a few of them lie far above the others.
    pub skewness: f64,
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
    let sum_of = |power: i32| {
        means
            .iter()
            .map(|batch| (batch - mean).powi(power))
            .sum::<f64>()
    };
    let squares = sum_of(2);
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
        skewness: if batches > 2 && squares > 0.0 {
            let deviation = (squares / (n - 1.0)).sqrt();
            n / ((n - 1.0) * (n - 2.0)) * sum_of(3) / deviation.powi(3)
        } else {
            0.0
        },
        correlation: if squares > 0.0 {
            neighbours / squares
        } else {
            0.0
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal_values as normal;

    #[test]
    fn batch_means_agree_with_a_sum_by_hand() {
        // One value is left over; batches (1 3) (5 7) (2 4): means 2, 6, 3, squares 26/3.
        let found = batch_means(&[99.0, 1.0, 3.0, 5.0, 7.0, 2.0, 4.0], 3).unwrap();
        assert!((found.mean - 11.0 / 3.0).abs() < 1e-12);
        assert!((found.error - (26.0f64 / 3.0 / 6.0).sqrt()).abs() < 1e-12);
        assert!((found.interval[1] - found.mean - 4.3027 * found.error).abs() < 1e-3);
        assert!((found.correlation - (-35.0 / 9.0 - 14.0 / 9.0) / (26.0 / 3.0)).abs() < 1e-12);
        // Deviations −5/3, 7/3, −2/3: cubes (343 − 125 − 8) / 27, times 3 / 2.
        let skewness = 1.5 * (210.0 / 27.0) / (13.0f64 / 3.0).powf(1.5);
        assert!((found.skewness - skewness).abs() < 1e-12);
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
}
