//! The search for capacity: the highest level (rate or concurrency) at which objectives are
//! met.
//!
//! Levels are doubled or halved until one is met and the next is not. Then the capacity of each
//! objective is a distribution on a logarithmic grid, and each probe is at the middle of the
//! one that binds (probabilistic bisection). A probe is a sequential test, so that hopeless and
//! easy levels end after tens of requests; near the boundary, where nothing is clear, probes
//! lengthen. A long run at the answer confirms it.

mod belief;
mod probe;
#[cfg(test)]
mod tests;

pub use probe::{Outcome, Probe, Purpose, Step, Verdict};

use belief::Belief;
use inferometer_core::quantile::least_samples;
use serde::Serialize;

/// Name and version of the answer's form.
pub const SCHEMA: &str = "inferometer.capacity/1";
/// Half of a probe's first length, in misses that a level just at its objective has.
const MISSES_PER_PROBE: f64 = 8.0;
/// How much longer than the first the longest probe is.
const LONGEST_PROBE: u64 = 64;
/// How much longer than the first a probe must be to show dependence.
const LONG_PROBE: u64 = 4;
/// Runs that try to confirm.
const MOST_CONFIRMATIONS: u32 = 3;
/// Halvings from the start after which no level is thought to meet the objectives.
const MOST_HALVINGS: u32 = 12;

/// An objective as the search sees it: a share of requests that must be within its limit. A
/// p99 limit is a share of 0.99; all limits of single requests together are one target with
/// the attainment as its share.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// As users know it: `ttft.p99`.
    pub name: String,
    /// The share, between 0 and 1.
    pub share: f64,
    /// Targets of one tier must be met together; each tier has its own capacity.
    pub tier: usize,
}

/// What to search for.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What a level is: `rate` or `concurrency`.
    pub over: String,
    /// The objectives, at least one.
    pub targets: Vec<Target>,
    /// First level.
    pub start: f64,
    /// No level above this is tried.
    pub ceiling: f64,
    /// Levels are whole numbers, as concurrency is.
    pub whole: bool,
    /// Half of the answer's 90 % interval, as a share.
    pub tolerance: f64,
    /// Most requests to spend, the confirmation included.
    pub budget: u64,
}

/// A search that cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CapacityError {
    /// Nothing to meet.
    #[error("a capacity needs an objective; give one as in --slo ttft.p99=1s")]
    NoTarget,
    /// A share that no sample can show.
    #[error("'{name}' asks for a share of {share}; give one above 0 and below 1, such as 0.99")]
    BadShare {
        /// The target.
        name: String,
        /// Its share.
        share: f64,
    },
    /// Levels that are no levels.
    #[error("cannot search from {start} to {ceiling}; give a start above 0 and a higher ceiling")]
    BadLevels {
        /// First level.
        start: f64,
        /// Last level.
        ceiling: f64,
    },
    /// A tolerance that is none.
    #[error("a tolerance of {0} cannot be reached; give a share between 0.001 and 0.5")]
    BadTolerance(f64),
    /// Too few requests for the claim.
    #[error(
        "{budget} requests cannot carry '{name}', which needs {least} at its confirmation alone; allow more"
    )]
    BudgetTooSmall {
        /// The target.
        name: String,
        /// Requests allowed.
        budget: u64,
        /// Least sample of its percentile.
        least: u64,
    },
}

/// The capacity of one tier.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// `inferometer.capacity/1`.
    pub schema: &'static str,
    /// What a level is.
    pub over: String,
    /// The tier that this is the capacity of.
    pub tier: usize,
    /// The capacity; absent if no level met the objectives, or if the sample cannot carry it.
    pub value: Option<f64>,
    /// Low end of its 90 % interval.
    pub low: Option<f64>,
    /// High end; absent if every level up to the ceiling met the objectives.
    pub high: Option<f64>,
    /// The objective that is missed first.
    pub binding: Option<String>,
    /// How attainment falls there.
    pub edge: Option<Edge>,
    /// Requests of the whole search.
    pub requests_spent: u64,
    /// Requests and met ones of the run that confirmed it.
    pub confirmation: Option<[u64; 2]>,
    /// Why there is no better answer.
    pub ending: Ending,
}

/// How attainment falls at the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Edge {
    /// Slowly: a little more load misses a little more.
    Slope,
    /// At once: 5 % more load misses most of what was met.
    Cliff,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The interval is as narrow as asked, and a long run confirmed it.
    Confirmed,
    /// The interval is as narrow as asked; long runs at it missed an objective.
    Unconfirmed,
    /// The requests were spent before.
    BudgetSpent,
    /// Every level up to the ceiling met the objectives.
    AtCeiling,
    /// No level met them.
    NeverMet,
    /// The long run had fewer requests than the percentile needs, so nothing is claimed.
    TooFewSamples,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Measure at this level, then `tell` the outcome.
    Probe(Probe),
    /// The answers, one a tier.
    Done(Vec<Answer>),
}

/// The search: `ask`, measure, `tell`, until it is done.
#[derive(Clone, Debug)]
pub struct Search {
    settings: Settings,
    history: Vec<Outcome>,
    tiers: Vec<Tier>,
}

#[derive(Clone, Debug, Default)]
struct Tier {
    id: usize,
    targets: Vec<usize>,
    confirmations: u32,
    ending: Option<Ending>,
    confirmation: Option<[u64; 2]>,
}

impl Search {
    /// A search that has not begun.
    pub fn new(settings: Settings) -> Result<Self, CapacityError> {
        let Settings { start, ceiling, .. } = settings;
        if settings.targets.is_empty() {
            return Err(CapacityError::NoTarget);
        }
        if !(start > 0.0 && start <= ceiling && ceiling.is_finite()) {
            return Err(CapacityError::BadLevels { start, ceiling });
        }
        if !(0.001..=0.5).contains(&settings.tolerance) {
            return Err(CapacityError::BadTolerance(settings.tolerance));
        }
        let mut tiers: Vec<Tier> = Vec::new();
        for (at, target) in settings.targets.iter().enumerate() {
            let name = || target.name.clone();
            let share = target.share;
            let least = least_samples(100.0 * share).filter(|_| share > 0.0 && share < 0.9999);
            let least = least.ok_or_else(|| CapacityError::BadShare {
                name: name(),
                share,
            })?;
            if settings.budget < least {
                return Err(CapacityError::BudgetTooSmall {
                    name: name(),
                    budget: settings.budget,
                    least,
                });
            }
            match tiers.iter_mut().find(|tier| tier.id == target.tier) {
                Some(tier) => tier.targets.push(at),
                None => tiers.push(Tier {
                    id: target.tier,
                    targets: vec![at],
                    ..Tier::default()
                }),
            }
        }
        Ok(Search {
            settings,
            history: Vec::new(),
            tiers,
        })
    }

    /// Requests so far.
    pub fn spent(&self) -> u64 {
        self.history.iter().map(|outcome| outcome.requests).sum()
    }

    /// Takes the outcome of the probe that was asked for.
    pub fn tell(&mut self, outcome: Outcome) {
        if let Some(tier) = (self.tiers.iter_mut())
            .find(|tier| tier.ending.is_none())
            .filter(|_| outcome.purpose == Purpose::Confirm)
        {
            tier.confirmations += 1;
            let met = tier.targets.iter().map(|&at| outcome.met[at]).min();
            tier.confirmation = Some([outcome.requests, met.unwrap_or_default()]);
            let enough = tier.targets.iter().all(|&at| {
                let least = least_samples(100.0 * self.settings.targets[at].share);
                least.is_some_and(|least| outcome.requests >= least)
            });
            tier.ending = match outcome.verdict {
                Verdict::Meets | Verdict::Near if enough => Some(Ending::Confirmed),
                Verdict::Meets | Verdict::Near => Some(Ending::TooFewSamples),
                Verdict::Misses if tier.confirmations >= MOST_CONFIRMATIONS => {
                    Some(Ending::Unconfirmed)
                }
                Verdict::Misses => None,
            };
        }
        self.history.push(outcome);
    }

    /// What to do next.
    pub fn ask(&mut self) -> Next {
        while let Some(at) = self.tiers.iter().position(|tier| tier.ending.is_none()) {
            match self.probe(&self.tiers[at]) {
                Ok(probe) => return Next::Probe(probe),
                Err(ending) => self.tiers[at].ending = Some(ending),
            }
        }
        Next::Done(self.tiers.iter().map(|tier| self.answer(tier)).collect())
    }

    /// The next probe for a tier, or why there is none.
    fn probe(&self, tier: &Tier) -> Result<Probe, Ending> {
        let left = self.settings.budget.saturating_sub(self.spent());
        let shares = self.shares(tier);
        let base = (shares.iter())
            .map(|(_, share)| (MISSES_PER_PROBE / (1.0 - share)).ceil() as u64)
            .fold(40, u64::max);
        let least = (shares.iter())
            .filter_map(|(_, share)| least_samples(100.0 * share))
            .fold(2 * base, u64::max);
        let probe = |level: f64, requests: u64, purpose| {
            if requests == 0 {
                return Err(Ending::BudgetSpent);
            }
            Ok(Probe::new(
                self.level(level),
                requests,
                purpose,
                self.settings.targets.len(),
                &shares,
            ))
        };
        let Some(bracket) = self.bracket(tier)? else {
            return probe(
                self.bracketing_level(tier),
                base.min(left),
                Purpose::Bracket,
            );
        };
        // Requests for the confirmation are kept back.
        let free = left.saturating_sub(least);
        let belief = self.binding(tier, bracket).1;
        let [low, high] = belief.interval();
        let middle = belief.median();
        let narrow = (high / low).ln() <= 2.0 * self.settings.tolerance
            || (self.settings.whole && self.level(high) - self.level(low) <= 1.0);
        // On a slope only a long probe shows how much its requests depend on each other.
        let long = |outcome: &Outcome| outcome.requests >= LONG_PROBE * base;
        let shown = belief.edge() == Edge::Cliff || self.history.iter().any(long);
        if (narrow && shown) || free == 0 {
            return probe(middle, least.min(left), Purpose::Confirm);
        }
        // Each probe that the interval still holds told too little: the next is longer.
        let inside = |outcome: &&Outcome| outcome.level >= low && outcome.level <= high;
        let near = self.history.iter().filter(inside).count() as u32;
        let length = base * (1u64 << near.min(8)).min(LONGEST_PROBE);
        probe(middle, length.min(free), Purpose::Bisect)
    }

    fn level(&self, level: f64) -> f64 {
        let level = level.min(self.settings.ceiling);
        match self.settings.whole {
            true => level.round().max(1.0),
            false => level,
        }
    }

    fn shares(&self, tier: &Tier) -> Vec<(usize, f64)> {
        let targets = &self.settings.targets;
        tier.targets
            .iter()
            .map(|&at| (at, targets[at].share))
            .collect()
    }

    /// Whether the tier's objectives seem met at a level, from all that is known of it.
    fn seems_met(&self, tier: &Tier, outcome: &Outcome) -> bool {
        !outcome.overloaded
            && outcome.requests > 0
            && self
                .shares(tier)
                .iter()
                .all(|&(at, share)| outcome.met[at] as f64 >= share * outcome.requests as f64)
    }

    /// Highest level that seems met and lowest that does not, once both are known.
    fn bracket(&self, tier: &Tier) -> Result<Option<[f64; 2]>, Ending> {
        let (mut met, mut missed) = (None::<f64>, None::<f64>);
        for outcome in &self.history {
            let level = outcome.level;
            if self.seems_met(tier, outcome) {
                met = Some(met.map_or(level, |met| met.max(level)));
            } else {
                missed = Some(missed.map_or(level, |missed| missed.min(level)));
            }
        }
        let lowest = self.settings.start * 0.5f64.powi(MOST_HALVINGS as i32);
        match (met, missed) {
            (Some(met), Some(missed)) => Ok(Some([met.min(missed), met.max(missed)])),
            (Some(met), None) if met >= self.level(self.settings.ceiling) => Err(Ending::AtCeiling),
            (None, Some(missed)) if missed <= lowest || (self.settings.whole && missed <= 1.0) => {
                Err(Ending::NeverMet)
            }
            _ => Ok(None),
        }
    }

    /// Twice the highest level so far, or half of the lowest.
    fn bracketing_level(&self, tier: &Tier) -> f64 {
        let levels = self.history.iter().map(|outcome| outcome.level);
        let up = self
            .history
            .iter()
            .all(|outcome| self.seems_met(tier, outcome));
        match up {
            true => levels
                .reduce(f64::max)
                .map_or(self.settings.start, |level| 2.0 * level),
            false => levels
                .reduce(f64::min)
                .map_or(self.settings.start, |level| level / 2.0),
        }
    }

    /// The target of a tier whose capacity is the lowest, and what is believed of it.
    fn binding(&self, tier: &Tier, bracket: [f64; 2]) -> (usize, Belief) {
        let beliefs = self
            .shares(tier)
            .into_iter()
            .map(|(at, share)| (at, Belief::of(&self.history, at, share, bracket)));
        beliefs
            .min_by(|(_, a), (_, b)| a.median().total_cmp(&b.median()))
            .expect("a tier has a target, or it would not be there")
    }

    fn answer(&self, tier: &Tier) -> Answer {
        let ending = tier.ending.unwrap_or(Ending::BudgetSpent);
        let mut answer = Answer {
            schema: SCHEMA,
            over: self.settings.over.clone(),
            tier: tier.id,
            value: None,
            low: None,
            high: None,
            binding: None,
            edge: None,
            requests_spent: self.spent(),
            confirmation: tier.confirmation,
            ending,
        };
        if ending == Ending::AtCeiling {
            answer.value = Some(self.level(self.settings.ceiling));
            answer.low = answer.value;
        }
        if let Ok(Some(bracket)) = self.bracket(tier) {
            let (target, belief) = self.binding(tier, bracket);
            let [low, high] = belief.interval();
            answer.low = Some(low);
            answer.high = Some(high);
            answer.binding = Some(self.settings.targets[target].name.clone());
            answer.edge = Some(belief.edge());
            // Without its confirmation a claim about a tail is not made.
            if matches!(ending, Ending::Confirmed | Ending::Unconfirmed) {
                answer.value = Some(match self.settings.whole {
                    true => belief.median().floor().max(1.0),
                    false => belief.median(),
                });
            }
        }
        answer
    }
}
