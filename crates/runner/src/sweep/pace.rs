//! The pace of a sweep: points that share a start of the engine do not each pay for it.

use std::time::Duration;

/// What starts of the engine and measurements took so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    starts: Spent,
    points: Spent,
}

#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    time: Duration,
    count: u32,
}

impl Spent {
    fn add(&mut self, time: Duration) {
        self.time += time;
        self.count += 1;
    }

    fn mean(&self) -> Option<Duration> {
        self.time.checked_div(self.count)
    }
}

impl Pace {
    pub fn start(&mut self, took: Duration) {
        self.starts.add(took);
    }

    /// A point was measured, its engine's start not counted.
    pub fn point(&mut self, took: Duration) {
        self.points.add(took);
    }

    /// Time for this many more; absent while no point is measured.
    pub fn left(&self, points: usize, starts: usize) -> Option<Duration> {
        let times = |mean: Duration, count: usize| {
            mean.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))
        };
        let measuring = times(self.points.mean()?, points);
        let starting = times(self.starts.mean().unwrap_or_default(), starts);
        Some(measuring.saturating_add(starting))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_counts_as_often_as_the_engine_is_started() {
        let mut pace = Pace::default();
        assert_eq!(pace.left(3, 1), None);
        pace.start(Duration::from_secs(60));
        pace.point(Duration::from_secs(2));
        assert_eq!(pace.left(3, 0), Some(Duration::from_secs(6)));
        assert_eq!(pace.left(3, 1), Some(Duration::from_secs(66)));
        pace.start(Duration::from_secs(80));
        pace.point(Duration::from_secs(4));
        assert_eq!(pace.left(2, 2), Some(Duration::from_secs(146)));
    }
}
