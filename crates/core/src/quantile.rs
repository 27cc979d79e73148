//! The one quantile function of the project, the sample that a tail claim needs, and a sample
//! in numbers.

use crate::summary::Distribution;

/// The `p`-quantile (`p` from 0 to 1) of a sorted slice by linear interpolation (Hyndman–Fan
/// type 7); absent for an empty one.
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    quantile_by_rank(sorted.len() as u64, |rank| sorted[rank as usize], p)
}

/// The same for a sample that is not kept as a slice: `at(rank)` is its value of that rank,
/// counted from 0.
pub fn quantile_by_rank(n: u64, at: impl Fn(u64) -> f64, p: f64) -> Option<f64> {
    let last = n.checked_sub(1)?;
    let position = p.clamp(0.0, 1.0) * last as f64;
    let below = (position.floor() as u64).min(last);
    let low = at(below);
    let part = position - below as f64;
    if part <= 0.0 {
        return Some(low);
    }
    Some(low + part * (at((below + 1).min(last)) - low))
}

/// Sorts a sample for `quantile`.
pub fn sort(values: &mut [f64]) {
    values.sort_unstable_by(f64::total_cmp);
}

/// Chance that a tail claim may be wrong by luck.
pub const TAIL_RISK: f64 = 0.01;

/// Least sample for a claim about a percentile (in percent) at 99 % confidence when nothing
/// exceeds it: the smallest n with pⁿ ≤ 1 %. Absent where no sample is large enough.
pub fn least_samples(percent: f64) -> Option<u64> {
    let p = percent / 100.0;
    if !(0.0..1.0).contains(&p) {
        return None;
    }
    if p <= TAIL_RISK {
        return Some(1);
    }
    Some((TAIL_RISK.ln() / p.ln()).ceil() as u64)
}

impl Distribution {
    /// A sample in numbers, without intervals; absent for an empty one.
    pub fn of(mut values: Vec<f64>) -> Option<Distribution> {
        sort(&mut values);
        Self::of_sorted(&values)
    }

    /// The same for a sample that is sorted already.
    pub fn of_sorted(sorted: &[f64]) -> Option<Distribution> {
        let n = sorted.len() as f64;
        let mean = sorted.iter().sum::<f64>() / n;
        let square = sorted.iter().map(|value| (value - mean).powi(2)).sum();
        Self::from_ranks(
            sorted.len() as u64,
            |rank| sorted[rank as usize],
            mean,
            square,
        )
    }

    /// Whether the sample can carry a claim about a percentile (in percent). A median describes
    /// the sample; only a tail claims something about what was not seen.
    pub fn supports(&self, percent: f64) -> bool {
        let independent = self.independent.unwrap_or(self.n);
        percent <= 50.0 || least_samples(percent).is_some_and(|least| independent >= least)
    }

    /// Requests that a claim about a percentile would take, where the sample is too small for it:
    /// more than samples where answers share their fate.
    pub fn requests_for(&self, percent: f64) -> Option<u64> {
        let least = least_samples(percent).filter(|_| !self.supports(percent))?;
        let answers = self.answers.unwrap_or(self.n);
        let independent = self.independent.unwrap_or(answers).max(1);
        if independent >= answers {
            return Some(least);
        }
        let each = answers as f64 / independent as f64;
        Some(10 * (least as f64 * each / 10.0).ceil() as u64)
    }

    /// From ranks, the mean and the sum of squared differences from it.
    pub fn from_ranks(
        n: u64,
        at: impl Fn(u64) -> f64,
        mean: f64,
        squares: f64,
    ) -> Option<Distribution> {
        let q = |p| quantile_by_rank(n, &at, p);
        Some(Distribution {
            n,
            mean,
            std: (n > 1).then(|| (squares / (n - 1) as f64).sqrt()),
            min: q(0.0)?,
            p50: q(0.5)?,
            p75: q(0.75)?,
            p90: q(0.9)?,
            p95: q(0.95)?,
            p99: q(0.99)?,
            max: q(1.0)?,
            independent: None,
            answers: None,
            mean_interval: None,
            p50_interval: None,
            p99_interval: None,
            requests_needed: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_interpolate_as_type_seven() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(quantile(&sorted, 0.5), Some(2.5));
        assert_eq!(quantile(&sorted, 0.25), Some(1.75));
        assert_eq!(quantile(&sorted, 0.0), Some(1.0));
        assert_eq!(quantile(&sorted, 1.0), Some(4.0));
        assert_eq!(quantile(&[7.0], 0.99), Some(7.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn answers_that_share_their_fate_take_more_requests() {
        let sample = |n: u64, independent| Distribution {
            independent,
            ..Distribution::of((0..n).map(|value| value as f64).collect()).unwrap()
        };
        assert_eq!(sample(88, None).requests_for(99.0), Some(459));
        assert_eq!(sample(88, Some(26)).requests_for(99.0), Some(1560));
        assert_eq!(sample(88, Some(26)).requests_for(50.0), None);
        // Enough requests, but too few that count.
        assert_eq!(sample(600, Some(300)).requests_for(99.0), Some(920));
        assert_eq!(sample(600, Some(300)).requests_for(95.0), None);
    }

    #[test]
    fn a_tail_claim_needs_the_sample_of_the_definition() {
        let least: Vec<_> = [90.0, 95.0, 99.0, 99.9].map(least_samples).to_vec();
        assert_eq!(least, [Some(44), Some(90), Some(459), Some(4603)]);
        assert_eq!(least_samples(100.0), None);
        assert_eq!(least_samples(0.0), Some(1));
    }

    #[test]
    fn one_value_has_no_deviation_and_no_value_has_no_distribution() {
        assert_eq!(Distribution::of(vec![3.0]).unwrap().std, None);
        assert_eq!(Distribution::of(vec![]), None);
        let two = Distribution::of(vec![5.0, 1.0]).unwrap();
        assert_eq!((two.mean, two.min, two.max), (3.0, 1.0, 5.0));
        assert!((two.std.unwrap() - 8f64.sqrt()).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn quantiles_never_fall_and_stay_inside(
            mut values in proptest::collection::vec(-1e6f64..1e6, 1..50),
            low in 0.0f64..1.0,
            high in 0.0f64..1.0,
        ) {
            sort(&mut values);
            let (low, high) = (low.min(high), low.max(high));
            let (a, b) = (quantile(&values, low).unwrap(), quantile(&values, high).unwrap());
            prop_assert!(a <= b + 1e-9);
            prop_assert!(values[0] <= a && b <= values[values.len() - 1] + 1e-9);
        }
    }
}
