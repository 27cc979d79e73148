//! Fewer points for drawing: what an eye can tell apart stays, extremes always do.

use super::Sample;

/// Most points of a series in a figure.
pub const MOST: usize = 2_000;
/// Values at the upper end of a distribution that are all kept.
const TAIL: usize = 200;

/// Points ordered by `x`, thinned so that the first, the last and each part's least and
/// largest value stay.
pub fn course(samples: Vec<Sample>, most: usize) -> Vec<Sample> {
    let keep = kept(samples.len(), |index| samples[index].y, most);
    let kept = samples.into_iter().zip(keep);
    kept.filter_map(|(sample, keep)| keep.then_some(sample))
        .collect()
}

/// Points `[x, y]` in no order, thinned so that the outline of the cloud stays and its inside is
/// drawn in proportion.
pub fn cloud(mut points: Vec<[f64; 2]>, most: usize) -> Vec<[f64; 2]> {
    if points.len() <= most {
        return points;
    }
    points.sort_unstable_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let mut keep = kept(points.len(), |index| Some(points[index][1]), most / 2);
    // Steps that no period of the data is likely to share.
    let stride = (points.len() as f64 / (most / 2).max(1) as f64).max(1.0);
    let mut at = stride / 2.0;
    while (at as usize) < points.len() {
        keep[at as usize] = true;
        at += stride;
    }
    let kept = points.into_iter().zip(keep);
    kept.filter_map(|(point, keep)| keep.then_some(point))
        .collect()
}

/// Which of `n` values stay.
fn kept(n: usize, value: impl Fn(usize) -> Option<f64>, most: usize) -> Vec<bool> {
    if n <= most {
        return vec![true; n];
    }
    let mut keep = vec![false; n];
    let parts = (most / 3).max(1);
    let size = n.div_ceil(parts);
    for from in (0..n).step_by(size) {
        let part = || from..(from + size).min(n);
        let with_value = || part().filter(|index| value(*index).is_some());
        let order = |a: &usize, b: &usize| {
            let (a, b) = (value(*a).unwrap_or(0.0), value(*b).unwrap_or(0.0));
            a.total_cmp(&b)
        };
        let gap = part().find(|index| value(*index).is_none());
        let extremes = [with_value().min_by(order), with_value().max_by(order), gap];
        for index in extremes.into_iter().flatten() {
            keep[index] = true;
        }
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
        let points = |samples: Vec<Sample>| -> Vec<[f64; 2]> {
            let points = samples
                .iter()
                .filter_map(|sample| Some([sample.x, sample.y?]));
            points.collect()
        };
        let all = wave(1_000_000);
        for thinned in [points(course(all.clone(), MOST)), cloud(points(all), MOST)] {
            assert!(thinned.len() <= MOST + 10 && thinned.len() > MOST / 4);
            assert!(thinned.iter().any(|point| point[1] == 1e6));
            assert!(thinned.windows(2).all(|pair| pair[0][0] <= pair[1][0]));
        }
    }

    #[test]
    fn few_points_are_left_as_they_are() {
        assert_eq!(course(wave(100), MOST), wave(100));
        assert_eq!(course(Vec::new(), MOST), []);
        assert_eq!(cloud(vec![[2.0, 1.0]], MOST), [[2.0, 1.0]]);
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
