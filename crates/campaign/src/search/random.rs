//! Points by chance.

use super::ask::{Ask, Searcher};
use crate::space::Point;
use rand::{Rng, RngExt};

/// Draws before the grid is looked through for what is left.
const DRAWS: usize = 1000;

/// Every point as likely as any other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Random;

impl Searcher for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn next(&self, ask: &Ask<'_>) -> Option<Point> {
        let taken = ask.taken();
        let mut random = ask.random();
        (0..DRAWS)
            .find_map(|_| ask.fresh(draw(ask, &mut random), &taken))
            .or_else(|| ask.first_fresh(&taken))
    }
}

/// A point by chance; it need not be legal.
pub(super) fn draw(ask: &Ask<'_>, random: &mut impl Rng) -> Point {
    let shares: Vec<f64> = (ask.space.dimensions().iter())
        .map(|_| random.random())
        .collect();
    ask.space.at(shares)
}
