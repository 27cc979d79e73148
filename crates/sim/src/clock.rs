//! The clocks: monotonic for the truth log, calendar time for answers.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// An instant on CLOCK_MONOTONIC in nanoseconds: comparable between processes of one host,
/// which is what lets a client's record be checked against the server's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp(pub(crate) u64);

impl Stamp {
    pub(crate) fn now() -> Stamp {
        let time = clock_gettime(ClockId::Monotonic);
        let seconds = u64::try_from(time.tv_sec).expect("the monotonic clock starts at zero");
        let nanos = u64::try_from(time.tv_nsec).expect("nanoseconds of a second are positive");
        Stamp(seconds * 1_000_000_000 + nanos)
    }
}

pub(crate) fn unix_seconds() -> u64 {
    unix_nanos() / 1_000_000_000
}

pub(crate) fn unix_nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}
