//! Intervals by block bootstrap.

use super::ranked::{Ranked, Window, parts};
use inferometer_core::quantile::{least_samples, quantile, sort};
use inferometer_core::seed::{Dimension, rng};
use rand::RngExt;
use std::ops::Range;

/// Fewest values for which an interval is given.
const LEAST_VALUES: usize = 20;
/// Fewest blocks for which an interval is given: fewer cannot show how blocks differ.
const LEAST_BLOCKS: usize = 8;
/// Most resamples; 95 % intervals need no more.
const MOST_RESAMPLES: usize = 400;
/// Fewest resamples, for series so long that the interval is narrow anyway.
const LEAST_RESAMPLES: usize = 100;
/// Values drawn in all, so that a million requests take seconds, not minutes.
const DRAWS: usize = 20_000_000;

/// Circular block bootstrap over requests ordered by start. Requests that were under way
/// together share their fate, so a block holds at least as many as were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    seed: u64,
    least_block: usize,
}

/// 95 % intervals of one series; absent where the series cannot support them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Intervals {
    pub mean: Option<[f64; 2]>,
    pub p50: Option<[f64; 2]>,
    /// Of the 99th percentile; only with its least sample.
    pub p99: Option<[f64; 2]>,
}

impl Bootstrap {
    /// With the run's seed and the number of requests that were under way together.
    pub fn new(seed: u64, under_way: f64) -> Self {
        Bootstrap {
            seed,
            least_block: under_way.ceil().max(1.0) as usize,
        }
    }

    /// Length of a block for `n` values; absent if there are too few of either.
    fn block(&self, n: usize) -> Option<usize> {
        let block = ((n as f64).cbrt().ceil() as usize).max(self.least_block);
        (n >= LEAST_VALUES && n / block >= LEAST_BLOCKS).then_some(block)
    }

    /// Calls `visit` with the begins of the blocks of each resample.
    fn resample(&self, n: usize, block: usize, series: u64, mut visit: impl FnMut(&[usize])) {
        let mut random = rng(self.seed, Dimension::Bootstrap, series);
        let mut begins = vec![0; n.div_ceil(block)];
        for _ in 0..(DRAWS / n).clamp(LEAST_RESAMPLES, MOST_RESAMPLES) {
            for begin in &mut begins {
                *begin = random.random_range(0..n as u64) as usize;
            }
            visit(&begins);
        }
    }

    /// Intervals of mean, median and 99th percentile of a series; `series` numbers it, so
    /// that each has its own randomness.
    pub fn intervals(&self, values: &[f64], series: u64) -> Intervals {
        self.intervals_of(&Ranked::new(values), values, series)
    }

    /// The same for a series whose ranks are known already.
    pub(crate) fn intervals_of(&self, sample: &Ranked, values: &[f64], series: u64) -> Intervals {
        let mut intervals = Intervals::default();
        let mut means = Vec::new();
        let tails = [0.5, 0.99];
        if let Some([p50, p99]) = self.resampled(sample, values, tails, series, |sum| {
            means.push(sum / values.len() as f64);
        }) {
            let known = least_samples(99.0).is_some_and(|least| values.len() as u64 >= least);
            intervals.p50 = middle(p50);
            intervals.p99 = middle(p99).filter(|_| known);
            intervals.mean = middle(means);
        }
        intervals
    }

    /// Interval of any quantile (`p` from 0 to 1); only with the least sample of its tail, on
    /// either side.
    pub fn quantile(&self, values: &[f64], p: f64, series: u64) -> Option<[f64; 2]> {
        let least = least_samples(100.0 * p.max(1.0 - p))?;
        if (values.len() as u64) < least {
            return None;
        }
        let sample = Ranked::new(values);
        let [drawn] = self.resampled(&sample, values, [p], series, |_| {})?;
        middle(drawn)
    }

    /// The quantiles of each resample; `visit` gets its sum.
    fn resampled<const N: usize>(
        &self,
        sample: &Ranked,
        values: &[f64],
        quantiles: [f64; N],
        series: u64,
        mut visit: impl FnMut(f64),
    ) -> Option<[Vec<f64>; N]> {
        let n = values.len();
        let block = self.block(n)?;
        let sums = prefix_sums(values);
        let mut windows = quantiles.map(|p| Window::new(sample, p));
        let mut found = [const { Vec::new() }; N];
        self.resample(n, block, series, |begins| {
            let (mut sum, mut left) = (0.0, n);
            let blocks = begins.iter().map(|&begin| {
                let block = begin..begin + block.min(left);
                left -= block.len();
                sum += between(&sums, &block);
                block
            });
            let blocks: Vec<Range<usize>> = blocks.collect();
            visit(sum);
            for ((found, &p), window) in found.iter_mut().zip(&quantiles).zip(&mut windows) {
                found.extend(window.quantile(sample, &blocks, p));
            }
        });
        Some(found)
    }

    /// Interval of Σ numerator / Σ denominator, where each request has a share in both: its
    /// tokens and its time for a throughput, its gaps and their number for a mean over tokens.
    pub fn ratio(&self, numerator: &[f64], denominator: &[f64], series: u64) -> Option<[f64; 2]> {
        let n = numerator.len().min(denominator.len());
        let block = self.block(n)?;
        let above = prefix_sums(&numerator[..n]);
        let below = prefix_sums(&denominator[..n]);
        let mut ratios = Vec::new();
        self.resample(n, block, series, |begins| {
            let (mut num, mut den, mut left) = (0.0, 0.0, n);
            for &begin in begins {
                let block = begin..begin + block.min(left);
                num += between(&above, &block);
                den += between(&below, &block);
                left -= block.len();
            }
            ratios.push(num / den);
        });
        middle(ratios).filter(|interval| interval.iter().all(|end| end.is_finite()))
    }
}

/// Sums of the first 0, 1, 2 … values.
fn prefix_sums(values: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let sums = values.iter().map(|value| {
        sum += value;
        sum
    });
    std::iter::once(0.0).chain(sums).collect()
}

/// The sum of a block of the circular series.
fn between(sums: &[f64], block: &Range<usize>) -> f64 {
    let parts = parts(block, sums.len() - 1).into_iter();
    parts.map(|part| sums[part.end] - sums[part.start]).sum()
}

/// The middle 95 %.
fn middle(mut values: Vec<f64>) -> Option<[f64; 2]> {
    sort(&mut values);
    Some([quantile(&values, 0.025)?, quantile(&values, 0.975)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::normal_values as normal;

    #[test]
    fn the_interval_of_a_mean_covers_it_about_as_often_as_it_says() {
        let covered = (0..200)
            .filter(|&seed| {
                let [low, high] = Bootstrap::new(seed, 1.0)
                    .intervals(&normal(200, seed), 0)
                    .mean
                    .unwrap();
                low <= 0.0 && 0.0 <= high
            })
            .count();
        assert!((172..=200).contains(&covered), "{covered} of 200");
    }

    #[test]
    fn a_tail_interval_is_given_only_with_its_least_sample() {
        let bootstrap = Bootstrap::new(1, 4.0);
        let few = bootstrap.intervals(&normal(400, 3), 0);
        assert!(few.p50.is_some() && few.p99.is_none());
        let [low, high] = bootstrap.intervals(&normal(2000, 3), 0).p99.unwrap();
        assert!(low < 2.326 + 0.3 && high > 2.326 - 0.3 && low < high);
    }

    #[test]
    fn one_wave_of_requests_has_no_interval() {
        let bootstrap = Bootstrap::new(1, 64.0);
        assert_eq!(bootstrap.intervals(&normal(70, 3), 0), Intervals::default());
        assert_eq!(bootstrap.ratio(&[1.0; 70], &[1.0; 70], 0), None);
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let values = normal(300, 9);
        let once = Bootstrap::new(7, 2.0).intervals(&values, 1);
        assert_eq!(once, Bootstrap::new(7, 2.0).intervals(&values, 1));
        assert_ne!(once, Bootstrap::new(8, 2.0).intervals(&values, 1));
    }

    #[test]
    fn a_ratio_of_equal_shares_is_certain() {
        let ratio = Bootstrap::new(1, 1.0).ratio(&[6.0; 100], &[2.0; 100], 0);
        let [low, high] = ratio.unwrap();
        assert!((low - 3.0).abs() < 1e-9 && (high - 3.0).abs() < 1e-9);
    }

    #[test]
    fn the_interval_of_a_quantile_covers_it_and_needs_its_tail() {
        let covered = (0..200)
            .filter(|&seed| {
                let values = normal(400, seed);
                let bootstrap = Bootstrap::new(seed, 1.0);
                let [low, high] = bootstrap.quantile(&values, 0.9, 0).unwrap();
                low <= 1.2816 && 1.2816 <= high
            })
            .count();
        assert!((176..=199).contains(&covered), "{covered} of 200");
        let bootstrap = Bootstrap::new(1, 1.0);
        let values = normal(458, 1);
        assert_eq!(bootstrap.quantile(&values, 0.99, 0), None);
        assert_eq!(bootstrap.quantile(&values, 0.01, 0), None);
        let same = bootstrap.intervals(&values, 3).p50;
        assert_eq!(bootstrap.quantile(&values, 0.5, 3), same);
    }
}
