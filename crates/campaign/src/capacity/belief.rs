//! What is known about the capacity for one target: a distribution on a logarithmic grid.
//!
//! Attainment near the capacity is taken as logistic in the logarithm of the level, with the
//! target's share at the capacity itself and an unknown steepness, so that every request
//! counts, whichever way its probe ended. Far from the capacity that form need not hold, so
//! far probes count less. Requests that depend on their neighbours count as the fewer
//! independent ones that would tell as much.

use super::Edge;
use super::dependence::design_effect;
use super::probe::Outcome;

/// Points of the grid.
const POINTS: usize = 401;
/// The grid reaches so much beyond the bracket on either side, lest a wrong bracket mislead.
const BEYOND: f64 = 1.6;
/// Distance, in logarithms, at which a probe counts for little.
const REACH: f64 = 0.2;
/// What the farthest probe still counts.
const LEAST_WEIGHT: f64 = 0.01;
/// How unlikely an overloaded level is to be within capacity.
const OVERLOAD_LOG: f64 = -4.0;
/// Steepness of attainment, from slopes to cliffs.
const STEEPNESS: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
/// A cliff has lost half of its attainment after this, in logarithms of the level.
const CLIFF: f64 = 0.05;

/// A distribution of the capacity.
#[derive(Clone, Debug)]
pub(super) struct Belief {
    /// Logarithm of the level and its probability.
    grid: Vec<(f64, f64)>,
    /// Mean logarithm of the steepness.
    steepness: f64,
    share: f64,
    /// How many requests near the capacity tell as much as one.
    pub(super) effect: f64,
}

impl Belief {
    /// From all probes, for the target number `at`.
    pub(super) fn of(history: &[Outcome], at: usize, share: f64, bracket: [f64; 2]) -> Self {
        let ends = [(bracket[0] / BEYOND).ln(), (bracket[1] * BEYOND).ln()];
        let first = Belief::around(history, at, share, ends, |_| 1.0);
        let middle = first.median().ln();
        Belief::around(history, at, share, ends, |outcome| {
            let far = (outcome.level.ln() - middle) / REACH;
            (-far * far).exp().max(LEAST_WEIGHT)
        })
    }

    fn around(
        history: &[Outcome],
        at: usize,
        share: f64,
        [low, high]: [f64; 2],
        weight: impl Fn(&Outcome) -> f64,
    ) -> Self {
        let odds = (share / (1.0 - share)).ln();
        // While a queue grows its batches differ by that, and farther from the capacity they
        // differ by more or less than they do there.
        let settled = history.iter().filter(|outcome| !outcome.overloaded);
        let misses = settled.map(|outcome| (&outcome.misses[at], weight(outcome).powi(4)));
        let effect = design_effect(misses);
        let step = (high - low) / (POINTS - 1) as f64;
        let mut logs = Vec::with_capacity(POINTS * STEEPNESS.len());
        for point in 0..POINTS {
            let capacity = low + step * point as f64;
            for steepness in STEEPNESS {
                let log: f64 = (history.iter())
                    .map(|outcome| {
                        let distance = outcome.level.ln() - capacity;
                        // While a queue grows, its first requests are still in time.
                        if outcome.overloaded {
                            return if distance > 0.0 { 0.0 } else { OVERLOAD_LOG };
                        }
                        let met = outcome.met[at] as f64;
                        let missed = outcome.requests as f64 - met;
                        let logit = odds - steepness * distance;
                        // ln(1 / (1 + e^-x)) for hits, ln(1 / (1 + e^x)) for misses.
                        -weight(outcome) / effect
                            * (met * softplus(-logit) + missed * softplus(logit))
                    })
                    .sum();
                logs.push(log);
            }
        }
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
        let total: f64 = weights.iter().sum();
        let grid = (weights.chunks(STEEPNESS.len()).enumerate())
            .map(|(point, chunk)| (low + step * point as f64, chunk.iter().sum::<f64>() / total))
            .collect();
        let steepness = (weights.iter().zip(STEEPNESS.iter().cycle()))
            .map(|(weight, steepness)| weight * steepness.ln())
            .sum::<f64>()
            / total;
        Belief {
            grid,
            steepness,
            share,
            effect,
        }
    }

    fn quantile(&self, p: f64) -> f64 {
        let mut sum = 0.0;
        for pair in self.grid.windows(2) {
            let [(at, weight), (next, _)] = [pair[0], pair[1]];
            if sum + weight >= p {
                let part = (p - sum) / weight.max(f64::MIN_POSITIVE);
                return (at + part * (next - at)).exp();
            }
            sum += weight;
        }
        self.grid.last().map_or(f64::NAN, |(at, _)| at.exp())
    }

    pub(super) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The middle 90 %.
    pub(super) fn interval(&self) -> [f64; 2] {
        [self.quantile(0.05), self.quantile(0.95)]
    }

    pub(super) fn edge(&self) -> Edge {
        let odds = (self.share / (1.0 - self.share)).ln();
        let beyond = odds - self.steepness.exp() * CLIFF;
        match 1.0 / (1.0 + (-beyond).exp()) < self.share / 2.0 {
            true => Edge::Cliff,
            false => Edge::Slope,
        }
    }
}

/// ln(1 + e^x) without overflow.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}
