//! How many servers alike carry a traffic within objectives, each with its share of the arrivals.
//!
//! A count is judged as `run` would judge one server: random arrivals at its share of the traffic,
//! enough of them for the percentile that is limited.

use super::bench::{Bench, Trial};
use super::question::SEED;
use crate::work::Load;

/// Which end of a prediction a traffic is carried by.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum SizeBy {
    /// What is predicted.
    #[default]
    Estimate,
    /// The slow end of its interval.
    Interval,
}

/// Which end of its interval a server is taken to be at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Fast,
    Estimate,
    Slow,
}

impl From<SizeBy> for End {
    fn from(by: SizeBy) -> End {
        match by {
            SizeBy::Estimate => End::Estimate,
            SizeBy::Interval => End::Slow,
        }
    }
}

/// How carefully a count is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// With few requests, to tell what is hopeful.
    Screen,
    /// With enough, in several draws of them.
    Confirm,
}

impl Care {
    /// Seeds of the draws; the first is that of `run`, unless it is given another.
    fn seeds(self) -> &'static [u64] {
        match self {
            Care::Screen => &DRAWN[..1],
            Care::Confirm => &DRAWN,
        }
    }
}

const DRAWN: [u64; 3] = [SEED, SEED + 1, SEED + 2];
/// Draws by which a count is confirmed.
pub const DRAWS: usize = DRAWN.len();
/// Requests by which it is screened.
pub const FEW_REQUESTS: u32 = 200;
/// Requests of a draw that confirms, at least and at most.
const REQUESTS: std::ops::RangeInclusive<u64> = 1_000..=10_000;
/// As many draws of what a percentile needs: one that just suffices has a wide interval.
const TIMES_NEEDED: u64 = 2;
/// As many times those that are under way at once, so that the window is several latencies long.
const TIMES_IN_FLIGHT: f64 = 4.0;
/// Servers that are counted, at most.
const MOST_REPLICAS: u64 = 1 << 20;
/// How far a search goes before it asks whether any number would do.
const WHEN_IN_DOUBT: u64 = 8;

/// How many servers carry a traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    Fewest(u64),
    /// More than there may be.
    TooMany,
    /// Not even a server that is idle meets the objectives.
    Never,
}

impl Count {
    pub(crate) fn known(self) -> Option<u64> {
        match self {
            Count::Fewest(count) => Some(count),
            Count::TooMany | Count::Never => None,
        }
    }
}

/// The share of a traffic that each of so many servers has, rounded up to four digits: a number
/// that people can type.
pub(crate) fn share(traffic: f64, replicas: u64) -> f64 {
    let exact = traffic / replicas.max(1) as f64;
    let digits = 10f64.powi(3 - exact.log10().floor() as i32);
    let rounded = (exact * digits - 1e-6).ceil() / digits;
    if rounded.is_finite() && rounded > 0.0 {
        rounded
    } else {
        exact
    }
}

pub(crate) struct Sizing<'a> {
    pub bench: &'a Bench<'a>,
    pub traffic: f64,
    pub care: Care,
}

impl Sizing<'_> {
    /// One server with its share of the arrivals.
    pub(crate) fn trial(&self, rate: f64, seed: u64) -> Trial {
        let serve = |requests: u64| {
            let requests = u32::try_from(requests).ok();
            self.bench.serve(Load::Open(rate), requests, seed)
        };
        if self.care == Care::Screen {
            return serve(FEW_REQUESTS.into());
        }
        let needed = TIMES_NEEDED * self.bench.question.objectives.least_requests();
        let round = |count: u64| {
            let count = count.clamp(*REQUESTS.start(), *REQUESTS.end());
            count.next_multiple_of(100)
        };
        let trial = serve(round(needed));
        let busy = round((TIMES_IN_FLIGHT * trial.in_flight()) as u64);
        // Where a queue grows, more requests only make it longer.
        if busy > u64::from(trial.work.requests) && self.bench.carries(&trial) {
            return serve(busy);
        }
        trial
    }

    fn carries(&self, rate: f64, end: End) -> bool {
        self.care.seeds().iter().all(|&seed| {
            let trial = self.trial(rate, seed);
            let carries = self.bench.carries(&trial);
            match end {
                End::Fast => carries || self.bench.carries_at_best(&trial),
                End::Estimate => carries,
                End::Slow => carries && self.bench.carries_wholly(&trial),
            }
        })
    }

    /// The fewest servers from `least` to `most`. Fewer than `least` are known not to suffice.
    pub(crate) fn fewest(&self, least: u64, most: Option<u64>, end: End) -> Count {
        let most = most.unwrap_or(MOST_REPLICAS);
        let (mut below, mut count, mut step) = (least.max(1) - 1, least.max(1), 1);
        while count <= most && !self.carries(share(self.traffic, count), end) {
            below = count;
            count = match count.saturating_add(step) {
                next if next > most && count < most => most,
                next => next,
            };
            step *= 2;
            if step == WHEN_IN_DOUBT && !self.carries(self.bench.idle_rate(), end) {
                return Count::Never;
            }
        }
        if count > most {
            let ever = step >= WHEN_IN_DOUBT || self.carries(self.bench.idle_rate(), end);
            return if ever { Count::TooMany } else { Count::Never };
        }
        // To 3 %: closer than any prediction is.
        while count - below > (count / 32).max(1) {
            let middle = below + (count - below) / 2;
            if self.carries(share(self.traffic, middle), end) {
                count = middle;
            } else {
                below = middle;
            }
        }
        Count::Fewest(count)
    }

    /// Requests/s that one server carries at most. So many servers carry the traffic.
    pub(crate) fn most_carried(&self, servers: u64, end: End) -> Carries {
        let (times, near) = match end {
            End::Estimate => (16.0, 1.05),
            // Closer than ends of intervals are known.
            End::Fast | End::Slow => (4.0, 1.1),
        };
        let mut carried = share(self.traffic, servers);
        let limit = carried * times;
        let (mut fewer, mut step) = (servers.max(1), 1);
        let mut missed = loop {
            // The shares of fewer servers first: by those they were counted.
            let next = if fewer > 1 {
                fewer = fewer.saturating_sub(step).max(1);
                step *= 2;
                share(self.traffic, fewer)
            } else {
                carried * 2.0
            };
            if next > limit {
                return Carries::AtLeast(carried);
            }
            if !self.carries(next, end) {
                break next;
            }
            carried = next;
        };
        while missed / carried > near {
            let middle = (carried * missed).sqrt();
            if self.carries(middle, end) {
                carried = middle;
            } else {
                missed = middle;
            }
        }
        Carries::AtMost(carried)
    }
}

/// Requests/s that a server carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Carries {
    AtMost(f64),
    /// More was not tried.
    AtLeast(f64),
}

impl Carries {
    /// As far as it was tried.
    pub fn rate(self) -> f64 {
        match self {
            Carries::AtMost(rate) | Carries::AtLeast(rate) => rate,
        }
    }

    /// Where its end was found.
    pub fn known(self) -> Option<f64> {
        match self {
            Carries::AtMost(rate) => Some(rate),
            Carries::AtLeast(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_a_traffic_is_short_and_never_too_small() {
        for (traffic, replicas, expected) in [
            (1.5, 4, 0.375),
            (4.0, 3, 1.334),
            (100.0, 7, 14.29),
            (12.0, 1, 12.0),
        ] {
            let share = share(traffic, replicas);
            assert_eq!(share, expected);
            assert!(share * replicas as f64 >= traffic);
        }
    }
}
