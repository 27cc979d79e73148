//! Where throughput hardly rises any more: a line over the logarithm of load that turns flat.

use inferometer_core::statistics::{batch_means, student_quantile};

/// Fewest loads of a ladder that can show a knee.
const LEAST_LOADS: usize = 4;
/// Fewest loads on the flat part: one could be noise.
const LEAST_FLAT: usize = 2;
/// Fewest repeats whose spread is an interval.
const LEAST_REPEATS: usize = 3;
/// Throughput still rises where it grows by more than this power of the load: 7 % when the load
/// doubles.
const RISING: f64 = 0.1;
/// The flat part is at least so many times the lowest load's throughput; else nothing rose.
const LEAST_RISE: f64 = 1.2;
/// A last load below this share of the peak has fallen behind it.
const FALLEN: f64 = 0.95;
/// Places of the knee that are tried between two loads.
const STEPS: u32 = 16;

/// Most that a fit may be worse than the best to be about as good, as a ratio of variances: with
/// few loads Student's t would allow anything.
const ABOUT_AS_GOOD: f64 = 10.0;

/// Where throughput hardly rises any more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// The load at which the fitted line turns flat.
    pub load: f64,
    /// A measured load that is surely not above it.
    pub low: f64,
    /// A measured load that is surely not below it.
    pub high: f64,
    /// What the interval rests on.
    pub basis: KneeBasis,
}

/// What the interval of a knee rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KneeBasis {
    /// So many ladders, each fitted by itself.
    Repeats(usize),
    /// All knees whose fit is about as good as the best.
    Fits,
}

/// The knee of a ladder: loads, each with the throughput of its repeats. Absent with fewer than
/// four loads, where throughput still rises at the last ones, and where it never rose.
pub fn knee(ladder: &[(f64, Vec<f64>)]) -> Option<Knee> {
    let mut ladder: Vec<&(f64, Vec<f64>)> = (ladder.iter())
        .filter(|(load, rates)| *load > 0.0 && !rates.is_empty())
        .collect();
    ladder.sort_by(|a, b| a.0.total_cmp(&b.0));
    ladder.dedup_by(|later, kept| later.0 == kept.0);
    let means: Vec<(f64, f64)> = (ladder.iter())
        .map(|(load, rates)| (*load, rates.iter().sum::<f64>() / rates.len() as f64))
        .collect();
    let Turn { load, low, high } = turn(&means)?;
    let repeats = ladder.iter().map(|(_, rates)| rates.len()).min()?;
    let each: Option<Vec<f64>> = (0..repeats)
        .map(|at| {
            let one: Vec<(f64, f64)> = ladder.iter().map(|(load, r)| (*load, r[at])).collect();
            turn(&one).map(|turn| turn.load.ln())
        })
        .collect();
    let spread = match each {
        Some(logs) if repeats >= LEAST_REPEATS => batch_means(&logs, repeats),
        // A repeat that shows no knee by itself says that its place is not known so well.
        None if repeats >= LEAST_REPEATS => return None,
        _ => None,
    };
    let (basis, [low, high]) = match spread {
        Some(known) => (KneeBasis::Repeats(repeats), known.interval.map(f64::exp)),
        None => (KneeBasis::Fits, [low, high]),
    };
    // A knee is known no finer than the loads that were measured.
    let loads = || means.iter().map(|(load, _)| *load);
    let near = 1.0 + 1e-9;
    let below = loads().rfind(|&measured| measured < low.min(load) / near);
    let above = loads().find(|&measured| measured * near >= high.max(load));
    Some(Knee {
        load,
        low: below.or_else(|| loads().next())?,
        high: above.or_else(|| loads().next_back())?,
        basis,
    })
}

/// Where a line turns flat, and between which loads it might as well.
#[derive(Clone, Copy)]
struct Turn {
    load: f64,
    low: f64,
    high: f64,
}

/// The load at which the line turns flat; loads ascend.
fn turn(points: &[(f64, f64)]) -> Option<Turn> {
    if points.len() < LEAST_LOADS || !points.iter().all(|(_, rate)| *rate > 0.0) {
        return None;
    }
    // Throughput that falls again under too much load has still stopped rising.
    let mut highest = 0.0_f64;
    let risen: Vec<(f64, f64)> = (points.iter())
        .map(|&(load, rate)| {
            highest = highest.max(rate);
            (load.ln(), highest)
        })
        .collect();
    let [mut turn, low, mut high] = fitted(&risen)?;
    // Where it clearly falls in the end, it rose no further than to its peak, whatever a
    // straight line says of the rise.
    let has_fallen = points
        .last()
        .is_some_and(|(_, rate)| *rate < FALLEN * highest);
    if let Some((peak, _)) = risen.iter().find(|(_, rate)| *rate == highest)
        && has_fallen
    {
        turn = turn.min(*peak);
        high = high.min(*peak);
    }
    let flat: Vec<&(f64, f64)> = risen.iter().filter(|(x, _)| *x >= turn - 1e-9).collect();
    let [first, .., last] = flat.as_slice() else {
        return None;
    };
    let growth = (last.1 / first.1).ln() / (last.0 - first.0);
    let before = &risen[risen.len() - 2];
    let last_step = (last.1 / before.1).ln() / (last.0 - before.0);
    let rose = last.1 >= LEAST_RISE * risen[0].1;
    (flat.len() >= LEAST_FLAT && rose && growth < RISING && last_step < RISING).then(|| Turn {
        load: turn.exp(),
        low: low.min(turn).exp(),
        high: high.max(turn).exp(),
    })
}

/// Sums over the first points: count, x, x², y, xy.
type Sums = [f64; 5];

/// The break of y = level + slope · min(0, x − break) with the least squares, of equally good
/// ones the highest; then the lowest and the highest of those that are about as good.
fn fitted(points: &[(f64, f64)]) -> Option<[f64; 3]> {
    let n = points.len() as f64;
    let all: f64 = points.iter().map(|(_, y)| y).sum();
    let squares: f64 = points.iter().map(|(_, y)| y * y).sum();
    let mut left: Sums = [0.0; 5];
    let mut best: Option<(f64, f64)> = None;
    let mut tried: Vec<(f64, f64)> = Vec::new();
    for pair in points.windows(2) {
        let [(x, y), (next, _)] = [pair[0], pair[1]];
        let add = [1.0, x, x * x, y, x * y];
        left = std::array::from_fn(|at| left[at] + add[at]);
        for step in 1..=STEPS {
            let at = x + (next - x) * f64::from(step) / f64::from(STEPS);
            let [count, sum_x, sum_xx, sum_y, sum_xy] = left;
            let z = sum_x - count * at;
            let zz = sum_xx - 2.0 * at * sum_x + count * at * at;
            let zy = sum_xy - at * sum_y;
            let slope = (n * zy - z * all) / (n * zz - z * z);
            let level = (all - slope * z) / n;
            let error = (squares - level * all - slope * zy).max(0.0);
            let as_good = |least: f64| error <= least + 1e-9 * squares;
            if slope > 0.0 {
                tried.push((error, at));
            }
            if slope > 0.0 && best.is_none_or(|(least, _)| as_good(least)) {
                best = Some((error, at));
            }
        }
    }
    let (least, best) = best?;
    // Level, slope and break are fitted.
    let free = (n - 3.0).max(1.0);
    let ratio = student_quantile(0.975, free).powi(2).min(ABOUT_AS_GOOD);
    let allowed = least * (1.0 + ratio / free) + 1e-9 * squares;
    let about = || tried.iter().filter(|(error, _)| *error <= allowed);
    let low = about().map(|(_, at)| *at).fold(best, f64::min);
    let high = about().map(|(_, at)| *at).fold(best, f64::max);
    Some([best, low, high])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn once(points: &[(f64, f64)]) -> Option<Knee> {
        let ladder: Vec<(f64, Vec<f64>)> = points
            .iter()
            .map(|&(load, rate)| (load, vec![rate]))
            .collect();
        knee(&ladder)
    }

    #[test]
    fn a_peak_with_a_fall_behind_it_is_the_end_of_the_rise() {
        // Rises more steeply than a straight line would to the very peak.
        let ladder = [
            (1.0, 217.0),
            (8.0, 1464.0),
            (16.0, 2542.0),
            (32.0, 4078.0),
            (64.0, 5817.0),
            (128.0, 7055.0),
            (256.0, 5942.0),
        ];
        let found = once(&ladder).unwrap();
        assert!(found.load <= 128.0 + 1e-6 && found.load > 64.0, "{found:?}");
    }

    #[test]
    fn a_line_that_turns_flat_has_its_knee_between_the_loads_beside_it() {
        let points = [
            (1.0, 100.0),
            (2.0, 300.0),
            (4.0, 500.0),
            (8.0, 700.0),
            (16.0, 800.0),
            (32.0, 800.0),
            (64.0, 800.0),
        ];
        let found = once(&points).unwrap();
        assert_eq!((found.low, found.high), (8.0, 16.0));
        assert!((8.0..=16.0).contains(&found.load), "{found:?}");
        assert_eq!(found.basis, KneeBasis::Fits);
    }

    #[test]
    fn a_fall_after_the_peak_is_still_saturation() {
        let points = [
            (1.0, 100.0),
            (2.0, 200.0),
            (4.0, 300.0),
            (8.0, 400.0),
            (16.0, 400.0),
            (32.0, 250.0),
        ];
        let found = once(&points).unwrap();
        assert!(found.low >= 4.0 && found.high <= 16.0, "{found:?}");
    }

    #[test]
    fn no_knee_is_claimed_with_three_loads_where_it_still_rises_or_where_nothing_rose() {
        let flat = [(1.0, 100.0), (2.0, 400.0), (4.0, 400.0), (8.0, 400.0)];
        assert_eq!(once(&flat[1..]), None);
        let rising: Vec<(f64, f64)> = (0..6)
            .map(|step| (2f64.powi(step), 100.0 * 1.8f64.powi(step)))
            .collect();
        assert_eq!(once(&rising), None);
        let late = [
            (1.0, 100.0),
            (2.0, 200.0),
            (4.0, 300.0),
            (8.0, 300.0),
            (16.0, 390.0),
        ];
        assert_eq!(once(&late), None);
        let level: Vec<(f64, f64)> = (0..6).map(|step| (2f64.powi(step), 500.0)).collect();
        assert_eq!(once(&level), None);
        assert_eq!(once(&[]), None);
        assert_eq!(
            once(&[(f64::NAN, 1.0), (1.0, f64::NAN), (2.0, 0.0), (4.0, 1.0)]),
            None
        );
    }

    #[test]
    fn repeats_that_disagree_widen_the_interval() {
        let ladder = |shift: f64| -> Vec<(f64, Vec<f64>)> {
            (0..8)
                .map(|step| {
                    let load = 2f64.powi(step);
                    let rate = |turn: f64| 100.0 + 100.0 * f64::from(step).min(turn);
                    (load, vec![rate(4.0 - shift), rate(4.0), rate(4.0 + shift)])
                })
                .collect()
        };
        let sure = knee(&ladder(0.0)).unwrap();
        let unsure = knee(&ladder(0.9)).unwrap();
        assert_eq!(sure.basis, KneeBasis::Repeats(3));
        assert!(unsure.high / unsure.low > sure.high / sure.low);
        assert!(unsure.low <= 16.0 && unsure.high >= 16.0, "{unsure:?}");
    }
}
