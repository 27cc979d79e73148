//! Normal and Student's distributions.

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::erf::{erfc, erfc_inv};

/// Probability that a standard normal variable exceeds `z`.
pub fn normal_tail(z: f64) -> f64 {
    erfc(z / std::f64::consts::SQRT_2) / 2.0
}

/// The value below which a standard normal variable lies with probability `p`.
pub fn normal_quantile(p: f64) -> f64 {
    -std::f64::consts::SQRT_2 * erfc_inv(2.0 * p.clamp(0.0, 1.0))
}

/// Degrees of freedom from which on Student's t and the normal distribution differ by less than a
/// thousandth. The series for the former fail far above.
const AS_GOOD_AS_NORMAL: f64 = 1e5;

/// Probability that Student's t exceeds `t`; with many degrees of freedom, the normal one. NaN for
/// none.
pub fn student_tail(t: f64, degrees: f64) -> f64 {
    if degrees > AS_GOOD_AS_NORMAL || t.is_nan() {
        return normal_tail(t);
    }
    StudentsT::new(0.0, 1.0, degrees).map_or(f64::NAN, |student| student.sf(t))
}

/// The value below which Student's t lies with probability `p`. NaN for no degrees of freedom.
pub fn student_quantile(p: f64, degrees: f64) -> f64 {
    let p = p.clamp(0.0, 1.0);
    if degrees > AS_GOOD_AS_NORMAL {
        return normal_quantile(p);
    }
    if p.is_nan() || p <= 0.0 || p >= 1.0 {
        return normal_quantile(p);
    }
    StudentsT::new(0.0, 1.0, degrees).map_or(f64::NAN, |student| student.inverse_cdf(p))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_printed_tables() {
        for (p, degrees, expected) in [
            (0.975, 1.0, 12.706),
            (0.975, 4.0, 2.776),
            (0.95, 10.0, 1.812),
            (0.995, 30.0, 2.750),
            (0.975, f64::INFINITY, 1.960),
        ] {
            let found = student_quantile(p, degrees);
            assert!((found - expected).abs() < 6e-4, "{p} {degrees}: {found}");
            assert!((student_tail(found, degrees) - (1.0 - p)).abs() < 1e-6);
        }
        assert!((normal_tail(1.644_853_626_951) - 0.05).abs() < 1e-10);
        assert!((normal_quantile(0.01) + 2.326_347_874).abs() < 1e-8);
    }

    #[test]
    fn a_tail_is_small_far_out_however_many_degrees_there_are() {
        for degrees in [3e2, 9e4, 1e5, 1e7, 1e12, 1e300, f64::INFINITY] {
            let tail = student_tail(40.0, degrees);
            assert!((0.0..1e-90).contains(&tail), "{degrees}: {tail}");
        }
    }

    #[test]
    fn no_degrees_of_freedom_is_no_number_and_no_panic() {
        assert!(student_quantile(0.9, 0.0).is_nan());
        assert!(student_tail(1.0, -1.0).is_nan());
        assert!(student_tail(f64::NAN, 3.0).is_nan());
    }
}
