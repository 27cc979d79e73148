//! Waiting for a moment, to within a fraction of a millisecond. tokio's timers tick in
//! milliseconds; the kernel's timer descriptors do not.

use crate::clock::Clock;
use inferometer_core::units::Offset;
use std::time::Duration;

pub enum Pacer {
    /// tokio's timer: late by up to a millisecond, and obedient to a paused clock.
    Ticks,
    #[cfg(target_os = "linux")]
    Precise(precise::Timer),
}

/// How long before the moment the kernel's timer takes over: a tick of tokio's, and some. Few
/// wait that shortly at once, however many think for seconds.
const LAST_PART: Duration = Duration::from_millis(3);

impl Pacer {
    /// The most precise pacer of this system. Needs a tokio runtime.
    pub fn precise() -> Pacer {
        #[cfg(target_os = "linux")]
        if let Some(timer) = precise::Timer::new() {
            return Pacer::Precise(timer);
        }
        Pacer::Ticks
    }

    /// Waits until the moment, or not at all if it has passed. Any number may wait at once.
    pub async fn until(&self, clock: &Clock, due: Offset) {
        match self {
            Pacer::Ticks => {
                while !due.since(clock.now()).is_zero() {
                    tokio::time::sleep_until(clock.instant(due)).await;
                }
            }
            #[cfg(target_os = "linux")]
            Pacer::Precise(timer) => {
                let left = due.since(clock.now());
                if let Some(long) = left.checked_sub(LAST_PART).filter(|long| !long.is_zero()) {
                    tokio::time::sleep(long).await;
                }
                timer.until(clock, due).await;
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod precise {
    use super::*;
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use std::os::fd::OwnedFd;
    use tokio::io::unix::AsyncFd;

    /// One descriptor for all who wait, set for the first of them.
    pub struct Timer {
        descriptor: AsyncFd<OwnedFd>,
        waiting: RefCell<Waiting>,
    }

    #[derive(Default)]
    struct Waiting {
        /// Due times, told apart by a number.
        due: BTreeSet<(Offset, u64)>,
        next: u64,
    }

    /// A place among those who wait, given up when the wait ends in any way.
    struct Waiter<'a> {
        timer: &'a Timer,
        entry: (Offset, u64),
    }

    impl Drop for Waiter<'_> {
        fn drop(&mut self) {
            self.timer.waiting.borrow_mut().due.remove(&self.entry);
        }
    }

    impl Timer {
        pub(super) fn new() -> Option<Timer> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let descriptor = timerfd_create(TimerfdClockId::Monotonic, flags).ok()?;
            // Deprecated because some types may change their descriptor under tokio's feet; an
            // `OwnedFd` cannot, and the successor is unsafe.
            #[allow(deprecated)]
            let descriptor = AsyncFd::new(descriptor).ok()?;
            Some(Timer {
                descriptor,
                waiting: RefCell::default(),
            })
        }

        pub(super) async fn until(&self, clock: &Clock, due: Offset) {
            if due.since(clock.now()).is_zero() {
                return;
            }
            let place = self.wait_for(due);
            while !due.since(clock.now()).is_zero() {
                let set = self.set(clock);
                match (set, self.descriptor.readable().await) {
                    (Ok(()), Ok(mut ready)) => {
                        // Whoever comes second finds nothing to read, which is as good.
                        let _ = rustix::io::read(&self.descriptor, &mut [0u8; 8]);
                        ready.clear_ready();
                    }
                    _ => tokio::time::sleep_until(clock.instant(due)).await,
                }
            }
            drop(place);
            // The timer may have rung for this one; the next needs it as well.
            let _ = self.set(clock);
        }

        fn wait_for(&self, due: Offset) -> Waiter<'_> {
            let mut waiting = self.waiting.borrow_mut();
            let entry = (due, waiting.next);
            waiting.next += 1;
            waiting.due.insert(entry);
            Waiter { timer: self, entry }
        }

        /// Sets the timer for the first of those who wait.
        fn set(&self, clock: &Clock) -> rustix::io::Result<()> {
            let Some(&(first, _)) = self.waiting.borrow().due.first() else {
                return Ok(());
            };
            // Zero would disarm it.
            let left = first.since(clock.now()).max(Duration::from_nanos(1));
            let once = Itimerspec {
                it_interval: Timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                },
                it_value: Timespec {
                    tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                    tv_nsec: i64::from(left.subsec_nanos()),
                },
            };
            timerfd_settime(&self.descriptor, TimerfdTimerFlags::empty(), &once).map(drop)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[tokio::test]
    async fn one_who_waits_long_does_not_hold_up_one_who_waits_shortly() {
        let clock = Clock::start();
        let pacer = Pacer::precise();
        let start = clock.now();
        let due = |millis: u64| start + Duration::from_millis(millis);
        let short = async {
            pacer.until(&clock, due(20)).await;
            clock.now()
        };
        let long = async {
            pacer.until(&clock, due(2_000)).await;
            clock.now()
        };
        // A third gives up in the middle.
        let given_up =
            tokio::time::timeout(Duration::from_millis(5), pacer.until(&clock, due(60_000)));
        let (long, short, given_up) = tokio::join!(long, short, given_up);
        assert!(given_up.is_err());
        assert!(short >= due(20) && long >= due(2_000));
        assert!(short < due(2_000), "it waited for the other");
    }
}
