//! What all probes together say of one target: a curve of the share that is met.
//!
//! The log-odds of meeting are taken to fall evenly with the logarithm of the level, through
//! the target's share at the capacity, with an unknown steepness. So every request counts,
//! whichever way its probe ended. Far from the capacity that form need not hold, so far probes
//! count less.

use super::dependence::Dependence;
use super::probe::ProbeOutcome;
use super::stored::Edge;

const POINTS: usize = 101;
/// Factor by which the grid reaches beyond the bracket on either side, lest a wrong one mislead.
const BEYOND: f64 = 2.0;
/// Distance, in logarithms, at which a probe counts for little.
const REACH: f64 = 0.25;
/// What the farthest probe still counts.
const LEAST_WEIGHT: f64 = 0.01;
/// Distance within which probes show how their requests depend.
const NEAR: f64 = 0.1;
/// How likely it is that a level far below the capacity seems beyond it by chance.
const FALSE_ALARM: f64 = 0.03;
/// Distance, in logarithms, from the capacity to where overload is likely to show: a level at
/// the capacity itself shows it every other time, since its queue swings widely.
const OVERLOAD_REACH: f64 = 0.02;
/// A server may miss some requests at any load: fewer misses than this part of those allowed
/// say no more.
const BASE_MISSES: f64 = 0.05;
/// As few may still be met far above the capacity.
const BASE_MET: f64 = 0.02;
/// Steepness, from a share that hardly follows the load to cliffs: the first, the factor to the next,
/// and how many.
const STEEPNESS: (f64, f64, usize) = (0.25, 2.0, 13);
/// Steepness is most likely the first, in logarithms, with the second as its deviation: a queue whose load rises
/// by 5 % near its capacity misses two to five times as many. A cliff soon outweighs it.
const USUAL_STEEPNESS: (f64, f64) = (3.1, 0.6);
/// What any steepness has at least, as a part of the most likely: what is missed may follow the load
/// far less than that of a queue, and few probes must be able to show it, lest the interval be as
/// narrow as that of a queue.
const ANY_STEEPNESS: f64 = 0.001;
/// Error of an answer, in logarithms, that comes from the form of the curve, not from chance.
const FORM_ERROR: f64 = 0.03;
/// A cliff has lost half of what was met after this, in logarithms of the level.
const CLIFF: f64 = 0.05;

#[derive(Clone, Debug)]
pub(super) struct Curve {
    share: f64,
    /// Logarithm of the capacity and its probability.
    grid: Vec<(f64, f64)>,
    /// Mean logarithm of the steepness.
    steepness: f64,
    /// How many requests near the capacity tell as much as one.
    pub(super) effect: f64,
}

impl Curve {
    /// From all probes, for the target number `at`.
    pub(super) fn of(history: &[ProbeOutcome], at: usize, share: f64, bracket: [f64; 2]) -> Self {
        let ends = [(bracket[0] / BEYOND).ln(), (bracket[1] * BEYOND).ln()];
        let first = Curve::on(history, at, share, ends, None);
        let second = Curve::on(history, at, share, ends, Some(&first));
        let ends = [second.log_quantile(1e-4), second.log_quantile(1.0 - 1e-4)];
        Curve::on(history, at, share, ends, Some(&second))
    }

    /// The curve on a grid between two logarithms, weighing the probes by an earlier one.
    ///
    /// The design effect is not known either. With its conjugate prior it is integrated out,
    /// so that the interval is as wide as little knowledge of it makes it.
    fn on(
        history: &[ProbeOutcome],
        at: usize,
        share: f64,
        [low, high]: [f64; 2],
        earlier: Option<&Curve>,
    ) -> Self {
        let weight = |outcome: &ProbeOutcome, reach: f64| match earlier {
            Some(curve) => curve.nearness(outcome, reach),
            None => 1.0,
        };
        let near = (history.iter())
            .filter(|outcome| !outcome.is_beyond(at))
            .map(|outcome| (&outcome.misses[at], weight(outcome, NEAR)))
            .filter(|&(_, weight)| earlier.is_some() && weight > 0.1);
        let dependence = Dependence::seen(near);
        let (first, factor, count) = STEEPNESS;
        let steepnesses: Vec<f64> = (0..count).map(|k| first * factor.powi(k as i32)).collect();
        let telling: Vec<Evidence> = (history.iter())
            .filter_map(|outcome| {
                let weight = weight(outcome, REACH).max(LEAST_WEIGHT);
                Evidence::of(outcome, at, share, weight)
            })
            .collect();
        let probes: f64 = telling.iter().map(Evidence::weight).sum();
        let step = (high - low).max(1e-6) / (POINTS - 1) as f64;
        let mut logs = Vec::with_capacity(POINTS * count);
        let mut misfits = Vec::with_capacity(POINTS * count);
        for point in 0..POINTS {
            let capacity = low + step * point as f64;
            for steepness in &steepnesses {
                let usual = (steepness.ln() - USUAL_STEEPNESS.0) / USUAL_STEEPNESS.1;
                let prior = (-usual * usual / 2.0).exp() + ANY_STEEPNESS;
                let (mut misfit, mut log) = (0.0, prior.ln());
                for probe in &telling {
                    match probe {
                        Evidence::Beyond(level) => log += beyond(*level, capacity),
                        Evidence::Shares(shares) => {
                            misfit += shares.misfit(share, capacity, *steepness);
                        }
                    }
                }
                logs.push(log + dependence.log_likelihood(misfit, probes));
                misfits.push(misfit);
            }
        }
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
        let total: f64 = weights.iter().sum();
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            (weights.iter().zip(values))
                .map(|(weight, value)| weight * value)
                .sum::<f64>()
                / total
        };
        let steepness = mean(&mut steepnesses.iter().map(|k| k.ln()).cycle());
        let misfit = mean(&mut misfits.iter().copied());
        Curve {
            share,
            grid: (weights.chunks(count).enumerate())
                .map(|(point, chunk)| {
                    (low + step * point as f64, chunk.iter().sum::<f64>() / total)
                })
                .collect(),
            steepness,
            effect: dependence.effect(misfit, probes),
        }
    }

    /// From 1 at the capacity to 0 far from it.
    fn nearness(&self, outcome: &ProbeOutcome, reach: f64) -> f64 {
        let far = (outcome.offered.ln() - self.log_quantile(0.5)) / reach;
        (-far * far).exp()
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

    /// The level that misses half of what it may. At the capacity itself no run shows that the
    /// objectives are met, however long it is.
    pub(super) fn clearly_met(&self) -> f64 {
        (self.log_quantile(0.5) - 2f64.ln() / self.steepness.exp()).exp()
    }

    /// How uncertain the capacity is by chance: half of the middle 90 %, in logarithms.
    pub(super) fn chance(&self) -> f64 {
        (self.log_quantile(0.95) - self.log_quantile(0.05)) / 2.0
    }

    /// The middle 90 %, with what the form of the curve may be wrong by.
    pub(super) fn interval(&self) -> [f64; 2] {
        let middle = self.log_quantile(0.5);
        let end = |p: f64| (self.log_quantile(p) - middle).hypot(FORM_ERROR);
        [(middle - end(0.05)).exp(), (middle + end(0.95)).exp()]
    }

    /// By the curve, and by whether most probes just above the capacity of this target, number
    /// `at`, lost more than half of what must be met.
    pub(super) fn edge(&self, history: &[ProbeOutcome], at: usize) -> Edge {
        let half = self.share / 2.0;
        let fallen = share_at(CLIFF, self.share, 0.0, self.steepness.exp()) < half;
        let above = (history.iter()).filter(|outcome| {
            (0.0..1.5 * CLIFF).contains(&(outcome.offered.ln() - self.log_quantile(0.5)))
        });
        let (lost, held): (Vec<&ProbeOutcome>, Vec<&ProbeOutcome>) = above.partition(|outcome| {
            let met = outcome.met[at] as f64;
            outcome.is_beyond(at) || met < half * outcome.requests as f64
        });
        if fallen || lost.len() > held.len() {
            Edge::Cliff
        } else {
            Edge::Slope
        }
    }
}

/// The share met at a level, all but the shares in logarithms.
fn share_at(level: f64, share: f64, capacity: f64, steepness: f64) -> f64 {
    let logit = (share / (1.0 - share)).ln() - steepness * (level - capacity);
    let least = BASE_MET.min(share / 2.0);
    (1.0 / (1.0 + (-logit).exp())).clamp(least, 1.0 - BASE_MISSES * (1.0 - share))
}

/// How likely it is that a level seems beyond the capacity, all in logarithms.
fn beyond(level: f64, capacity: f64) -> f64 {
    let shows = 1.0 / (1.0 + ((capacity - level) / OVERLOAD_REACH).exp());
    (FALSE_ALARM + (1.0 - FALSE_ALARM) * shows).ln()
}

enum Evidence {
    /// The queue grew at this level, in logarithms, or nearly all requests missed.
    Beyond(f64),
    Shares(Shares),
}

struct Shares {
    level: f64,
    met: f64,
    missed: f64,
    /// Log-likelihood of the share that was seen.
    best: f64,
    weight: f64,
}

impl Evidence {
    /// Nothing, where no request was counted.
    fn of(outcome: &ProbeOutcome, at: usize, share: f64, weight: f64) -> Option<Self> {
        let level = outcome.offered.ln();
        // While a queue grows, its first requests are still in time, so they do not count. Where
        // nearly all are missed, how many says nothing of where the capacity is.
        let few = (outcome.met[at] as f64) < share / 8.0 * outcome.requests as f64;
        if few || outcome.is_beyond(at) {
            return Some(Evidence::Beyond(level));
        }
        let met = weight * outcome.met[at] as f64;
        let missed = weight * outcome.misses[at].total() as f64;
        let part = |count: f64| {
            if count > 0.0 {
                count * (count / (met + missed)).ln()
            } else {
                0.0
            }
        };
        let best = part(met) + part(missed);
        (outcome.requests > 0).then_some(Evidence::Shares(Shares {
            level,
            met,
            missed,
            best,
            weight,
        }))
    }

    fn weight(&self) -> f64 {
        match self {
            Evidence::Beyond(_) => 0.0,
            Evidence::Shares(shares) => shares.weight,
        }
    }
}

impl Shares {
    /// How much less likely than the best a curve makes what was seen, in logarithms.
    fn misfit(&self, share: f64, capacity: f64, steepness: f64) -> f64 {
        let p = share_at(self.level, share, capacity, steepness);
        (self.best - self.met * p.ln() - self.missed * (1.0 - p).ln()).max(0.0)
    }
}
