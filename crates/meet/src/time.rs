//! What time it is on rank 0, seen from another: the best of many questions. Half of the time
//! that question and answer took is the most by which it can be wrong.

use std::time::{Duration, Instant};

/// The clock of a process, as it is told to others: nanoseconds since it was made.
#[derive(Clone, Copy, Debug)]
pub struct Timeline {
    base: Instant,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline {
            base: Instant::now(),
        }
    }
}

impl Timeline {
    /// A moment as it is told; before the base it is negative.
    pub fn ns(&self, at: Instant) -> i64 {
        let ns = |span: Duration| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
        match at.checked_duration_since(self.base) {
            Some(after) => ns(after),
            None => -ns(self.base.saturating_duration_since(at)),
        }
    }

    /// The moment that was told; absent if no clock reaches that far.
    pub fn instant(&self, ns: i64) -> Option<Instant> {
        let span = Duration::from_nanos(ns.unsigned_abs());
        if ns < 0 {
            self.base.checked_sub(span)
        } else {
            self.base.checked_add(span)
        }
    }
}

/// How far the clock of rank 0 is ahead of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    pub ahead_ns: i64,
    /// By how much that may be wrong: half of the round trip.
    pub error_ns: u64,
}

impl Comparison {
    /// From one question that was asked, answered on the other clock, and heard at these times.
    pub(crate) fn of(asked_ns: i64, answer_ns: i64, heard_ns: i64) -> Self {
        let there_and_back = heard_ns.saturating_sub(asked_ns).max(0);
        let middle = asked_ns.saturating_add(there_and_back / 2);
        Comparison {
            ahead_ns: answer_ns.saturating_sub(middle),
            error_ns: (there_and_back as u64).div_ceil(2),
        }
    }

    pub(crate) fn better_of(self, other: Option<Comparison>) -> Comparison {
        match other {
            Some(other) if other.error_ns < self.error_ns => other,
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_true_offset_is_within_the_error_however_the_round_trip_divides() {
        // Rank 0 is 1,000,000 ahead; the way there takes this share of a round trip of 400.
        for there in [0, 100, 200, 400] {
            let seen = Comparison::of(5_000, 5_000 + there + 1_000_000, 5_400);
            assert_eq!(seen.error_ns, 200);
            assert!(
                seen.ahead_ns.abs_diff(1_000_000) <= seen.error_ns,
                "{seen:?}"
            );
        }
    }

    #[test]
    fn the_shortest_round_trip_wins() {
        let slow = Comparison::of(0, 900, 1_000);
        let quick = Comparison::of(2_000, 2_460, 2_010);
        assert_eq!(slow.better_of(Some(quick)), quick);
        assert_eq!(quick.better_of(Some(slow)), quick);
        assert_eq!(quick.better_of(None), quick);
    }

    #[test]
    fn moments_before_and_after_the_base_are_told_and_found_again() {
        let timeline = Timeline::default();
        let base = timeline.instant(0).unwrap();
        for ns in [0, 1_500, -1_500] {
            assert_eq!(timeline.ns(timeline.instant(ns).unwrap()), ns);
        }
        assert_eq!(timeline.ns(base + Duration::from_micros(2)), 2_000);
    }
}
