//! When a phase ends before its time: conditions of the user, and a standstill.

use crate::live::Snapshot;
use inferometer_core::scenario::{StopWhen, Until};
use inferometer_core::slo::{Slo, SloScope};
use std::time::{Duration, Instant};

/// Requests that must have ended before a condition on shares is believed.
const FEWEST_FOR_A_SHARE: u64 = 20;

/// Conditions under which a phase ends early, and its limits.
#[derive(Clone, Debug, Default)]
pub struct StopRules {
    pub stop_when: Vec<StopWhen>,
    /// How well the result must be known for the phase to end.
    pub until: Option<Until>,
    pub slos: Vec<Slo>,
    /// Share of requests that must meet the request objectives.
    pub attainment: Option<f64>,
    /// Longest time without any movement while requests are in flight.
    pub standstill: Option<Duration>,
    /// Longest time in which the server cannot be reached.
    pub give_up_after: Option<Duration>,
    /// Longest time in which it says nothing while requests reach their limit of time.
    pub longest_silence: Option<Duration>,
}

impl StopRules {
    pub(crate) fn wants_end(&self, now: &Snapshot, planned: Option<u64>) -> bool {
        self.stop_when.iter().any(|condition| match condition {
            StopWhen::FailuresAbove(share) => {
                now.ended() >= FEWEST_FOR_A_SHARE && now.failed as f64 > share * now.ended() as f64
            }
            StopWhen::SloMissed => self.is_missed(now, planned),
        })
    }

    /// Whether the objectives cannot be met any more. A mean can always recover.
    fn is_missed(&self, now: &Snapshot, planned: Option<u64>) -> bool {
        // Without a known number, a share of what has ended stands in for that of the whole.
        let whole = planned.unwrap_or(now.ended());
        if planned.is_none() && now.ended() < FEWEST_FOR_A_SHARE {
            return false;
        }
        let beyond = |missed: u64, allowed: f64| missed as f64 > allowed * whole as f64;
        let requests = self
            .attainment
            .is_some_and(|share| beyond(now.missed_any, 1.0 - share));
        let percentiles = self
            .slos
            .iter()
            .zip(&now.missed)
            .any(|(slo, &missed)| match slo.scope {
                SloScope::Percentile(percent) => beyond(missed, 1.0 - percent / 100.0),
                SloScope::Request | SloScope::Session | SloScope::Mean => false,
            });
        requests || percentiles
    }
}

/// Notices that the server cannot be reached: no answer goes on, and requests are turned away.
pub(crate) struct AbsenceDetector {
    tokens_and_answers: (u64, u64),
    turned_away: u64,
    since: Instant,
    /// When the last request was.
    last: Instant,
}

impl AbsenceDetector {
    pub(crate) fn new() -> Self {
        AbsenceDetector {
            tokens_and_answers: (0, 0),
            turned_away: 0,
            since: Instant::now(),
            last: Instant::now(),
        }
    }

    pub(crate) fn longer_than(&mut self, limit: Option<Duration>, now: &Snapshot) -> bool {
        if now.turned_away > self.turned_away {
            self.turned_away = now.turned_away;
            self.last = Instant::now();
        }
        let heard = (now.tokens, now.ok);
        // The time counts from the first request that was turned away.
        if heard != self.tokens_and_answers || self.last < self.since {
            self.tokens_and_answers = heard;
            self.since = Instant::now();
        }
        // A request that waits long for its first byte has found somebody.
        limit.is_some_and(|limit| self.since.elapsed() > limit && self.last.elapsed() < limit / 2)
    }
}

/// Requests in a row that hear nothing until they reach their limit, before the server is said to
/// be silent: one is a request that is lost.
const LOST_IN_A_ROW: u64 = 2;

/// Notices that the server takes requests and answers none: each of them would wait for its limit.
pub(crate) struct SilenceDetector {
    reads: u64,
    failed: u64,
    since: Instant,
}

impl SilenceDetector {
    pub(crate) fn new() -> Self {
        SilenceDetector {
            reads: 0,
            failed: 0,
            since: Instant::now(),
        }
    }

    pub(crate) fn longer_than(&mut self, limit: Option<Duration>, now: &Snapshot) -> bool {
        let failed = now.failed.saturating_sub(self.failed);
        // Where nobody asks, silence says nothing.
        if now.reads != self.reads || failed == 0 && now.in_flight() == 0 {
            self.reads = now.reads;
            self.failed = now.failed;
            self.since = Instant::now();
        }
        failed >= LOST_IN_A_ROW && limit.is_some_and(|limit| self.since.elapsed() > limit)
    }
}

/// Notices that nothing moves while something should.
pub(crate) struct StandstillDetector {
    seen: (u64, u64, u64),
    since: Instant,
}

impl StandstillDetector {
    pub(crate) fn new() -> Self {
        StandstillDetector {
            seen: (0, 0, 0),
            since: Instant::now(),
        }
    }

    pub(crate) fn longer_than(&mut self, limit: Option<Duration>, now: &Snapshot) -> bool {
        let seen = (now.reads, now.started, now.ended());
        if seen != self.seen || now.in_flight() == 0 {
            self.seen = seen;
            self.since = Instant::now();
        }
        limit.is_some_and(|limit| self.since.elapsed() > limit)
    }
}
