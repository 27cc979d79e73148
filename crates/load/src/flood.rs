//! A pause when tokens come in a flood.
//!
//! Looking at the sockets for each of some hundred thousand events per second costs more than the
//! events: for us, and for a server on the same host, which must wake us each time. So in a
//! flood the worker waits a moment before it looks again; what comes meanwhile comes in one
//! read. The moment is far below what any engine's tokens are apart, and below what a
//! time-stamp is good for.
//!
//! A flood shows in two ways: the worker sleeps and is woken at once, again and again, or it
//! reads without ever coming to sleep.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Sleeps that follow one another as closely as this, each after a read, this many times in a
/// row, are a flood.
const CLOSE: Duration = Duration::from_micros(50);
const STREAK: u32 = 8;

/// Reads as dense as this, for this many windows in a row, are one, too: no engine sends a
/// quarter of a million reads per second to one worker.
const WINDOW: u32 = 8;
const DENSE: Duration = Duration::from_micros(32);
const WINDOWS: u32 = 256;

const PAUSE: Duration = Duration::from_micros(20);

thread_local! {
    static READ: Cell<bool> = const { Cell::new(false) };
    static SLEEPS: Cell<Option<(Instant, u32)>> = const { Cell::new(None) };
    static READS: Cell<Option<Reads>> = const { Cell::new(None) };
    /// The thread's sleeps end when they are over; by default they may take 50 µs more.
    #[cfg(target_os = "linux")]
    static PRECISE: () = {
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    };
}

/// The current window of reads, and the dense ones before it.
#[derive(Clone, Copy)]
struct Reads {
    since: Instant,
    count: u32,
    dense: u32,
}

pub fn read() {
    READ.set(true);
    let Some(reads) = READS.get().filter(|reads| reads.count < WINDOW) else {
        let begun = Reads {
            since: Instant::now(),
            count: 1,
            dense: READS.get().map_or(0, |reads| reads.dense),
        };
        READS.set(Some(begun));
        return;
    };
    let count = reads.count + 1;
    let dense = match count {
        WINDOW if reads.since.elapsed() < DENSE => reads.dense.saturating_add(1),
        WINDOW => 0,
        _ => reads.dense,
    };
    READS.set(Some(Reads {
        count,
        dense,
        ..reads
    }));
    if count == WINDOW && dense >= WINDOWS {
        pause();
    }
}

/// To be called when the worker has nothing more to do and is about to sleep.
pub fn before_sleep() {
    let now = Instant::now();
    let close = |last: Instant| now.duration_since(last) < CLOSE + PAUSE;
    let streak = match SLEEPS.get() {
        Some((last, streak)) if READ.take() && close(last) => streak.saturating_add(1),
        _ => 0,
    };
    SLEEPS.set(Some((now, streak)));
    if streak >= STREAK {
        pause();
    }
}

/// Sleeps: the worker was about to, and a core that spins is one that others on it, the makers of
/// the next requests among them, do not have.
fn pause() {
    #[cfg(target_os = "linux")]
    PRECISE.with(|()| std::thread::sleep(PAUSE));
    #[cfg(not(target_os = "linux"))]
    {
        let now = Instant::now();
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
        let streak = || SLEEPS.get().map_or(0, |(_, streak)| streak);
        for _ in 0..3 {
            before_sleep();
        }
        assert_eq!(streak(), 0, "nothing was read");
        read();
        std::thread::sleep(CLOSE + PAUSE);
        before_sleep();
        assert_eq!(streak(), 0, "that was long ago");
    }

    #[test]
    fn reads_that_are_apart_never_add_up() {
        for _ in 0..2 * WINDOW {
            read();
            std::thread::sleep(DENSE);
        }
        assert_eq!(READS.get().map(|reads| reads.dense), Some(0));
    }
}
