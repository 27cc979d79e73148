//! One start of the engine and what was measured on it.

mod log;
mod record;

pub use log::{Bed, Event, FORM, Header, LogError, TrialLog, append};
pub use record::{Ending, Level, Measurement, Origin, Proposal, State, Trial};
