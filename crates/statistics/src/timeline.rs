//! Events over time, in bins that double when a run is long, so that memory stays bounded.

use super::concurrency::InFlight;
use inferometer_core::units::Offset;

/// Most bins; then pairs are joined.
const MOST_BINS: usize = 1 << 20;
/// First width, in nanoseconds.
const FINEST: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// Counts of events of several kinds while records stream in.
#[derive(Clone, Debug)]
pub struct Timeline<const KINDS: usize> {
    /// How often the width has doubled.
    doublings: u32,
    most_bins: usize,
    counts: Vec<[u32; KINDS]>,
}

impl<const KINDS: usize> Default for Timeline<KINDS> {
    fn default() -> Self {
        Self::with_bins(MOST_BINS)
    }
}

impl<const KINDS: usize> Timeline<KINDS> {
    pub fn with_bins(most_bins: usize) -> Self {
        Timeline {
            doublings: 0,
            most_bins,
            counts: Vec::new(),
        }
    }

    #[inline]
    pub fn add(&mut self, kind: usize, at: Offset) {
        // A division by a constant and a shift take a tenth of a division by a number.
        let finest = at.0 / FINEST;
        match self.counts.get_mut((finest >> self.doublings) as usize) {
            Some(counts) => counts[kind] = counts[kind].saturating_add(1),
            None => self.add_beyond(kind, finest),
        }
    }

    /// Takes an event after all others.
    #[cold]
    fn add_beyond(&mut self, kind: usize, finest: u64) {
        while finest >> self.doublings >= self.most_bins as u64 {
            self.widen();
        }
        let bin = (finest >> self.doublings) as usize;
        if self.counts.len() <= bin {
            self.counts.resize(bin + 1, [0; KINDS]);
        }
        self.counts[bin][kind] = self.counts[bin][kind].saturating_add(1);
    }

    /// Takes events of one kind.
    pub fn add_all(&mut self, kind: usize, moments: &[Offset]) {
        moments.iter().for_each(|&at| self.add(kind, at));
    }

    fn widen(&mut self) {
        let sum = |pair: &[[u32; KINDS]]| {
            std::array::from_fn(|kind| {
                let counts = pair.iter().map(|bin| bin[kind]);
                counts.fold(0, u32::saturating_add)
            })
        };
        self.counts = self.counts.chunks(2).map(sum).collect();
        self.doublings += 1;
    }

    fn width(&self) -> u64 {
        FINEST << self.doublings
    }

    /// Takes what another part of the same run counted.
    pub fn merge(&mut self, mut other: Self) {
        while self.doublings < other.doublings {
            self.widen();
        }
        while other.doublings < self.doublings {
            other.widen();
        }
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), [0; KINDS]);
        }
        for (bin, more) in self.counts.iter_mut().zip(&other.counts) {
            for (count, more) in bin.iter_mut().zip(more) {
                *count = count.saturating_add(*more);
            }
        }
    }

    /// Sums of a kind, to ask for spans.
    pub fn accumulate(&self, kind: usize) -> Accumulated {
        let mut sum = 0;
        let sums = self.counts.iter().map(|counts| {
            sum += u64::from(counts[kind]);
            sum
        });
        Accumulated {
            width: self.width(),
            sums: std::iter::once(0).chain(sums).collect(),
        }
    }

    /// What has begun and not ended, as it is where one bin ends and the next begins.
    pub fn in_flight(&self, begun: usize, ended: usize) -> InFlight {
        let changes = self.counts.iter().map(|bin| [bin[begun], bin[ended]]);
        InFlight::sampled(self.width(), changes.map(|pair| pair.map(u64::from)))
    }

    /// What has not ended, as if all had begun at once.
    pub fn unended(&self, begun: usize, ended: usize) -> InFlight {
        let all = self.counts.iter().map(|bin| u64::from(bin[begun])).sum();
        let begins = std::iter::once(all).chain(std::iter::repeat(0));
        let ends = self.counts.iter().map(|bin| u64::from(bin[ended]));
        InFlight::sampled(self.width(), begins.zip(ends).map(|(a, b)| [a, b]))
    }
}

/// Events before each bin.
#[derive(Clone, Debug)]
pub struct Accumulated {
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

    pub fn between(&self, from: Offset, to: Offset) -> f64 {
        self.before(to.0 as f64) - self.before(from.0 as f64)
    }

    /// Events in parts of equal length.
    pub fn bins(&self, from: Offset, to: Offset, count: usize) -> Vec<f64> {
        let width = to.0.saturating_sub(from.0) as f64 / count as f64;
        let edge = |index: usize| self.before(from.0 as f64 + index as f64 * width);
        (0..count)
            .map(|index| edge(index + 1) - edge(index))
            .collect()
    }

    /// Events in the busiest second; absent if there was none.
    pub fn peak_per_second(&self) -> Option<f64> {
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
        let mut timeline = Timeline::<1>::default();
        for i in 0..1000 {
            timeline.add(0, at(i * 10));
        }
        for i in 0..50 {
            timeline.add(0, at(5000 + i));
        }
        let sums = timeline.accumulate(0);
        assert_eq!(sums.between(at(0), at(1000)), 100.0);
        assert_eq!(sums.bins(at(0), at(10_000), 10).iter().sum::<f64>(), 1050.0);
        assert_eq!(sums.peak_per_second(), Some(150.0));
        assert_eq!(
            Timeline::<1>::default().accumulate(0).peak_per_second(),
            None
        );
    }

    #[test]
    fn a_long_run_keeps_its_counts_in_wider_bins() {
        let mut timeline = Timeline::<1>::default();
        for hour in 0..48 {
            timeline.add(0, at(hour * 3_600_000));
        }
        timeline.add(0, Offset(u64::MAX));
        assert!(timeline.counts.len() <= MOST_BINS);
        let all: u64 = timeline
            .counts
            .iter()
            .map(|&[count]| u64::from(count))
            .sum();
        assert_eq!(all, 49);
    }
}
