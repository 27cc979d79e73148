//! How exact a number is, by the digits it is written with: whether two numbers can be one that
//! was written with more digits here and with fewer there.

/// Half a unit of the last digit that a number is written with.
pub(crate) fn half_unit(value: f64) -> f64 {
    let written = value.to_string();
    let digits = written
        .split_once('.')
        .map_or(0, |(_, digits)| digits.len());
    0.5 * 10f64.powi(-i32::try_from(digits).unwrap_or(i32::MAX))
}

/// Whether the rounding of the less exact number explains that they differ. Nothing is rounded to
/// 0: tools write it for what they do not have.
pub(crate) fn is_same(a: f64, b: f64) -> bool {
    let rounding = half_unit(a).max(half_unit(b));
    a == b || a != 0.0 && b != 0.0 && (a - b).abs() <= rounding * (1.0 + 1e-9)
}

/// The same for times in milliseconds, which tools also write in seconds.
pub(crate) fn is_same_time(a_ms: f64, b_ms: f64) -> bool {
    is_same(a_ms, b_ms) || is_same(a_ms / 1000.0, b_ms / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_itself_with_fewer_digits() {
        for (a, b) in [
            (111.83, 111.8285),
            (115.0, 115.4),
            (13.0, 12.5),
            (292.2, 292.16),
            (7.8, 7.8024),
            (0.0, 0.0),
        ] {
            assert!(is_same(a, b) && is_same(b, a), "{a} {b}");
        }
        assert!(is_same_time(1300.0, 1299.2), "1.3 s");
    }

    #[test]
    fn what_no_rounding_explains_is_another_number() {
        for (a, b) in [
            (111.82, 111.8285),
            (115.0, 115.6),
            (13.4, 12.5),
            (0.0, 0.4),
            (0.0, 5e-324),
        ] {
            assert!(!is_same(a, b) && !is_same(b, a), "{a} {b}");
        }
        assert!(!is_same_time(1300.0, 1399.2));
    }
}
