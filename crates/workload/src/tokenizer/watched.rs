//! Work on what a stranger wrote that may take more memory or time than there is. It cannot be
//! stopped then, only given up, so that the process must end soon.

use std::fs;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// It makes ever more of what it was given.
#[derive(Debug, PartialEq)]
pub(super) struct Endless;

/// What work may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Most {
    pub bytes: u64,
    pub time: Duration,
}

/// Does it on a thread of its own; an error where it takes too much. A panic is one as well, so that
/// work which may panic must guard itself.
pub(super) fn watched<T: Send + 'static>(
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
