//! Searchers: the next point from the space and what is known, and nothing else. A searcher
//! keeps no state, so a resumed study goes on exactly as the first would have.

mod ask;
#[cfg(test)]
mod contract;
pub mod external;
mod grid;
mod halving;
mod prior;
mod random;
mod tpe;

pub use ask::{Ask, Observation, Outcome, Searcher, dominates, ranking};
pub use grid::Grid;
pub use halving::{Halving, HalvingError, Race, RungFigure};
pub use prior::{Expected, Prior};
pub use random::Random;
pub use tpe::Tpe;
