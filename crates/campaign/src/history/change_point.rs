//! Lasting changes in a series of measurements that were made one after the other.
//!
//! At each place where the series may be cut, the runs before and after it (twelve at most) are
//! held against each other by the median of their differences, which a single outlier cannot move,
//! in units of the noise between neighbours, which a change or a slow drift cannot inflate. The
//! largest of these is held against the largest that series without any change have by chance, and
//! made smaller where neighbours resemble each other. What is found cuts the series in two, and
//! both parts are looked at again.

use inferometer_core::seed::{Dimension, rng};
use inferometer_statistics::hodges_lehmann;
use rand_distr::{Distribution, StandardNormal};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};

/// Runs that a change needs before and after it.
pub(super) const LEAST_RUNS: usize = 3;

/// The median of so many differs, although fewer than [`LEAST_RUNS`] of them do.
const MOST_OF_LEAST: usize = 2;
/// Runs on each side of a cut that speak about it: older ones may have drifted.
const SIDE: usize = 12;
/// Runs on each side from which the noise around a cut is taken.
const NOISE_SIDE: usize = 25;
/// Series without a change against which one is held, and the length from which longer ones count
/// as several.
const SIMULATED: u64 = 2_000;
const LONGEST: usize = 120;
/// Runs by which noise may shift the clearest cut from the change.
const SHAKE: usize = 3;
/// Confidence of the interval of a change.
const CONFIDENCE: f64 = 0.95;

/// A lasting change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ChangePoint {
    /// Place of the first value after it.
    pub at: usize,
    /// How far the values after it are above those before.
    pub shift: f64,
    pub interval: [f64; 2],
    /// How likely a series without a change shows one as clear.
    pub p_value: f64,
}

/// Changes of more than `margin`, in their order. Of series without a change, a share of `level`
/// at most shows any.
pub(super) fn change_points(values: &[f64], margin: f64, level: f64) -> Vec<ChangePoint> {
    let mut cuts = Vec::new();
    cut(values, 0, margin, level, &mut cuts);
    cuts.sort_by_key(|(at, _)| *at);
    let ends: Vec<usize> = cuts
        .iter()
        .map(|(at, _)| *at)
        .chain([values.len()])
        .collect();
    let mut start = 0;
    let mut found = Vec::new();
    for (&(at, p_value), &end) in cuts.iter().zip(&ends[1..]) {
        let before = &values[start.max(at.saturating_sub(NOISE_SIDE))..at];
        let after = &values[at..end.min(at + NOISE_SIDE)];
        found.extend(
            hodges_lehmann(before, after, CONFIDENCE).map(|shift| ChangePoint {
                at,
                shift: shift.value,
                interval: shift.interval.unwrap_or_else(|| widest(before, after)),
                p_value,
            }),
        );
        start = at;
    }
    found
}

/// The least shift, up or down, of the last `after` values that [`change_points`] would find; absent
/// where none would be found, however large.
pub(super) fn least_found(values: &[f64], after: usize, margin: f64, level: f64) -> Option<f64> {
    /// Far beyond any change that is worth finding, and the share of itself to which it is found.
    const LARGEST: f64 = 10.0;
    const STEPS: u32 = 16;
    // What is far back says nothing about the last values; of a part of a series, that part of the
    // false alarms is allowed.
    let near = &values[values.len().saturating_sub(2 * LONGEST)..];
    let part = near.len() as f64 / values.len().max(1) as f64;
    let (values, level) = (near, 1.0 - (1.0 - level).powf(part));
    let start = values.len().checked_sub(after.max(LEAST_RUNS))?;
    let is_found = |shift: f64| {
        [shift, -shift].into_iter().all(|shift| {
            let mut shifted = values.to_vec();
            shifted[start..].iter_mut().for_each(|it| *it += shift);
            !change_points(&shifted, margin, level).is_empty()
        })
    };
    let (mut missed, mut found) = (0.0, LARGEST);
    if !is_found(found) {
        return None;
    }
    for _ in 0..STEPS {
        let middle = (missed + found) / 2.0;
        if is_found(middle) {
            found = middle;
        } else {
            missed = middle;
        }
    }
    Some(found)
}

/// All differences: what few runs allow to say.
fn widest(before: &[f64], after: &[f64]) -> [f64; 2] {
    let ends = |values: &[f64]| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        [
            least,
            values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        ]
    };
    let ([a, b], [c, d]) = (ends(before), ends(after));
    [c - b, d - a]
}

fn cut(values: &[f64], offset: usize, margin: f64, level: f64, found: &mut Vec<(usize, f64)>) {
    // With the whole margin a change of just that size would be found half of the time.
    let Some((at, clearness)) = clearest(values, margin * 0.8) else {
        return;
    };
    let p_value = by_chance(values.len(), clearness);
    let at = placed(values, at);
    let (before, after) = (&values[..at], &values[at..]);
    // Two in a row may both be outliers: a third decides, and until then they say nothing.
    if after.len() < LEAST_RUNS {
        return cut(before, offset, margin, level, found);
    }
    if before.len() < LEAST_RUNS {
        return cut(after, offset + at, margin, level, found);
    }
    if p_value > level || median_difference(near_end(before), near_start(after)).abs() <= margin {
        return;
    }
    found.push((offset + at, p_value));
    cut(&values[..at], offset, margin, level, found);
    cut(&values[at..], offset + at, margin, level, found);
}

/// The cut with the clearest difference, and how clear it is; absent where there is none.
fn clearest(values: &[f64], margin: f64) -> Option<(usize, f64)> {
    let last = values.len().checked_sub(LEAST_RUNS)?;
    let clearness = |at: usize| {
        let (before, after) = (near_end(&values[..at]), near_start(&values[at..]));
        let near = [
            &values[at.saturating_sub(NOISE_SIDE)..at],
            &values[at..values.len().min(at + NOISE_SIDE)],
        ];
        let spread = 1.0 / before.len() as f64 + 1.0 / after.len() as f64;
        let beyond = (median_difference(before, after).abs() - margin).max(0.0);
        beyond / (noise(&near).max(f64::MIN_POSITIVE) * spread.sqrt())
    };
    let cuts = (LEAST_RUNS..=last).map(|at| (at, clearness(at)));
    let (at, clearness) = cuts.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let likeness = likeness(&values[..at], &values[at..]);
    let clearness = clearness * ((1.0 - likeness) / (1.0 + likeness)).sqrt();
    (clearness > 0.0).then_some((at, clearness))
}

/// The place near a cut at which values lie nearest to the medians of their sides.
fn placed(values: &[f64], at: usize) -> usize {
    let start = at.saturating_sub(SIDE);
    let near = &values[start..values.len().min(at + SIDE)];
    let away = |part: &[f64]| {
        let middle = median(&mut part.to_vec());
        part.iter().map(|value| (value - middle).abs()).sum::<f64>()
    };
    let distance = |at: &usize| away(&near[..at - start]) + away(&near[at - start..]);
    let first = (start + 1).max(MOST_OF_LEAST).max(at.saturating_sub(SHAKE));
    let last = (at + SHAKE).min(values.len() - MOST_OF_LEAST);
    let places = first..=last;
    places
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        .unwrap_or(at)
}

fn near_end(values: &[f64]) -> &[f64] {
    &values[values.len().saturating_sub(SIDE)..]
}

fn near_start(values: &[f64]) -> &[f64] {
    &values[..values.len().min(SIDE)]
}

fn median_difference(before: &[f64], after: &[f64]) -> f64 {
    let all = after.iter().flat_map(|b| before.iter().map(move |a| b - a));
    median(&mut all.collect::<Vec<_>>())
}

/// Standard deviation of one value, from the steps between neighbours on either side of a cut: a
/// slow drift hardly adds to them. Steps far beyond the third quartile are outliers and count as
/// that far only.
fn noise(sides: &[&[f64]; 2]) -> f64 {
    /// Third quartile of the size of a normal value, in standard deviations, and the most that a
    /// step counts.
    const QUARTILE: f64 = 1.1503;
    const MOST: f64 = 2.5;
    let steps = sides.iter().flat_map(|side| side.windows(2));
    let mut steps: Vec<f64> = steps.map(|pair| (pair[1] - pair[0]).abs()).collect();
    let most = MOST / QUARTILE * quantile(&mut steps, 0.75);
    let squares: f64 = steps.iter().map(|step| step.min(most).powi(2)).sum();
    (squares / steps.len().max(1) as f64 / 2.0).sqrt()
}

/// How much neighbours resemble each other beside the change: the correlation of a value with the
/// next, corrected for what taking the medians away costs it; never below nought.
fn likeness(before: &[f64], after: &[f64]) -> f64 {
    let rest = |part: &[f64]| {
        let middle = median(&mut part.to_vec());
        part.iter().map(|value| value - middle).collect::<Vec<_>>()
    };
    let mut rests = [rest(before), rest(after)].concat();
    let deviation = 1.4826 * median(&mut rests.iter().map(|it| it.abs()).collect::<Vec<_>>());
    for value in &mut rests {
        *value = value.clamp(-2.5 * deviation, 2.5 * deviation);
    }
    let squares: f64 = rests.iter().map(|it| it * it).sum();
    if squares <= 0.0 {
        return 0.0;
    }
    let products: f64 = rests.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let plain = products / squares;
    let corrected = plain + 2.0 * (1.0 + 4.0 * plain) / rests.len() as f64;
    corrected.clamp(0.0, 0.95)
}

/// How likely a series of that length without a change has a cut as clear.
fn by_chance(length: usize, clearness: f64) -> f64 {
    // A longer one is as several: simulating it would take long and tell the same.
    let times = (length as f64 / LONGEST as f64).max(1.0);
    let clearest = without_change(length.min(LONGEST));
    let above = clearest.len() - clearest.partition_point(|it| *it < clearness);
    let p_value = (1 + above) as f64 / (1 + clearest.len()) as f64;
    1.0 - (1.0 - p_value).powf(times)
}

/// The clearest cuts of series without a change, the least clear first.
fn without_change(length: usize) -> Arc<[f64]> {
    static KNOWN: LazyLock<Mutex<BTreeMap<usize, Arc<[f64]>>>> = LazyLock::new(Mutex::default);
    // Of lengths that hardly differ the longest serves all: it has the clearer cuts.
    let length = match length {
        ..=20 => length,
        21..=60 => length.next_multiple_of(5),
        _ => length.next_multiple_of(20),
    };
    if let Ok(known) = KNOWN.lock()
        && let Some(known) = known.get(&length)
    {
        return known.clone();
    }
    let clearest_of = |index: u64| {
        let mut random = rng(0, Dimension::Words, index);
        let values = (0..length).map(|_| StandardNormal.sample(&mut random));
        clearest(&values.collect::<Vec<f64>>(), 0.0).map_or(0.0, |(_, clearness)| clearness)
    };
    let mut all: Vec<f64> = (0..SIMULATED).map(clearest_of).collect();
    all.sort_by(f64::total_cmp);
    let all: Arc<[f64]> = all.into();
    if let Ok(mut known) = KNOWN.lock() {
        known.insert(length, all.clone());
    }
    all
}

fn median(values: &mut [f64]) -> f64 {
    quantile(values, 0.5)
}

/// Interpolated between neighbours.
fn quantile(values: &mut [f64], p: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let place = p * (values.len() - 1) as f64;
    let (_, &mut low, above) = values.select_nth_unstable_by(place as usize, f64::total_cmp);
    let next = above.iter().copied().reduce(f64::min).unwrap_or(low);
    low + (next - low) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARGIN: f64 = 0.02;
    const NOISE: f64 = 0.03;

    fn normal_values(n: usize, seed: u64) -> Vec<f64> {
        let mut random = rng(seed, Dimension::Words, 0);
        (0..n).map(|_| StandardNormal.sample(&mut random)).collect()
    }

    /// Made-up noise of a kind, with a standard deviation of 3 %.
    fn noise_of(kind: &str, length: usize, seed: u64) -> Vec<f64> {
        let normal = normal_values(3 * length, seed);
        let mut level = 0.0;
        let mut values = Vec::new();
        for at in 0..length {
            let own = NOISE * normal[at];
            let chance = normal[length + at];
            values.push(match kind {
                "independent" => own,
                "outliers" if chance > 1.645 => own + 0.5 * normal[2 * length + at].signum(),
                "outliers" => own,
                "alike" => {
                    level = 0.5 * level + 0.75f64.sqrt() * own;
                    level
                }
                "drifting" => {
                    level += NOISE / 5.0 * chance;
                    level + own
                }
                "louder" => own * (0.3 + 1.7 * at as f64 / length as f64),
                other => unreachable!("{other}"),
            });
        }
        values
    }

    const KINDS: [&str; 5] = ["independent", "outliers", "alike", "drifting", "louder"];

    #[test]
    fn histories_without_a_change_show_none() {
        let mut report = String::new();
        let mut worst = 0.0f64;
        for kind in KINDS {
            let lengths = [8, 12, 20, 40, 80];
            let alarms = (0..500u64).filter(|seed| {
                let length = lengths[(seed % 5) as usize];
                !change_points(&noise_of(kind, length, *seed), MARGIN, 0.05).is_empty()
            });
            let share = alarms.count() as f64 / 500.0;
            worst = worst.max(share);
            report += &format!("{kind} {share} ");
        }
        assert!(worst <= 0.05, "{report}");
    }

    #[test]
    fn a_change_of_ten_percent_is_found_within_five_runs() {
        for (kind, least) in [("independent", 0.85), ("outliers", 0.6), ("louder", 0.6)] {
            let found = (0..500u64).filter(|seed| {
                let before = [10, 20, 60][(seed % 3) as usize];
                let mut values = noise_of(kind, before + 5, *seed);
                values[before..]
                    .iter_mut()
                    .for_each(|it| *it += 1.1f64.ln());
                (3..=5).any(|after| {
                    let found = change_points(&values[..before + after], MARGIN, 0.05);
                    found
                        .iter()
                        .any(|it| it.at.abs_diff(before) <= 1 && it.shift > 0.0)
                })
            });
            let share = found.count() as f64 / 500.0;
            assert!(share >= least, "{kind} {share}");
        }
    }

    #[test]
    fn two_runs_are_no_change_however_large_and_the_third_tells_it_in_its_place() {
        let mut told = 0;
        for seed in 0..200 {
            let mut values = noise_of("independent", 30, seed);
            values[12..].iter_mut().for_each(|it| *it += 0.5);
            for two in [&values[..14], &values[10..]] {
                let found = change_points(two, MARGIN, 0.05);
                assert!(found.iter().all(|it| it.shift < 0.4), "{found:?}");
            }
            for change in change_points(&values[..15], MARGIN, 0.05) {
                told += 1;
                assert_eq!(change.at, 12, "{change:?}");
                assert!(change.interval[0] > 0.0, "{change:?}");
            }
        }
        assert!(told > 180, "{told}");
    }

    #[test]
    fn two_runs_that_say_nothing_yet_hide_no_earlier_change() {
        let mut values = noise_of("independent", 42, 5);
        values[20..].iter_mut().for_each(|it| *it += 0.2);
        values[40..].iter_mut().for_each(|it| *it += 0.8);
        let found = change_points(&values, MARGIN, 0.05);
        let places: Vec<usize> = found.iter().map(|it| it.at).collect();
        assert_eq!(places, [20]);
    }

    #[test]
    fn several_changes_are_told_with_their_size() {
        let mut values = noise_of("independent", 60, 5);
        values[20..40].iter_mut().for_each(|it| *it += 0.2);
        values[40..].iter_mut().for_each(|it| *it -= 0.1);
        let found = change_points(&values, MARGIN, 0.05);
        let places: Vec<usize> = found.iter().map(|it| it.at).collect();
        assert_eq!(places, [20, 40]);
        for (change, truth) in found.iter().zip([0.2, -0.3]) {
            let [low, high] = change.interval;
            assert!(low < truth && truth < high, "{change:?}");
            assert!((change.shift - truth).abs() < 0.03, "{change:?}");
        }
    }

    #[test]
    fn what_is_short_equal_or_small_has_no_change() {
        for values in [vec![], vec![1.0], vec![1.0; 5], vec![2.0; 300]] {
            assert_eq!(change_points(&values, MARGIN, 0.05), []);
        }
        // Clear, but within the margin.
        let small = (0..40).map(|at| if at < 20 { 0.0 } else { 0.015 } + 1e-4 * (at % 2) as f64);
        assert_eq!(change_points(&Vec::from_iter(small), MARGIN, 0.05), []);
    }

    #[test]
    fn what_would_be_found_is_the_noise_and_never_below_the_margin() {
        let least = |noise: f64, length: usize| {
            let values = noise_of("independent", length, 3);
            let values: Vec<f64> = values.iter().map(|it| it * noise / NOISE).collect();
            least_found(&values, 5, MARGIN, 0.05)
        };
        let [quiet, usual, loud] = [1e-6, 0.03, 0.15].map(|noise| least(noise, 30).unwrap());
        assert!((MARGIN..1.1 * MARGIN).contains(&quiet), "{quiet}");
        assert!((0.03..0.12).contains(&usual), "{usual}");
        assert!(loud > 3.0 * usual, "{loud} {usual}");
        assert_eq!(least(0.03, 4), None);
    }

    #[test]
    fn intervals_cover_the_change() {
        let covered = (0..400u64).filter(|seed| {
            let mut values = noise_of("independent", 30, *seed);
            values[20..].iter_mut().for_each(|it| *it += 0.2);
            let found = change_points(&values, MARGIN, 0.05);
            let [low, high] = found.first().map_or([1.0, 1.0], |it| it.interval);
            low <= 0.2 && 0.2 <= high
        });
        let share = covered.count() as f64 / 400.0;
        assert!(share > 0.9, "{share}");
    }
}
