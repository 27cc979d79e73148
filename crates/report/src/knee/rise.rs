//! Where a rise ends. Loads and rates are taken by their logarithms, in which throughput that
//! grows in proportion to the load is a straight line, and one that saturates only bends down:
//! whatever bends up is noise.

use inferometer_analysis::statistics::student_quantile;
use std::f64::consts::LN_2;

/// Fewest loads of a ladder that can show an end.
const LEAST_LOADS: usize = 4;
/// Throughput rises where doubling the load adds more than this share, which is what `compare`
/// takes for no difference.
const HARDLY: f64 = 0.03;
/// Least ratio of the highest throughput to that of the lowest load; below it nothing rose.
const LEAST_RISE: f64 = 1.2;
/// A last load below this share of the peak has fallen behind it.
const FALLEN: f64 = 0.95;
/// Chance of taking noise for a rise, over all loads of a ladder.
const RISK: f64 = 0.025;
/// Most standard deviations that are called noise: with few loads Student's t would allow
/// anything.
const MOST_DEVIATIONS: f64 = 4.0;
/// Most that a fit may be worse than the best to be about as good, as a ratio of variances, for
/// the same reason.
const ABOUT_AS_GOOD: f64 = 10.0;
/// Ends that are tried between two loads.
const STEPS: u32 = 16;
const ROUNDING: f64 = 1e-9;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EndOfRise {
    /// The load at which the fitted line meets the level.
    pub(super) load: f64,
    /// Number of the last load from which throughput surely rises on.
    pub(super) low: usize,
    /// Number of the first load that no good fit puts below the end.
    pub(super) high: usize,
}

/// The power of the load by which throughput hardly rises.
fn hardly() -> f64 {
    HARDLY.ln_1p() / LN_2
}

/// Enough loads, each with a throughput.
fn is_ladder(points: &[(f64, f64)]) -> bool {
    points.len() >= LEAST_LOADS && points.iter().all(|(_, rate)| *rate > 0.0)
}

/// Whether throughput still rises into the last load.
pub(super) fn still_rises(points: &[(f64, f64)]) -> bool {
    let logs = |&(load, rate): &(f64, f64)| (load.ln(), rate.ln());
    is_ladder(points)
        && Climb::new(points.iter().map(logs).collect()).rises(points.len() - 2, hardly())
}

/// The end of the rise of a ladder whose loads ascend.
pub(super) fn end_of_rise(points: &[(f64, f64)]) -> Option<EndOfRise> {
    if !is_ladder(points) {
        return None;
    }
    let peak = points.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    if peak < LEAST_RISE * points[0].1 {
        return None;
    }
    let logs = |&(load, rate): &(f64, f64)| (load.ln(), (rate / peak).ln());
    // Throughput that falls again under too much load has still stopped rising.
    let kept = 1 + points
        .iter()
        .rposition(|(_, rate)| *rate >= FALLEN * peak)?;
    let fallen = points.get(kept).map(|(load, _)| (load.ln(), 0.0));
    let climb = Climb::new(points[..kept].iter().map(logs).collect());
    let hardly = hardly();

    let low = (0..kept - 1).rfind(|&at| climb.rises(at, hardly))?;
    let twice_lower = |at: &usize| climb.x(*at) <= climb.x(low) - LN_2 + ROUNDING;
    let first = (0..low).rfind(twice_lower).unwrap_or(0);
    let (end, latest) = climb.fitted(first, low, fallen)?;
    let mut high = (low..kept).find(|&at| climb.x(at) >= latest - ROUNDING)?;
    // A rise that fades out ends nowhere sharply.
    while high + 2 < kept && climb.rises(high, hardly / 2.0) && climb.slope(high) > hardly {
        high += 1;
    }
    let is_level = fallen.is_some() || {
        let last = kept - 1;
        high < last && climb.y(last) - climb.mean(high, last).1 <= 2.0 * HARDLY.ln_1p()
    };
    is_level.then(|| EndOfRise {
        load: end.clamp(climb.x(low), climb.x(high)).exp(),
        low,
        high,
    })
}

/// Sums over points: x, y, xx, xy, yy.
type Sums = [f64; 5];

fn sums((x, y): (f64, f64)) -> Sums {
    [x, y, x * x, x * y, y * y]
}

fn plus(a: Sums, b: Sums) -> Sums {
    std::array::from_fn(|at| a[at] + b[at])
}

/// The points of a ladder that has not fallen yet, by their logarithms.
struct Climb {
    points: Vec<(f64, f64)>,
    /// Sums over the points before each, so that any part is fitted at once.
    before: Vec<Sums>,
    /// Standard deviation of a point, and how many of them are called noise.
    noise: f64,
}

impl Climb {
    fn new(points: Vec<(f64, f64)>) -> Self {
        let mut before = vec![Sums::default()];
        let mut all = Sums::default();
        for &point in &points {
            all = plus(all, sums(point));
            before.push(all);
        }
        let noise = noise(&points);
        Climb {
            points,
            before,
            noise,
        }
    }

    fn x(&self, at: usize) -> f64 {
        self.points[at].0
    }

    fn y(&self, at: usize) -> f64 {
        self.points[at].1
    }

    fn part(&self, from: usize, to: usize) -> Sums {
        std::array::from_fn(|sum| self.before[to][sum] - self.before[from][sum])
    }

    fn mean(&self, from: usize, to: usize) -> (f64, f64) {
        let [x, y, ..] = self.part(from, to);
        let count = (to - from) as f64;
        (x / count, y / count)
    }

    /// The power of the load by which throughput grows into a point.
    fn slope(&self, at: usize) -> f64 {
        match at {
            0 => f64::INFINITY,
            at => (self.y(at) - self.y(at - 1)) / (self.x(at) - self.x(at - 1)),
        }
    }

    /// Whether the points behind one lie above it: by more than noise, and by more than this
    /// power of the load.
    fn rises(&self, at: usize, power: f64) -> bool {
        widths(self.points.len() - 1 - at).any(|width| {
            let (x, y) = self.mean(at + 1, at + 1 + width);
            let noise = self.noise * (1.0 + 1.0 / width as f64).sqrt();
            y - self.y(at) > noise.max(power * (x - self.x(at))) + ROUNDING
        })
    }

    /// The end of y = level + slope · min(0, x − end) with the least squares over the points
    /// from the first on, and the latest that is about as good. None is before `low`.
    fn fitted(&self, first: usize, low: usize, fallen: Option<(f64, f64)>) -> Option<(f64, f64)> {
        let behind = fallen.map_or(Sums::default(), sums);
        let all = plus(self.part(first, self.points.len()), behind);
        let count = (self.points.len() - first + usize::from(fallen.is_some())) as f64;
        let squares = all[4] - all[1] * all[1] / count;
        let mut tried: Vec<(f64, f64)> = Vec::new();
        // Two loads are level at least: one could be noise.
        let last = self.points.len() - 1 - usize::from(fallen.is_none());
        for at in low..last {
            let rising = self.part(first, at + 1);
            let risen = (at + 1 - first) as f64;
            let error = |end: f64| {
                let [x, y, xx, xy, _] = rising;
                let z = x - risen * end;
                let zz = xx - 2.0 * end * x + risen * end * end - z * z / count;
                let zy = xy - end * y - z * all[1] / count;
                (zz > 0.0 && zy > 0.0).then(|| (squares - zy * zy / zz).max(0.0))
            };
            let [from, to] = [self.x(at), self.x(at + 1)];
            let step = |step: u32| from + (to - from) * f64::from(step) / f64::from(STEPS);
            let meeting = meeting(rising, risen, all, count);
            let inside = meeting.filter(|end| (from..=to).contains(end));
            let ends = (1..=STEPS).map(step).chain(inside);
            tried.extend(ends.filter_map(|end| Some((error(end)?, end))));
        }
        let rounding = ROUNDING * squares;
        let least = tried.iter().map(|(error, _)| *error).reduce(f64::min)?;
        let free = (count - 3.0).max(1.0);
        let ratio = student_quantile(0.975, free).powi(2).min(ABOUT_AS_GOOD);
        let latest = |most: f64| {
            let good = tried.iter().filter(|(error, _)| *error <= most + rounding);
            good.map(|(_, end)| *end).reduce(f64::max)
        };
        let best = match first == low {
            // One rising load has no slope: in proportion, as at low loads.
            true => self.x(low) - self.y(low),
            false => latest(least)?,
        };
        Some((best, latest(least * (1.0 + ratio / free))?))
    }
}

/// Where the line through the rising points meets the mean of the others.
fn meeting(rising: Sums, risen: f64, all: Sums, count: f64) -> Option<f64> {
    let [x, y, xx, xy, _] = rising;
    let slope = (xy - x * y / risen) / (xx - x * x / risen);
    let level = (all[1] - y) / (count - risen);
    (slope > 0.0).then(|| x / risen + (level - y / risen) / slope)
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
    let tests: usize = (1..points.len()).map(|behind| widths(behind).count()).sum();
    let free = below.len() as f64;
    let deviations = student_quantile(1.0 - RISK / tests as f64, free).min(MOST_DEVIATIONS);
    deviations * (below.iter().sum::<f64>() / free).sqrt()
}

/// 1, 2, 4, … points, and all of them.
fn widths(all: usize) -> impl Iterator<Item = usize> {
    let powers = std::iter::successors(Some(1), |width| Some(2 * width));
    powers
        .take_while(move |width| *width < all)
        .chain((all > 0).then_some(all))
}
