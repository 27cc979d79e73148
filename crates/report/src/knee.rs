//! Where throughput hardly rises any more, and between which measured loads that is.

mod rise;

use inferometer_analysis::statistics::batch_means;
use rise::{EndOfRise, end_of_rise, still_rises};

/// Fewest repeats whose spread is an interval.
const LEAST_REPEATS: usize = 3;

/// Where throughput hardly rises any more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// The load at which the fitted rise ends.
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
pub(crate) fn still_rising(ladder: &[(f64, Vec<f64>)]) -> Option<[(f64, f64); 2]> {
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
    let EndOfRise { load, low, high } = end_of_rise(&means)?;
    let repeats = ladder.iter().map(|(_, rates)| rates.len()).min()?;
    if repeats < LEAST_REPEATS {
        return Some(Knee {
            load,
            low: means[low].0,
            high: means[high].0,
            basis: KneeBasis::Fits,
        });
    }
    // A repeat that shows no knee by itself says that its place is not known so well.
    let each: Option<Vec<f64>> = (0..repeats)
        .map(|at| {
            let one: Vec<(f64, f64)> = ladder.iter().map(|(load, r)| (*load, r[at])).collect();
            end_of_rise(&one).map(|end| end.load.ln())
        })
        .collect();
    let [least, most] = batch_means(&each?, repeats)?.interval.map(f64::exp);
    // A knee is known no finer than the loads that were measured.
    let near = 1.0 + 1e-9;
    let below = means.iter().rposition(|(load, _)| load * near <= least);
    let above = means.iter().position(|(load, _)| load * near >= most);
    Some(Knee {
        load,
        low: means[low.min(below.unwrap_or(0))].0,
        high: means[high.max(above.unwrap_or(means.len() - 1))].0,
        basis: KneeBasis::Repeats(repeats),
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

    #[test]
    fn throughput_in_proportion_to_load_up_to_a_limit_has_its_knee_between_the_loads_beside_it() {
        for loads in loads() {
            for limit in [12.0, 24.0, 32.0, 33.0, 48.0, 70.0, 100.0, 105.0_f64] {
                if limit >= loads[loads.len() - 2] {
                    continue;
                }
                let rate = |load: &f64| (*load, 50.0 * load.min(limit));
                let found = once(&loads.iter().map(rate).collect::<Vec<_>>()).unwrap();
                let below = *loads.iter().rfind(|load| **load < limit).unwrap();
                let above = *loads.iter().find(|load| **load >= limit).unwrap();
                assert_eq!(
                    (found.low, found.high),
                    (below, above),
                    "{limit}: {found:?}"
                );
                assert!(
                    (found.load / limit - 1.0).abs() < 1e-6,
                    "{limit}: {found:?}"
                );
            }
        }
    }

    #[test]
    fn with_noise_the_interval_still_holds_the_limit_and_not_the_whole_ladder() {
        for loads in loads() {
            for limit in [24.0_f64, 33.0, 48.0] {
                let (mut found, mut held, mut widest) = (0, 0, 1.0_f64);
                for seed in 0..60 {
                    let mut deviate = deviates(seed);
                    let share = [0.02, 0.03][seed as usize % 2];
                    let mut rate =
                        |load: &f64| (*load, 50.0 * load.min(limit) * (1.0 + share * deviate()));
                    let ladder: Vec<(f64, f64)> = loads.iter().map(&mut rate).collect();
                    let Some(knee) = once(&ladder) else { continue };
                    found += 1;
                    held += usize::from((knee.low..=knee.high).contains(&limit));
                    widest = widest.max(knee.high / knee.low);
                }
                assert!(found >= 50, "{limit}: {found} of 60");
                assert!(10 * held >= 9 * found, "{limit}: {held} of {found}");
                assert!(widest <= 16.0, "{limit}: {widest}");
            }
        }
    }

    #[test]
    fn a_rise_that_fades_out_ends_where_doubling_the_load_adds_three_percent() {
        for half in [1.0, 2.0, 4.0, 8.0] {
            let rate = |load: &f64| (*load, 1000.0 * load / (load + half));
            let ladder: Vec<(f64, f64)> = loads()[0].iter().map(rate).collect();
            let found = once(&ladder).unwrap();
            let end = half * (2f64.ln() / 1.03f64.ln() - 1.0);
            assert!((found.low..=found.high).contains(&end), "{half}: {found:?}");
            assert!(found.high / found.low <= 8.0, "{half}: {found:?}");
        }
    }

    #[test]
    fn a_load_that_adds_five_percent_is_below_the_knee_and_flat_loads_behind_it_are_not_in_it() {
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
        assert_eq!((found.low, found.high), (128.0, 256.0));
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
