//! Token events over time, in bins that double when a run is long, so that memory stays
//! bounded.

use inferometer_core::units::Offset;

/// Most bins; then pairs are joined.
const MOST_BINS: usize = 1 << 20;
/// First width, in nanoseconds.
const FINEST: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// Counts of events while records stream in.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    width: u64,
    counts: Vec<u32>,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline {
            width: FINEST,
            counts: Vec::new(),
        }
    }
}

impl Timeline {
    pub(super) fn add(&mut self, at: Offset) {
        while at.0 / self.width >= MOST_BINS as u64 {
            self.counts = self
                .counts
                .chunks(2)
                .map(|pair| pair.iter().copied().fold(0, u32::saturating_add))
                .collect();
            self.width *= 2;
        }
        let bin = (at.0 / self.width) as usize;
        if self.counts.len() <= bin {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] = self.counts[bin].saturating_add(1);
    }

    /// Sums, to ask for spans.
    pub(super) fn accumulate(&self) -> Accumulated {
        let mut sum = 0;
        let sums = self.counts.iter().map(|&count| {
            sum += u64::from(count);
            sum
        });
        Accumulated {
            width: self.width,
            sums: std::iter::once(0).chain(sums).collect(),
        }
    }
}

/// Events before each bin.
#[derive(Clone, Debug)]
pub(super) struct Accumulated {
    width: u64,
    sums: Vec<u64>,
}

impl Accumulated {
    /// Events before a moment, spread evenly inside a bin.
    fn before(&self, at: f64) -> f64 {
        let position = at / self.width as f64;
        let bin = position as usize;
        let last = self.sums.len() - 1;
        if bin >= last {
            return self.sums[last] as f64;
        }
        let (low, high) = (self.sums[bin] as f64, self.sums[bin + 1] as f64);
        low + (position - bin as f64) * (high - low)
    }

    pub(super) fn between(&self, from: Offset, to: Offset) -> f64 {
        self.before(to.0 as f64) - self.before(from.0 as f64)
    }

    /// Events in parts of equal length.
    pub(super) fn bins(&self, from: Offset, to: Offset, count: usize) -> Vec<f64> {
        let width = to.0.saturating_sub(from.0) as f64 / count as f64;
        let edge = |index: usize| self.before(from.0 as f64 + index as f64 * width);
        (0..count)
            .map(|index| edge(index + 1) - edge(index))
            .collect()
    }

    /// Events in the busiest second; absent if there was none.
    pub(super) fn peak_per_second(&self) -> Option<f64> {
        let bins = ((SECOND / self.width) as usize).max(1);
        let last = self.sums.len() - 1;
        let most = (0..last)
            .map(|bin| self.sums[(bin + bins).min(last)] - self.sums[bin])
            .max()?;
        let seconds = ((bins as u64 * self.width) as f64 / SECOND as f64).max(1.0);
        Some(most as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(ms: u64) -> Offset {
        Offset::after(Duration::from_millis(ms))
    }

    #[test]
    fn spans_and_the_busiest_second_are_counted() {
        let mut timeline = Timeline::default();
        for i in 0..1000 {
            timeline.add(at(i * 10));
        }
        for i in 0..50 {
            timeline.add(at(5000 + i));
        }
        let sums = timeline.accumulate();
        assert_eq!(sums.between(at(0), at(1000)), 100.0);
        assert_eq!(sums.bins(at(0), at(10_000), 10).iter().sum::<f64>(), 1050.0);
        assert_eq!(sums.peak_per_second(), Some(150.0));
        assert_eq!(Timeline::default().accumulate().peak_per_second(), None);
    }

    #[test]
    fn a_long_run_keeps_its_counts_in_wider_bins() {
        let mut timeline = Timeline::default();
        for hour in 0..48 {
            timeline.add(at(hour * 3_600_000));
        }
        timeline.add(Offset(u64::MAX));
        assert!(timeline.counts.len() <= MOST_BINS);
        let all: u64 = timeline.counts.iter().map(|&count| u64::from(count)).sum();
        assert_eq!(all, 49);
    }
}
