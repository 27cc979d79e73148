//! One monotonic clock per run.

use inferometer_core::units::Offset;
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// The run's clock: everything is told as time since its origin.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
    origin_monotonic_ns: u64,
}

impl Clock {
    pub fn start() -> Self {
        let time = clock_gettime(ClockId::Monotonic);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        let nanos = u64::try_from(time.tv_nsec).unwrap_or_default();
        Clock {
            origin: Instant::now(),
            origin_monotonic_ns: seconds * 1_000_000_000 + nanos,
        }
    }

    /// The clock of another host, whose origin was at this moment of ours.
    pub fn with_origin(origin: std::time::Instant) -> Self {
        let ours = Clock::start();
        let origin = Instant::from_std(origin);
        let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let (earlier, later) = (
            ours.origin.saturating_duration_since(origin),
            origin.saturating_duration_since(ours.origin),
        );
        Clock {
            origin,
            origin_monotonic_ns: (ours.origin_monotonic_ns)
                .saturating_sub(nanos(earlier))
                .saturating_add(nanos(later)),
        }
    }

    pub fn origin(&self) -> std::time::Instant {
        self.origin.into_std()
    }

    pub fn now(&self) -> Offset {
        Offset::after(self.origin.elapsed())
    }

    pub fn instant(&self, at: Offset) -> Instant {
        self.origin + at.as_duration()
    }

    /// The origin on CLOCK_MONOTONIC, which other programs on this host read too.
    pub fn origin_monotonic_ns(&self) -> u64 {
        self.origin_monotonic_ns
    }
}

/// Lets the calling thread stand back: where threads share a core, the one that takes the time
/// goes first.
pub fn lower_priority() {
    // Any user may lower a thread's priority; where it fails, nothing is lost but precision.
    let _ = rustix::process::nice(10);
}

pub fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}

/// CPU time of what shows a measurement while it goes on: pages, and the view in the terminal.
static SHOWING_NS: AtomicU64 = AtomicU64::new(0);

/// Does what shows a measurement, and counts its CPU time as the client's.
pub fn while_showing<T>(work: impl FnOnce() -> T) -> T {
    let before = thread_cpu_time();
    let done = work();
    let spent = thread_cpu_time().saturating_sub(before).as_nanos();
    SHOWING_NS.fetch_add(u64::try_from(spent).unwrap_or_default(), Ordering::Relaxed);
    done
}

pub(crate) fn showing_cpu_time() -> Duration {
    Duration::from_nanos(SHOWING_NS.load(Ordering::Relaxed))
}
