//! Fewer points for drawing: what an eye can tell apart stays, extremes always do.

use super::Sample;

/// Most points of a series in a figure.
pub const MOST: usize = 2_000;
/// Values at the upper end of a distribution that are all kept.
const TAIL: usize = 200;

/// Points ordered by `x`, thinned so that the first, the last and each part's least and
/// largest value stay.
pub fn course(samples: Vec<Sample>, most: usize) -> Vec<Sample> {
    let keep = kept(&samples, most);
    let kept = samples.into_iter().zip(keep);
    kept.filter_map(|(sample, keep)| keep.then_some(sample))
        .collect()
}

/// Points in no order, thinned so that the outline of the cloud stays and its inside is drawn
/// in proportion.
pub fn cloud(mut samples: Vec<Sample>, most: usize) -> Vec<Sample> {
    if samples.len() <= most {
        return samples;
    }
    samples.sort_by(|a, b| a.x.total_cmp(&b.x));
    let mut keep = kept(&samples, most / 2);
    // Steps that no period of the data is likely to share.
    let stride = (samples.len() as f64 / (most / 2).max(1) as f64).max(1.0);
    let mut at = stride / 2.0;
    while (at as usize) < samples.len() {
        keep[at as usize] = true;
        at += stride;
    }
    let kept = samples.into_iter().zip(keep);
    kept.filter_map(|(sample, keep)| keep.then_some(sample))
        .collect()
}

fn kept(samples: &[Sample], most: usize) -> Vec<bool> {
    if samples.len() <= most {
        return vec![true; samples.len()];
    }
    let mut keep = vec![false; samples.len()];
    let parts = (most / 3).max(1);
    let size = samples.len().div_ceil(parts);
    let mut from = 0;
    for part in samples.chunks(size) {
        let values = |index: &usize| part[*index].y;
        let with_value = || (0..part.len()).filter(|index| part[*index].y.is_some());
        let order = |a: &usize, b: &usize| {
            let (a, b) = (values(a).unwrap_or(0.0), values(b).unwrap_or(0.0));
            a.total_cmp(&b)
        };
        let gap = (0..part.len()).find(|&index| part[index].y.is_none());
        let extremes = [with_value().min_by(order), with_value().max_by(order), gap];
        for index in extremes.into_iter().flatten() {
            keep[from + index] = true;
        }
        from += part.len();
    }
    if let Some(first) = keep.first_mut() {
        *first = true;
    }
    if let Some(last) = keep.last_mut() {
        *last = true;
    }
    keep
}

/// The share of values at or below each value, from a sorted sample, in at most `most` steps;
/// the upper end is drawn value by value.
pub fn cumulative(sorted: &[f64], most: usize) -> Vec<[f64; 2]> {
    let n = sorted.len();
    if n == 0 {
        return Vec::new();
    }
    let share = |rank: usize| [sorted[rank], (rank + 1) as f64 / n as f64];
    let mut points = vec![[sorted[0], 0.0]];
    if n <= most {
        points.extend((0..n).map(share));
        return points;
    }
    let tail = TAIL.min(most / 2);
    let (body, steps) = (n - tail, most - tail);
    points.extend((1..=steps).map(|step| share((body * step / steps).saturating_sub(1))));
    points.extend((body..n).map(share));
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(n: usize) -> Vec<Sample> {
        let value = |i: usize| {
            if i == n / 3 {
                1e6
            } else {
                (i as f64 / 50.0).sin()
            }
        };
        (0..n)
            .map(|i| Sample::new(i as f64, Some(value(i))))
            .collect()
    }

    #[test]
    fn a_spike_among_a_million_points_stays() {
        for thinned in [course(wave(1_000_000), MOST), cloud(wave(1_000_000), MOST)] {
            assert!(thinned.len() <= MOST + 10 && thinned.len() > MOST / 4);
            assert!(thinned.iter().any(|sample| sample.y == Some(1e6)));
            assert!(thinned.windows(2).all(|pair| pair[0].x <= pair[1].x));
        }
    }

    #[test]
    fn few_points_are_left_as_they_are() {
        assert_eq!(course(wave(100), MOST), wave(100));
        assert_eq!(course(Vec::new(), MOST), []);
        assert_eq!(cloud(wave(1), MOST), wave(1));
    }

    #[test]
    fn gaps_stay_gaps() {
        let mut samples = wave(100_000);
        samples[40_000..60_000].iter_mut().for_each(|s| s.y = None);
        let thinned = course(samples, MOST);
        assert!(thinned.iter().any(|s| s.y.is_none() && s.x >= 40_000.0));
    }

    #[test]
    fn a_distribution_ends_at_one_and_keeps_its_largest_values() {
        let sorted: Vec<f64> = (0..1_000_000).map(f64::from).collect();
        let points = cumulative(&sorted, MOST);
        assert!(points.len() <= MOST + 1);
        assert_eq!(points.last(), Some(&[999_999.0, 1.0]));
        assert!(points.contains(&[999_990.0, 0.999_991]));
        assert!(points.windows(2).all(|pair| pair[0][1] <= pair[1][1]));
        assert_eq!(cumulative(&[5.0], MOST), [[5.0, 0.0], [5.0, 1.0]]);
        assert_eq!(cumulative(&[], MOST), <[[f64; 2]; 0]>::default());
    }
}
