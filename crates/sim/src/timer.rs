//! Waiting for a moment of the engine. tokio's timers tick in milliseconds, which is much of a
//! step; the kernel's timer descriptors do not.

use std::time::Duration;

use tokio::time::{Instant, sleep};

pub(crate) struct PreciseTimer {
    #[cfg(target_os = "linux")]
    precise: Option<precise::Timer>,
}

impl PreciseTimer {
    /// The most precise timer of this system. Needs a tokio runtime.
    pub(crate) fn new() -> PreciseTimer {
        PreciseTimer {
            #[cfg(target_os = "linux")]
            precise: precise::Timer::new(),
        }
    }

    /// Waits for about this long: rather a little longer than shorter.
    pub(crate) async fn sleep(&self, wait: Duration) {
        #[cfg(target_os = "linux")]
        if let Some(timer) = &self.precise {
            let until = Instant::now() + wait;
            if timer.sleep(wait).await.is_ok() {
                return;
            }
            return tokio::time::sleep_until(until).await;
        }
        sleep(wait).await;
    }
}

#[cfg(target_os = "linux")]
mod precise {
    use std::{io, os::fd::OwnedFd, time::Duration};

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::io::unix::AsyncFd;

    pub(super) struct Timer(AsyncFd<OwnedFd>);

    impl Timer {
        pub(super) fn new() -> Option<Timer> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let descriptor = timerfd_create(TimerfdClockId::Monotonic, flags).ok()?;
            // Deprecated because some types may change their descriptor under tokio's feet; an
            // `OwnedFd` cannot, and the successor is unsafe.
            #[allow(deprecated)]
            let descriptor = AsyncFd::new(descriptor).ok()?;
            Some(Timer(descriptor))
        }

        /// Setting it anew forgets what it was set for, so a wait may be given up at any time.
        pub(super) async fn sleep(&self, wait: Duration) -> io::Result<()> {
            let zero = Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            let wait = wait.max(Duration::from_nanos(1));
            let once = Itimerspec {
                it_interval: zero,
                it_value: Timespec {
                    tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
                    tv_nsec: i64::from(wait.subsec_nanos()),
                },
            };
            timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once)?;
            loop {
                let mut ready = self.0.readable().await?;
                ready.clear_ready();
                // Nothing to read: it had rung for an earlier wait.
                match rustix::io::read(&self.0, &mut [0u8; 8]) {
                    Err(rustix::io::Errno::AGAIN) => {}
                    Err(error) => return Err(error.into()),
                    Ok(_) => return Ok(()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_rings_in_its_time_whatever_was_given_up_before() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let timer = PreciseTimer::new();
            for wait in [300, 5_000, 0, 2_000].map(Duration::from_micros) {
                tokio::select! {
                    biased;
                    () = timer.sleep(Duration::from_secs(3600)) => panic!("an hour has passed"),
                    () = tokio::task::yield_now() => {}
                }
                let begun = Instant::now();
                timer.sleep(wait).await;
                assert!(begun.elapsed() >= wait);
            }
        });
    }
}
