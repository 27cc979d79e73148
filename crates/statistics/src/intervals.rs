//! 95 % intervals of figures over requests that depend on their neighbours: batch means.
//!
//! Requests in the order of their start are divided into about ten batches (Schmeiser, 1982:
//! more gain little), long enough that one batch hardly depends on the next; Student's t over
//! the batches' means, widened by the correlation that is left, and by what groups of values keep
//! for as long as the series lasts. Where a few requests are much longer than the others, or a few
//! queues make most of a wait, intervals reach further to the side where batches are skewed (Willink,
//! 2005, as in the batch means of Tafazzoli and Wilson, 2011); in the former case these are few and
//! long. A quantile is that of a share: batches tell how much the share below it moves, and the sample
//! which values that covers (Woodruff, 1952). The bounds of a share are Clopper and Pearson's for
//! as many independent requests as the batches show.

use super::batch_means::{BatchMeans, batch_means};
use super::binomial::share_bounds;
use super::distribution::{normal_quantile, student_quantile};
use super::groups;
use inferometer_core::quantile::quantile;

const CONFIDENCE: f64 = 0.95;
/// Hits a batch below which they are rare.
const RARE: f64 = 5.0;
/// Shares nearer than this to 0 or 1 are near it.
const EDGE: f64 = 0.05;
/// Values that are all alike in every batch tell no more than this many times their number.
const LEAST_EFFECT: f64 = 0.1;
/// Correlation beyond which an interval would be all correction.
const MOST_CORRELATED: f64 = 0.9;

/// Intervals by a number of batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batches<'a> {
    count: usize,
    /// A few requests decide, and batches that have them differ from the others.
    skewed: bool,
    /// For each value of a series the group that it belongs to all the time.
    groups: &'a [u8],
}

impl Batches<'static> {
    /// Batches of an interval.
    pub const MOST: usize = 10;
    pub const LEAST: usize = 5;

    /// As many as there are stretches of a good length, from the least to the most.
    pub fn of(stretches: f64) -> Self {
        Batches {
            count: (stretches as usize).clamp(Self::LEAST, Self::MOST),
            skewed: false,
            groups: &[],
        }
    }

    /// For requests of which a few are much longer than the others: they are remembered for
    /// longest, so batches are as long as can be.
    pub const LONG_TAILED: Self = Batches {
        count: Self::LEAST,
        skewed: true,
        groups: &[],
    };
}

impl<'a> Batches<'a> {
    /// For series of as many values as there are `groups`, which differ for as long as they last;
    /// of others nothing is known.
    pub fn grouped(self, groups: &'a [u8]) -> Self {
        Batches { groups, ..self }
    }

    /// For figures that a few spells decide, of which a run may happen to see few.
    pub fn skewed(self) -> Self {
        Batches {
            skewed: true,
            ..self
        }
    }

    pub fn count(self) -> usize {
        self.count
    }

    /// How far the mean of a series may be off, either way, if it is as likely above as below.
    fn half_width(self, found: &BatchMeans, values: &[f64]) -> f64 {
        // The estimate of a correlation of none is low by one over their number.
        let left = found.correlation + 1.0 / self.count as f64;
        let left = left.clamp(0.0, MOST_CORRELATED);
        let by_time = (found.interval[1] - found.mean) * ((1.0 + left) / (1.0 - left)).sqrt();
        by_time.hypot(groups::half_width(values, self.groups))
    }

    /// How far it may lie below and above.
    fn widths(self, values: &[f64]) -> Option<[f64; 2]> {
        let found = batch_means(values, self.count)?;
        let (half, count) = (self.half_width(&found, values), self.count as f64);
        let t = student_quantile(0.5 + CONFIDENCE / 2.0, count - 1.0);
        // The skewness of so few is itself uncertain: it never makes a side shorter.
        let longer = |t: f64| {
            if self.skewed {
                (skewed(t, found.skewness / count.sqrt()) / t).max(1.0)
            } else {
                1.0
            }
        };
        Some([t, -t].map(|t| half * longer(t))).filter(|it| it.iter().all(|it| it.is_finite()))
    }

    pub fn mean(self, values: &[f64]) -> Option<[f64; 2]> {
        let [below, above] = self.widths(values)?;
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Some([mean - below, mean + above])
    }

    /// Of Σ above / Σ below, where each request has a share in both: its tokens and its time for
    /// a throughput, its gaps and their number for a mean over tokens. Neither is ever negative.
    pub fn ratio(self, above: &[f64], below: &[f64]) -> Option<[f64; 2]> {
        let sum = |values: &[f64]| values.iter().sum::<f64>();
        let (ratio, mean) = (sum(above) / sum(below), sum(below) / below.len() as f64);
        let residuals: Vec<f64> = (above.iter().zip(below))
            .map(|(above, below)| (above - ratio * below) / mean)
            .collect();
        let [below, above] = self.widths(&residuals)?;
        Some([(ratio - below).max(0.0), ratio + above])
    }

    /// Bounds of a share, whose indicators are given in order: those of as many independent ones
    /// as tell as much. Where a batch has hardly any, it cannot show that they tell more than
    /// their number.
    fn bounds(self, indicators: &[f64], share: f64) -> Option<[f64; 2]> {
        let n = indicators.len() as f64;
        let variance = share * (1.0 - share) / n;
        // Bounds of a share near 0 or 1 are skewed already.
        let half = if share.min(1.0 - share) < EDGE {
            self.half_width(&batch_means(indicators, self.count)?, indicators)
        } else {
            let [below, above] = self.widths(indicators)?;
            below.max(above)
        };
        let error = half / normal_quantile(0.5 + CONFIDENCE / 2.0);
        let is_rare = share.min(1.0 - share) * n < RARE * self.count as f64;
        let effect = error.powi(2) / variance;
        let effect = if is_rare { effect.max(1.0) } else { effect };
        // A batch hardly depends on the next, so each tells as much as one independent request.
        let independent = (n / effect.max(LEAST_EFFECT)).max(self.count as f64);
        Some(share_bounds(share, independent, CONFIDENCE))
    }

    /// Of the share of hits, in the order in which they came. `effect` of them tell as much as
    /// one independent one, where the hits themselves cannot show it because they are all alike.
    pub fn share(self, hits: &[bool], effect: f64) -> Option<[f64; 2]> {
        let values: Vec<f64> = hits.iter().map(|&hit| f64::from(u8::from(hit))).collect();
        let n = hits.len() as f64;
        let share = values.iter().sum::<f64>() / n;
        if share > 0.0 && share < 1.0 {
            return self.bounds(&values, share);
        }
        (n > 0.0).then(|| share_bounds(share, n / effect, CONFIDENCE))
    }

    /// Of the `p`-quantile (from 0 to 1) of a series, which is given in order and sorted. It ends
    /// with the last value at most, so the sample must be large enough to hold values beyond.
    pub fn quantile(self, values: &[f64], sorted: &[f64], p: f64) -> Option<[f64; 2]> {
        let value = quantile(sorted, p)?;
        let below: Vec<f64> = (values.iter())
            .map(|&other| f64::from(u8::from(other <= value)))
            .collect();
        let [low, high] = self.bounds(&below, p)?;
        Some([quantile(sorted, low)?, quantile(sorted, high)?])
    }
}

/// Student's t of a mean with this skewness: the further from it the true mean may lie on the side
/// of the long tail, the fewer such values a run happened to see.
fn skewed(t: f64, skewness: f64) -> f64 {
    let beta = skewness / 6.0;
    if beta.abs() < 1e-6 {
        return t;
    }
    ((1.0 + 6.0 * beta * (t - beta)).cbrt() - 1.0) / (2.0 * beta)
}

/// Groups of a long series, so that its correlations are soon added up.
const MOST_GROUPS: usize = 1 << 14;

/// How many values of a series tell as much about its level as one independent one would, at
/// least 1: twice the sum of its correlations up to where they vanish in noise. By ranks, so
/// that a few extreme values do not hide how the others move together.
pub fn design_effect(values: &[f64]) -> f64 {
    let ranks = ranks(values);
    let variance = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
    let group = ranks.len().div_ceil(MOST_GROUPS).max(1);
    let means: Vec<f64> = ranks
        .chunks_exact(group)
        .map(|group| group.iter().sum::<f64>() / group.len() as f64)
        .collect();
    let (single, grouped) = (
        variance(&ranks) / ranks.len() as f64,
        variance(&means) / means.len() as f64,
    );
    if !(single > 0.0 && grouped > 0.0) {
        return 1.0;
    }
    let correlation = |lag: usize| {
        let pairs = means[lag..].iter().zip(&means);
        pairs.map(|(a, b)| a * b).sum::<f64>() / means.len() as f64 / grouped
    };
    let (mut effect, mut before) = (1.0, 1.0);
    for lag in 1..means.len() / 2 {
        let found = correlation(lag);
        effect += 2.0 * found;
        if found + before < 0.0 || lag as f64 >= 6.0 * effect {
            break;
        }
        before = found;
    }
    (effect * group as f64 * grouped / single).max(1.0)
}

/// Ranks of the values in their order, less their mean; ties share theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut at = 0;
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = at as f64 + (tied.len() as f64 - values.len() as f64) / 2.0;
        tied.iter().for_each(|&value| ranks[value] = rank);
        at += tied.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal_values as normal;
    use inferometer_core::quantile::sort;

    const TEN: Batches<'_> = Batches {
        count: 10,
        skewed: false,
        groups: &[],
    };

    /// A chain in which each value keeps `memory` of the one before; variance 1.
    fn chain(n: usize, memory: f64, seed: u64) -> Vec<f64> {
        let mut level = 0.0;
        let noise = (1.0 - memory * memory).sqrt();
        let drawn = normal(n + 200, seed);
        let values = drawn.iter().map(|drawn| {
            level = memory * level + noise * drawn;
            level
        });
        values.skip(200).collect()
    }

    fn covered(runs: u64, interval: impl Fn(u64) -> [f64; 2], truth: f64) -> u64 {
        let holds = |&seed: &u64| {
            let [low, high] = interval(seed);
            low <= truth && truth <= high
        };
        (0..runs).filter(holds).count() as u64
    }

    #[test]
    fn means_shares_and_quantiles_are_covered_as_often_as_they_say() {
        // 300 tries at 95 % stay within 92 to 98 % all but once in fifty.
        for memory in [0.0, 0.8] {
            let mean = covered(300, |s| TEN.mean(&chain(1000, memory, s)).unwrap(), 0.0);
            assert!((276..=296).contains(&mean), "mean {memory}: {mean}");
            let quantile = |p: f64| {
                move |seed| {
                    let values = chain(2000, memory, seed);
                    let mut sorted = values.clone();
                    sort(&mut sorted);
                    TEN.quantile(&values, &sorted, p).unwrap()
                }
            };
            let median = covered(300, quantile(0.5), 0.0);
            assert!((273..=300).contains(&median), "median {memory}: {median}");
            let tail = covered(300, quantile(0.99), 2.3263);
            assert!((273..=300).contains(&tail), "p99 {memory}: {tail}");
            let share = |seed| {
                let hits: Vec<bool> = chain(1000, memory, seed)
                    .iter()
                    .map(|v| *v < 1.2816)
                    .collect();
                TEN.share(&hits, 1.0).unwrap()
            };
            let share = covered(300, share, 0.9);
            assert!((273..=300).contains(&share), "share {memory}: {share}");
        }
    }

    #[test]
    fn what_groups_keep_for_the_whole_series_is_covered_too() {
        // Values of one place are alike from the first to the last.
        let places: Vec<u8> = (0..700).map(|at| (at % 7) as u8).collect();
        let series = |seed| -> Vec<f64> {
            let kept = normal(7, 9000 + seed);
            let drawn = normal(700, seed).into_iter().zip(&places);
            drawn
                .map(|(own, &place)| own + kept[usize::from(place)])
                .collect()
        };
        let grouped = TEN.grouped(&places);
        let held = |by: Batches<'_>| covered(300, |s| by.mean(&series(s)).unwrap(), 0.0);
        let (alone, with_groups) = (held(TEN), held(grouped));
        assert!(
            alone < 120 && (273..=299).contains(&with_groups),
            "{alone}, {with_groups}"
        );
        let median = |seed| {
            let values = series(seed);
            let mut sorted = values.clone();
            sort(&mut sorted);
            grouped.quantile(&values, &sorted, 0.5).unwrap()
        };
        let median = covered(300, median, 0.0);
        assert!((273..=300).contains(&median), "{median}");
    }

    #[test]
    fn a_median_of_few_does_not_reach_what_hardly_any_request_is() {
        // Two of 88 stall, and the others move together for a fifth of the run.
        let stalled = |seed| {
            let mut values = chain(88, 0.9, seed);
            values[20] += 100.0;
            values[61] += 100.0;
            let mut sorted = values.clone();
            sort(&mut sorted);
            Batches::of(5.0).quantile(&values, &sorted, 0.5).unwrap()
        };
        let reaching = (0..300).filter(|&seed| stalled(seed)[1] > 50.0).count();
        assert_eq!(reaching, 0);
        // The truth is that of a chain of which 86 in 88 are as they were.
        let held = covered(300, stalled, 0.029);
        assert!((276..=296).contains(&held), "{held}");
    }

    #[test]
    fn queues_that_a_run_sees_few_of_are_covered_where_intervals_reach_further_to_their_side() {
        // Squares of a chain where it is above 1.5: E (Z - 1.5)² of what is above.
        let (beyond, density) = (0.066_807_2, 0.129_517_6);
        let truth = (1.0 + 1.5 * 1.5) * beyond - 1.5 * density;
        let waits = |seed| -> Vec<f64> {
            let chain = chain(1500, 0.9, seed);
            chain.iter().map(|it| (it - 1.5).max(0.0).powi(2)).collect()
        };
        let held = |by: Batches<'_>| covered(300, |s| by.mean(&waits(s)).unwrap(), truth);
        let (alike, reaching) = (held(TEN), held(TEN.skewed()));
        assert!(alike < reaching && reaching >= 276, "{alike}, {reaching}");
    }

    #[test]
    fn what_is_rare_and_large_is_covered_too() {
        // Fourth powers of a chain where it is above 0: a few spells make most of the mean.
        let spells = |seed| -> Vec<f64> {
            let chain = chain(1000, 0.95, seed);
            chain.iter().map(|level| level.max(0.0).powi(4)).collect()
        };
        let mean = |batches: Batches<'_>| covered(300, |s| batches.mean(&spells(s)).unwrap(), 1.5);
        let (by_ten, long_tailed) = (mean(TEN), mean(Batches::LONG_TAILED));
        assert!(by_ten < 250 && long_tailed > 255, "{by_ten}, {long_tailed}");
        // Of what is symmetric, both sides are about as long.
        let length = |side: usize| -> f64 {
            let of = |seed| {
                let values = chain(1000, 0.0, seed);
                let mean = values.iter().sum::<f64>() / 1000.0;
                (Batches::LONG_TAILED.mean(&values).unwrap()[side] - mean).abs()
            };
            (0..300).map(of).sum()
        };
        assert!((0.9..1.1).contains(&(length(0) / length(1))));
    }

    #[test]
    fn a_ratio_of_equal_shares_is_certain_and_one_of_noise_is_not() {
        let [low, high] = TEN.ratio(&[6.0; 100], &[2.0; 100]).unwrap();
        assert!((low - 3.0).abs() < 1e-9 && (high - 3.0).abs() < 1e-9);
        let ratio = |seed| {
            let above: Vec<f64> = normal(400, seed).iter().map(|v| 6.0 + v).collect();
            TEN.ratio(&above, &[2.0; 400]).unwrap()
        };
        let held = covered(200, ratio, 3.0);
        assert!((182..=198).contains(&held), "{held}");
    }

    #[test]
    fn all_hits_leave_room_for_what_was_not_seen() {
        let [low, high] = TEN.share(&[true; 300], 1.0).unwrap();
        assert!((0.98..0.99).contains(&low) && high == 1.0);
        let [dependent, _] = TEN.share(&[true; 300], 10.0).unwrap();
        assert!((0.85..0.95).contains(&dependent), "{dependent}");
    }

    #[test]
    fn there_are_five_to_ten_batches() {
        let counts = [f64::NAN, 3.0, 7.2, 1e9].map(|stretches| Batches::of(stretches).count());
        assert_eq!(counts, [5, 5, 7, 10]);
    }

    #[test]
    fn the_design_effect_is_that_of_the_chain() {
        // (1 + m) / (1 − m), for ranks of normal values a little less.
        for (memory, expected) in [(0.0, 1.0), (0.5, 3.0), (0.9, 19.0)] {
            let found = design_effect(&chain(20_000, memory, 5));
            assert!(
                (0.75..1.3).contains(&(found / expected)),
                "{memory}: {found}"
            );
        }
        assert_eq!(design_effect(&[3.0; 50]), 1.0);
        assert_eq!(design_effect(&[]), 1.0);
    }
}
