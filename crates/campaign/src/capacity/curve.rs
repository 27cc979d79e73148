//! What all probes together say of one target: a curve of the share that is met.
//!
//! The log-odds of meeting are taken to fall evenly with the logarithm of the level, through
//! the target's share at the capacity, with an unknown steepness. So every request counts,
//! whichever way its probe ended. Far from the capacity that form need not hold, so far probes
//! count less, and no single probe may decide alone.

use super::Edge;
use super::dependence::{Dependence, batch_effect};
use super::probe::Outcome;

/// Points of a grid of capacities.
const POINTS: usize = 161;
/// The grid reaches so much beyond the bracket on either side, lest a wrong bracket mislead.
const BEYOND: f64 = 2.0;
/// Distance, in logarithms, at which a probe counts for little.
const REACH: f64 = 0.25;
/// What the farthest probe still counts.
const LEAST_WEIGHT: f64 = 0.01;
/// Distance within which probes show how they scatter and how their requests depend.
const NEAR: f64 = 0.1;
/// How likely it is that a level far below the capacity seems overloaded by chance.
const FALSE_ALARM: f64 = 0.03;
/// Distance, in logarithms, from the capacity to where overload is likely to show: a level at
/// the capacity itself shows it every other time, since its queue swings widely.
const OVERLOAD_REACH: f64 = 0.02;
/// How likely it is that a probe says nothing of its level, for a hiccup of the server.
const FLUKE: f64 = 0.005;
/// A server may miss some requests at any load: fewer misses than this part of those allowed
/// say no more.
const BASE_MISSES: f64 = 0.05;
/// As few may still be met far above the capacity.
const BASE_MET: f64 = 0.02;
/// Steepness, from slopes to cliffs: the first, the factor to the next, and how many.
const STEEPNESS: (f64, f64, usize) = (2.0, 1.8, 12);
/// Steepness is most likely this, in logarithms, and spread so much.
const USUAL_STEEPNESS: (f64, f64) = (2.7, 2.0);
/// A cliff has lost half of what was met after this, in logarithms of the level.
const CLIFF: f64 = 0.05;
/// Fewest near probes whose scatter is a measure of their precision.
const LEAST_SCATTER: usize = 4;
/// A probe that differs from the curve tells more of the dependence than a batch does, since
/// nothing longer is hidden in it.
const SCATTER_WEIGHT: f64 = 2.0;

/// The share met over the level.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    share: f64,
    /// Logarithm of the capacity and its probability.
    grid: Vec<(f64, f64)>,
    /// Mean logarithm of the steepness.
    steepness: f64,
    /// How many requests near the capacity tell as much as one.
    pub(super) effect: f64,
    /// Lowest overloaded level.
    overloaded: f64,
}

impl Curve {
    /// From all probes, for the target number `at`.
    pub(super) fn of(history: &[Outcome], at: usize, share: f64, bracket: [f64; 2]) -> Self {
        let ends = [(bracket[0] / BEYOND).ln(), (bracket[1] * BEYOND).ln()];
        let first = Curve::on(history, at, share, ends, None);
        let second = Curve::on(history, at, share, ends, Some(&first));
        let ends = [second.log_quantile(1e-4), second.log_quantile(1.0 - 1e-4)];
        Curve::on(history, at, share, ends, Some(&second))
    }

    /// The curve on a grid between two logarithms, weighing the probes by an earlier one.
    fn on(
        history: &[Outcome],
        at: usize,
        share: f64,
        [low, high]: [f64; 2],
        earlier: Option<&Curve>,
    ) -> Self {
        let effect = match earlier {
            Some(curve) => curve.dependence(history, at).effect(),
            None => Dependence::default().effect(),
        };
        let weight = |outcome: &Outcome| match earlier {
            Some(curve) => curve.nearness(outcome, REACH).max(LEAST_WEIGHT),
            None => 1.0,
        };
        let (first, factor, count) = STEEPNESS;
        let steepnesses: Vec<f64> = (0..count).map(|k| first * factor.powi(k as i32)).collect();
        let telling: Vec<Telling> = (history.iter())
            .filter_map(|outcome| Telling::of(outcome, at, share, weight(outcome) / effect))
            .collect();
        let step = (high - low).max(1e-6) / (POINTS - 1) as f64;
        let mut logs = Vec::with_capacity(POINTS * count);
        for point in 0..POINTS {
            let capacity = low + step * point as f64;
            for steepness in &steepnesses {
                let usual = (steepness.ln() - USUAL_STEEPNESS.0) / USUAL_STEEPNESS.1;
                let log = |probe: &Telling| probe.log_likelihood(share, capacity, *steepness);
                logs.push(telling.iter().map(log).sum::<f64>() - usual * usual / 2.0);
            }
        }
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
        let total: f64 = weights.iter().sum();
        let grid = (weights.chunks(count).enumerate())
            .map(|(point, chunk)| (low + step * point as f64, chunk.iter().sum::<f64>() / total))
            .collect();
        let steepness = (weights.iter().zip(steepnesses.iter().cycle()))
            .map(|(weight, steepness)| weight * steepness.ln())
            .sum::<f64>()
            / total;
        let overloaded = history.iter().filter(|outcome| outcome.overloaded);
        Curve {
            share,
            grid,
            steepness,
            effect,
            overloaded: overloaded
                .map(|outcome| outcome.level)
                .fold(f64::INFINITY, f64::min),
        }
    }

    /// From 1 at the capacity to 0 far from it.
    fn nearness(&self, outcome: &Outcome, reach: f64) -> f64 {
        let far = (outcome.level.ln() - self.log_quantile(0.5)) / reach;
        (-far * far).exp()
    }

    /// How requests near the capacity depend on each other, from batches within probes and
    /// from the scatter of whole probes around this curve.
    fn dependence(&self, history: &[Outcome], at: usize) -> Dependence {
        let near = (history.iter())
            .filter(|outcome| outcome.requests > 0 && !outcome.is_beyond(at))
            .map(|outcome| (outcome, self.nearness(outcome, NEAR)))
            .filter(|&(_, weight)| weight > 0.1);
        let mut dependence = Dependence::default();
        let misses = near
            .clone()
            .map(|(outcome, weight)| (&outcome.misses[at], weight));
        if let Some((effect, degrees)) = batch_effect(misses) {
            dependence.learn(effect, degrees);
        }
        let squares: Vec<f64> = near
            .map(|(outcome, _)| {
                let (capacity, steepness) = (self.log_quantile(0.5), self.steepness.exp());
                let p = share_at(outcome.level.ln(), self.share, capacity, steepness);
                let n = outcome.requests as f64;
                (outcome.met[at] as f64 - n * p).powi(2) / (n * p * (1.0 - p))
            })
            .collect();
        if squares.len() >= LEAST_SCATTER {
            // Two of them went into the curve's own parameters.
            let degrees = squares.len() as f64 - 2.0;
            dependence.learn(
                squares.iter().sum::<f64>() / degrees,
                SCATTER_WEIGHT * degrees,
            );
        }
        dependence
    }

    fn log_quantile(&self, p: f64) -> f64 {
        let mut sum = 0.0;
        for pair in self.grid.windows(2) {
            let [(at, weight), (next, _)] = [pair[0], pair[1]];
            if sum + weight >= p {
                let part = (p - sum) / weight.max(f64::MIN_POSITIVE);
                return at + part * (next - at);
            }
            sum += weight;
        }
        self.grid.last().map_or(f64::NAN, |&(at, _)| at)
    }

    pub(super) fn median(&self) -> f64 {
        self.log_quantile(0.5).exp()
    }

    /// The middle 90 %.
    pub(super) fn interval(&self) -> [f64; 2] {
        [self.log_quantile(0.05).exp(), self.log_quantile(0.95).exp()]
    }

    pub(super) fn edge(&self) -> Edge {
        let beyond = share_at(CLIFF, self.share, 0.0, self.steepness.exp());
        let overloaded = self.overloaded.ln() - self.log_quantile(0.5) <= CLIFF;
        match overloaded || beyond < self.share / 2.0 {
            true => Edge::Cliff,
            false => Edge::Slope,
        }
    }
}

/// The share met at a level, all but the shares in logarithms.
fn share_at(level: f64, share: f64, capacity: f64, steepness: f64) -> f64 {
    let logit = (share / (1.0 - share)).ln() - steepness * (level - capacity);
    let least = BASE_MET.min(share / 2.0);
    (1.0 / (1.0 + (-logit).exp())).clamp(least, 1.0 - BASE_MISSES * (1.0 - share))
}

/// What one probe tells of one target.
enum Telling {
    /// The queue grew at this level, in logarithms.
    Overloaded(f64),
    /// Nearly all requests missed at this level.
    Hopeless(f64),
    /// So many independent requests would tell as much.
    Shares {
        level: f64,
        met: f64,
        missed: f64,
        best: f64,
    },
}

impl Telling {
    /// Nothing, where no request was counted.
    fn of(outcome: &Outcome, at: usize, share: f64, weight: f64) -> Option<Self> {
        let level = outcome.level.ln();
        // While a queue grows, its first requests are still in time, so they do not count. Where
        // nearly all are missed, how many says nothing of where the capacity is.
        let few = (outcome.met[at] as f64) < share / 8.0 * outcome.requests as f64;
        if outcome.overloaded {
            return Some(Telling::Overloaded(level));
        }
        if few || outcome.is_beyond(at) {
            return Some(Telling::Hopeless(level));
        }
        let met = weight * outcome.met[at] as f64;
        let missed = weight * outcome.misses[at].total() as f64;
        let part = |count: f64| match count > 0.0 {
            true => count * (count / (met + missed)).ln(),
            false => 0.0,
        };
        let best = part(met) + part(missed);
        (outcome.requests > 0).then_some(Telling::Shares {
            level,
            met,
            missed,
            best,
        })
    }

    fn log_likelihood(&self, share: f64, capacity: f64, steepness: f64) -> f64 {
        match *self {
            Telling::Hopeless(level) if capacity < level => 0.0,
            Telling::Hopeless(_) => FLUKE.ln(),
            Telling::Overloaded(level) => {
                let shows = 1.0 / (1.0 + ((capacity - level) / OVERLOAD_REACH).exp());
                (FALSE_ALARM + (1.0 - FALSE_ALARM) * shows).ln()
            }
            Telling::Shares {
                level,
                met,
                missed,
                best,
            } => {
                let p = share_at(level, share, capacity, steepness);
                let log = met * p.ln() + missed * (1.0 - p).ln() - best;
                (log.exp() + FLUKE).ln()
            }
        }
    }
}
