//! Whether a difference is there, is too small to matter, or cannot be told; and how many
//! such questions may be asked at once.

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

    /// Probability of a difference as large if there is none.
    pub fn p_value(&self) -> f64 {
        2.0 * student_tail((self.value / self.error).abs(), self.degrees)
    }

    pub fn interval(&self, confidence: f64) -> [f64; 2] {
        let half = student_quantile(0.5 + confidence / 2.0, self.degrees) * self.error;
        [self.value - half, self.value + half]
    }
}

/// Two one-sided tests: each is against a difference beyond one margin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equivalence {
    /// Probability of the estimate if the difference is below the lower margin.
    pub below: f64,
    /// The same for the upper margin.
    pub above: f64,
}

impl Equivalence {
    /// The larger of the two: the difference lies within the margins if this is small.
    pub fn p_value(&self) -> f64 {
        self.below.max(self.above)
    }
}

/// TOST with margins on the scale of the difference: `ln(0.97)` and `ln(1.03)` for 3 % of a
/// ratio.
pub fn tost(difference: &Difference, margins: [f64; 2]) -> Equivalence {
    let Difference {
        value,
        error,
        degrees,
    } = *difference;
    Equivalence {
        below: student_tail((value - margins[0]) / error, degrees),
        above: student_tail((margins[1] - value) / error, degrees),
    }
}

/// Holm's correction: p-values that may be compared with one level, however many they are, in
/// the order given.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![f64::NAN; p_values.len()];
    let mut largest = 0f64;
    for (step, &at) in order.iter().enumerate() {
        let left = (p_values.len() - step) as f64;
        largest = largest.max((left * p_values[at]).min(1.0));
        adjusted[at] = largest;
    }
    adjusted
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
    fn equivalence_agrees_with_lakens_worked_example() {
        // Lakens (2017), means 5.25 and 5.22, bounds of 0.43 standard deviations:
        // t(182) = 3.15 and −2.69, p = .001 and .004.
        let difference =
            Difference::welch(&sample(89, 5.22, 0.83), &sample(95, 5.25, 0.95)).unwrap();
        let bound = 0.43 * ((0.95f64.powi(2) + 0.83f64.powi(2)) / 2.0).sqrt();
        let found = tost(&difference, [-bound, bound]);
        assert!((difference.degrees - 181.1).abs() < 1.0);
        assert!((found.below - 0.00095).abs() < 1e-4, "{found:?}");
        assert!((found.above - 0.00388).abs() < 1e-4, "{found:?}");
        assert_eq!(found.p_value(), found.above);
    }

    #[test]
    fn an_interval_inside_the_margins_is_the_same_as_two_small_p_values() {
        let difference = Difference {
            value: 0.004,
            error: 0.009,
            degrees: 6.0,
        };
        let margins = [0.97f64.ln(), 1.03f64.ln()];
        let [low, high] = difference.interval(0.9);
        let inside = low > margins[0] && high < margins[1];
        assert_eq!(inside, tost(&difference, margins).p_value() < 0.05);
        assert!(inside);
    }

    #[test]
    fn holm_agrees_with_a_worked_example() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn one_value_or_no_variation_has_no_difference() {
        assert_eq!(Difference::welch(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(Difference::welch(&[1.0, 1.0], &[2.0, 2.0]), None);
    }
}
