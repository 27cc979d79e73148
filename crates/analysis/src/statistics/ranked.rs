//! Quantiles of resamples without sorting them: a resample is kept as the number of times that
//! each rank of the sample was drawn, and only where its quantile can lie.

use inferometer_core::quantile::quantile_by_rank;
use std::ops::Range;

/// Ranks on either side of a quantile that are counted one by one: this share of all …
const SHARE: usize = 64;
/// … and at least so many.
const LEAST: usize = 2_048;

/// A sample with the rank of each of its values.
pub(crate) struct Ranked {
    sorted: Vec<f64>,
    /// In the order of the sample.
    ranks: Vec<u32>,
}

impl Ranked {
    pub(crate) fn new(values: &[f64]) -> Self {
        let mut order: Vec<(f64, u32)> = (values.iter().copied()).zip(0..).collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut ranks = vec![0; values.len()];
        for (rank, &(_, at)) in (0..).zip(&order) {
            ranks[at as usize] = rank;
        }
        let sorted = order.into_iter().map(|(value, _)| value).collect();
        Ranked { sorted, ranks }
    }

    fn n(&self) -> usize {
        self.sorted.len()
    }

    pub(crate) fn sorted(&self) -> &[f64] {
        &self.sorted
    }
}

/// The ranks around a quantile. What is drawn from below them is known by a difference of sums,
/// so that a resample costs what it draws from inside.
pub(super) struct Window {
    ranks: Range<u32>,
    /// Before each place of the sample: values of lower rank, and values inside.
    before: Vec<[u32; 2]>,
    /// The values inside in the order of the sample, as ranks counted from the window's first.
    inside: Vec<u32>,
    counts: Vec<u32>,
}

impl Window {
    /// The window in which the `p`-quantile of a resample is expected.
    pub(super) fn new(sample: &Ranked, p: f64) -> Self {
        let n = sample.n();
        let middle = (p.clamp(0.0, 1.0) * n as f64) as usize;
        let half = (n / SHARE).max(LEAST);
        let (from, to) = (middle.saturating_sub(half), (middle + half).min(n));
        Self::of_ranks(sample, from as u32..to as u32)
    }

    fn of_ranks(sample: &Ranked, ranks: Range<u32>) -> Self {
        let mut before = Vec::with_capacity(sample.ranks.len() + 1);
        let mut inside = Vec::with_capacity(ranks.len());
        let mut lower = 0;
        before.push([0, 0]);
        for &rank in &sample.ranks {
            lower += u32::from(rank < ranks.start);
            if ranks.contains(&rank) {
                inside.push(rank - ranks.start);
            }
            before.push([lower, inside.len() as u32]);
        }
        Window {
            counts: vec![0; ranks.len()],
            ranks,
            before,
            inside,
        }
    }

    /// The `p`-quantile of the resample that these blocks of the sample make.
    pub(super) fn quantile(
        &mut self,
        sample: &Ranked,
        blocks: &[Range<usize>],
        p: f64,
    ) -> Option<f64> {
        let n = sample.n() as u64;
        let last = n.checked_sub(1)?;
        self.counts.fill(0);
        let mut lower = 0;
        for block in blocks.iter().flat_map(|block| parts(block, sample.n())) {
            let [from, to] = [self.before[block.start], self.before[block.end]];
            lower += u64::from(to[0] - from[0]);
            for &rank in &self.inside[from[1] as usize..to[1] as usize] {
                self.counts[rank as usize] += 1;
            }
        }
        let drawn: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        let wanted = p.clamp(0.0, 1.0) * last as f64;
        let wanted = [wanted.floor() as u64, (wanted.ceil() as u64).min(last)];
        if wanted[0] < lower || wanted[1] >= lower + drawn {
            // The values depend so much on each other that the quantile went out of sight.
            let mut all = Window::of_ranks(sample, 0..n as u32);
            return all.quantile(sample, blocks, p);
        }
        let at = |rank: u64| {
            let mut before = lower;
            let place = self.counts.iter().position(|&count| {
                before += u64::from(count);
                before > rank
            });
            let place = self.ranks.start as usize + place.unwrap_or_default();
            sample.sorted[place.min(sample.n() - 1)]
        };
        quantile_by_rank(n, at, p)
    }
}

/// A block of a circular sample of `n` values as blocks that do not wrap.
pub(super) fn parts(block: &Range<usize>, n: usize) -> [Range<usize>; 2] {
    [
        block.start.min(n)..block.end.min(n),
        block.start.max(n) - n..block.end.max(n) - n,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::quantile::{quantile, sort};
    use inferometer_core::seed::{Dimension, rng};
    use rand::RngExt;

    fn resample(values: &[f64], blocks: &[Range<usize>]) -> Vec<f64> {
        let at = |place: usize| values[place % values.len()];
        let mut drawn: Vec<f64> = blocks.iter().cloned().flatten().map(at).collect();
        sort(&mut drawn);
        drawn
    }

    #[test]
    fn the_quantile_of_a_resample_is_that_of_its_values_sorted() {
        let mut random = rng(5, Dimension::Words, 0);
        let n = 70_000;
        let values: Vec<f64> = (0..n).map(|_| random.random::<f64>().powi(3)).collect();
        let sample = Ranked::new(&values);
        let block = 100;
        for _ in 0..3 {
            let begins = (0..n / block).map(|_| random.random_range(0..n as u64) as usize);
            let blocks: Vec<Range<usize>> = begins.map(|it| it..it + block).collect();
            let drawn = resample(&values, &blocks);
            for p in [0.0, 0.3, 0.5, 0.99, 1.0] {
                let found = Window::new(&sample, p).quantile(&sample, &blocks, p);
                assert_eq!(found, quantile(&drawn, p), "{p}");
            }
        }
    }

    #[test]
    fn a_quantile_far_from_where_it_was_expected_is_found_too() {
        let n = 100_000;
        let values: Vec<f64> = (0..n).map(f64::from).collect();
        let sample = Ranked::new(&values);
        // All from the first tenth, and half of it wrapped around the end.
        let n = n as usize;
        let blocks = vec![n - 5_000..n + 5_000; 10];
        let mut window = Window::new(&sample, 0.9);
        let drawn = resample(&values, &blocks);
        assert_eq!(
            window.quantile(&sample, &blocks, 0.9),
            quantile(&drawn, 0.9)
        );
        let near = vec![0..n / 10; 10];
        let drawn = resample(&values, &near);
        assert_eq!(window.quantile(&sample, &near, 0.9), quantile(&drawn, 0.9));
    }
}
