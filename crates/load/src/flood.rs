//! A pause before the worker sleeps, when tokens come in a flood.
//!
//! Going to sleep for each of a hundred thousand reads a second costs more than the reads: for
//! us, and for a server on the same host, which must wake us each time. So in a flood the worker
//! waits a moment before it looks again; what comes meanwhile comes in one read. The moment is
//! far below what any engine's tokens are apart, and below what a time-stamp is good for.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Sleeps that follow one another as closely as this, each after a read, so many times in a
/// row, are a flood.
const CLOSE: Duration = Duration::from_micros(50);
const STREAK: u32 = 8;

/// How long to leave the sockets alone.
const PAUSE: Duration = Duration::from_micros(20);

thread_local! {
    static READ: Cell<bool> = const { Cell::new(false) };
    static STATE: Cell<Option<(Instant, u32)>> = const { Cell::new(None) };
}

/// Something was read since the last sleep.
pub fn read() {
    READ.set(true);
}

/// To be called when the worker has nothing more to do and is about to sleep.
pub fn before_sleep() {
    let now = Instant::now();
    let close = |last: Instant| now.duration_since(last) < CLOSE + PAUSE;
    let streak = match STATE.get() {
        Some((last, streak)) if READ.take() && close(last) => streak.saturating_add(1),
        _ => 0,
    };
    STATE.set(Some((now, streak)));
    if streak >= STREAK {
        while now.elapsed() < PAUSE {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reads_in_quick_succession_are_a_flood() {
        let streak = || STATE.get().map_or(0, |(_, streak)| streak);
        for _ in 0..3 {
            before_sleep();
        }
        assert_eq!(streak(), 0, "nothing was read");
        read();
        std::thread::sleep(CLOSE + PAUSE);
        before_sleep();
        assert_eq!(streak(), 0, "that was long ago");
    }
}
