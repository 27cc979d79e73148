//! The fit of a sample to a distribution, and of arrivals to what was asked.

use super::Test;
use inferometer_core::quantile::sort;
use inferometer_core::scenario::Arrival;
use statrs::function::gamma::checked_gamma_lr;

/// Kolmogorov–Smirnov test of a sample against a distribution function: the largest distance
/// and its probability (Stephens' correction of the asymptotic one). Absent for no values.
pub fn kolmogorov_smirnov(values: &[f64], cdf: impl Fn(f64) -> f64) -> Option<Test> {
    if values.is_empty() {
        return None;
    }
    let mut sorted = values.to_vec();
    sort(&mut sorted);
    let n = sorted.len() as f64;
    let distance = sorted
        .iter()
        .enumerate()
        .fold(0f64, |largest, (i, &value)| {
            let expected = cdf(value);
            let above = (i + 1) as f64 / n - expected;
            let below = expected - i as f64 / n;
            largest.max(above).max(below)
        });
    let lambda = (n.sqrt() + 0.12 + 0.11 / n.sqrt()) * distance;
    Some(Test {
        statistic: distance,
        p_value: kolmogorov_tail(lambda),
    })
}

fn kolmogorov_tail(lambda: f64) -> f64 {
    // Below this the alternating sum converges too slowly, and the probability is 1 anyway.
    if lambda < 0.2 {
        return 1.0;
    }
    let sum: f64 = (1..=100)
        .map(|k: i32| {
            let sign = if k % 2 == 1 { 1.0 } else { -1.0 };
            sign * (-2.0 * f64::from(k * k) * lambda * lambda).exp()
        })
        .sum();
    (2.0 * sum).clamp(0.0, 1.0)
}

/// The distribution function of gaps between arrivals at `rate` a second. Constant arrivals
/// have all their gaps at one value (within a millionth), so their test is of equality.
pub fn gap_cdf(arrival: Arrival, rate: f64) -> impl Fn(f64) -> f64 {
    move |seconds| match arrival {
        _ if seconds <= 0.0 => 0.0,
        Arrival::Constant => f64::from(u8::from(seconds * rate >= 1.0 - 1e-6)),
        Arrival::Poisson => 1.0 - (-seconds * rate).exp(),
        Arrival::Gamma(shape) => {
            checked_gamma_lr(shape, seconds * rate * shape).unwrap_or(f64::NAN)
        }
    }
}

/// Tests whether arrivals (in seconds, in order) have the spacing that was asked.
pub fn arrivals_fit(arrivals_s: &[f64], arrival: Arrival, rate: f64) -> Option<Test> {
    let gaps: Vec<f64> = arrivals_s
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .collect();
    if let Arrival::Constant = arrival {
        // A step function has no density for the test: count the gaps off the value instead.
        let off = gaps
            .iter()
            .filter(|&&gap| (gap * rate - 1.0).abs() > 1e-6)
            .count();
        let share = off as f64 / gaps.len() as f64;
        return (!gaps.is_empty()).then_some(Test {
            statistic: share,
            p_value: f64::from(u8::from(off == 0)),
        });
    }
    kolmogorov_smirnov(&gaps, gap_cdf(arrival, rate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::seed::{Dimension, rng};
    use rand_distr::{Distribution, Exp1, Gamma};

    #[test]
    fn gaps_of_each_arrival_fit_their_own_distribution_and_no_other() {
        let mut random = rng(5, Dimension::Arrival, 0);
        let exponential: Vec<f64> = (0..2000)
            .map(|_| Distribution::<f64>::sample(&Exp1, &mut random) / 10.0)
            .collect();
        let gamma = Gamma::new(4.0, 1.0 / 40.0).unwrap();
        let regular: Vec<f64> = (0..2000).map(|_| gamma.sample(&mut random)).collect();
        let p = |gaps: &[f64], arrival| {
            kolmogorov_smirnov(gaps, gap_cdf(arrival, 10.0))
                .unwrap()
                .p_value
        };
        assert!(p(&exponential, Arrival::Poisson) > 0.001);
        assert!(p(&regular, Arrival::Gamma(4.0)) > 0.001);
        assert!(p(&exponential, Arrival::Gamma(4.0)) < 1e-6);
        assert!(p(&regular, Arrival::Poisson) < 1e-6);
    }

    #[test]
    fn constant_arrivals_are_told_from_poisson_ones() {
        let even: Vec<f64> = (0..100).map(|i| f64::from(i) * 0.25).collect();
        let fit = |arrival| arrivals_fit(&even, arrival, 4.0).unwrap().p_value;
        assert_eq!(fit(Arrival::Constant), 1.0);
        assert!(fit(Arrival::Poisson) < 1e-6);
    }
}
