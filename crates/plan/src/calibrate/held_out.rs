//! How wrong predictions are: every point is predicted from the others.

use super::envelope::Envelope;
use super::fit::{Linearised, Residual, Target, figures, linearise, residuals};
use super::parameters::{Logarithms, applied};
use crate::means::MeanMetric;
use crate::observation::Origin;
use inferometer_catalog::timing::Timing;
use inferometer_core::quantile::{quantile, sort};
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The error of predictions of one metric at points that were held out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldOut {
    pub metric: MeanMetric,
    pub points: u32,
    /// Median of the absolute relative errors.
    pub median: f64,
    /// A new point inside the envelope is off by less than this share in 9 of 10 cases.
    pub bound: f64,
}

/// Least error that is stated: two runs of the same server differ by as much.
const LEAST: f64 = 0.03;
/// The same of other tools' numbers, whose columns scatter by 4 to 6 % around any smooth curve.
const LEAST_IMPORTED: f64 = 0.07;

/// The residuals of each point when it is left out. The fit to the others begins at the fit to
/// all and takes two steps: one by the derivatives that are known, one by new ones.
pub(super) fn leave_one_out(
    base: &Timing,
    targets: &[Target<'_>],
    fit: &Linearised,
) -> Vec<Residual> {
    let mut all = Vec::new();
    for (left, target) in targets.iter().enumerate() {
        let at = fit.step(0.0, |residual| residual.target != left);
        let at = refined(base, targets, left, at);
        let predicted = [figures(target, &applied(base, &at))];
        let errors = residuals(std::slice::from_ref(target), &predicted);
        all.extend(errors.into_iter().map(|residual| Residual {
            target: left,
            ..residual
        }));
    }
    all
}

/// Few points make the second step cheap, and needed.
const FEW: usize = 8;

fn refined(base: &Timing, targets: &[Target<'_>], left: usize, at: Logarithms) -> Logarithms {
    if targets.len() > FEW {
        return at;
    }
    let others: Vec<Target<'_>> = others(targets, left).cloned().collect();
    linearise(base, &others, at).step(0.0, |_| true)
}

pub(super) fn stated(targets: &[Target<'_>], errors: &[Residual]) -> Vec<HeldOut> {
    let far = (0..targets.len()).map(|left| distance(targets, left));
    let far: Vec<f64> = far.collect();
    let mut origins = targets.iter().map(|target| target.observation.origin);
    let imported = origins.any(|origin| origin == Origin::Import);
    let least = if imported { LEAST_IMPORTED } else { LEAST };
    let stated = MeanMetric::all().filter_map(|metric| {
        let of_metric = || errors.iter().filter(|residual| residual.metric == metric);
        let mut sizes: Vec<f64> = of_metric().map(|residual| residual.error.abs()).collect();
        let count = sizes.len() as f64;
        if sizes.is_empty() {
            return None;
        }
        sort(&mut sizes);
        // The bound is for a point inside; one at the end was predicted from outside.
        let mut errors: Vec<f64> = of_metric().map(|residual| residual.error).collect();
        sort(&mut errors);
        // What all points miss in one direction, the next one misses too.
        let bias = quantile(&errors, 0.5)?;
        let inside = of_metric().map(|residual| {
            let chance = residual.error - bias;
            chance / (1.0 + far[residual.target])
        });
        let square = inside.map(|error| error * error).sum::<f64>() / count;
        let bound = bias.abs() + student(count) * square.max(least * least / 4.0).sqrt();
        let bound = bound.max(missed_by_most(&sizes));
        Some(HeldOut {
            metric,
            points: sizes.len() as u32,
            median: quantile(&sizes, 0.5)?.exp_m1(),
            bound: bound.max(least).exp_m1(),
        })
    });
    stated.collect()
}

fn others<'a, 'b>(targets: &'a [Target<'b>], left: usize) -> impl Iterator<Item = &'a Target<'b>> {
    let (before, after) = (&targets[..left], &targets[left + 1..]);
    before.iter().chain(after)
}

/// How far a point lies outside what the others span, in doublings.
fn distance(targets: &[Target<'_>], left: usize) -> f64 {
    let target = &targets[left];
    let seen = &target.observation.figures;
    let beyond = Envelope::of(others(targets, left)).beyond(&target.work, &target.settled, seen);
    beyond.iter().map(|beyond| beyond.doublings).sum()
}

/// What the next of so many errors, which are sorted, stays below in 9 of 10 cases: the largest
/// seen where they are few.
fn missed_by_most(sizes: &[f64]) -> f64 {
    let rank = (0.9 * (sizes.len() + 1) as f64).ceil() as usize;
    let last = sizes.len().saturating_sub(1);
    sizes
        .get(rank.saturating_sub(1).min(last))
        .copied()
        .unwrap_or_default()
}

/// How many root mean squares of so few errors hold the next one in 9 of 10 cases.
fn student(count: f64) -> f64 {
    let freedom = (count - 1.0).max(1.0);
    let spread = (1.0 + 1.0 / count).sqrt();
    StudentsT::new(0.0, 1.0, freedom).map_or(6.3, |student| student.inverse_cdf(0.95)) * spread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bound_is_below_what_a_few_points_missed_by() {
        assert_eq!(missed_by_most(&[0.01, 0.02, 0.12]), 0.12);
        let many: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(missed_by_most(&many), 19.0);
        assert_eq!(missed_by_most(&[]), 0.0);
    }

    #[test]
    fn fewer_points_make_a_wider_bound() {
        assert!(student(3.0) > 3.0);
        assert!(student(12.0) < 2.0);
        assert!(student(1.0) > student(2.0));
    }
}
