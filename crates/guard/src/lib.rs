//! The guard around work on what a stranger wrote. A library that panics on a damaged file ends in
//! an error, and work that takes more memory or time than there is ends as well.

mod bounds;
mod panics;

pub use bounds::{Endless, Most, bounded};
pub use panics::{guarded, is_guarded};
