//! Trends: whether a series rises, and where its warm-up ends.

use super::Test;
use super::distribution::{normal_tail, student_tail};
use super::intervals::design_effect;
use inferometer_core::quantile::sort;

/// Mann–Kendall test for a rising trend: Kendall's tau and the one-sided probability of one
/// as large without a trend, ties counted. Absent for fewer than 8 values. Takes n² steps:
/// give it bins, not requests.
pub fn rising_trend(values: &[f64]) -> Option<Test> {
    let n = values.len();
    if n < 8 {
        return None;
    }
    let mut score = 0i64;
    for (i, a) in values.iter().enumerate() {
        for b in &values[i + 1..] {
            score += i64::from(b > a) - i64::from(b < a);
        }
    }
    let spread = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut sorted = values.to_vec();
    sort(&mut sorted);
    let ties: f64 = sorted
        .chunk_by(|a, b| a == b)
        .map(|group| spread(group.len() as f64))
        .sum();
    let variance = (spread(n as f64) - ties) / 18.0;
    let z = match score {
        // One step towards zero: the score moves in steps of two.
        _ if variance <= 0.0 => 0.0,
        0 => 0.0,
        score => (score - score.signum()) as f64 / variance.sqrt(),
    };
    Some(Test {
        statistic: score as f64 / (n * (n - 1) / 2) as f64,
        p_value: normal_tail(z),
    })
}

/// Whether a walk climbs: the mean of its steps and the one-sided probability of one as large by
/// chance, by Student's t. Absent for fewer than 8 values.
pub fn climbs(values: &[f64]) -> Option<Test> {
    if values.len() < 8 {
        return None;
    }
    let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let n = steps.len() as f64;
    let mean = steps.iter().sum::<f64>() / n;
    let variance = (steps.iter().map(|step| (step - mean).powi(2))).sum::<f64>() / (n - 1.0);
    let p_value = match variance {
        0.0 => f64::from(u8::from(mean <= 0.0)),
        _ => student_tail(mean / (variance / n).sqrt(), n - 1.0),
    };
    Some(Test {
        statistic: mean,
        p_value,
    })
}

/// Deviation, as a share of the mean, below which a series is as good as constant.
const CONSTANT: f64 = 0.01;
/// Standard errors by which the halves of a series must differ for it to be unsettled. A queue near
/// its limit is often calmer in one half by chance, and one of several series is oftener still.
const MOVED: f64 = 3.0;

/// MSER-5: how many values to cut from the beginning of a series so that the mean of the rest
/// is best known, in batches of five. Absent if the series is short, or if a cut of half of it is the
/// best and its level has moved: then it has not settled.
pub fn mser5(values: &[f64]) -> Option<usize> {
    let batches: Vec<f64> = values
        .chunks_exact(5)
        .map(|batch| batch.iter().sum::<f64>() / 5.0)
        .collect();
    let n = batches.len();
    let limit = n / 2;
    if limit < 2 {
        return None;
    }
    // From the end, so that each cut needs one step.
    let (mut sum, mut squares) = (0.0, 0.0);
    let shift = batches[n - 1];
    let mut errors = vec![0.0; n];
    let level = batches[limit..].iter().sum::<f64>() / (n - limit) as f64;
    let floor = (CONSTANT * level).powi(2);
    for (cut, value) in batches.iter().enumerate().rev() {
        sum += value - shift;
        squares += (value - shift).powi(2);
        let rest = (n - cut) as f64;
        errors[cut] = ((squares - sum * sum / rest).max(0.0) / rest + floor) / rest;
    }
    // The first of equals: ties go to the smaller cut.
    let best = |most: usize| (0..=most).min_by(|&a, &b| errors[a].total_cmp(&errors[b]));
    let cut = best(limit)?;
    if cut < limit {
        return Some(cut * 5);
    }
    // Nothing more is said of how much the half is better: a ramp whose last part is level, or one
    // with noise, gains hardly more than noise alone does by chance.
    let early = best(n / 3)?;
    (!has_moved(values)).then_some(early * 5)
}

/// Whether the halves of a series differ by more than its neighbours' dependence explains, around
/// either a line or a level of each half, whichever it follows more closely.
fn has_moved(values: &[f64]) -> bool {
    let n = values.len() as f64;
    let (early, late) = values.split_at(values.len() / 2);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let [before, after] = [mean(early), mean(late)];
    let (centre, level) = ((n - 1.0) / 2.0, mean(values));
    let from_centre = |place: usize| place as f64 - centre;
    let slope = (values.iter().enumerate())
        .map(|(place, value)| from_centre(place) * (value - level))
        .sum::<f64>()
        / (n * (n * n - 1.0) / 12.0);
    let around_line = (values.iter().enumerate())
        .map(|(place, value)| value - level - slope * from_centre(place))
        .collect();
    let around_levels = (early.iter().map(|value| value - before))
        .chain(late.iter().map(|value| value - after))
        .collect();
    let variance = [around_line, around_levels].map(|rest: Vec<f64>| {
        let squares: f64 = rest.iter().map(|value| value * value).sum();
        squares / (n - 2.0) * design_effect(&rest)
    });
    let error = (4.0 / n * variance[0].min(variance[1])).sqrt();
    (after - before).abs() > MOVED * error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal_values as normal;
    use inferometer_core::seed::{Dimension, rng};
    use rand::RngExt;

    #[test]
    fn a_trend_is_found_and_noise_is_not_one() {
        let noise = normal(40, 2);
        assert!(rising_trend(&noise).unwrap().p_value > 0.01);
        let rising: Vec<f64> = noise
            .iter()
            .enumerate()
            .map(|(i, value)| value + i as f64 * 0.3)
            .collect();
        assert!(rising_trend(&rising).unwrap().p_value < 1e-4);
        assert!(rising_trend(&[1.0; 20]).unwrap().p_value > 0.4);
        assert_eq!(rising_trend(&[1.0; 5]), None);
    }

    #[test]
    fn a_warm_up_is_cut_and_a_ramp_never_settles() {
        let mut random = rng(3, Dimension::Words, 1);
        let mut warm: Vec<f64> = (0..100)
            .map(|_| 10.0 + random.random_range(0.0..1.0))
            .collect();
        for (i, value) in warm.iter_mut().take(12).enumerate() {
            *value = i as f64 / 2.0;
        }
        let cut = mser5(&warm).unwrap();
        assert!((10..=20).contains(&cut), "{cut}");
        let ramp: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(mser5(&ramp), None);
        assert_eq!(mser5(&[5.0; 100]), Some(0));
        assert_eq!(mser5(&[5.0; 12]), None);
    }

    /// How many of 300 series of 100 waits never settle. Only what is long of a queue waits, and its
    /// neighbours depend on each other; its length rises by so many deviations.
    fn unsettled(rise: f64) -> usize {
        let is_unsettled = |seed: &u64| {
            let mut queue = 0.0;
            let waits: Vec<f64> = (normal(300, *seed).into_iter().enumerate())
                .map(|(place, step)| {
                    queue = 0.9 * queue + step * (1.0f64 - 0.9 * 0.9).sqrt();
                    let risen = rise * place.saturating_sub(200) as f64 / 100.0;
                    0.05 + (queue - 1.0 + risen).max(0.0)
                })
                .skip(200)
                .collect();
            mser5(&waits).is_none()
        };
        (0..300).filter(is_unsettled).count()
    }

    #[test]
    fn a_queue_that_wanders_is_settled_and_one_that_grows_is_not() {
        // Without regard to their level, one in twelve that wander are said never to settle.
        let [wanders, grows] = [0.0, 6.0].map(unsettled);
        assert!(wanders <= 6 && grows >= 95, "{wanders} and {grows} of 300");
    }

    /// How many of 300 series of 100 values with noise, which rise to so many times their first level
    /// and stay there for a part, never settle.
    fn unsettled_ramps(top: f64, level_for: f64, noise: f64) -> usize {
        let is_unsettled = |seed: &u64| {
            let values: Vec<f64> = (normal(100, 5000 + seed).into_iter().enumerate())
                .map(|(place, drawn)| {
                    let part = (place as f64 / 100.0 / (1.0 - level_for)).min(1.0);
                    1.0 + (top - 1.0) * part + noise * drawn
                })
                .collect();
            mser5(&values).is_none()
        };
        (0..300).filter(is_unsettled).count()
    }

    #[test]
    fn a_ramp_that_ends_within_the_run_has_not_settled() {
        for level_for in [0.0, 0.2, 0.4] {
            let fourfold = unsettled_ramps(4.0, level_for, 0.3);
            let twofold = unsettled_ramps(2.0, level_for, 0.1);
            assert!(
                fourfold >= 240 && twofold >= 240,
                "{level_for}: {fourfold} and {twofold} of 300"
            );
            assert_eq!(unsettled_ramps(1.0, level_for, 0.3), 0);
        }
    }
}
