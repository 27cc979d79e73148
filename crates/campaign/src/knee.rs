//! The knee of a ladder: the lowest load that has 95 % of the highest throughput which the ladder
//! shows. Whoever wants throughput runs there: more load adds latency and at most 5 %. It is told
//! only where the ladder shows that throughput rises no further, and with the measured loads that
//! it lies between.

mod rise;

use inferometer_statistics::batch_means;
use rise::{NEARLY_ALL, Reached, reached, still_rises};

/// Fewest repeats whose spread is an interval.
const LEAST_REPEATS: usize = 3;

/// The lowest load that has nearly all of the highest throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    pub load: f64,
    /// A measured load that is surely not above it.
    pub low: f64,
    /// A measured load that is surely not below it.
    pub high: f64,
    pub basis: KneeBasis,
}

/// What the interval of a knee rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KneeBasis {
    /// This number of ladders, each fitted by itself.
    Repeats(usize),
    /// All knees whose fit is about as good as the best.
    Fits,
}

impl Knee {
    /// About where it is: no finer than the loads beside it.
    pub fn about(&self) -> f64 {
        if self.load >= 10.0 {
            self.load.round()
        } else {
            (10.0 * self.load).round() / 10.0
        }
    }
}

/// The last two loads of a ladder whose throughput still rises between them, with the means of
/// their throughput; it has no knee that could be seen.
pub fn still_rising(ladder: &[(f64, Vec<f64>)]) -> Option<[(f64, f64); 2]> {
    let means = means(&climbed(ladder));
    match means.as_slice() {
        [.., before, last] if still_rises(&means) => Some([*before, *last]),
        _ => None,
    }
}

/// Loads that have a place on a scale of ratios, in ascending order.
fn climbed(ladder: &[(f64, Vec<f64>)]) -> Vec<&(f64, Vec<f64>)> {
    let mut ladder: Vec<&(f64, Vec<f64>)> = (ladder.iter())
        .filter(|(load, rates)| *load > 0.0 && !rates.is_empty())
        .collect();
    ladder.sort_by(|a, b| a.0.total_cmp(&b.0));
    ladder.dedup_by(|later, kept| later.0 == kept.0);
    ladder
}

fn means(ladder: &[&(f64, Vec<f64>)]) -> Vec<(f64, f64)> {
    (ladder.iter())
        .map(|(load, rates)| (*load, rates.iter().sum::<f64>() / rates.len() as f64))
        .collect()
}

/// The knee of a ladder: loads, each with the throughput of its repeats. Absent with fewer than
/// four loads, where throughput still rises at the last ones, and where it never rose.
pub fn knee(ladder: &[(f64, Vec<f64>)]) -> Option<Knee> {
    let ladder = climbed(ladder);
    let means = means(&ladder);
    let Reached { load, least, most } = reached(&means)?;
    let repeats = ladder.iter().map(|(_, rates)| rates.len()).min()?;
    let (least, most, basis) = if repeats < LEAST_REPEATS {
        (least, most, KneeBasis::Fits)
    } else {
        // A repeat that shows no knee by itself says that its place is not known so well.
        let each: Option<Vec<f64>> = (0..repeats)
            .map(|at| {
                let one: Vec<(f64, f64)> = ladder.iter().map(|(load, r)| (*load, r[at])).collect();
                reached(&one).map(|found| found.load.ln())
            })
            .collect();
        let [low, high] = batch_means(&each?, repeats)?.interval.map(f64::exp);
        (least.min(low), most.max(high), KneeBasis::Repeats(repeats))
    };
    // A knee is known no finer than the loads that were measured.
    let near = 1.0 + 1e-9;
    let below = means.iter().rfind(|(load, _)| *load <= least * near);
    let above = means.iter().find(|(load, _)| load * near >= most);
    // Nor does it lie below every load at which so much was really measured.
    let peak = means.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let measured = means.iter().find(|(_, rate)| *rate >= NEARLY_ALL * peak);
    let high = above.or(means.last())?.0.max(measured?.0);
    Some(Knee {
        load,
        low: below.or(means.first())?.0,
        high,
        basis,
    })
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
        assert!(found.low >= 32.0 && found.high <= 256.0, "{found:?}");
    }

    #[test]
    fn its_upper_end_has_really_reached_what_is_claimed() {
        // A fit through these sees nearly all at 235; 400 has 94.6 % of what 720 has.
        let ladder = [
            (8.0, 420.0),
            (32.0, 1650.0),
            (64.0, 2900.0),
            (128.0, 4700.0),
            (150.0, 5010.0),
            (256.0, 5637.0),
            (300.0, 5507.0),
            (400.0, 5618.0),
            (512.0, 5774.0),
            (720.0, 5940.0),
        ];
        let found = once(&ladder).unwrap();
        let rate = |at: f64| ladder.iter().find(|(load, _)| *load == at).unwrap().1;
        assert!(rate(found.high) >= 0.95 * 5940.0, "{found:?}");
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
        assert!((4.0..=8.0).contains(&found.load), "{found:?}");
        assert!(found.low >= 2.0 && found.high <= 16.0, "{found:?}");
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

    /// Ladders as people measure them.
    fn loads() -> [Vec<f64>; 4] {
        [
            (0..10).map(|step| 2f64.powi(step)).collect(),
            [1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128]
                .map(f64::from)
                .to_vec(),
            (1..=60).map(f64::from).collect(),
            (1..=30).map(|step| 10.0 * f64::from(step)).collect(),
        ]
    }

    /// Numbers that look normal, the same in every run.
    fn deviates(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        move || {
            let mut sum = -6.0;
            for _ in 0..12 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                sum += (state >> 11) as f64 / (1u64 << 53) as f64;
            }
            sum
        }
    }

    /// A curve that levels off, by its name.
    type Curve = (&'static str, fn(f64) -> f64);

    const CURVES: [Curve; 8] = [
        ("sharp at 12", |load| 50.0 * load.min(12.0)),
        ("sharp at 33", |load| 50.0 * load.min(33.0)),
        ("sharp at 48", |load| 50.0 * load.min(48.0)),
        ("half at 2", |load| 1000.0 * load / (load + 2.0)),
        ("half at 4", |load| 1000.0 * load / (load + 4.0)),
        ("exponential, 8", |load| -1000.0 * (-load / 8.0).exp_m1()),
        ("exponential, 16", |load| -1000.0 * (-load / 16.0).exp_m1()),
        ("rounded corner at 20", |load| {
            1000.0 / (1.0 + (20.0 / load).powi(3)).cbrt()
        }),
    ];

    /// The lowest load that has 95 % of the highest throughput of the loads.
    fn truth(curve: fn(f64) -> f64, loads: &[f64]) -> f64 {
        let highest = loads.iter().map(|&load| curve(load)).fold(0.0, f64::max);
        let (mut low, mut high) = (loads[0], loads[loads.len() - 1]);
        for _ in 0..60 {
            let middle = (low * high).sqrt();
            if curve(middle) >= 0.95 * highest {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }

    /// A name, a curve, loads and the true knee.
    type Case = (&'static str, fn(f64) -> f64, Vec<f64>, f64);

    /// Every curve on every ladder that begins below it and goes on until it is level.
    fn cases() -> Vec<Case> {
        let case = |(name, curve): Curve, loads: Vec<f64>| {
            let truth = truth(curve, &loads);
            (name, curve, loads, truth)
        };
        (CURVES.into_iter())
            .flat_map(|curve| loads().map(|loads| case(curve, loads)))
            .filter(|(_, curve, loads, truth)| {
                let last = loads[loads.len() - 1];
                let rose = curve(last) > 1.3 * curve(loads[0]);
                rose && curve(last) < 1.03 * curve(last / 2.0) && *truth < loads[loads.len() - 3]
            })
            .collect()
    }

    #[test]
    fn the_knee_is_the_lowest_load_with_95_percent_of_the_throughput_on_sharp_and_soft_curves() {
        for (name, curve, loads, truth) in cases() {
            let ladder: Vec<(f64, f64)> = loads.iter().map(|&load| (load, curve(load))).collect();
            let found = once(&ladder).unwrap_or_else(|| panic!("{name}: {ladder:?}"));
            let off = found.load / truth - 1.0;
            assert!(
                off.abs() < 0.15,
                "{name} up to {:?}: {truth} {found:?}",
                loads.last()
            );
            assert!(
                (found.low..=found.high).contains(&truth),
                "{name}: {truth} {found:?}"
            );
            assert_eq!(found.basis, KneeBasis::Fits);
        }
    }

    #[test]
    fn with_noise_the_interval_still_holds_the_knee_and_not_the_whole_ladder() {
        let (mut all, mut found, mut held) = (0, 0, 0);
        for (name, curve, loads, truth) in cases() {
            let mut offs: Vec<f64> = Vec::new();
            let mut held_here = 0;
            for seed in 0..20 {
                let mut deviate = deviates(seed);
                let share = [0.02, 0.03][seed as usize % 2];
                let mut rate = |load: &f64| (*load, curve(*load) * (1.0 + share * deviate()));
                let ladder: Vec<(f64, f64)> = loads.iter().map(&mut rate).collect();
                all += 1;
                let Some(knee) = once(&ladder) else { continue };
                held_here += usize::from((knee.low..=knee.high).contains(&truth));
                offs.push(knee.load / truth - 1.0);
                let width = knee.high / knee.low;
                assert!(width <= 32.0, "{name}: {truth} {knee:?}");
            }
            offs.sort_by(f64::total_cmp);
            let middle = offs[offs.len() / 2];
            assert!(middle.abs() < 0.2, "{name}: {truth} {offs:.2?}");
            (found, held) = (found + offs.len(), held + held_here);
        }
        assert!(100 * found >= 80 * all, "{found} of {all}");
        assert!(100 * held >= 90 * found, "{held} of {found}");
    }

    #[test]
    fn a_load_that_adds_five_percent_is_at_the_knee_and_flat_loads_behind_it_are_not_in_it() {
        let ladder = [
            (1.0, 106.3),
            (2.0, 201.3),
            (4.0, 373.1),
            (8.0, 706.1),
            (16.0, 1212.8),
            (32.0, 1928.0),
            (64.0, 2602.6),
            (128.0, 3052.7),
            (256.0, 3222.3),
            (512.0, 3241.6),
            (1024.0, 3241.8),
        ];
        let found = once(&ladder).unwrap();
        // 94.2 % at 128, 99.4 % at 256.
        assert!((128.0..140.0).contains(&found.load), "{found:?}");
        assert!(found.low >= 64.0 && found.high <= 256.0, "{found:?}");
        // Without the loads behind, it still rises.
        assert_eq!(once(&ladder[..8]), None);
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
