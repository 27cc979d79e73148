//! Statistics on series: intervals by block bootstrap, trend, the end of a warm-up, and the
//! fit of arrivals to what was asked.

use crate::quantile::{least_samples, quantile, quantile_by_rank, sort};
use crate::scenario::Arrival;
use crate::seed::{Dimension, rng};
use rand::RngExt;

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
    /// Of the mean.
    pub mean: Option<[f64; 2]>,
    /// Of the median.
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
        let n = values.len();
        let Some(block) = self.block(n) else {
            return Intervals::default();
        };
        // A resample is kept as the number of times that each rank was drawn: no sorting.
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_unstable_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]));
        let sorted: Vec<f64> = order.iter().map(|&at| values[at as usize]).collect();
        let mut ranks = vec![0u32; 2 * n];
        for (rank, &at) in order.iter().enumerate() {
            ranks[at as usize] = rank as u32;
            ranks[at as usize + n] = rank as u32;
        }
        let sums = prefix_sums(values);
        let (mut means, mut medians, mut tails) = (Vec::new(), Vec::new(), Vec::new());
        let mut counts = vec![0u32; n];
        self.resample(n, block, series, |begins| {
            counts.fill(0);
            let (mut sum, mut left) = (0.0, n);
            for &begin in begins {
                let len = block.min(left);
                for &rank in &ranks[begin..begin + len] {
                    counts[rank as usize] += 1;
                }
                sum += sums[begin + len] - sums[begin];
                left -= len;
            }
            let at = |rank| sorted[drawn(&counts, n, rank)];
            means.push(sum / n as f64);
            medians.extend(quantile_by_rank(n as u64, at, 0.5));
            tails.extend(quantile_by_rank(n as u64, at, 0.99));
        });
        let tail_known = least_samples(99.0).is_some_and(|least| n as u64 >= least);
        Intervals {
            mean: middle(means),
            p50: middle(medians),
            p99: middle(tails).filter(|_| tail_known),
        }
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
                let len = block.min(left);
                num += above[begin + len] - above[begin];
                den += below[begin + len] - below[begin];
                left -= len;
            }
            ratios.push(num / den);
        });
        middle(ratios).filter(|interval| interval.iter().all(|end| end.is_finite()))
    }
}

/// Sums of the first 0, 1, 2 … values of the series written twice, for blocks that wrap.
fn prefix_sums(values: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let twice = values.iter().chain(values).map(|value| {
        sum += value;
        sum
    });
    std::iter::once(0.0).chain(twice).collect()
}

/// The rank in the sample of the `rank`-th smallest value drawn, from the end that is nearer.
fn drawn(counts: &[u32], n: usize, rank: u64) -> usize {
    if (rank as usize) < n / 2 {
        let mut before = 0u64;
        let found = counts.iter().position(|&count| {
            before += u64::from(count);
            before > rank
        });
        found.unwrap_or(counts.len() - 1)
    } else {
        let mut from = n as u64;
        let found = counts.iter().rposition(|&count| {
            from -= u64::from(count);
            from <= rank
        });
        found.unwrap_or(0)
    }
}

/// The middle 95 %.
fn middle(mut values: Vec<f64>) -> Option<[f64; 2]> {
    sort(&mut values);
    Some([quantile(&values, 0.025)?, quantile(&values, 0.975)?])
}

/// A statistic and how likely chance alone gives one as large.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// The statistic.
    pub statistic: f64,
    /// Probability under the null hypothesis.
    pub p_value: f64,
}

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
        Arrival::Gamma(shape) => regularised_gamma(shape, seconds * rate * shape),
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

/// Lower incomplete gamma function, regularised: by its series for small `x`, by its
/// continued fraction for large.
fn regularised_gamma(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for k in 1..1000 {
            term *= x / (a + f64::from(k));
            sum += term;
            if term < sum * 1e-15 {
                break;
            }
        }
        return (front * sum).min(1.0);
    }
    let mut b = x + 1.0 - a;
    let mut c = 1e300;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for k in 1..1000 {
        let k = f64::from(k);
        let step = -k * (k - a);
        b += 2.0;
        d = 1.0 / (step * d + b);
        c = b + step / c;
        fraction *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    (1.0 - front * fraction).clamp(0.0, 1.0)
}

/// Logarithm of the gamma function for positive arguments, by Stirling's series shifted to
/// where it is exact to the last digits.
fn ln_gamma(a: f64) -> f64 {
    let mut shift = 0.0;
    let mut x = a;
    while x < 10.0 {
        shift += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series =
        (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - shift
}

/// Mann–Kendall test for a rising trend: Kendall's tau and the one-sided probability of one
/// as large without a trend, ties counted. Absent for fewer than 8 values. Takes n² steps:
/// give it bins, not requests.
pub fn rising_trend(values: &[f64]) -> Option<Test> {
    let n = values.len();
    if n < 8 {
        return None;
    }
    let mut score = 0i64;
    for (i, a) in values.iter().enumerate() {
        for b in &values[i + 1..] {
            score += i64::from(b > a) - i64::from(b < a);
        }
    }
    let spread = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut sorted = values.to_vec();
    sort(&mut sorted);
    let ties: f64 = sorted
        .chunk_by(|a, b| a == b)
        .map(|group| spread(group.len() as f64))
        .sum();
    let variance = (spread(n as f64) - ties) / 18.0;
    let z = match score {
        // One step towards zero: the score moves in steps of two.
        _ if variance <= 0.0 => 0.0,
        0 => 0.0,
        score => (score - score.signum()) as f64 / variance.sqrt(),
    };
    Some(Test {
        statistic: score as f64 / (n * (n - 1) / 2) as f64,
        p_value: normal_tail(z),
    })
}

/// Probability that a standard normal variable exceeds `z` (Abramowitz and Stegun 7.1.26,
/// exact to 1e-7).
fn normal_tail(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.3275911 * x);
    let poly = t
        * (0.254829592
            + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    let tail = 0.5 * poly * (-x * x).exp();
    if z >= 0.0 { tail } else { 1.0 - tail }
}

/// How much better a cut of half must be than one of a third for a series to be unsettled. A
/// steady ramp gains 1.4; noise on a settled series rarely gains a tenth.
const GAIN_OF_HALF: f64 = 1.3;
/// Deviation, as a share of the mean, below which a series is as good as constant.
const CONSTANT: f64 = 0.01;

/// MSER-5: how many values to cut from the beginning of a series so that the mean of the rest
/// is best known, in batches of five. Absent if the series is short, or if it gains by a cut
/// of half of it: then it has not settled.
pub fn mser5(values: &[f64]) -> Option<usize> {
    let batches: Vec<f64> = values
        .chunks_exact(5)
        .map(|batch| batch.iter().sum::<f64>() / 5.0)
        .collect();
    let n = batches.len();
    let limit = n / 2;
    if limit < 2 {
        return None;
    }
    // From the end, so that each cut needs one step.
    let (mut sum, mut squares) = (0.0, 0.0);
    let shift = batches[n - 1];
    let mut errors = vec![0.0; n];
    let level = batches[limit..].iter().sum::<f64>() / (n - limit) as f64;
    let floor = (CONSTANT * level).powi(2);
    for (cut, value) in batches.iter().enumerate().rev() {
        sum += value - shift;
        squares += (value - shift).powi(2);
        let rest = (n - cut) as f64;
        errors[cut] = ((squares - sum * sum / rest).max(0.0) / rest + floor) / rest;
    }
    // The first of equals: ties go to the smaller cut.
    let best = |most: usize| (0..=most).min_by(|&a, &b| errors[a].total_cmp(&errors[b]));
    let cut = best(limit)?;
    if cut < limit {
        return Some(cut * 5);
    }
    let early = best(n / 3)?;
    (errors[early] < GAIN_OF_HALF * errors[limit]).then_some(early * 5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand_distr::{Distribution, Exp1, Gamma, StandardNormal};

    fn normal(n: usize, seed: u64) -> Vec<f64> {
        let mut random = rng(seed, Dimension::Words, 0);
        (0..n).map(|_| StandardNormal.sample(&mut random)).collect()
    }

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

    #[test]
    fn incomplete_gamma_agrees_with_known_values() {
        for (a, x, expected) in [
            (1.0, 1.0, 0.632_120_558_8),
            (0.5, 0.5, 0.682_689_492_1),
            (5.0, 10.0, 0.970_747_311_9),
        ] {
            assert!((regularised_gamma(a, x) - expected).abs() < 1e-9, "{a} {x}");
        }
    }

    #[test]
    fn a_trend_is_found_and_noise_is_not_one() {
        let noise = normal(40, 2);
        assert!(rising_trend(&noise).unwrap().p_value > 0.01);
        let rising: Vec<f64> = noise
            .iter()
            .enumerate()
            .map(|(i, value)| value + i as f64 * 0.3)
            .collect();
        assert!(rising_trend(&rising).unwrap().p_value < 1e-4);
        assert!(rising_trend(&[1.0; 20]).unwrap().p_value > 0.4);
        assert_eq!(rising_trend(&[1.0; 5]), None);
    }

    #[test]
    fn a_warm_up_is_cut_and_a_ramp_never_settles() {
        let mut random = rng(3, Dimension::Words, 1);
        let mut warm: Vec<f64> = (0..100)
            .map(|_| 10.0 + random.random_range(0.0..1.0))
            .collect();
        for (i, value) in warm.iter_mut().take(12).enumerate() {
            *value = i as f64 / 2.0;
        }
        let cut = mser5(&warm).unwrap();
        assert!((10..=20).contains(&cut), "{cut}");
        let ramp: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(mser5(&ramp), None);
        assert_eq!(mser5(&[5.0; 100]), Some(0));
        assert_eq!(mser5(&[5.0; 12]), None);
    }
}
