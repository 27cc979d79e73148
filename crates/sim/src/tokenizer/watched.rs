//! Work on what a stranger wrote that may take more memory or time than there is. It cannot be
//! stopped then, only given up, so that the process must end soon.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Does it on a thread of its own; `None` where it panics, or takes more memory or time than this.
pub(super) fn watched<T: Send + 'static>(
    most_bytes: u64,
    most_time: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let began = Instant::now();
    let (tell, told) = mpsc::channel();
    let [now, peak] = memory();
    let most = peak.max(now.saturating_add(most_bytes));
    thread::Builder::new()
        .spawn(move || {
            let _ = tell.send(work());
        })
        .expect("the system gives a thread");
    loop {
        let said = told.recv_timeout(Duration::from_millis(2));
        if memory()[1] > most {
            return None;
        }
        match said {
            Ok(done) => return Some(done),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) if began.elapsed() > most_time => return None,
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
