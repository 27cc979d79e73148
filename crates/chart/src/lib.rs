//! Charts of every kind of result: composers that make a [`Figure`](inferometer_page::figure::Figure)
//! from stored data. Series are thinned to what an eye can tell apart, and what was left out is
//! said in a footnote.

pub mod compared_loads;
pub mod compared_runs;
pub mod configurations;
pub mod curve;
pub mod grid;
pub mod ladder;
pub mod load_level;
pub mod measured;
pub mod metric_name;
pub mod omitted;
pub mod points;
pub mod ratios;
pub mod run;
pub mod search;
pub mod side_name;
mod sketch;
pub mod star;

pub use load_level::Level;
pub use omitted::Shown;
pub use sketch::Drawing;
