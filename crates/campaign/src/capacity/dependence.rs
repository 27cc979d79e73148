//! How much requests depend on their neighbours: those that wait in one queue share their fate,
//! so many of them may tell no more than one.

use serde::{Deserialize, Serialize};

/// Requests in the smallest batch.
const GRAIN: usize = 8;
/// Grains of the shortest batch.
const SHORTEST: usize = 4;
/// Batches lengthen while longer ones differ by this factor more: shorter than the memory of a queue they
/// hide what their requests share.
const GROWS: f64 = 1.15;
/// Fewest differences, over all probes, that say something.
const LEAST_DIFFERENCES: f64 = 6.0;
/// Design effect of a queue that nothing is known of, and the differences that this counts for.
const USUAL: (f64, f64) = (50.0, 3.0);
/// What a difference counts for: misses come in rare bursts, so most differences seen are
/// smaller than the mean one.
const TRUST: f64 = 0.25;

/// What is known of the design effect: how many requests tell as much as one independent one.
/// Its inverse has a gamma distribution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dependence {
    /// Half the degrees of freedom.
    shape: f64,
    /// Half the sum of squares.
    scale: f64,
}

impl Dependence {
    /// From batches within probes, whose weights are at most 1.
    pub(super) fn seen<'a>(probes: impl Iterator<Item = (&'a Misses, f64)> + Clone) -> Self {
        let (usual, degrees) = USUAL;
        let mut dependence = Dependence {
            shape: degrees / 2.0,
            scale: degrees * usual / 2.0,
        };
        if let Some((effect, differences)) = batch_effect(probes) {
            dependence.shape += TRUST * differences / 2.0;
            dependence.scale += TRUST * differences * effect / 2.0;
        }
        dependence
    }

    /// Log-likelihood of probes, from how much they misfit if all requests were independent.
    pub(super) fn log_likelihood(&self, misfit: f64, probes: f64) -> f64 {
        -(self.shape + probes / 2.0) * (self.scale + misfit).ln()
    }

    /// The design effect, given the number of probes and how much they misfit.
    pub(super) fn effect(&self, misfit: f64, probes: f64) -> f64 {
        ((self.scale + misfit) / (self.shape + probes / 2.0)).max(1.0)
    }
}

/// Misses of one target in the order of sending, by small batches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

    /// Squares of the differences between batches of `length` grains and the next, those that
    /// independent requests would have, and how many there are. A drift is not taken for
    /// dependence.
    fn spread(&self, length: usize) -> [f64; 3] {
        let sums: Vec<f64> = (self.batches.chunks_exact(length))
            .map(|batch| batch.iter().sum::<u32>() as f64)
            .collect();
        if sums.len() < 2 {
            return [0.0; 3];
        }
        let mean = sums.iter().sum::<f64>() / sums.len() as f64;
        let independent = mean * (1.0 - mean / (GRAIN * length) as f64);
        let squares: f64 = (sums.windows(2))
            .map(|pair| (pair[1] - pair[0]).powi(2) / 2.0)
            .sum();
        let differences = sums.len() as f64 - 1.0;
        [squares, differences * independent, differences]
    }
}

/// Design effect by batches of several probes, and the number of differences that it rests on.
fn batch_effect<'a>(probes: impl Iterator<Item = (&'a Misses, f64)> + Clone) -> Option<(f64, f64)> {
    let pooled = |length: usize| {
        let mut sums = [0.0; 3];
        for (misses, weight) in probes.clone() {
            let spread = misses.spread(length);
            (0..3).for_each(|at| sums[at] += weight * spread[at]);
        }
        let [squares, independent, differences] = sums;
        (independent > 0.0 && differences >= LEAST_DIFFERENCES)
            .then(|| (squares / independent, differences))
    };
    let mut length = SHORTEST;
    let mut found = pooled(length)?;
    loop {
        length *= 2;
        match pooled(length) {
            Some(longer) if longer.0 > GROWS * found.0 => found = longer,
            _ => return Some(found),
        }
    }
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
        let nothing = Dependence::seen([(&misses, 1.0)].into_iter());
        assert!((nothing.effect(0.0, 0.0) - USUAL.0).abs() < 1e-9);
        let mut random = rng(4, Dimension::Words, 2);
        (0..100_000).for_each(|_| misses.observe(random.random_bool(0.95)));
        let independent = Dependence::seen([(&misses, 1.0)].into_iter());
        assert!(independent.effect(0.0, 0.0) < 2.0);
    }
}
