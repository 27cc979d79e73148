//! Stalls: gaps between the tokens of one answer that are far longer than its others.

use super::Sample;
use super::summary::Course;
use crate::quantile::{quantile, sort};
use crate::record::Record;
use crate::units::Offset;
use std::time::Duration;

/// A gap this many times the answer's median gap is a stall.
const STALL_RATIO: f64 = 2.5;

/// Shorter excesses are the scheduler of the host as likely as the engine.
const LEAST_EXCESS: Duration = Duration::from_millis(2);

/// The first token of the intruder is written in the step that ends the stall, but may be read
/// a little later.
const SAME_STEP: Duration = Duration::from_millis(2);

/// Time that one answer lost in stalls, by what happened meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Stalls {
    pub count: u64,
    pub longest: Duration,
    /// Another request got its first token when the stall ended.
    pub interference: Duration,
    pub interfered: u64,
    /// The server threw a request back meanwhile.
    pub preemption: Duration,
    pub preempted: u64,
    /// Nothing that we know of.
    pub unknown: Duration,
}

impl Stalls {
    /// Those of an answer; `first_tokens` are sorted arrivals of all requests' first tokens.
    pub fn of(record: &Record, first_tokens: &[Offset], samples: &[Sample]) -> Self {
        let mut gaps: Vec<f64> = record.gaps().map(|gap| gap.as_secs_f64()).collect();
        sort(&mut gaps);
        let Some(usual) = quantile(&gaps, 0.5) else {
            return Stalls::default();
        };
        let longest = record.max_gap().unwrap_or_default();
        let mut stalls = Stalls::default();
        for pair in record.chunks.at.windows(2) {
            let gap = pair[1].since(pair[0]);
            let excess = gap.saturating_sub(Duration::from_secs_f64(usual));
            if gap.as_secs_f64() < STALL_RATIO * usual || excess < LEAST_EXCESS {
                continue;
            }
            stalls.count += 1;
            stalls.longest = stalls.longest.max(gap);
            if gap == longest && preempted(samples, pair[0], pair[1]) {
                stalls.preemption += excess;
                stalls.preempted += 1;
            } else if begins_inside(first_tokens, pair[0], pair[1] + SAME_STEP) {
                stalls.interference += excess;
                stalls.interfered += 1;
            } else {
                stalls.unknown += excess;
            }
        }
        stalls
    }

    /// All of the lost time.
    pub fn lost(&self) -> Duration {
        self.interference + self.preemption + self.unknown
    }
}

fn preempted(samples: &[Sample], from: Offset, to: Offset) -> bool {
    Course::new(samples, from, to)
        .growth(|state| state.preemptions)
        .is_some_and(|count| count > 0.0)
}

/// Does a first token arrive after `from` and until `to`?
fn begins_inside(first_tokens: &[Offset], from: Offset, to: Offset) -> bool {
    let next = first_tokens.partition_point(|at| *at <= from);
    first_tokens.get(next).is_some_and(|at| *at <= to)
}
