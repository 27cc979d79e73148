//! The fit: Gauss–Newton on logarithms of ratios, with priors, through the simulated engine.
//!
//! Observations are means at load points, not steps, so a candidate is judged by serving the
//! same load in virtual time. Residuals are weighed by how well a figure can be known, and
//! lose weight where they are far off, so that one spoilt point does not bend all others.

use super::parameters::{COUNT, Logarithms, PARAMETERS, applied};
use crate::cores::on_all;
use crate::flags::Flag;
use crate::means::{MeanMetric, Means};
use crate::observation::{Observation, Origin};
use crate::predict::{Subject, simulate};
use crate::work::Work;
use inferometer_catalog::timing::Timing;

#[derive(Clone, Debug)]
pub(super) struct Target<'a> {
    pub observation: &'a Observation,
    pub subject: Subject,
    pub work: Work,
    /// All flags, with the values that defaults come to.
    pub settled: Vec<Flag>,
}

/// Seed of every simulation whose own is not known: candidates differ by their coefficients alone.
const SEED: u64 = 1;
/// Step of a numerical derivative, in logarithms; wide enough for a scheduler that jumps.
const NUDGE: f64 = 0.15;
const ROUNDS: usize = 8;
/// Residuals beyond this many deviations lose weight.
const FAR: f64 = 2.5;

/// What figures a load point has under some coefficients; `None` where the engine does not start.
pub(super) fn figures(target: &Target<'_>, timing: &Timing) -> Option<Means> {
    let flags = &target.observation.flags;
    let config = target.subject.start(flags, timing).ok()?;
    // The very arrivals that were measured: a calm draw must not pass for a fast engine.
    let seed = target.observation.seed.unwrap_or(SEED);
    Some(Means::of(&simulate(config, &target.work, seed)))
}

/// How well a figure of one observation is known, as a deviation of its logarithm.
fn deviation(metric: MeanMetric, origin: Origin) -> f64 {
    let own = match metric {
        MeanMetric::Requests | MeanMetric::Throughput => 0.03,
        MeanMetric::Tpot | MeanMetric::E2e | MeanMetric::EngineTpot => 0.04,
        // Whose clock started when differs most, and the first wave weighs most.
        MeanMetric::Ttft | MeanMetric::EngineTtft => 0.12,
    };
    match origin {
        Origin::Run => own,
        Origin::Import => own * 1.5,
    }
}

/// A residual: its observation, its metric, ln(predicted / measured), and its deviation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Residual {
    pub target: usize,
    pub metric: MeanMetric,
    pub error: f64,
    pub deviation: f64,
}

pub(super) fn residuals(targets: &[Target<'_>], predicted: &[Option<Means>]) -> Vec<Residual> {
    let mut all = Vec::new();
    for (index, (target, figures)) in targets.iter().zip(predicted).enumerate() {
        for metric in MeanMetric::with_engine() {
            let measured = target.observation.figures.get(metric);
            let predicted = figures.as_ref().and_then(|figures| figures.get(metric));
            if let (Some(measured), Some(predicted)) = (measured, predicted)
                && measured > 0.0
                && predicted > 0.0
            {
                all.push(Residual {
                    target: index,
                    metric,
                    error: (predicted / measured).ln(),
                    deviation: deviation(metric, target.observation.origin),
                });
            }
        }
    }
    all
}

/// Residuals and their derivatives at some coefficients.
pub(super) struct Linearised {
    pub at: Logarithms,
    pub residuals: Vec<Residual>,
    pub slopes: Vec<Logarithms>,
}

/// Means of all targets under several coefficients, on all cores.
fn evaluate(targets: &[Target<'_>], timings: &[Timing]) -> Vec<Vec<Option<Means>>> {
    let count = targets.len();
    let all = on_all(count * timings.len(), |job| {
        figures(&targets[job % count], &timings[job / count])
    });
    all.chunks(count.max(1)).map(<[_]>::to_vec).collect()
}

pub(super) fn linearise(base: &Timing, targets: &[Target<'_>], at: Logarithms) -> Linearised {
    let mut timings = vec![applied(base, &at)];
    for index in 0..COUNT {
        let mut nudged = at;
        nudged[index] += NUDGE;
        timings.push(applied(base, &nudged));
    }
    let figures = evaluate(targets, &timings);
    let residuals = residuals(targets, &figures[0]);
    let slope = |residual: &Residual| {
        let figure = |timing: usize| figures[timing][residual.target]?.get(residual.metric);
        std::array::from_fn(|index| match (figure(0), figure(index + 1)) {
            (Some(here), Some(there)) if there > 0.0 => (there / here).ln() / NUDGE,
            _ => 0.0,
        })
    };
    let slopes = residuals.iter().map(slope).collect();
    Linearised {
        at,
        residuals,
        slopes,
    }
}

fn misfit(residuals: &[Residual], at: &Logarithms) -> f64 {
    let data = residuals.iter();
    let data = data.map(|residual| robust(residual.error / residual.deviation));
    let prior = at.iter().zip(&PARAMETERS);
    let prior = prior.map(|(value, parameter)| (value / parameter.deviation).powi(2));
    data.sum::<f64>() + prior.sum::<f64>()
}

/// Square near 0, a straight line far away.
fn robust(deviations: f64) -> f64 {
    let size = deviations.abs();
    if size <= FAR {
        size * size
    } else {
        2.0 * FAR * size - FAR * FAR
    }
}

fn weight(residual: &Residual) -> f64 {
    let size = (residual.error / residual.deviation).abs();
    (FAR / size.max(FAR)) / residual.deviation.powi(2)
}

impl Linearised {
    /// The next coefficients by the rows that `keep` lets through, damped by `damping`.
    pub(super) fn step(&self, damping: f64, keep: impl Fn(&Residual) -> bool) -> Logarithms {
        let mut matrix = [[0.0; COUNT]; COUNT];
        let mut right = [0.0; COUNT];
        for (residual, slope) in self.residuals.iter().zip(&self.slopes) {
            if !keep(residual) {
                continue;
            }
            let weight = weight(residual);
            for (row, (line, right)) in matrix.iter_mut().zip(&mut right).enumerate() {
                let pull = weight * slope[row];
                *right -= pull * residual.error;
                for (cell, other) in line.iter_mut().zip(slope) {
                    *cell += pull * other;
                }
            }
        }
        for (index, parameter) in PARAMETERS.iter().enumerate() {
            let precision = parameter.deviation.powi(-2);
            right[index] -= precision * self.at[index];
            matrix[index][index] += precision;
            matrix[index][index] *= 1.0 + damping;
        }
        let change = solved(matrix, right);
        // Derivatives of a scheduler hold near by only.
        std::array::from_fn(|index| self.at[index] + change[index].clamp(-1.0, 1.0))
    }

    pub(super) fn misfit(&self) -> f64 {
        misfit(&self.residuals, &self.at)
    }
}

/// Solves a symmetric positive definite system; the priors make it one.
fn solved(mut matrix: [[f64; COUNT]; COUNT], mut right: [f64; COUNT]) -> [f64; COUNT] {
    for pivot in 0..COUNT {
        let scale = matrix[pivot][pivot].max(f64::MIN_POSITIVE);
        for row in pivot + 1..COUNT {
            let factor = matrix[row][pivot] / scale;
            let from = matrix[pivot];
            for (cell, above) in matrix[row].iter_mut().zip(from).skip(pivot) {
                *cell -= factor * above;
            }
            right[row] -= factor * right[pivot];
        }
    }
    for pivot in (0..COUNT).rev() {
        let known: f64 = (pivot + 1..COUNT)
            .map(|column| matrix[pivot][column] * right[column])
            .sum();
        right[pivot] = (right[pivot] - known) / matrix[pivot][pivot].max(f64::MIN_POSITIVE);
    }
    right
}

/// Fits the coefficients, beginning at `start`.
pub(super) fn fit(base: &Timing, targets: &[Target<'_>], start: Logarithms) -> Linearised {
    let mut best = linearise(base, targets, start);
    let mut damping = 0.01;
    for _ in 0..ROUNDS {
        let mut tried = Vec::new();
        // A few dampings at once cost little beside the derivatives.
        for factor in [1.0, 30.0] {
            tried.push(best.step(damping * factor, |_| true));
        }
        let timings: Vec<Timing> = tried.iter().map(|at| applied(base, at)).collect();
        let figures = evaluate(targets, &timings);
        let judged = tried
            .iter()
            .zip(&figures)
            .map(|(at, figures)| (misfit(&residuals(targets, figures), at), *at));
        let Some((value, at)) = judged.min_by(|a, b| a.0.total_cmp(&b.0)) else {
            break;
        };
        let before = best.misfit();
        if value >= before * 0.995 {
            damping *= 100.0;
            if damping > 1e3 || value >= before {
                break;
            }
        }
        best = linearise(base, targets, at);
        if value >= before * 0.98 {
            break;
        }
    }
    best
}
