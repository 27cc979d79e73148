//! A smooth rise that levels off, fitted to a ladder. Loads and rates are taken by their
//! logarithms, in which throughput that grows in proportion to the load is a straight line, and
//! one that saturates only bends down: whatever bends up is noise.
//!
//! The shapes range from one that fades out slowly (half of the limit at half of the load, as
//! queues of independent users do) over an exponential approach to a sharp corner. Their best
//! fit gives the knee, and all that fit about as well the interval, so that neither depends on
//! the highest point of a noisy ladder.

use inferometer_statistics::student_quantile;
use std::f64::consts::LN_2;

/// Share of the highest throughput that counts as having it.
pub(super) const NEARLY_ALL: f64 = 0.95;
/// Fewest loads of a ladder that can show an end.
const LEAST_LOADS: usize = 4;
/// Throughput rises where doubling the load adds more than this share, which is what `compare`
/// takes for no difference.
const HARDLY: f64 = 0.03;
/// Least ratio of the highest throughput to that of the lowest load; below it nothing rose.
const LEAST_RISE: f64 = 1.2;
/// A last load below this share of the peak has fallen behind it.
const FALLEN: f64 = 0.95;
/// Loads with less of the peak say nothing about where it is reached.
const FAR_BELOW: f64 = 0.35;
/// Loads that are fitted at least.
const LEAST_FITTED: usize = 5;
/// Chance of taking noise for a rise.
const RISK: f64 = 0.025;
/// Most standard deviations that are called noise: with few loads Student's t would allow
/// anything.
const MOST_DEVIATIONS: f64 = 4.0;
/// Most that a fit may be worse than the best to be about as good, as a ratio of variances, for
/// the same reason.
const ABOUT_AS_GOOD: f64 = 10.0;
/// A fit that is off by no more than this is as good as any, since no shape is quite right.
const CLOSE: f64 = 0.01;
const ROUNDING: f64 = 1e-9;
const BISECTIONS: u32 = 40;

/// How sharply the rise ends: the larger, the sharper; absent is the exponential approach.
const CORNERS: [Option<f64>; 10] = [
    None,
    Some(0.7),
    Some(1.0),
    Some(1.4),
    Some(2.0),
    Some(2.8),
    Some(4.0),
    Some(7.0),
    Some(15.0),
    Some(50.0),
];
/// Powers of the load by which it rises below.
const POWERS: [f64; 5] = [0.5, 0.6, 0.7, 0.85, 1.0];
/// Distance of the corners that are tried, in logarithms of the load, and how far below the
/// lowest fitted load they begin.
const STEP: f64 = 0.05;
const BELOW: f64 = 0.7;

/// Where nearly all of the highest throughput is reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reached {
    pub(super) load: f64,
    /// Of all fits that are about as good.
    pub(super) least: f64,
    pub(super) most: f64,
}

/// Enough loads, each with a throughput.
fn is_ladder(points: &[(f64, f64)]) -> bool {
    points.len() >= LEAST_LOADS && points.iter().all(|(_, rate)| *rate > 0.0)
}

/// Whether throughput still rises into the last load: by more than noise, and by more than a
/// little when the load doubles.
pub(super) fn still_rises(points: &[(f64, f64)]) -> bool {
    let logs: Vec<(f64, f64)> = (points.iter())
        .map(|(load, rate)| (load.ln(), rate.ln()))
        .collect();
    let [.., before, last] = logs.as_slice() else {
        return false;
    };
    let hardly = HARDLY.ln_1p() / LN_2 * (last.0 - before.0);
    is_ladder(points) && last.1 - before.1 > hardly.max(2f64.sqrt() * noise(&logs)) + ROUNDING
}

/// Where a ladder whose loads ascend reaches nearly all of its highest throughput. Absent where
/// it does not show that this is the highest.
pub(super) fn reached(points: &[(f64, f64)]) -> Option<Reached> {
    if !is_ladder(points) || still_rises(points) {
        return None;
    }
    let peak = points.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    if peak < LEAST_RISE * points[0].1 {
        return None;
    }
    // Throughput that falls again under too much load has still been reached.
    let is_high = |&(_, rate): &(f64, f64)| rate >= FALLEN * peak;
    let kept = &points[..=points.iter().rposition(is_high)?];
    let first = kept
        .iter()
        .position(|&(_, rate)| rate >= FAR_BELOW * peak)?;
    let first = first.min(kept.len().saturating_sub(LEAST_FITTED));
    let logs: Vec<(f64, f64)> = (kept[first..].iter())
        .map(|(load, rate)| (load.ln(), (rate / peak).ln()))
        .collect();
    let found = fitted(&logs)?;
    let has_fallen = kept.len() < points.len();
    let level = (kept.iter()).filter(|(load, _)| *load >= found.load * (1.0 - ROUNDING));
    let level: Vec<f64> = level.map(|(_, rate)| rate.ln()).collect();
    // Two loads have it at least, and the last not much more: it could be on the way to more.
    let is_level = match level.as_slice() {
        [others @ .., last] if !others.is_empty() => {
            let mean = others.iter().sum::<f64>() / others.len() as f64;
            last - mean <= 2.0 * HARDLY.ln_1p()
        }
        _ => false,
    };
    (has_fallen || is_level).then_some(found)
}

/// Throughput over its limit by a shape, as logarithms: `at` is how far the load is above the
/// corner, times the power of the load by which it rises.
fn shape(corner: Option<f64>, at: f64) -> f64 {
    match corner {
        None => (-(-at.exp()).exp_m1()).ln(),
        Some(sharpness) => -(-sharpness * at).exp().ln_1p() / sharpness,
    }
}

/// Where a shape has this value.
fn place(corner: Option<f64>, value: f64) -> f64 {
    match corner {
        None => (-(-value.exp()).ln_1p()).ln(),
        Some(sharpness) => -(-sharpness * value).exp_m1().ln() / sharpness,
    }
}

/// A shape that was fitted: its corner, the power of the load below it and where it lies.
#[derive(Clone, Copy)]
struct Fit {
    error: f64,
    corner: Option<f64>,
    power: f64,
    from: f64,
    /// Logarithm of the limit.
    level: f64,
}

impl Fit {
    fn new(points: &[(f64, f64)], corner: Option<f64>, power: f64, from: f64) -> Self {
        let mut fit = Fit {
            error: 0.0,
            corner,
            power,
            from,
            level: 0.0,
        };
        let (mut sum, mut squares) = (0.0, 0.0);
        for &(x, y) in points {
            let off = y - fit.at(x);
            sum += off;
            squares += off * off;
        }
        let count = points.len() as f64;
        fit.error = (squares - sum * sum / count).max(0.0);
        fit.level = sum / count;
        fit
    }

    fn at(&self, x: f64) -> f64 {
        self.level + shape(self.corner, self.power * (x - self.from))
    }

    /// The load at which it has nearly all that it has at the last one.
    fn reached(&self, last: f64) -> f64 {
        let target = self.at(last) - self.level + NEARLY_ALL.ln();
        self.from + place(self.corner, target) / self.power
    }

    /// The same by the points themselves, as far as they are not noise, with this shape between
    /// them.
    fn reached_by(&self, points: &[(f64, f64)]) -> Option<f64> {
        let residuals = self.error / points.len() as f64;
        let trust = (1.0 - noise(points).powi(2) / residuals.max(f64::MIN_POSITIVE)).max(0.0);
        let off = |&(x, y): &(f64, f64)| trust * (y - self.at(x));
        let corrected = points.iter().map(|point| self.at(point.0) + off(point));
        let target = corrected.clone().fold(f64::NEG_INFINITY, f64::max) + NEARLY_ALL.ln();
        let above = corrected.into_iter().position(|value| value >= target)?;
        let (Some(before), after) = (above.checked_sub(1).map(|at| points[at]), points[above])
        else {
            return Some(points[0].0);
        };
        let value = |x: f64| {
            let share = (x - before.0) / (after.0 - before.0);
            self.at(x) + (1.0 - share) * off(&before) + share * off(&after)
        };
        let (mut low, mut high) = (before.0, after.0);
        for _ in 0..BISECTIONS {
            let middle = (low + high) / 2.0;
            if value(middle) >= target {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(high)
    }
}

fn fitted(points: &[(f64, f64)]) -> Option<Reached> {
    let (first, last) = (points.first()?.0, points.last()?.0);
    let count = points.len() as f64;
    let steps = ((last - first + BELOW) / STEP).ceil() as usize;
    let fit = |corner, power, step| {
        Fit::new(
            points,
            corner,
            power,
            first - BELOW + f64::from(step as u32) * STEP,
        )
    };
    let tried: Vec<Fit> = (CORNERS.into_iter())
        .flat_map(|corner| POWERS.map(|power| (corner, power)))
        .flat_map(|(corner, power)| (0..=steps).map(move |step| fit(corner, power, step)))
        .filter(|fit| fit.error.is_finite() && fit.reached(last).is_finite())
        .collect();
    let best = tried.iter().min_by(|a, b| a.error.total_cmp(&b.error))?;
    // A level, a place, a corner and a power were chosen.
    let free = (count - 4.0).max(1.0);
    let ratio = student_quantile(0.975, free).powi(2).min(ABOUT_AS_GOOD);
    let most = (best.error * (1.0 + ratio / free)).max(count * CLOSE * CLOSE);
    let good = tried.iter().filter(|fit| fit.error <= most);
    let good = good.map(|fit| fit.reached(last).exp());
    let load = best.reached_by(points)?.exp();
    Some(Reached {
        load,
        least: good.clone().fold(load, f64::min),
        most: good.fold(load, f64::max),
    })
}

/// How far a point may be off by noise alone: points that lie below the line between their
/// neighbours tell.
fn noise(points: &[(f64, f64)]) -> f64 {
    let below: Vec<f64> = (points.windows(3))
        .filter_map(|three| {
            let share = (three[1].0 - three[0].0) / (three[2].0 - three[0].0);
            let line = (1.0 - share) * three[0].1 + share * three[2].1;
            let off = three[1].1 - line;
            let variance = off * off / (1.0 + share.powi(2) + (1.0 - share).powi(2));
            (off < -ROUNDING).then_some(variance)
        })
        .collect();
    if below.is_empty() {
        return 0.0;
    }
    let free = below.len() as f64;
    let deviations = student_quantile(1.0 - RISK, free).min(MOST_DEVIATIONS);
    deviations * (below.iter().sum::<f64>() / free).sqrt()
}
