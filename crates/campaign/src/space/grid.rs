//! The points of a grid over a space.

use super::definition::Space;
use super::value::{Point, Value};

impl Space {
    /// All points of the grid, the last flag changing fastest.
    pub fn grid(&self) -> impl Iterator<Item = Point> + '_ {
        let levels: Vec<Vec<Value>> = (self.dimensions().iter())
            .map(|dimension| dimension.domain.levels())
            .collect();
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
            let values = now
                .iter()
                .zip(&levels)
                .map(|(&digit, levels)| levels[digit].clone());
            let names = self
                .dimensions()
                .iter()
                .map(|dimension| dimension.name.as_str());
            Some(names.zip(values).collect())
        })
    }

    /// Number of points of the grid; absent above what can be counted.
    pub fn grid_count(&self) -> Option<u64> {
        (self.dimensions().iter()).try_fold(1u64, |count, dimension| {
            count.checked_mul(dimension.domain.levels().len() as u64)
        })
    }
}
