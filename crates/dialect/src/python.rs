//! Numbers as Python rounds and prints them.

use std::fmt::Display;

/// A number with as many digits as it has, and at least one after the point.
pub(super) struct Real(pub(super) f64);

impl Display for Real {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_nan() {
            f.write_str("nan")
        } else {
            write!(f, "{:?}", self.0)
        }
    }
}

/// `round(value, digits)`.
pub(super) fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.digits$}").parse().unwrap_or(value)
}

/// `sum(values) / len(values)`; 0 of nothing.
pub(super) fn mean(values: &[f64]) -> f64 {
    match values.len() {
        0 => 0.0,
        n => values.iter().sum::<f64>() / n as f64,
    }
}

#[cfg(test)]
mod tests {
    use crate::python::*;

    #[test]
    fn whole_numbers_keep_a_point_and_rounding_leaves_no_trailing_digits() {
        assert_eq!(Real(71.0).to_string(), "71.0");
        assert_eq!(Real(rounded(74.367_02, 4)).to_string(), "74.367");
        assert_eq!(Real(f64::NAN).to_string(), "nan");
        assert_eq!(mean(&[]), 0.0);
    }
}
