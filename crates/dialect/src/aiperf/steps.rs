//! Values that hold from one event to the next, and their statistics over time.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// A value that changes at some moments (nanoseconds) and is 0 before the first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Steps {
    /// The moment and the value that holds from then on, ascending.
    values: Vec<(u64, f64)>,
}

impl Steps {
    /// From what is added, or taken away, at each moment.
    pub(super) fn from_changes(changes: impl IntoIterator<Item = (u64, f64)>) -> Self {
        let mut at: BTreeMap<u64, f64> = BTreeMap::new();
        for (moment, change) in changes {
            *at.entry(moment).or_default() += change;
        }
        let mut values: Vec<(u64, f64)> = Vec::with_capacity(at.len());
        for (moment, change) in at {
            let before = values.last().map_or(0.0, |(_, value)| *value);
            values.push((moment, before + change));
        }
        // What additions and subtractions leave of nothing.
        let largest = values.iter().map(|(_, value)| value.abs());
        let nothing = 1e-9 * largest.fold(0.0, f64::max);
        for (_, value) in &mut values {
            if value.abs() < nothing {
                *value = 0.0;
            }
        }
        Steps { values }
    }

    /// From amounts, each of which is there from one moment to another.
    pub(super) fn of_spans(spans: impl IntoIterator<Item = (u64, u64, f64)>) -> Self {
        let changes = spans
            .into_iter()
            .flat_map(|(from, to, amount)| [(from, amount), (to, -amount)]);
        Self::from_changes(changes)
    }

    fn at(&self, moment: u64) -> f64 {
        let after = self.values.partition_point(|(at, _)| *at <= moment);
        let before = after.checked_sub(1);
        before.map_or(0.0, |at| self.values[at].1)
    }

    /// Divided by another one; 0 where that is 0.
    pub(super) fn over(&self, other: &Steps) -> Steps {
        let moments = self.values.iter().chain(&other.values);
        let mut moments: Vec<u64> = moments.map(|(at, _)| *at).collect();
        moments.sort_unstable();
        moments.dedup();
        let ratio = |at: u64| match other.at(at) {
            parts if parts > 0.0 => self.at(at) / parts,
            _ => 0.0,
        };
        Steps {
            values: moments.into_iter().map(|at| (at, ratio(at))).collect(),
        }
    }

    /// Its statistics over a window, a thousand million times as large where it counts per
    /// nanosecond (`scale`); with a `mask`, over the parts of the window in which that is not 0.
    pub(super) fn held(
        &self,
        window: &RangeInclusive<u64>,
        mask: Option<&Steps>,
        scale: f64,
    ) -> Held {
        let (from, to) = (*window.start(), *window.end());
        let events = self
            .values
            .iter()
            .chain(mask.iter().flat_map(|mask| &mask.values));
        let inside = events
            .map(|(at, _)| *at)
            .filter(|at| (from..to).contains(at));
        let mut edges: Vec<u64> = inside.chain([from, to]).collect();
        edges.sort_unstable();
        edges.dedup();
        let is_active = |at: u64| mask.is_none_or(|mask| mask.at(at) > 0.0);
        let parts = edges
            .windows(2)
            .filter(|edges| is_active(edges[0]))
            .map(|edges| (self.at(edges[0]) * scale, (edges[1] - edges[0]) as f64));
        Held::from_iter(parts)
    }
}

/// Values with the time that each was held, ascending by value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Held {
    parts: Vec<(f64, f64)>,
    time: f64,
}

impl FromIterator<(f64, f64)> for Held {
    fn from_iter<I: IntoIterator<Item = (f64, f64)>>(parts: I) -> Self {
        let mut parts: Vec<(f64, f64)> = parts.into_iter().collect();
        parts.sort_by(|a, b| a.0.total_cmp(&b.0));
        let time = parts.iter().map(|(_, time)| time).sum();
        Held { parts, time }
    }
}

impl Held {
    /// The value at which the time reaches a share; the tool has four of them.
    pub(super) fn percentile(&self, percent: u32) -> Option<f64> {
        if !matches!(percent, 50 | 90 | 95 | 99) {
            return None;
        }
        let mut reached = 0.0;
        let found = self.parts.iter().find(|(_, time)| {
            reached += time;
            reached / self.time >= f64::from(percent) / 100.0
        });
        Some(found.or(self.parts.last()).map_or(0.0, |(value, _)| *value))
    }

    /// 0 where nothing was held.
    pub(super) fn statistic(&self, name: &str) -> Option<f64> {
        let (Some(least), Some(most)) = (self.parts.first(), self.parts.last()) else {
            return matches!(name, "avg" | "min" | "max" | "std").then_some(0.0);
        };
        let over_time = |of: &dyn Fn(f64) -> f64| {
            let parts = self.parts.iter();
            parts.map(|(value, time)| of(*value) * time).sum::<f64>() / self.time
        };
        let mean = over_time(&|value| value);
        match name {
            "avg" => Some(mean),
            "min" => Some(least.0),
            "max" => Some(most.0),
            "std" => Some(over_time(&|value| (value - mean).powi(2)).sqrt()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_weighted_by_the_time_that_they_hold() {
        // 1 from 10 to 20, 2 from 20 to 30, 1 from 30 to 50; the window is twice as long.
        let steps = Steps::of_spans([(10, 30, 1.0), (20, 50, 1.0)]);
        let held = steps.held(&(0..=80), None, 1.0);
        assert_eq!(held.statistic("avg"), Some(50.0 / 80.0));
        assert_eq!(held.statistic("min"), Some(0.0));
        assert_eq!(held.statistic("max"), Some(2.0));
        // Nothing for half of the time.
        assert_eq!(held.percentile(50), Some(0.0));
        assert_eq!(held.percentile(90), Some(2.0));
        assert_eq!(held.percentile(75), None);
        let active = steps.held(&(0..=80), Some(&steps), 1.0);
        assert_eq!(active.statistic("avg"), Some(50.0 / 40.0));
        assert_eq!(active.statistic("min"), Some(1.0));
    }

    #[test]
    fn a_quotient_is_nothing_where_its_divisor_is() {
        let amount = Steps::of_spans([(0, 40, 6.0)]);
        let parts = Steps::of_spans([(10, 30, 1.0), (20, 30, 2.0)]);
        let each = amount.over(&parts);
        assert_eq!([5, 10, 20, 30].map(|at| each.at(at)), [0.0, 6.0, 2.0, 0.0]);
    }

    #[test]
    fn a_window_without_events_has_statistics_of_nothing() {
        let nothing = Steps::default().held(&(3..=3), None, 1.0);
        assert_eq!(nothing.statistic("avg"), Some(0.0));
        assert_eq!(nothing.percentile(99), Some(0.0));
    }
}
