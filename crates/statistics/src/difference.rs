//! A difference, and how well it is known.

use super::distribution::{student_quantile, student_tail};

/// An estimated difference (of logarithms, where a ratio is meant) and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    pub value: f64,
    pub error: f64,
    /// Degrees of freedom of that error; infinite where it is known.
    pub degrees: f64,
}

impl Difference {
    /// Mean of `b` minus mean of `a` with Welch's error; absent for fewer than two values a
    /// side, or where no value varies.
    pub fn welch(a: &[f64], b: &[f64]) -> Option<Self> {
        let part = |values: &[f64]| {
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            (values.len() > 1).then(|| (mean, squares / (n - 1.0) / n, n - 1.0))
        };
        let (mean_a, var_a, df_a) = part(a)?;
        let (mean_b, var_b, df_b) = part(b)?;
        let variance = var_a + var_b;
        let degrees = variance.powi(2) / (var_a.powi(2) / df_a + var_b.powi(2) / df_b);
        (variance > 0.0 && variance.is_finite()).then(|| Difference {
            value: mean_b - mean_a,
            error: variance.sqrt(),
            degrees,
        })
    }

    /// Mean of `b` minus mean of `a`, where both vary alike; absent for fewer than three values in all.
    pub fn pooled(a: &[f64], b: &[f64]) -> Option<Self> {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let squares = |values: &[f64]| {
            let mean = mean(values);
            values
                .iter()
                .map(|value| (value - mean).powi(2))
                .sum::<f64>()
        };
        let degrees = (a.len() + b.len()).checked_sub(2).filter(|it| *it > 0)? as f64;
        let variance = (squares(a) + squares(b)) / degrees;
        let parts = 1.0 / a.len() as f64 + 1.0 / b.len() as f64;
        parts.is_finite().then(|| Difference {
            value: mean(b) - mean(a),
            error: (variance * parts).sqrt(),
            degrees,
        })
    }

    /// The mean of differences that were seen; absent for fewer than two.
    pub fn of_mean(seen: &[f64]) -> Option<Self> {
        let n = seen.len() as f64;
        let mean = seen.iter().sum::<f64>() / n;
        let squares: f64 = seen.iter().map(|value| (value - mean).powi(2)).sum();
        (seen.len() > 1).then(|| Difference {
            value: mean,
            error: (squares / (n - 1.0) / n).sqrt(),
            degrees: n - 1.0,
        })
    }

    /// The mean of differences that are independent but for a variance that all of them share;
    /// absent for none.
    pub fn mean_of(parts: &[Difference], shared: f64) -> Option<Self> {
        let n = parts.len() as f64;
        let variances = || parts.iter().map(|part| (part.error / n).powi(2));
        let variance = variances().sum::<f64>() + shared;
        let degrees = variances()
            .zip(parts)
            .map(|(it, part)| it.powi(2) / part.degrees);
        (!parts.is_empty()).then(|| Difference {
            value: parts.iter().map(|part| part.value).sum::<f64>() / n,
            error: variance.sqrt(),
            degrees: variance.powi(2) / degrees.sum::<f64>(),
        })
    }

    /// Probability of a difference as large if there is none.
    pub fn p_value(&self) -> f64 {
        2.0 * student_tail((self.value / self.error).abs(), self.degrees)
    }

    pub fn interval(&self, confidence: f64) -> [f64; 2] {
        let half = student_quantile(0.5 + confidence / 2.0, self.degrees) * self.error;
        [self.value - half, self.value + half]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values with exactly this mean and standard deviation.
    fn sample(n: u32, mean: f64, deviation: f64) -> Vec<f64> {
        let raw: Vec<f64> = (0..n)
            .map(|i| f64::from(i) - f64::from(n - 1) / 2.0)
            .collect();
        let squares: f64 = raw.iter().map(|value| value * value).sum();
        let scale = deviation / (squares / f64::from(n - 1)).sqrt();
        raw.iter().map(|value| mean + value * scale).collect()
    }

    #[test]
    fn welch_agrees_with_lakens_worked_example() {
        // Lakens (2017): means 5.25 and 5.22, t(182) = 0.227.
        let difference =
            Difference::welch(&sample(89, 5.22, 0.83), &sample(95, 5.25, 0.95)).unwrap();
        assert!((difference.degrees - 181.1).abs() < 1.0);
        assert!((difference.value / difference.error - 0.227).abs() < 0.005);
    }

    #[test]
    fn a_mean_of_differences_is_known_better_but_for_what_they_share() {
        let part = |value| Difference {
            value,
            error: 0.2,
            degrees: 9.0,
        };
        let parts = [0.1, 0.2, 0.3, 0.4].map(part);
        let alone = Difference::mean_of(&parts, 0.0).unwrap();
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(
            close(alone.value, 0.25) && close(alone.error, 0.1),
            "{alone:?}"
        );
        assert!(close(alone.degrees, 36.0), "{alone:?}");
        let shared = Difference::mean_of(&parts, 0.03).unwrap();
        assert!(
            close(shared.error, 0.2) && shared.degrees > 500.0,
            "{shared:?}"
        );
        assert_eq!(Difference::mean_of(&[], 0.0), None);
    }

    #[test]
    fn pooled_and_paired_means_agree_with_their_formulas() {
        let (a, b) = (sample(4, 1.0, 0.2), sample(6, 1.5, 0.2));
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        let all = Difference::pooled(&a, &b).unwrap();
        let error = 0.2 * (1.0f64 / 4.0 + 1.0 / 6.0).sqrt();
        assert!(
            close(all.value, 0.5) && close(all.error, error) && all.degrees == 8.0,
            "{all:?}"
        );
        let one = Difference::of_mean(&sample(9, 0.3, 0.6)).unwrap();
        assert!(
            close(one.value, 0.3) && close(one.error, 0.2) && one.degrees == 8.0,
            "{one:?}"
        );
        assert_eq!(Difference::pooled(&[1.0], &[2.0]), None);
        assert_eq!(Difference::of_mean(&[1.0]), None);
    }

    #[test]
    fn one_value_or_no_variation_has_no_difference() {
        assert_eq!(Difference::welch(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(Difference::welch(&[1.0, 1.0], &[2.0, 2.0]), None);
    }
}
