//! The highest load that still meets the objectives.

mod driver;
mod journal;
mod objectives;
mod over;
mod probe_watcher;
mod search;
mod sessions;

pub use driver::{at_level, short};
pub use journal::Journal;
pub use objectives::{OWN_TIER, Tier, tiers};
pub use over::{Over, levels};
pub use search::{CapacitySearch, USUAL_BUDGET};
