//! The search itself: where to probe next, how long, and when it is enough.

use super::belief::Belief;
use super::probe::{Outcome, Probe, Purpose, Test, Verdict};
use super::{Answer, CapacityError, Confirmation, Ending, SCHEMA, Settings};
use inferometer_core::quantile::least_samples;

/// Misses that a level just at its objective has in the shortest probe.
const MISSES_PER_PROBE: f64 = 8.0;
/// Requests of the shortest probe at least.
const SHORTEST_PROBE: u64 = 40;
/// How much longer than the first the longest probe is.
const LONGEST_PROBE: u64 = 12;
/// Requests near the answer that show how much they depend on each other.
const SHOW_DEPENDENCE: u64 = 2000;
/// Design effect that verdicts allow for while nothing is known of it.
const UNKNOWN_EFFECT: f64 = 3.0;
/// Distance, in logarithms, within which levels are near each other.
const NEAR: f64 = 0.1;
/// Long runs that may move the answer.
const MOST_CONFIRMATIONS: u32 = 4;

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
    /// Numbers of its targets, with their shares.
    targets: Vec<(usize, f64)>,
    confirmations: u32,
    /// The last one, and what it said.
    confirmation: Option<(Confirmation, Verdict)>,
    ending: Option<Ending>,
}

impl Tier {
    /// Requests of the shortest probe.
    fn shortest(&self) -> u64 {
        let requests = |&(_, share): &(usize, f64)| (MISSES_PER_PROBE / (1.0 - share)).ceil();
        (self.targets.iter().map(requests)).fold(SHORTEST_PROBE, |most, n| most.max(n as u64))
    }

    /// Least sample that carries a claim of all its percentiles.
    fn least(&self) -> u64 {
        let least = |&(_, share): &(usize, f64)| least_samples(100.0 * share);
        self.targets.iter().filter_map(least).max().unwrap_or(1)
    }

    /// Whether its objectives seem met in a probe, from the bare share.
    fn seems_met(&self, outcome: &Outcome) -> bool {
        let enough =
            |&(at, share): &(usize, f64)| outcome.met[at] as f64 >= share * outcome.requests as f64;
        !outcome.overloaded && outcome.requests > 0 && self.targets.iter().all(enough)
    }
}

impl Search {
    /// A search that has not begun.
    pub fn new(settings: Settings) -> Result<Self, CapacityError> {
        settings.check()?;
        let mut tiers: Vec<Tier> = Vec::new();
        for (at, target) in settings.targets.iter().enumerate() {
            let (id, pair) = (target.tier, (at, target.share));
            match tiers.iter_mut().find(|tier| tier.id == id) {
                Some(tier) => tier.targets.push(pair),
                None => tiers.push(Tier {
                    id,
                    targets: vec![pair],
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

    /// Requests so far, all that were sent.
    pub fn spent(&self) -> u64 {
        self.history.iter().map(|outcome| outcome.sent).sum()
    }

    /// Takes the outcome of the probe that was asked for.
    pub fn tell(&mut self, outcome: Outcome) {
        let open = self.tiers.iter_mut().find(|tier| tier.ending.is_none());
        if let Some(tier) = open.filter(|_| outcome.purpose == Purpose::Confirm) {
            tier.confirmations += 1;
            let met = tier.targets.iter().map(|&(at, _)| outcome.met[at]).min();
            let confirmation = Confirmation {
                level: outcome.level,
                requests: outcome.requests,
                met: met.unwrap_or_default(),
            };
            tier.confirmation = Some((confirmation, outcome.verdict));
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
        let shortest = tier.shortest();
        let Some(bracket) = self.bracket(tier) else {
            return self.bracketing(tier);
        };
        let belief = self.binding(tier, bracket).1;
        let [low, high] = belief.interval();
        let middle = self.level(belief.median());
        let narrow = (high / low).ln() <= 2.0 * self.settings.tolerance
            || (self.settings.whole && self.level(high) - self.level(low) <= 1.0);
        let around = |outcome: &&Outcome| (outcome.level / middle).ln().abs() <= NEAR;
        let around = self.history.iter().filter(around);
        let shown = around.map(|outcome| outcome.requests).sum::<u64>() >= SHOW_DEPENDENCE;
        // Requests for the confirmation are kept back.
        let kept = tier.least().max(2 * shortest);
        let free = self.left().saturating_sub(2 * kept);
        if let Some((confirmation, verdict)) = &tier.confirmation {
            let moved = (middle / confirmation.level).ln().abs() > self.settings.tolerance;
            match () {
                () if narrow && !moved && *verdict != Verdict::Misses => {
                    return Err(match confirmation.requests >= tier.least() {
                        true => Ending::Confirmed,
                        false => Ending::TooFewSamples,
                    });
                }
                () if tier.confirmations >= MOST_CONFIRMATIONS => return Err(Ending::Unconfirmed),
                () if free == 0 => return Err(Ending::BudgetSpent),
                () => {}
            }
        }
        // Each probe that the interval still holds told too little: the next is longer.
        let inside = |outcome: &&Outcome| outcome.level >= low && outcome.level <= high;
        let near = self.history.iter().filter(inside);
        if (narrow && shown) || free == 0 {
            let longest = near.map(|outcome| outcome.requests).max().unwrap_or(0);
            let length = if free == 0 { kept } else { kept.max(longest) };
            return self.at(tier, middle, (length, self.left()), Purpose::Confirm);
        }
        let length = shortest * (1u64 << near.count().min(16)).min(LONGEST_PROBE);
        self.at(tier, middle, (length, free), Purpose::Bisect)
    }

    fn left(&self) -> u64 {
        self.settings.budget.saturating_sub(self.spent())
    }

    /// A probe of a tier at a level, with the requests to count and the most to send.
    fn at(
        &self,
        tier: &Tier,
        level: f64,
        (length, most): (u64, u64),
        purpose: Purpose,
    ) -> Result<Probe, Ending> {
        if most == 0 {
            return Err(Ending::BudgetSpent);
        }
        let bracket = self.bracket(tier);
        let test = |&(at, share): &(usize, f64)| {
            let belief = bracket.map(|ends| Belief::of(&self.history, at, share, ends));
            Test::new(
                at,
                share,
                belief.map_or(UNKNOWN_EFFECT, |belief| belief.effect),
            )
        };
        let tests = tier.targets.iter().map(test).collect();
        let targets = self.settings.targets.len();
        Ok(Probe::new((level, purpose), (length, most), targets, tests))
    }

    fn level(&self, level: f64) -> f64 {
        let level = level.clamp(self.settings.floor, self.settings.ceiling);
        match self.settings.whole {
            true => level.round().max(1.0),
            false => level,
        }
    }

    /// Highest level that seems met and lowest that does not, once both are known.
    fn bracket(&self, tier: &Tier) -> Option<[f64; 2]> {
        let (met, missed): (Vec<&Outcome>, Vec<&Outcome>) =
            (self.history.iter()).partition(|outcome| tier.seems_met(outcome));
        let met = levels(&met).reduce(f64::max)?;
        let missed = levels(&missed).reduce(f64::min)?;
        Some([met.min(missed), met.max(missed)])
    }

    /// Twice the highest level so far, or half of the lowest. At either end of the levels a
    /// long run decides, since nothing beyond can correct a short one.
    fn bracketing(&self, tier: &Tier) -> Result<Probe, Ending> {
        let all: Vec<&Outcome> = self.history.iter().collect();
        let up = all.iter().all(|outcome| tier.seems_met(outcome));
        let (last, next) = match up {
            true => {
                let last = levels(&all).reduce(f64::max);
                (last, last.map_or(self.settings.start, |last| 2.0 * last))
            }
            false => {
                let last = levels(&all).reduce(f64::min);
                (last, last.map_or(self.settings.start, |last| last / 2.0))
            }
        };
        let next = self.level(next);
        if last != Some(next) {
            let lengths = (tier.shortest(), self.left());
            return self.at(tier, next, lengths, Purpose::Bracket);
        }
        let clear =
            |outcome: &&Outcome| outcome.level == next && outcome.verdict == Verdict::Misses;
        if !up && (tier.confirmation.is_some() || all.iter().any(|outcome| clear(outcome))) {
            return Err(Ending::NeverMet);
        }
        match tier.confirmation {
            Some((run, _)) if run.requests < tier.least() => Err(Ending::TooFewSamples),
            Some(_) => Err(Ending::AtCeiling),
            None => {
                let length = tier.least().max(2 * tier.shortest());
                self.at(tier, next, (length, self.left()), Purpose::Confirm)
            }
        }
    }

    /// The target of a tier whose capacity is the lowest, and what is believed of it.
    fn binding(&self, tier: &Tier, bracket: [f64; 2]) -> (usize, Belief) {
        let belief =
            |&(at, share): &(usize, f64)| (at, Belief::of(&self.history, at, share, bracket));
        (tier.targets.iter().map(belief))
            .min_by(|(_, a), (_, b)| a.median().total_cmp(&b.median()))
            .expect("a tier has a target, or it would not be there")
    }

    fn answer(&self, tier: &Tier) -> Answer {
        let ending = tier.ending.unwrap_or(Ending::BudgetSpent);
        let confirmation = tier.confirmation.map(|(confirmation, _)| confirmation);
        let carried = confirmation.is_some_and(|run| run.requests >= tier.least());
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
            confirmation,
            needs: (!carried && ending != Ending::NeverMet).then(|| tier.least()),
            ending,
        };
        if ending == Ending::AtCeiling {
            answer.value = Some(self.level(self.settings.ceiling));
            answer.low = answer.value;
        } else if let Some(bracket) = self.bracket(tier) {
            let (target, belief) = self.binding(tier, bracket);
            let [low, high] = belief.interval();
            answer.low = Some(low);
            answer.high = Some(high);
            answer.binding = Some(self.settings.targets[target].name.clone());
            answer.edge = Some(belief.edge());
            // Without a long run that can carry it, a claim about a tail is not made.
            answer.value = carried.then(|| match self.settings.whole {
                true => belief.median().floor().max(1.0),
                false => belief.median(),
            });
        }
        answer
    }
}

fn levels<'a>(outcomes: &'a [&Outcome]) -> impl Iterator<Item = f64> + 'a {
    outcomes.iter().map(|outcome| outcome.level)
}
