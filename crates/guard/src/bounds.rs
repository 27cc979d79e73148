//! Work on what a stranger wrote that may take more memory or time than there is. It cannot be
//! stopped then, only given up, so that the process must end soon.

use std::fs;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// It makes ever more of what it was given.
#[derive(Debug, PartialEq)]
pub struct Endless;

/// What work may take.
#[derive(Clone, Copy, Debug)]
pub struct Most {
    pub bytes: u64,
    pub time: Duration,
}

/// Does it on a thread of its own; an error where it takes too much. A panic is one as well, so that
/// work which may panic must guard itself.
pub fn bounded<T: Send + 'static>(
    most: Most,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Endless> {
    let began = Instant::now();
    let (tell, told) = mpsc::channel();
    let [now, peak] = memory();
    let most_bytes = peak.max(now.saturating_add(most.bytes));
    thread::Builder::new()
        .spawn(move || {
            let _ = tell.send(work());
        })
        .expect("the system gives a thread");
    loop {
        let said = told.recv_timeout(Duration::from_millis(2));
        if memory()[1] > most_bytes {
            return Err(Endless);
        }
        match said {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Disconnected) => return Err(Endless),
            Err(RecvTimeoutError::Timeout) if began.elapsed() > most.time => return Err(Endless),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Bytes of memory that this process has, and the most that it ever had; 0 where the system does
/// not tell.
fn memory() -> [u64; 2] {
    let told = fs::read_to_string("/proc/self/status").unwrap_or_default();
    ["VmRSS:", "VmHWM:"].map(|name| {
        let line = told.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
        kib.map_or(0, |kib: u64| kib * 1024)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_takes_too_much_is_given_up_and_other_work_is_done() {
        let most = Most {
            bytes: 64 << 20,
            time: Duration::from_secs(60),
        };
        assert_eq!(bounded(most, || 7), Ok(7));
        let grow = || {
            let mut text = b"more".to_vec();
            while text.len() < 1 << 40 {
                text.extend_from_within(..);
                thread::sleep(Duration::from_millis(10));
            }
        };
        if memory()[1] > 0 {
            assert_eq!(bounded(most, grow), Err(Endless));
        }
        let (_keep, never) = mpsc::channel::<()>();
        let time = Duration::from_millis(20);
        let wait = move || never.recv().is_ok();
        assert_eq!(bounded(Most { time, ..most }, wait), Err(Endless));
    }
}
