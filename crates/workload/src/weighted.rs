//! Choosing one of several things, each as often as its weight says.

use rand::Rng;

/// A table of weights, summed up so that one random number finds its place.
#[derive(Clone, Debug)]
pub(crate) struct Weighted {
    cumulative: Box<[f64]>,
    total: f64,
}

impl Weighted {
    /// Absent where nothing has a weight, or where a weight is negative or no number.
    pub(crate) fn new(weights: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut total = 0.0;
        let mut cumulative = Vec::new();
        for weight in weights {
            if !weight.is_finite() || weight < 0.0 {
                return None;
            }
            total += weight;
            cumulative.push(total);
        }
        (total.is_finite() && total > 0.0).then(|| Weighted {
            cumulative: cumulative.into(),
            total,
        })
    }

    /// The place of one thing.
    pub(crate) fn draw(&self, random: &mut impl Rng) -> usize {
        let point = unit(random) * self.total;
        let place = self.cumulative.partition_point(|&sum| sum <= point);
        // Rounding may put the point on the very end.
        place.min(self.cumulative.len() - 1)
    }
}

/// From 0, included, to 1, excluded.
fn unit(random: &mut impl Rng) -> f64 {
    const BITS: u32 = f64::MANTISSA_DIGITS;
    (random.next_u64() >> (u64::BITS - BITS)) as f64 / (1u64 << BITS) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::seed::{Dimension, rng};

    #[test]
    fn things_come_as_often_as_their_weights_say() {
        let weighted = Weighted::new([1.0, 0.0, 3.0]).unwrap();
        let mut seen = [0u32; 3];
        let mut random = rng(1, Dimension::Words, 0);
        for _ in 0..40_000 {
            seen[weighted.draw(&mut random)] += 1;
        }
        assert_eq!(seen[1], 0);
        assert!((9_600..10_400).contains(&seen[0]), "{seen:?}");
    }

    #[test]
    fn impossible_weights_are_refused() {
        for weights in [
            vec![],
            vec![0.0],
            vec![-1.0, 2.0],
            vec![f64::NAN],
            vec![f64::MAX; 2],
        ] {
            assert!(Weighted::new(weights).is_none());
        }
    }
}
