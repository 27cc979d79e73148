//! How much requests depend on their neighbours: those that wait in one queue share their fate,
//! so many of them may tell no more than one.

/// Requests in the smallest batch.
const GRAIN: usize = 8;
/// Fewest batches of a probe that show how they differ.
const LEAST_BATCHES: usize = 4;
/// Fewest differences, over all probes, that a length of batches is judged by.
const LEAST_DIFFERENCES: f64 = 12.0;

/// Misses of one target in the order of sending, by small batches.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Misses {
    total: u64,
    requests: u64,
    batches: Vec<u32>,
    open: u32,
}

impl Misses {
    pub(super) fn observe(&mut self, within: bool) {
        self.requests += 1;
        self.open += u32::from(!within);
        self.total += u64::from(!within);
        if self.requests.is_multiple_of(GRAIN as u64) {
            self.batches.push(std::mem::take(&mut self.open));
        }
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// How much more batches of `length` grains differ than those of independent requests
    /// would, and the number of differences seen.
    fn spread(&self, length: usize) -> Option<(f64, f64)> {
        let count = self.batches.len() / length;
        if count < LEAST_BATCHES {
            return None;
        }
        let sums: Vec<f64> = (self.batches.chunks_exact(length))
            .map(|batch| batch.iter().sum::<u32>() as f64)
            .collect();
        let mean = sums.iter().sum::<f64>() / count as f64;
        let requests = (GRAIN * length) as f64;
        let independent = mean * (1.0 - mean / requests);
        let squares: f64 = sums.iter().map(|sum| (sum - mean).powi(2)).sum();
        let differences = count as f64 - 1.0;
        (independent > 0.0).then(|| (squares / (differences * independent), differences))
    }
}

/// Design effect over several probes, whose weights are at most 1: how many requests tell as much as one
/// independent one, at least 1. Batches lengthen while there are enough of them, since those
/// shorter than the memory of the queue hide what they share.
pub(super) fn design_effect<'a>(probes: impl Iterator<Item = (&'a Misses, f64)> + Clone) -> f64 {
    let mut effect = 1f64;
    let mut length = 1;
    loop {
        let (mut sum, mut differences) = (0.0, 0.0);
        for (misses, weight) in probes.clone() {
            if let Some((ratio, count)) = misses.spread(length) {
                sum += weight * count * ratio;
                differences += weight * count;
            }
        }
        if differences < LEAST_DIFFERENCES {
            return effect;
        }
        effect = effect.max(sum / differences);
        length *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::seed::{Dimension, rng};
    use rand::RngExt;

    fn effect(repeated: usize, requests: usize) -> f64 {
        let mut random = rng(4, Dimension::Words, 2);
        let mut misses = Misses::default();
        for _ in 0..requests / repeated {
            let within = random.random_bool(0.95);
            (0..repeated).for_each(|_| misses.observe(within));
        }
        design_effect([(&misses, 1.0)].into_iter())
    }

    #[test]
    fn requests_that_share_their_fate_tell_as_much_as_one() {
        assert!(effect(1, 8000) < 2.0);
        let tenfold = effect(10, 20_000);
        assert!((7.0..25.0).contains(&tenfold), "{tenfold}");
        let hundredfold = effect(100, 80_000);
        assert!((60.0..250.0).contains(&hundredfold), "{hundredfold}");
    }

    #[test]
    fn a_sample_without_misses_shows_no_dependence() {
        let mut misses = Misses::default();
        (0..1000).for_each(|_| misses.observe(true));
        assert_eq!(design_effect([(&misses, 1.0)].into_iter()), 1.0);
        assert_eq!(design_effect([].into_iter()), 1.0);
    }
}
