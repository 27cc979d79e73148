//! A sum that is the same in whatever order, and in however many parts, it is taken.

/// Parts of one: 2⁶⁰.
const PARTS: f64 = (1u64 << 60) as f64;

/// The sum of numbers from 0 to some billions, in whole parts of 2⁻⁶⁰.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExactSum(u128);

impl ExactSum {
    /// A number below 0 counts as 0.
    pub fn of(value: f64) -> Self {
        ExactSum((value * PARTS) as u128)
    }

    pub fn add(&mut self, value: f64) {
        self.merge(Self::of(value));
    }

    /// The same value so many times.
    pub fn times(self, count: u64) -> Self {
        ExactSum(self.0.saturating_mul(u128::from(count)))
    }

    pub fn merge(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }

    pub fn value(self) -> f64 {
        self.0 as f64 / PARTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_parts_do_not_matter() {
        let values = [0.1, 1e9, 1.0 / 3.0, 1e-9, 0.7, 123.456];
        let sum = |values: &mut dyn Iterator<Item = f64>| {
            let mut sum = ExactSum::default();
            values.for_each(|value| sum.add(value));
            sum
        };
        let whole = sum(&mut values.into_iter());
        assert_eq!(sum(&mut values.into_iter().rev()), whole);
        let mut parts = sum(&mut values[..2].iter().copied());
        parts.merge(sum(&mut values[2..].iter().copied()));
        assert_eq!(parts, whole);
        assert!((whole.value() - values.iter().sum::<f64>()).abs() < 1e-6);
        assert_eq!(sum(&mut [-1.0, f64::NAN, 0.5].into_iter()).value(), 0.5);
    }
}
