//! How the ranks of one measurement on several machines meet: rank 0 listens, the others come;
//! who does not fit is told why. Then their clocks are compared, messages and files go to and
//! fro, and whoever falls silent is noticed.
//!
//! It knows nothing of what is measured. What strangers may send is limited in size and time,
//! and no secret ever travels.

mod connection;
mod error;
mod frame;
pub mod launcher;
mod leader;
mod member;
mod time;

pub use connection::{Gone, Heard};
pub use error::MeetError;
pub use launcher::{LauncherError, Rank};
pub use leader::{Leader, Waiting};
pub use member::Member;
pub use time::{Comparison, Timeline};

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Version of the messages. Ranks of another one are refused by number.
const PROTOCOL: u32 = 1;

/// A rank that says nothing for so long is lost.
pub const SILENCE: Duration = Duration::from_secs(10);

/// What all ranks of a measurement must say alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Version of the program.
    pub version: String,
    /// Number of ranks.
    pub of: u32,
    /// The job of the launcher, so that two of them do not meet by mistake; empty by hand.
    pub job: String,
}

#[cfg(test)]
mod tests;
