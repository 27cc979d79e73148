//! The search itself: where to probe next, how long, and when it is enough.

use super::curve::Curve;
use super::probe::{Outcome, Probe, Purpose, Test, Verdict};
use super::{Answer, CapacityError, Confirmation, Ending, SCHEMA, Settings};
use inferometer_core::quantile::least_samples;

/// Misses that a level just at its objective has in the shortest probe.
const SHORTEST_MISSES: f64 = 6.0;
/// Requests of the shortest probe at least.
const SHORTEST_PROBE: u64 = 40;
/// Misses that a level just at its objective has in the longest probe, by the design effect and
/// at least.
const LONGEST_MISSES: [f64; 2] = [1.0, 40.0];
/// Requests of the longest probe at least.
const LONGEST_PROBE: u64 = 400;
/// Design effect that verdicts allow for while nothing is known of it.
const UNKNOWN_EFFECT: f64 = 3.0;
/// Distance, in logarithms, within which levels are near each other.
const NEAR: f64 = 0.1;
/// Where bisecting probes are, in standard deviations from the middle.
const ASIDE: f64 = 0.5;
/// How much more than the least is sent to narrow the interval, lest it be missed by little.
const MARGIN: f64 = 1.2;
/// A long run that misses so many times what is allowed is no toss-up at the edge.
const REFUTED: f64 = 3.0;
/// Long runs that may move the answer.
const MOST_CONFIRMATIONS: u32 = 3;

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Measure at this level, then `tell` the outcome.
    Probe(Box<Probe>),
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
    /// The last one that carries a claim, if any does.
    confirmation: Option<Confirmation>,
    /// The last long run missed so many that it confirms nothing.
    refuted: bool,
    ending: Option<Ending>,
}

impl Tier {
    /// Requests of the shortest probe.
    fn shortest(&self) -> u64 {
        self.requests_for(SHORTEST_MISSES).max(SHORTEST_PROBE)
    }

    /// Requests of the longest probe, where so many tell as much as one.
    fn longest(&self, effect: f64) -> u64 {
        let [by_effect, least] = LONGEST_MISSES;
        let longest = self.requests_for((by_effect * effect).max(least));
        longest.max(LONGEST_PROBE).max(self.least())
    }

    /// Requests in which every target may miss so many.
    fn requests_for(&self, misses: f64) -> u64 {
        let requests = |&(_, share): &(usize, f64)| (misses / (1.0 - share)).ceil() as u64;
        self.targets.iter().map(requests).max().unwrap_or(1)
    }

    /// Least sample that carries a claim of all its percentiles.
    fn least(&self) -> u64 {
        let least = |&(_, share): &(usize, f64)| least_samples(100.0 * share);
        self.targets.iter().filter_map(least).max().unwrap_or(1)
    }

    /// Whether its objectives seem met in a probe, from the bare share. A probe that another
    /// tier ended before any request counted does not say.
    fn seems_met(&self, outcome: &Outcome) -> Option<bool> {
        if self.targets.iter().any(|&(at, _)| outcome.is_beyond(at)) {
            return Some(false);
        }
        let enough =
            |&(at, share): &(usize, f64)| outcome.met[at] as f64 >= share * outcome.requests as f64;
        (outcome.requests > 0).then(|| self.targets.iter().all(enough))
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
            tier.refuted = tier.targets.iter().any(|&(at, share)| {
                let missed = outcome.requests.saturating_sub(outcome.met[at]) as f64;
                missed > REFUTED * (1.0 - share) * outcome.requests as f64
            });
            let met = tier.targets.iter().map(|&(at, _)| outcome.met[at]).min();
            let confirmation = Confirmation {
                level: outcome.level,
                requests: outcome.requests,
                met: met.unwrap_or_default(),
            };
            // One that carries a claim stands, whatever ended a later one.
            let least = tier.least();
            let stands = (tier.confirmation).is_some_and(|earlier| earlier.requests >= least);
            if confirmation.requests >= least || !stands {
                tier.confirmation = Some(confirmation);
            }
        }
        self.history.push(outcome);
    }

    /// What to do next.
    pub fn ask(&mut self) -> Next {
        while let Some(at) = self.tiers.iter().position(|tier| tier.ending.is_none()) {
            match self.probe(&self.tiers[at]) {
                Ok(probe) => return Next::Probe(Box::new(probe)),
                Err(ending) => self.tiers[at].ending = Some(ending),
            }
        }
        Next::Done(self.tiers.iter().map(|tier| self.answer(tier)).collect())
    }

    /// The next probe for a tier, or why there is none.
    fn probe(&self, tier: &Tier) -> Result<Probe, Ending> {
        let Some(bracket) = self.bracket(tier) else {
            return self.bracketing(tier);
        };
        let curves = self.curves(tier, bracket);
        let (_, curve) = binding(&curves);
        let [low, high] = curve.interval();
        let answer = self.held(curve.median());
        let width = curve.chance() / self.settings.tolerance;
        let narrow = width <= 1.0 || (self.settings.whole && self.held(high) == self.held(low));
        // Requests for the confirmation are kept back.
        let kept = tier.least().max(2 * tier.shortest());
        let free = self.left().saturating_sub(2 * kept);
        if let Some(confirmation) = tier.confirmation {
            let moved = (answer / confirmation.level).ln().abs() > self.settings.tolerance;
            let carried = confirmation.requests >= tier.least();
            if narrow && !moved && carried && !tier.refuted {
                return Err(Ending::Confirmed);
            }
            if tier.confirmations >= MOST_CONFIRMATIONS || free == 0 {
                return Err(match carried {
                    false => Ending::TooFewSamples,
                    true if free == 0 => Ending::BudgetSpent,
                    true => Ending::Unconfirmed,
                });
            }
        }
        let at = |level, lengths, purpose| self.at(tier, level, lengths, purpose, &curves);
        // Where a confirmation was overloaded, the next one keeps away from the edge.
        let failed = |last: &&Outcome| {
            last.purpose == Purpose::Confirm && (last.requests < tier.least() || tier.refuted)
        };
        let confirmed_at = match self.history.last().filter(failed) {
            Some(last) => self.held(low.min(last.level * (1.0 - self.settings.tolerance))),
            None => answer,
        };
        let near = |outcome: &&Outcome| (outcome.level / answer).ln().abs() <= NEAR;
        let near = self.history.iter().filter(near);
        let seen: u64 = near.clone().map(|outcome| outcome.requests).sum();
        let longest = tier.longest(curve.effect);
        // An interval narrows with the root of the requests near the answer.
        let missing = (MARGIN * seen as f64 * (width * width - 1.0)).max(0.0) as u64;
        // The long run tells of the capacity too, so it is made as soon as the interval will be
        // narrow with it. A narrow interval of few requests is narrow by chance.
        let confirmed = tier.confirmation.is_some() && !narrow;
        let soon = missing <= longest && seen >= longest / 2;
        if (soon && !confirmed) || free == 0 {
            let length = if free == 0 { kept } else { longest };
            return at(confirmed_at, (length, self.left()), Purpose::Confirm);
        }
        // Each near probe told too little: the next is longer, and worth what it leaves out.
        let left_out = near.clone().map(|outcome| outcome.left_out).max();
        let told = near.count().min(16) as u32;
        let length = (tier.shortest() << told).min(longest);
        let length = if confirmed {
            length.min(missing)
        } else {
            length
        };
        let length = length.max(2 * left_out.unwrap_or(0)).max(tier.shortest());
        // Levels on both sides of the middle show how steep the curve is.
        let side = match self.history.len().is_multiple_of(2) {
            true => ASIDE,
            false => -ASIDE,
        };
        let deviation = curve.chance() / 1.645;
        let level = self.level(curve.median() * (side * deviation).exp());
        at(level, (length, free), Purpose::Bisect)
    }

    fn left(&self) -> u64 {
        self.settings.budget.saturating_sub(self.spent())
    }

    /// A probe of a tier at a level, with the requests to count and the most to send, and the
    /// curves of its targets where they are known.
    fn at(
        &self,
        tier: &Tier,
        level: f64,
        (length, most): (u64, u64),
        purpose: Purpose,
        curves: &[(usize, Curve)],
    ) -> Result<Probe, Ending> {
        if most == 0 {
            return Err(Ending::BudgetSpent);
        }
        let test = |&(at, share): &(usize, f64)| {
            let curve = curves.iter().find(|(target, _)| *target == at);
            let effect = curve.map_or(UNKNOWN_EFFECT, |(_, curve)| curve.effect);
            Test::new(at, share, effect)
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

    /// The highest level that can be tried within a capacity.
    fn held(&self, capacity: f64) -> f64 {
        match self.settings.whole {
            true => self.level(capacity.floor()),
            false => self.level(capacity),
        }
    }

    /// The levels at which the objectives of a tier seemed met, or not.
    fn levels<'a>(&'a self, tier: &'a Tier, met: bool) -> impl Iterator<Item = f64> + 'a {
        (self.history.iter())
            .filter(move |outcome| tier.seems_met(outcome) == Some(met))
            .map(|outcome| outcome.level)
    }

    /// Highest level that seems met and lowest that does not, once both are known.
    fn bracket(&self, tier: &Tier) -> Option<[f64; 2]> {
        let met = self.levels(tier, true).reduce(f64::max)?;
        let missed = self.levels(tier, false).reduce(f64::min)?;
        Some([met.min(missed), met.max(missed)])
    }

    /// Twice the highest level so far, or half of the lowest. At either end of the levels a
    /// long run decides, since nothing beyond can correct a short one.
    fn bracketing(&self, tier: &Tier) -> Result<Probe, Ending> {
        let lowest_missed = self.levels(tier, false).reduce(f64::min);
        let up = lowest_missed.is_none();
        let (last, next) = match lowest_missed {
            None => {
                let last = self.levels(tier, true).reduce(f64::max);
                (last, last.map_or(self.settings.start, |last| 2.0 * last))
            }
            Some(last) => (Some(last), last / 2.0),
        };
        let next = self.level(next);
        if last != Some(next) {
            let lengths = (tier.shortest(), self.left());
            return self.at(tier, next, lengths, Purpose::Bracket, &[]);
        }
        let clear = |outcome: &Outcome| {
            outcome.level == next
                && outcome.verdict == Verdict::Misses
                && tier.seems_met(outcome) == Some(false)
        };
        if !up && (tier.confirmation.is_some() || self.history.iter().any(clear)) {
            return Err(Ending::NeverMet);
        }
        match tier.confirmation {
            Some(run) if run.requests < tier.least() => Err(Ending::TooFewSamples),
            Some(_) => Err(Ending::AtCeiling),
            None => {
                let length = tier.longest(UNKNOWN_EFFECT);
                self.at(tier, next, (length, self.left()), Purpose::Confirm, &[])
            }
        }
    }

    /// The curves of a tier's targets.
    fn curves(&self, tier: &Tier, bracket: [f64; 2]) -> Vec<(usize, Curve)> {
        (tier.targets.iter())
            .map(|&(at, share)| (at, Curve::of(&self.history, at, share, bracket)))
            .collect()
    }

    fn answer(&self, tier: &Tier) -> Answer {
        let ending = tier.ending.unwrap_or(Ending::BudgetSpent);
        let carried = (tier.confirmation).is_some_and(|run| run.requests >= tier.least());
        let carried = carried && !tier.refuted;
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
            needs: (!carried && ending != Ending::NeverMet).then(|| tier.least()),
            ending,
        };
        if ending == Ending::AtCeiling {
            answer.value = Some(self.level(self.settings.ceiling));
            answer.low = answer.value;
        } else if let Some(bracket) = self.bracket(tier) {
            let curves = self.curves(tier, bracket);
            let (target, curve) = binding(&curves);
            let [low, high] = curve.interval();
            answer.low = Some(low);
            answer.high = Some(high);
            answer.binding = Some(self.settings.targets[*target].name.clone());
            answer.edge = Some(curve.edge(&self.history, *target));
            // Without a long run that can carry it, a claim about a tail is not made.
            answer.value = carried.then(|| self.held(curve.median()));
        }
        answer
    }
}

/// The target whose capacity is the lowest, and its curve.
fn binding(curves: &[(usize, Curve)]) -> &(usize, Curve) {
    (curves.iter())
        .min_by(|(_, a), (_, b)| a.median().total_cmp(&b.median()))
        .expect("a tier has a target, or it would not be there")
}
