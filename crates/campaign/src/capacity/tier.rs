//! One tier of objectives during a search: what must be met, and what its long runs said.

use super::probe::{ProbeOutcome, Purpose};
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
        if !self.seems_met(outcome)? {
            return Some(false);
        }
        let Some((requests, met)) = &outcome.stored else {
            return Some(true).filter(|_| outcome.needs.is_none());
        };
        let enough = |&(at, share): &(usize, f64)| is_enough(met[at], *requests, share);
        let too_few = |&(at, share): &(usize, f64)| is_too_few(met[at], *requests, share);
        if self.targets.iter().any(too_few) {
            return Some(false);
        }
        let is_met = self.targets.iter().all(enough) && outcome.needs.is_none();
        is_met.then_some(true)
    }

    /// Whether they are met in several runs of one level, by all of their requests.
    pub(super) fn are_met(&self, runs: &[&ProbeOutcome]) -> Option<bool> {
        if let [run] = runs {
            return self.is_met(run);
        }
        if (self.targets.iter()).any(|&(at, _)| runs.iter().any(|run| run.is_beyond(at))) {
            return Some(false);
        }
        let requests = runs.iter().map(|run| run.requests).sum();
        let enough = |&(at, share): &(usize, f64)| {
            is_enough(runs.iter().map(|run| run.met[at]).sum(), requests, share)
        };
        let is_met = self.targets.iter().all(enough);
        Some(is_met).filter(|is_met| !is_met)
    }

    /// The runs so far that were to confirm this tier.
    pub(super) fn long_runs<'a>(
        &self,
        history: &'a [ProbeOutcome],
    ) -> impl Iterator<Item = &'a ProbeOutcome> + use<'a> {
        let id = self.id;
        (history.iter()).filter(move |run| run.tier == id && run.purpose == Purpose::Confirm)
    }

    /// The long run that has enough requests for its percentiles.
    pub(super) fn carried(&self) -> Option<LongRun> {
        self.long_run.filter(|run| run.requests >= self.least())
    }
}

/// Whether so few requests are within a limit that the percentile is not, wherever between two
/// values it lies. Between this and enough the values themselves decide.
fn is_too_few(met: u64, requests: u64, share: f64) -> bool {
    met as f64 <= share * requests.saturating_sub(1) as f64
}

/// Whether enough requests are within a limit for the percentile, interpolated between two
/// values, to be within it too.
fn is_enough(met: u64, requests: u64, share: f64) -> bool {
    met as f64 >= share * requests.saturating_sub(1) as f64 + 1.0
}
