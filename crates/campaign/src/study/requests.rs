//! The number of requests as an expression of the load.

use crate::axes::Expression;

/// What `concurrency*6` and the like are at the one load level of a study.
pub(super) fn requests(text: &str, levels: &[u32]) -> Result<i64, String> {
    let expression: Expression =
        (text.parse()).map_err(|error: crate::axes::ExpressionError| error.to_string())?;
    let level = match levels {
        [one] => Some(f64::from(*one)),
        _ if expression.names().is_empty() => None,
        _ => {
            return Err(
                "a study has one number of requests for all its loads; give a number".to_owned(),
            );
        }
    };
    let of = |name: &str| level.filter(|_| name == "concurrency");
    let count = expression
        .value(of, ["concurrency"])
        .map_err(|error| error.to_string())?;
    if count.fract() == 0.0 && (1.0..1e15).contains(&count) {
        Ok(count as i64)
    } else {
        Err(format!("that is {count}; give a whole number of 1 or more"))
    }
}
