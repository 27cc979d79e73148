//! How late this process is woken: a thread asks to be woken every few milliseconds and notes
//! how late it is. A client that does not get its CPU stamps what it receives as late as that, and
//! neither its CPU use nor, in a closed loop, its lag would show it.

use crate::recorder::{RecorderMessage, RecorderSender};
use inferometer_store::journal::{ClientPulse, Entry};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const BEAT: Duration = Duration::from_millis(10);
/// Time between two entries of the journal.
const TOLD_EVERY: Duration = Duration::from_secs(1);
/// Width of a class of lateness, and how many there are; what is later counts to the last.
const CLASS: Duration = Duration::from_micros(100);
const CLASSES: usize = 20_000;
/// Fewest beats of which a 99th percentile can be told.
const LEAST_BEATS: u64 = 100;

/// How late this process was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wakeups {
    pub p99: Duration,
    /// One pause of seconds hides below the percentile of a long run.
    pub longest: Duration,
}

impl Wakeups {
    fn entry(self) -> RecorderMessage {
        let ms = |span: Duration| span.as_secs_f64() * 1e3;
        RecorderMessage {
            entry: Entry::Client(ClientPulse {
                p99_ms: ms(self.p99),
                longest_ms: ms(self.longest),
            }),
            text: None,
        }
    }
}

pub(crate) struct WakeupProbe {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Lateness>>,
}

impl WakeupProbe {
    /// Begins to beat, and tells the recorder every second; without a thread to be had, there is
    /// nothing to be told.
    pub(crate) fn start(entries: RecorderSender) -> WakeupProbe {
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        let thread = std::thread::Builder::new().name("wakeup".to_owned());
        let thread = thread.spawn(move || beat(&told, &entries)).ok();
        WakeupProbe { over, thread }
    }

    /// How late the beats were; absent for a short time.
    pub(crate) fn finish(mut self) -> Option<Wakeups> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take()?.join().ok()?.wakeups()
    }
}

fn beat(over: &AtomicBool, entries: &RecorderSender) -> Lateness {
    let mut lateness = Lateness::default();
    let mut due = Instant::now() + BEAT;
    let mut told = Instant::now();
    while !over.load(Ordering::Relaxed) {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let late = due.elapsed();
        lateness.add(late);
        due += late + BEAT;
        if told.elapsed() >= TOLD_EVERY {
            told = Instant::now();
            if let Some(so_far) = lateness.wakeups() {
                // Who no longer records needs nothing to be told.
                let _ = entries.send(so_far.entry());
            }
        }
    }
    lateness
}

struct Lateness {
    classes: Vec<u64>,
    beats: u64,
    longest: Duration,
}

impl Default for Lateness {
    fn default() -> Self {
        Lateness {
            classes: vec![0; CLASSES],
            beats: 0,
            longest: Duration::ZERO,
        }
    }
}

impl Lateness {
    /// Takes a beat. Those that should have come while it was late were late, too.
    fn add(&mut self, late: Duration) {
        self.longest = self.longest.max(late);
        let mut late = late.min(CLASS * CLASSES as u32);
        loop {
            let class = (late.as_nanos() / CLASS.as_nanos()) as usize;
            self.classes[class.min(CLASSES - 1)] += 1;
            self.beats += 1;
            if late < BEAT {
                return;
            }
            late -= BEAT;
        }
    }

    fn wakeups(&self) -> Option<Wakeups> {
        let later = self.beats.div_ceil(100);
        let mut seen = 0;
        let class = (self.classes.iter().enumerate().rev()).find_map(|(class, count)| {
            seen += count;
            (seen >= later).then_some(class)
        })?;
        (self.beats >= LEAST_BEATS).then(|| Wakeups {
            p99: CLASS * class as u32,
            longest: self.longest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wakeups(beats: &[(u64, u64)]) -> Option<Wakeups> {
        let mut lateness = Lateness::default();
        for &(count, micros) in beats {
            (0..count).for_each(|_| lateness.add(Duration::from_micros(micros)));
        }
        lateness.wakeups()
    }

    fn p99(beats: &[(u64, u64)]) -> Option<Duration> {
        wakeups(beats).map(|woken| woken.p99)
    }

    #[test]
    fn a_pause_below_the_percentile_is_still_the_longest() {
        let woken = wakeups(&[(60_000, 60), (1, 3_000_000)]).unwrap();
        assert_eq!(woken.p99, Duration::ZERO);
        assert_eq!(woken.longest, Duration::from_secs(3));
    }

    #[test]
    fn beats_in_time_are_told_as_such_and_few_are_not_told() {
        assert_eq!(p99(&[(1000, 60)]), Some(Duration::ZERO));
        assert_eq!(
            p99(&[(1000, 60), (20, 4_250)]),
            Some(Duration::from_micros(4_200))
        );
        assert_eq!(p99(&[(1000, 60), (5, 9_000)]), Some(Duration::ZERO));
        assert_eq!(p99(&[(99, 60)]), None);
    }

    #[test]
    fn one_long_silence_counts_for_every_beat_that_it_swallowed() {
        let found = p99(&[(1000, 60), (1, 1_500_000)]).unwrap();
        assert!(found > Duration::from_millis(1_300), "{found:?}");
        assert!(p99(&[(1000, 60), (1, 3_600_000_000)]).is_some());
    }

    #[test]
    fn a_probe_ends_when_it_is_told_to() {
        assert_eq!(
            WakeupProbe::start(std::sync::mpsc::channel().0).finish(),
            None
        );
    }
}
