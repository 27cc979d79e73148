//! What values of one group have in common for as long as a series lasts, so that no batch in time
//! shows it: the variance of a mean by groups, less that of independent values, is added to the
//! variance by batches (two-way clustering; Cameron, Gelbach and Miller, 2011).

use super::distribution::{normal_quantile, student_quantile};

/// Chance that groups of independent values differ by more than is left to chance.
const CHANCE: f64 = 0.1;
/// Fewest groups that show how groups differ.
const LEAST_GROUPS: usize = 3;

/// Half of the 95 % interval of a mean by what its groups differ beyond chance: 0 where they do
/// not, or where values have no groups.
pub(super) fn half_width(values: &[f64], groups: &[u8]) -> f64 {
    let Some(&last) = groups.iter().max().filter(|_| groups.len() == values.len()) else {
        return 0.0;
    };
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let mut sums = vec![(0.0, false); usize::from(last) + 1];
    let mut squares = 0.0;
    for (value, &group) in values.iter().zip(groups) {
        let off = value - mean;
        squares += off * off;
        let (sum, is_there) = &mut sums[usize::from(group)];
        (*sum, *is_there) = (*sum + off, true);
    }
    let count = sums.iter().filter(|(_, is_there)| *is_there).count();
    if count < LEAST_GROUPS {
        return 0.0;
    }
    let free = count as f64 - 1.0;
    let by_groups = sums.iter().map(|(sum, _)| sum * sum).sum::<f64>() * (free + 1.0) / free;
    let independent = squares * n / (n - 1.0);
    if by_groups <= most_by_chance(free) * independent {
        return 0.0;
    }
    let error = (by_groups - independent).sqrt() / n;
    student_quantile(0.975, free) * error
}

/// Quantile of a chi-squared distribution over its degrees of freedom (Wilson and Hilferty).
fn most_by_chance(free: f64) -> f64 {
    let unit = 2.0 / (9.0 * free);
    (1.0 - unit + normal_quantile(1.0 - CHANCE) * unit.sqrt()).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal_values as normal;

    #[test]
    fn the_limit_of_chance_is_that_of_tables() {
        // Chi-squared at 90 %: 4.605 of 2 degrees, 10.645 of 6.
        for (free, expected) in [(2.0, 4.605 / 2.0), (6.0, 10.645 / 6.0)] {
            assert!((most_by_chance(free) / expected - 1.0).abs() < 0.01);
        }
    }

    #[test]
    fn groups_that_differ_widen_and_others_hardly_ever_do() {
        let groups: Vec<u8> = (0..700).map(|at| (at % 7) as u8).collect();
        let wider = |each: f64, seed| {
            let level = normal(7, 1000 + seed);
            let values = normal(700, seed);
            let together = (values.iter().zip(&groups))
                .map(|(value, &group)| value + each * level[usize::from(group)]);
            half_width(&Vec::from_iter(together), &groups)
        };
        let by_chance = (0..300).filter(|&seed| wider(0.0, seed) > 0.0).count();
        assert!((10..=55).contains(&by_chance), "{by_chance}");
        // Seven levels of variance 1: half of the interval is 2.447 / √7, of a few seeds about.
        let mean = (0..100).map(|seed| wider(1.0, seed)).sum::<f64>() / 100.0;
        assert!((0.75..1.0).contains(&mean), "{mean}");
        assert_eq!(half_width(&[1.0, 2.0, 9.0], &[]), 0.0);
        assert_eq!(half_width(&[1.0, 1.0, 9.0, 9.0], &[0, 0, 1, 1]), 0.0);
    }
}
