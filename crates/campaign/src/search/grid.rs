//! Every setting of the grid, in order.

use super::ask::{Ask, Searcher};
use crate::space::Point;

/// Every setting of the grid, the last flag changing fastest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grid;

impl Searcher for Grid {
    fn name(&self) -> &'static str {
        "grid"
    }

    fn next(&self, ask: &Ask<'_>) -> Option<Point> {
        let taken = ask.taken();
        ask.space.grid().find_map(|point| ask.fresh(point, &taken))
    }
}
