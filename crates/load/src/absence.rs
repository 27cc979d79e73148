//! A server that cannot be reached, or turns everybody away. Meanwhile the streams of a worker ask
//! for it one at a time and ever more rarely: a loop of refusals would use up all planned requests
//! in a moment.

use crate::clock::Clock;
use inferometer_core::record::Record;
use inferometer_core::units::Offset;
use std::cell::Cell;
use std::time::Duration;
use tokio::sync::Notify;

/// Requests in a row, for each server in rotation, that are turned away before the server is said
/// to be away: one that refuses now and then is measured as it is.
const AWAY_AFTER: u32 = 8;

const FIRST_WAIT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

pub(crate) struct Absence {
    away_after: u32,
    in_a_row: Cell<u32>,
    wait: Cell<Duration>,
    /// When somebody may ask again, while the server is away.
    next: Cell<Option<Offset>>,
    back: Notify,
}

impl Absence {
    pub(crate) fn of(routes: usize) -> Self {
        let routes = u32::try_from(routes).unwrap_or(u32::MAX);
        Absence {
            away_after: AWAY_AFTER.saturating_mul(routes),
            in_a_row: Cell::new(0),
            wait: Cell::default(),
            next: Cell::default(),
            back: Notify::new(),
        }
    }

    /// Waits until the server is there, or until it is the caller's turn to ask. Drop it to leave.
    pub(crate) async fn turn(&self, clock: &Clock) {
        while let Some(next) = self.next.get() {
            let now = clock.now();
            if now >= next {
                // The others wait for what comes of it.
                self.next.set(Some(now + self.wait.get()));
                return;
            }
            tokio::select! {
                () = tokio::time::sleep_until(clock.instant(next)) => {}
                () = self.back.notified() => {}
            }
        }
    }

    /// Learns from a request that has ended.
    pub(crate) fn learn(&self, record: &Record, now: Offset) {
        if !record.was_turned_away() {
            if record.first_byte.is_none() {
                return;
            }
            self.in_a_row.set(0);
            self.wait.set(Duration::ZERO);
            if self.next.take().is_some() {
                self.back.notify_waiters();
            }
        } else {
            self.in_a_row.update(|count| count.saturating_add(1));
            if self.in_a_row.get() >= self.away_after {
                let wait = (self.wait.get() * 2).clamp(FIRST_WAIT, LONGEST_WAIT);
                self.wait.set(wait);
                self.next.set(Some(now + wait));
            }
        }
    }
}
