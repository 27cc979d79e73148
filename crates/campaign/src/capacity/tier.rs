//! One tier of objectives during a search: what must be met, and what its long runs said.

use super::probe::ProbeOutcome;
use super::stored::{LongRun, SearchEnding};
use inferometer_core::quantile::least_samples;

/// Misses that a level just at its objective has in the shortest probe.
const SHORTEST_MISSES: f64 = 6.0;
const SHORTEST_PROBE: u64 = 40;
/// Misses that a level just at its objective has in the longest probe, by the design effect and
/// at least.
const LONGEST_MISSES: [f64; 2] = [1.0, 40.0];
const LONGEST_PROBE: u64 = 400;
/// No probe counts more than this part of the tier's requests, lest one eats them.
const LONGEST_PART: u64 = 4;

#[derive(Clone, Debug, Default)]
pub(super) struct Tier {
    pub(super) id: usize,
    pub(super) targets: Vec<(usize, f64)>,
    /// Requests that it may spend, and that the whole search may have spent by then; known once
    /// its search begins.
    pub(super) allowance: Option<Allowance>,
    pub(super) confirmations: u32,
    /// The long run to go by, if there was one.
    pub(super) long_run: Option<LongRun>,
    pub(super) ending: Option<SearchEnding>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    pub(super) requests: u64,
    pub(super) until: u64,
}

impl Tier {
    pub(super) fn shortest(&self) -> u64 {
        self.requests_for(SHORTEST_MISSES).max(SHORTEST_PROBE)
    }

    /// Requests of the longest probe, given how many of them tell as much as one.
    pub(super) fn longest(&self, effect: f64) -> u64 {
        let [by_effect, least] = LONGEST_MISSES;
        let longest = self.requests_for((by_effect * effect).max(least));
        let most = (self.allowance).map_or(u64::MAX, |all| all.requests / LONGEST_PART);
        longest.max(LONGEST_PROBE).min(most).max(self.least())
    }

    /// Requests in which every target may miss this many.
    fn requests_for(&self, misses: f64) -> u64 {
        let requests = |&(_, share): &(usize, f64)| (misses / (1.0 - share)).ceil() as u64;
        self.targets.iter().map(requests).max().unwrap_or(1)
    }

    /// Least sample that carries a claim of all its percentiles.
    pub(super) fn least(&self) -> u64 {
        let least = |&(_, share): &(usize, f64)| least_samples(100.0 * share);
        self.targets.iter().filter_map(least).max().unwrap_or(1)
    }

    /// Whether its objectives seem met in a probe, from the requests that count. A probe that
    /// another tier ended before any request counted does not say.
    pub(super) fn seems_met(&self, outcome: &ProbeOutcome) -> Option<bool> {
        if self.targets.iter().any(|&(at, _)| outcome.is_beyond(at)) {
            return Some(false);
        }
        let enough =
            |&(at, share): &(usize, f64)| is_enough(outcome.met[at], outcome.requests, share);
        (outcome.requests > 0).then(|| self.targets.iter().all(enough))
    }

    /// Whether its objectives are met in a probe as it counts and in the run as it is stored,
    /// where that is known. A run that is short beside the memory of its queue may miss them, and
    /// does not show that they are met.
    pub(super) fn is_met(&self, outcome: &ProbeOutcome) -> Option<bool> {
        let stored = outcome.stored.as_ref();
        let enough = |&(at, share): &(usize, f64)| {
            stored.is_none_or(|(requests, met)| is_enough(met[at], *requests, share))
        };
        let is_met = self.seems_met(outcome)? && self.targets.iter().all(enough);
        Some(is_met).filter(|is_met| !is_met || outcome.needs.is_none())
    }

    pub(super) fn confirm(&mut self, outcome: &ProbeOutcome) {
        self.confirmations += 1;
        // The target that is farthest from its objective.
        let missed = |&(at, share): &(usize, f64)| {
            (outcome.requests.saturating_sub(outcome.met[at])) as f64 / (1.0 - share)
        };
        let worst = (self.targets.iter()).max_by(|a, b| missed(a).total_cmp(&missed(b)));
        let Some(&(at, share)) = worst else { return };
        let run = LongRun {
            level: outcome.level,
            offered: outcome.offered_instead(),
            requests: outcome.requests,
            within: outcome.met[at] as f64 / outcome.requests.max(1) as f64,
            asked: share,
            met: self.is_met(outcome) == Some(true),
            needs: outcome.needs.filter(|_| self.is_met(outcome).is_none()),
        };
        // One that carries a claim stands, whatever ended a later one; and so does one that met
        // the objectives.
        let rank = |run: &LongRun| (run.requests >= self.least(), run.met);
        if (self.long_run.as_ref()).is_none_or(|earlier| rank(&run) >= rank(earlier)) {
            self.long_run = Some(run);
        }
    }

    /// The long run that has enough requests for its percentiles.
    pub(super) fn carried(&self) -> Option<LongRun> {
        self.long_run.filter(|run| run.requests >= self.least())
    }
}

/// Whether enough requests are within a limit for the percentile, interpolated between two
/// values, to be within it too.
fn is_enough(met: u64, requests: u64, share: f64) -> bool {
    met as f64 >= share * requests.saturating_sub(1) as f64 + 1.0
}
