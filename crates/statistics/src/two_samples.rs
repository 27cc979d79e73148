//! Two samples that owe nothing to a distribution: permutation, ranks and the shift between
//! them.

use super::Test;
use super::distribution::{normal_quantile, normal_tail};
use inferometer_core::quantile::sort;
use inferometer_core::seed::{Dimension, rng};
use rand::RngExt;

/// Most ways to divide the values that are all tried.
const MOST_DIVISIONS: u64 = 200_000;
const DRAWN_DIVISIONS: u32 = 20_000;
/// Most values a side for the exact distribution of ranks.
const MOST_EXACT: usize = 50;

/// Permutation test: the difference of means (`b` − `a`) and the two-sided probability of one
/// as large if labels mean nothing. Exact while all divisions can be tried, else by seeded
/// draws. Absent for an empty side or a value that is no number.
pub fn permutation(a: &[f64], b: &[f64], seed: u64) -> Option<Test> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let mut all: Vec<f64> = a.iter().chain(b).copied().collect();
    let total: f64 = all.iter().sum();
    if !total.is_finite() {
        return None;
    }
    let (n, m) = (a.len() as f64, b.len() as f64);
    let difference = |sum_a: f64| (total - sum_a) / m - sum_a / n;
    let observed = difference(a.iter().sum());
    // Sums in another order differ in their last digits: those are ties.
    let size = all.iter().map(|value| value.abs()).fold(0.0, f64::max);
    let least = observed.abs() - 1e-12 * size;
    let p_value = match divisions(all.len(), a.len()) {
        Some(count) => {
            let mut extreme = 0u64;
            each_choice(&all, a.len(), |sum| {
                extreme += u64::from(difference(sum).abs() >= least);
            });
            extreme as f64 / count as f64
        }
        None => {
            let mut random = rng(seed, Dimension::Bootstrap, 0x7065_726d);
            let mut extreme = 1u32;
            for _ in 0..DRAWN_DIVISIONS {
                for at in 0..a.len() {
                    let other = random.random_range(at as u64..all.len() as u64) as usize;
                    all.swap(at, other);
                }
                let sum = all[..a.len()].iter().sum();
                extreme += u32::from(difference(sum).abs() >= least);
            }
            f64::from(extreme) / f64::from(DRAWN_DIVISIONS + 1)
        }
    };
    Some(Test {
        statistic: observed,
        p_value,
    })
}

/// Ways to choose `k` of `n`, where they can all be tried.
pub fn divisions(n: usize, k: usize) -> Option<u64> {
    let k = k.min(n - k);
    (0..k as u64).try_fold(1u64, |ways, i| {
        let ways = ways * (n as u64 - i) / (i + 1);
        (ways <= MOST_DIVISIONS).then_some(ways)
    })
}

/// Calls `visit` with the sum of each choice of `k` values.
fn each_choice(values: &[f64], k: usize, mut visit: impl FnMut(f64)) {
    let n = values.len();
    let mut chosen: Vec<usize> = (0..k).collect();
    loop {
        visit(chosen.iter().map(|&at| values[at]).sum());
        let Some(last) = (0..k).rposition(|i| chosen[i] < n - k + i) else {
            return;
        };
        chosen[last] += 1;
        for i in last + 1..k {
            chosen[i] = chosen[i - 1] + 1;
        }
    }
}

/// Mann–Whitney test: U (how often a value of `a` exceeds one of `b`, ties counting half) and
/// its two-sided probability: exact for small samples without ties, else normal with Kendall's
/// correction for ties and for continuity. Absent for an empty side or a value that is no
/// number.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<Test> {
    let mut all: Vec<(f64, bool)> = a.iter().map(|&value| (value, true)).collect();
    all.extend(b.iter().map(|&value| (value, false)));
    if a.is_empty() || b.is_empty() || all.iter().any(|(value, _)| value.is_nan()) {
        return None;
    }
    all.sort_unstable_by(|x, y| x.0.total_cmp(&y.0));
    let (mut rank_sum, mut before, mut ties) = (0.0, 0.0, 0.0);
    for group in all.chunk_by(|x, y| x.0 == y.0) {
        let size = group.len() as f64;
        let of_a = group.iter().filter(|(_, is_a)| *is_a).count() as f64;
        rank_sum += of_a * (before + (size + 1.0) / 2.0);
        ties += size.powi(3) - size;
        before += size;
    }
    let (n, m) = (a.len() as f64, b.len() as f64);
    let statistic = rank_sum - n * (n + 1.0) / 2.0;
    let smaller = statistic.min(n * m - statistic);
    let p_value = if ties == 0.0 && a.len().max(b.len()) <= MOST_EXACT {
        2.0 * rank_distribution(a.len(), b.len())
            .iter()
            .take(smaller.round() as usize + 1)
            .sum::<f64>()
    } else {
        let total = n + m;
        let variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
        let distance = (n * m / 2.0 - smaller - 0.5).max(0.0);
        if variance > 0.0 {
            2.0 * normal_tail(distance / variance.sqrt())
        } else {
            1.0
        }
    };
    Some(Test {
        statistic,
        p_value: p_value.min(1.0),
    })
}

/// Probability of each U from 0 to n·m if labels mean nothing.
fn rank_distribution(n: usize, m: usize) -> Vec<f64> {
    // Gaussian binomial coefficient, by one factor (1 − q^(m+i)) / (1 − q^i) after the other,
    // each scaled to keep a sum of one.
    let top = n * m;
    let mut ways = vec![0.0; top + 1];
    ways[0] = 1.0;
    for i in 1..=n {
        for at in (m + i..=top).rev() {
            ways[at] -= ways[at - m - i];
        }
        for at in i..=top {
            ways[at] += ways[at - i];
        }
        let share = i as f64 / (m + i) as f64;
        ways.iter_mut().for_each(|way| *way *= share);
    }
    ways
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Median of all differences `b` − `a`.
    pub value: f64,
    /// Interval from the ranks of those differences; absent where the samples are too small
    /// for the confidence.
    pub interval: Option<[f64; 2]>,
}

/// Hodges–Lehmann estimate of how far `b` is shifted against `a`, in
/// O((n + m) log(n + m)) however many differences there are. Absent for an empty side or a
/// value that is no finite number.
pub fn hodges_lehmann(a: &[f64], b: &[f64], confidence: f64) -> Option<Shift> {
    if a.is_empty() || b.is_empty() || !a.iter().chain(b).all(|value| value.is_finite()) {
        return None;
    }
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    sort(&mut a);
    sort(&mut b);
    let pairs = a.len() as u64 * b.len() as u64;
    let middle = |rank| difference_of_rank(&a, &b, rank);
    let value = (middle((pairs - 1) / 2) + middle(pairs / 2)) / 2.0;
    let outside = ranks_outside(a.len(), b.len(), (1.0 - confidence) / 2.0);
    Some(Shift {
        value,
        interval: outside
            .filter(|&k| 2 * k < pairs)
            .map(|k| [middle(k), middle(pairs - 1 - k)]),
    })
}

/// How many differences may be left out at each end so that each error is at most `risk`.
fn ranks_outside(n: usize, m: usize, risk: f64) -> Option<u64> {
    if n.max(m) <= MOST_EXACT {
        let mut below = 0.0;
        let left_out = rank_distribution(n, m)
            .iter()
            .take_while(|&&p| {
                below += p;
                below <= risk
            })
            .count() as u64;
        return left_out.checked_sub(1);
    }
    let (n, m) = (n as f64, m as f64);
    let half = -normal_quantile(risk) * (n * m * (n + m + 1.0) / 12.0).sqrt();
    let left_out = (n * m / 2.0 - half - 0.5).floor();
    (left_out >= 0.0).then_some(left_out as u64)
}

/// The difference b − a of a rank (from 0) among all pairs of two sorted samples: a bisection
/// over the bits of the number, counting pairs below it along a staircase.
fn difference_of_rank(a: &[f64], b: &[f64], rank: u64) -> f64 {
    let at_most = |limit: f64| {
        let (mut count, mut j) = (0u64, 0);
        for &from in a {
            while j < b.len() && b[j] - from <= limit {
                j += 1;
            }
            count += j as u64;
        }
        count
    };
    let (mut low, mut high) = (
        ordered(b[0] - a[a.len() - 1]),
        ordered(b[b.len() - 1] - a[0]),
    );
    while low < high {
        let middle = low + (high.wrapping_sub(low) as u64 / 2) as i64;
        if at_most(from_ordered(middle)) > rank {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    from_ordered(low)
}

/// Integers in the order of the numbers whose bits they are.
fn ordered(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

fn from_ordered(key: i64) -> f64 {
    f64::from_bits((key ^ (((key >> 63) as u64) >> 1) as i64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Efron and Tibshirani's mice: days of survival with treatment and without.
    const TREATED: [f64; 7] = [94.0, 197.0, 16.0, 38.0, 99.0, 141.0, 23.0];
    const CONTROL: [f64; 9] = [52.0, 104.0, 146.0, 10.0, 51.0, 30.0, 40.0, 27.0, 46.0];
    // Hollander and Wolfe's permeability of membranes (1973, p. 69).
    const AT_TERM: [f64; 10] = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
    const EARLY: [f64; 5] = [1.15, 0.88, 0.90, 0.74, 1.21];

    #[test]
    fn every_division_of_a_small_sample_is_counted() {
        let found = permutation(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], 1).unwrap();
        assert_eq!(found.statistic, 4.0);
        assert!((found.p_value - 2.0 / 70.0).abs() < 1e-12);
        assert_eq!(permutation(&[1.0; 3], &[1.0; 3], 1).unwrap().p_value, 1.0);
        assert_eq!(permutation(&[], &[1.0], 1), None);
        assert_eq!(permutation(&[f64::NAN], &[1.0], 1), None);
    }

    #[test]
    fn permutation_agrees_with_the_mice() {
        let found = permutation(&CONTROL, &TREATED, 1).unwrap();
        assert!((found.statistic - 30.635).abs() < 1e-3);
        assert!(
            (found.p_value - 3184.0 / 11440.0).abs() < 1e-9,
            "{}",
            found.p_value
        );
    }

    #[test]
    fn drawn_divisions_agree_with_all_and_repeat_by_seed() {
        let spread =
            |from: f64| -> Vec<f64> { (0..15).map(|i| from + f64::from(i * 7 % 15)).collect() };
        let (a, b) = (spread(0.0), spread(4.0));
        let drawn = permutation(&a, &b, 5).unwrap();
        assert_eq!(drawn, permutation(&a, &b, 5).unwrap());
        // Welch's t = 2.449 with 28 degrees of freedom: p = 0.0208.
        assert!((drawn.p_value - 0.0208).abs() < 0.006, "{}", drawn.p_value);
    }

    #[test]
    fn mann_whitney_agrees_with_published_examples() {
        // Onset of diabetes in men and women: U = 17, exact p = 1/9.
        let men = [19.0, 22.0, 16.0, 29.0, 24.0];
        let women = [20.0, 11.0, 17.0, 12.0];
        let found = mann_whitney(&men, &women).unwrap();
        assert_eq!(found.statistic, 17.0);
        assert!(
            (found.p_value - 1.0 / 9.0).abs() < 1e-9,
            "{}",
            found.p_value
        );
        // W = 35, one-sided p = 0.1272.
        let found = mann_whitney(&AT_TERM, &EARLY).unwrap();
        assert_eq!(found.statistic, 35.0);
        assert!((found.p_value / 2.0 - 0.1272).abs() < 1e-4);
    }

    #[test]
    fn ties_count_half_and_narrow_the_distribution() {
        // By hand: ranks of a are 1, 3, 3, 5.5; U = 12.5 − 10 = 2.5, one tie of three and one
        // of two, variance 16/12 · (9 − 30/56) = 11.286, z = (8 − 2.5 − 0.5) / 3.359 = 1.488.
        let found = mann_whitney(&[1.0, 2.0, 2.0, 3.0], &[2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(found.statistic, 2.5);
        assert!((found.p_value - 0.1367).abs() < 5e-4, "{}", found.p_value);
        assert_eq!(mann_whitney(&[1.0; 4], &[1.0; 4]).unwrap().p_value, 1.0);
    }

    #[test]
    fn the_shift_agrees_with_hollander_and_wolfe() {
        let found = hodges_lehmann(&EARLY, &AT_TERM, 0.95).unwrap();
        assert!((found.value - 0.305).abs() < 1e-9);
        let [low, high] = found.interval.unwrap();
        assert!(
            (low + 0.15).abs() < 0.011 && (high - 0.76).abs() < 0.011,
            "{low} {high}"
        );
        assert_eq!(hodges_lehmann(&[1.0], &[2.0], 0.95).unwrap().interval, None);
    }

    proptest! {
        #[test]
        fn a_rank_found_by_bisection_is_the_one_found_by_sorting(
            mut a in proptest::collection::vec(-5.0f64..5.0, 1..12),
            mut b in proptest::collection::vec(-5.0f64..5.0, 1..12),
        ) {
            sort(&mut a);
            sort(&mut b);
            let mut all: Vec<f64> = a.iter().flat_map(|x| b.iter().map(move |y| y - x)).collect();
            sort(&mut all);
            for (rank, &expected) in all.iter().enumerate() {
                prop_assert_eq!(difference_of_rank(&a, &b, rank as u64), expected);
            }
        }
    }
}
