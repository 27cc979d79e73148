//! Why ranks did not meet, in one line with the remedy.

use crate::connection::Gone;
use std::io;

#[derive(Debug, thiserror::Error)]
pub enum MeetError {
    #[error(
        "--meet {at}: {error}; name an address of the host that rank 0 runs on, and a free port"
    )]
    Listen { at: String, error: io::Error },
    #[error(
        "rank 0 cannot be reached at --meet {at} within {within_s} s ({error}); start rank 0, or raise --meet-within"
    )]
    Unreachable {
        at: String,
        within_s: u64,
        error: io::Error,
    },
    #[error("what listens at --meet {at} is not rank 0 of a measurement of this version ({said})")]
    Stranger { at: String, said: String },
    #[error("{0}")]
    Refused(String),
    #[error(
        "{} of {of} did not come within {within_s} s; start all ranks, raise --meet-within, or go on with fewer by --at-least",
        ranks(.missing)
    )]
    Missing {
        missing: Vec<u32>,
        of: u32,
        within_s: u64,
    },
    #[error("rank {rank}: {gone}")]
    Gone { rank: u32, gone: Gone },
}

/// Most numbers that a line names.
const NAMED: usize = 8;

/// `rank 3`, `ranks 3, 4 and 7 more`.
pub(crate) fn ranks(ranks: &[u32]) -> String {
    let named: Vec<String> = ranks.iter().take(NAMED).map(u32::to_string).collect();
    let more = match ranks.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let word = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{word} {}{more}", named.join(", "))
}
