//! Charts of every kind of result: composers that make a [`Figure`](inferometer_page::figure::Figure)
//! from stored data. Series are thinned to what an eye can tell apart, and what was left out is
//! said in a footnote.

pub mod arms;
pub mod comparison;
pub mod configurations;
pub mod curve;
pub mod grid;
pub mod ladder;
pub(crate) mod left_out;
pub(crate) mod level;
pub(crate) mod metric_name;
pub mod run;
pub mod search;
mod sketch;

pub use left_out::Shown;
pub use level::Level;
pub use sketch::Drawing;
