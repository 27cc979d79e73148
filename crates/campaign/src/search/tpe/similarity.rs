//! How near values lie to each other, over mixed kinds.

use crate::space::Coordinate;

/// How far a trial is heard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reach {
    /// Standard deviation along an ordered flag whose range is 1.
    pub(super) ordered: f64,
    /// Weight of another category beside 1 for the same.
    pub(super) category: f64,
}

/// How similar two values of one flag are: 1 for the same, towards 0 for others.
pub(super) fn similarity(a: Coordinate, b: Coordinate, reach: Reach) -> f64 {
    match (a, b) {
        (Coordinate::Ordered(a), Coordinate::Ordered(b)) => {
            (-0.5 * ((a - b) / reach.ordered).powi(2)).exp()
        }
        (a, b) if a == b => 1.0,
        _ => reach.category,
    }
}
