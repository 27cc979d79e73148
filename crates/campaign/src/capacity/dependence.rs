//! How much requests depend on their neighbours: those that wait in one queue share their fate,
//! so many of them may tell no more than one.

/// Requests in the smallest batch.
const GRAIN: usize = 8;
/// Grains of a batch, the shortest and the longest: batches shorter than the memory of a queue
/// hide what their requests share.
const LENGTHS: [usize; 2] = [32, 128];
/// Differences, over all probes, that allow longer batches.
const MANY_DIFFERENCES: f64 = 20.0;
/// Design effect of a queue that nothing is known of, and the differences that this counts for.
const USUAL: (f64, f64) = (8.0, 4.0);
/// Largest design effect that is believed.
const LARGEST: f64 = 60.0;

/// The design effect: how many requests tell as much as one independent one. Each estimate is
/// noisy and some are biased, so it is the geometric mean of all, with a prior among them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dependence {
    logs: f64,
    weight: f64,
}

impl Default for Dependence {
    fn default() -> Self {
        let (usual, weight) = USUAL;
        Dependence {
            logs: weight * usual.ln(),
            weight,
        }
    }
}

impl Dependence {
    pub(super) fn learn(&mut self, effect: f64, weight: f64) {
        self.logs += weight * effect.clamp(1.0, LARGEST).ln();
        self.weight += weight;
    }

    pub(super) fn effect(&self) -> f64 {
        (self.logs / self.weight).exp()
    }
}

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

    /// How much more batches of `length` grains differ from the next than those of independent
    /// requests would, and the number of differences seen. A drift is not taken for dependence.
    fn spread(&self, length: usize) -> Option<(f64, f64)> {
        let sums: Vec<f64> = (self.batches.chunks_exact(length))
            .map(|batch| batch.iter().sum::<u32>() as f64)
            .collect();
        let mean = sums.iter().sum::<f64>() / sums.len() as f64;
        let independent = mean * (1.0 - mean / (GRAIN * length) as f64);
        let squares: f64 = (sums.windows(2))
            .map(|pair| (pair[1] - pair[0]).powi(2) / 2.0)
            .sum();
        let differences = sums.len() as f64 - 1.0;
        (independent > 0.0 && differences > 0.0)
            .then(|| (squares / (differences * independent), differences))
    }
}

/// Design effect by batches of several probes, whose weights are at most 1, and the number of
/// differences that it rests on. Batches lengthen while there are many.
pub(super) fn batch_effect<'a>(
    probes: impl Iterator<Item = (&'a Misses, f64)> + Clone,
) -> Option<(f64, f64)> {
    let pooled = |length: usize| {
        let (mut sum, mut differences) = (0.0, 0.0);
        for (misses, weight) in probes.clone() {
            if let Some((ratio, count)) = misses.spread(length) {
                sum += weight * count * ratio;
                differences += weight * count;
            }
        }
        (differences > 0.0).then(|| (sum / differences, differences))
    };
    let [mut length, longest] = LENGTHS;
    let mut found = pooled(length);
    while length < longest {
        length *= 2;
        match pooled(length) {
            Some(longer) if longer.1 >= MANY_DIFFERENCES => found = Some(longer),
            _ => break,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::seed::{Dimension, rng};
    use rand::RngExt;

    fn effect(repeated: usize, requests: usize) -> Option<f64> {
        let mut random = rng(4, Dimension::Words, 2);
        let mut misses = Misses::default();
        for _ in 0..requests / repeated {
            let within = random.random_bool(0.95);
            (0..repeated).for_each(|_| misses.observe(within));
        }
        batch_effect([(&misses, 1.0)].into_iter()).map(|(effect, _)| effect)
    }

    #[test]
    fn requests_that_share_their_fate_tell_as_much_as_one() {
        let alone = effect(1, 400_000).unwrap();
        assert!((0.6..1.5).contains(&alone), "{alone}");
        let tenfold = effect(10, 400_000).unwrap();
        assert!((7.0..14.0).contains(&tenfold), "{tenfold}");
        let fiftyfold = effect(50, 400_000).unwrap();
        assert!((35.0..65.0).contains(&fiftyfold), "{fiftyfold}");
    }

    #[test]
    fn a_drift_is_not_taken_for_dependence() {
        let mut random = rng(4, Dimension::Words, 2);
        let mut misses = Misses::default();
        for k in 0..20_000 {
            misses.observe(random.random_bool(1.0 - 0.4 * k as f64 / 20_000.0));
        }
        let (effect, _) = batch_effect([(&misses, 1.0)].into_iter()).unwrap();
        assert!(effect < 2.0, "{effect}");
    }

    #[test]
    fn without_misses_what_is_usual_is_assumed_and_many_differences_outweigh_it() {
        let mut misses = Misses::default();
        (0..1000).for_each(|_| misses.observe(true));
        assert_eq!(batch_effect([(&misses, 1.0)].into_iter()), None);
        let mut dependence = Dependence::default();
        assert!((dependence.effect() - USUAL.0).abs() < 1e-9);
        dependence.learn(1.0, 100.0);
        assert!(dependence.effect() < 1.2);
        dependence.learn(1e9, 1e9);
        assert!(dependence.effect() <= LARGEST);
    }
}
