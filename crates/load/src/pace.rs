//! Waiting for a moment, to within a fraction of a millisecond. tokio's timers tick in
//! milliseconds; the kernel's timer descriptors do not.

use crate::clock::Clock;
use inferometer_core::units::Offset;

/// Waits for due times.
pub enum Pacer {
    /// tokio's timer: late by up to a millisecond, and obedient to a paused clock.
    Ticks,
    /// The kernel's timer.
    #[cfg(target_os = "linux")]
    Precise(tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>),
}

impl Pacer {
    /// The most precise pacer of this system. Needs a tokio runtime.
    pub fn precise() -> Pacer {
        #[cfg(target_os = "linux")]
        {
            use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            // Deprecated because some types may change their descriptor under tokio's feet; an
            // `OwnedFd` cannot, and the successor is unsafe.
            #[allow(deprecated)]
            let registered =
                timerfd_create(TimerfdClockId::Monotonic, flags).map(tokio::io::unix::AsyncFd::new);
            if let Ok(Ok(timer)) = registered {
                return Pacer::Precise(timer);
            }
        }
        Pacer::Ticks
    }

    /// Waits until the moment, or not at all if it has passed.
    pub async fn until(&self, clock: &Clock, due: Offset) {
        loop {
            let left = due.since(clock.now());
            if left.is_zero() {
                return;
            }
            match self {
                Pacer::Ticks => tokio::time::sleep_until(clock.instant(due)).await,
                #[cfg(target_os = "linux")]
                Pacer::Precise(timer) => {
                    use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
                    let none = Timespec {
                        tv_sec: 0,
                        tv_nsec: 0,
                    };
                    let value = Timespec {
                        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                        tv_nsec: i64::from(left.subsec_nanos()),
                    };
                    let once = Itimerspec {
                        it_interval: none,
                        it_value: value,
                    };
                    let set = timerfd_settime(timer, TimerfdTimerFlags::empty(), &once);
                    match (set, timer.readable().await) {
                        (Ok(_), Ok(mut ready)) => {
                            let _ = rustix::io::read(timer, &mut [0u8; 8]);
                            ready.clear_ready();
                        }
                        _ => tokio::time::sleep_until(clock.instant(due)).await,
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn no_pacer_returns_before_its_time() {
        let clock = Clock::start();
        for pacer in [Pacer::precise(), Pacer::Ticks] {
            for _ in 0..5 {
                let due = clock.now() + Duration::from_micros(1_500);
                pacer.until(&clock, due).await;
                assert!(clock.now() >= due);
            }
            pacer.until(&clock, Offset(0)).await;
        }
    }
}
