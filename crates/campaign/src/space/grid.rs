//! The points of a grid over a space.

use super::definition::Space;
use super::value::{Point, Value};

/// Steps of this share of a ring visit it most evenly.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

impl Space {
    /// Every point of the grid, the last flag changing fastest.
    pub fn grid(&self) -> impl Iterator<Item = Point> + '_ {
        let levels = self.levels();
        let mut digits = Some(vec![0; levels.len()]);
        std::iter::from_fn(move || {
            let now = digits.take()?;
            let mut next = now.clone();
            for at in (0..next.len()).rev() {
                next[at] += 1;
                if next[at] < levels[at].len() {
                    digits = Some(next);
                    break;
                }
                next[at] = 0;
            }
            Some(self.of_digits(&levels, &now))
        })
    }

    /// The same points in an order in which all flags change at once, so that any beginning of it
    /// has been all over the space.
    pub fn scattered_grid(&self) -> impl Iterator<Item = Point> + '_ {
        let levels = self.levels();
        let count = levels.iter().map(|levels| levels.len() as u128);
        // More than can be counted is more than anyone looks at.
        let count = count.fold(1, u128::saturating_mul).min(u64::MAX.into());
        let golden = (count as f64 * GOLDEN) as u128;
        let stride = (golden.max(1)..=count).find(|it| common_divisor(*it, count) == 1);
        let stride = stride.unwrap_or(1) % count;
        let step = move |at: &u128| (at + stride) % count;
        let places = std::iter::successors(Some(0), move |at| Some(step(at)).filter(|it| *it != 0));
        places.map(move |place| {
            let mut rest = place;
            let mut digits = vec![0; levels.len()];
            for (digit, levels) in digits.iter_mut().zip(&levels) {
                *digit = (rest % levels.len() as u128) as usize;
                rest /= levels.len() as u128;
            }
            self.of_digits(&levels, &digits)
        })
    }

    fn levels(&self) -> Vec<Vec<Value>> {
        let dimensions = self.dimensions().iter();
        dimensions.map(|it| it.domain.levels()).collect()
    }

    fn of_digits(&self, levels: &[Vec<Value>], digits: &[usize]) -> Point {
        let values = digits.iter().zip(levels);
        let values = values.map(|(&digit, levels)| levels[digit].clone());
        let names = self.dimensions().iter().map(|it| it.name.as_str());
        names.zip(values).collect()
    }

    /// Number of points of the grid; absent above what can be counted.
    pub fn grid_count(&self) -> Option<u64> {
        (self.dimensions().iter()).try_fold(1u64, |count, dimension| {
            count.checked_mul(dimension.domain.levels().len() as u64)
        })
    }
}

fn common_divisor(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::super::{Dimension, Domain, Spacing};
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_scattered_grid_has_every_point_once_and_changes_all_flags_soon() {
        let int = |high| Domain::int(1, high, Spacing::Linear(Some(1.0))).unwrap();
        let dimensions = [("a", int(7)), ("b", int(12)), ("c", Domain::bool())];
        let dimensions = dimensions.map(Dimension::from);
        let space = Space::new(dimensions.to_vec(), Vec::new()).unwrap();
        let texts = |points: Vec<Point>| -> BTreeSet<String> {
            points.iter().map(Point::to_string).collect()
        };
        let scattered: Vec<Point> = space.scattered_grid().collect();
        assert_eq!(scattered.len(), 7 * 12 * 2);
        assert_eq!(texts(scattered.clone()), texts(space.grid().collect()));
        for name in ["a", "b", "c"] {
            let values = scattered.iter().take(12).map(|point| point.get(name));
            let values: BTreeSet<String> = values.map(|it| format!("{it:?}")).collect();
            assert!(values.len() > 1, "{name} stays as it is: {values:?}");
        }
    }
}
