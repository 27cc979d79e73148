//! A grid of load points, one after the other, kept in one directory.

mod driver;
mod flags;
mod pace;
mod plan;

pub use driver::{Again, SweepDriver};
pub use flags::EngineFlag;
pub use plan::{PlannedSweep, SweepRequest, plan};

use crate::error::RunnerError;
use inferometer_store::sweep_dir::{SweepDir, Visited};

/// Options that raise the load: the innermost axes of a sweep.
pub const LOAD_AXES: [&str; 2] = ["concurrency", "rate"];

pub fn read(sweep: &SweepDir) -> Result<Vec<Visited>, RunnerError> {
    let trials = sweep.results()?.into_iter();
    Ok(trials.map(|trial| sweep.visited(trial)).collect())
}
