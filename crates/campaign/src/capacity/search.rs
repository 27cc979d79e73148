//! The search itself: where to probe next, how long, and when it is enough.

use super::curve::Curve;
use super::long_runs::{self, SHORTEST_PART};
use super::probe::{Probe, ProbeOutcome, ProbeVerdict, Purpose, TargetTest};
use super::settings::{CapacityError, Settings};
use super::stored::{SearchEnding, TierCapacity};
use super::tier::{Allowance, Tier};

/// Design effect that verdicts allow for while nothing is known of it.
const UNKNOWN_EFFECT: f64 = 3.0;
/// Distance, in logarithms, within which levels are near each other.
const NEAR: f64 = 0.1;
/// Where bisecting probes are, in standard deviations from the middle.
const ASIDE: f64 = 0.5;
/// How much more than the least is sent to narrow the interval, lest it be missed by little.
const MARGIN: f64 = 1.2;
/// How far below the answer the first long run is at most, as a part of the tolerance: where a
/// curve is shallow, half of the misses are far below.
const CLEARLY_BELOW: f64 = 0.75;
/// Long runs at most. Just at the capacity it is a toss-up whether one meets the objectives, so
/// after one that does not the next is at a lower level.
const MOST_CONFIRMATIONS: u32 = 4;

#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Measure at this level, then `tell` the outcome.
    Probe(Box<Probe>),
    /// The answers, one per tier. Whoever knows the names and objectives of the tiers adds them.
    Done(Vec<TierCapacity>),
}

/// The search: `ask`, measure, `tell`, until it is done.
#[derive(Clone, Debug)]
pub struct Search {
    settings: Settings,
    history: Vec<ProbeOutcome>,
    tiers: Vec<Tier>,
}

impl Search {
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

    /// Whether each tier's objectives were met in a probe; absent where it does not say.
    pub fn met(&self, outcome: &ProbeOutcome) -> Vec<Option<bool>> {
        self.tiers.iter().map(|tier| tier.is_met(outcome)).collect()
    }

    /// The outcome with what it says of its tier, once all is known of it.
    pub fn judged(&self, outcome: ProbeOutcome) -> ProbeOutcome {
        let tier = self.tiers.iter().find(|tier| tier.id == outcome.tier);
        let verdict = match tier.and_then(|tier| tier.is_met(&outcome)) {
            Some(true) => ProbeVerdict::Met,
            Some(false) => ProbeVerdict::Missed,
            None => ProbeVerdict::Undecided,
        };
        ProbeOutcome { verdict, ..outcome }
    }

    /// Takes the outcome of the probe that was asked for.
    pub fn tell(&mut self, outcome: ProbeOutcome) {
        let outcome = self.judged(outcome);
        let (id, confirms) = (outcome.tier, outcome.purpose == Purpose::Confirm);
        self.history.push(outcome);
        let tier = self.tiers.iter_mut().find(|tier| tier.id == id);
        if let Some(tier) = tier.filter(|_| confirms) {
            long_runs::confirm(tier, &self.history);
        }
    }

    pub fn ask(&mut self) -> Next {
        while let Some(at) = self.tiers.iter().position(|tier| tier.ending.is_none()) {
            self.allow(at);
            match self.probe(&self.tiers[at]) {
                Ok(probe) => return Next::Probe(Box::new(probe)),
                Err(ending) => self.tiers[at].ending = Some(ending),
            }
        }
        Next::Done(self.so_far())
    }

    /// What is known of every tier while the search goes on.
    pub fn so_far(&self) -> Vec<TierCapacity> {
        self.tiers.iter().map(|tier| self.answer(tier)).collect()
    }

    /// What is known of every tier when the search is stopped before its end.
    pub fn stop(mut self) -> Vec<TierCapacity> {
        for tier in &mut self.tiers {
            tier.ending.get_or_insert(SearchEnding::Interrupted);
        }
        self.so_far()
    }

    /// Gives a tier whose search begins its part of what is left: as much as each of those that
    /// are still to come.
    fn allow(&mut self, at: usize) {
        let spent = self.spent();
        let open = self
            .tiers
            .iter()
            .filter(|tier| tier.ending.is_none())
            .count();
        let left = self.settings.budget.saturating_sub(spent);
        let requests = left / open.max(1) as u64;
        self.tiers[at].allowance.get_or_insert(Allowance {
            requests,
            until: spent + requests,
        });
    }

    /// The next probe for a tier, or why there is none.
    fn probe(&self, tier: &Tier) -> Result<Probe, SearchEnding> {
        let Some(bracket) = self.bracket(tier) else {
            return self.bracketing(tier);
        };
        let curves = self.curves(tier, bracket);
        let (_, curve) = binding(&curves);
        let [low, high] = curve.interval();
        let answer = self.held(curve.median());
        let lowest = curve.median() * (1.0 - CLEARLY_BELOW * self.settings.tolerance);
        let clearly_met = self.held(curve.clearly_met().max(lowest));
        let width = curve.chance() / self.settings.tolerance;
        let is_narrow = width <= 1.0 || (self.settings.whole && self.held(high) == self.held(low));
        // Requests for the confirmation are kept back.
        let kept = tier.least().max(2 * tier.shortest());
        let left = self.left(tier);
        let free = left.saturating_sub(2 * kept);
        let at = |level, lengths, purpose| self.at(tier, level, lengths, purpose, &curves);
        if let Some((level, lengths)) = self.continued(tier, left) {
            return at(level, lengths, Purpose::Confirm);
        }
        if let Some(run) = tier.long_run {
            if is_narrow && self.is_confirmed(tier, clearly_met) {
                return Err(SearchEnding::Confirmed);
            }
            let again = free > 0 || (!run.met && left >= kept);
            if tier.confirmations >= MOST_CONFIRMATIONS || !again {
                return Err(match tier.carried() {
                    None => SearchEnding::TooFewSamples,
                    Some(run) if run.needs.is_some() => SearchEnding::TooShort,
                    Some(run) if !run.met => SearchEnding::Missed,
                    Some(_) if free == 0 => SearchEnding::BudgetSpent,
                    Some(_) => SearchEnding::Unconfirmed,
                });
            }
        }
        let missed = |last: &&ProbeOutcome| {
            let with_others = (tier.long_run).is_some_and(|run| run.met && run.level == last.level);
            let confirms = last.purpose == Purpose::Confirm && !with_others;
            confirms && tier.is_met(last) != Some(true)
        };
        let confirmed_at = match self.history.last().filter(missed) {
            // One that ended by overload tells nothing of how far it was above.
            Some(last) if last.requests < tier.least() => low.min(self.below(last.level)),
            Some(last) => clearly_met.min(self.below(last.level)),
            None => clearly_met,
        };
        let confirmed_at = self.held(confirmed_at);
        let near = |outcome: &&ProbeOutcome| (outcome.level / answer).ln().abs() <= NEAR;
        let near = self.history.iter().filter(near);
        let seen: u64 = near.clone().map(|outcome| outcome.requests).sum();
        let longest = tier.longest(curve.effect);
        // An interval narrows with the root of the requests near the answer.
        let missing = (MARGIN * seen as f64 * (width * width - 1.0)).max(0.0) as u64;
        // The long run tells of the capacity too, so it is made as soon as the interval will be
        // narrow with it. A narrow interval of few requests is narrow by chance.
        let confirmed = tier.long_run.is_some() && !is_narrow;
        let soon = missing <= longest && seen >= longest / 2;
        if (soon && !confirmed) || free == 0 {
            let length = if free == 0 { kept } else { longest };
            return at(
                confirmed_at,
                (length, longest_of(left, kept)),
                Purpose::Confirm,
            );
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
        let length = length.max(2 * left_out.unwrap_or(0));
        let length = length.min(longest).max(tier.shortest());
        // Levels on both sides of the middle show how steep the curve is.
        let is_even = self.history.len().is_multiple_of(2);
        let side = if is_even { ASIDE } else { -ASIDE };
        let deviation = curve.chance() / 1.645;
        let level = self.level(curve.median() * (side * deviation).exp());
        at(level, (length, free), Purpose::Bisect)
    }

    /// Where the last run met the objectives, was too short to show that it lasts, and what it
    /// lacks can be spent: another one at its level, and its lengths.
    fn continued(&self, tier: &Tier, left: u64) -> Option<(f64, (u64, u64))> {
        let last = self.history.last()?;
        let run = tier.carried().filter(|run| run.level == last.level)?;
        let runs = tier.long_runs(&self.history);
        let first = runs.filter(|other| other.level == last.level).count() == 1;
        let is_it = last.purpose == Purpose::Confirm && last.tier == tier.id && first;
        let lacks = run.needs.filter(|_| is_it)?.saturating_sub(run.requests);
        let least = SHORTEST_PART * (run.requests + lacks) as f64;
        let length = (MARGIN * least.max(lacks as f64)) as u64;
        let filling = last.sent.saturating_sub(last.requests);
        (length + filling <= left).then(|| {
            let most = (length + length / 2 + 2 * filling).min(left);
            (last.level, (length.max(tier.shortest()), most))
        })
    }

    fn left(&self, tier: &Tier) -> u64 {
        let until = (tier.allowance).map_or(self.settings.budget, |all| all.until);
        until.saturating_sub(self.spent())
    }

    /// The next lower level that is worth a long run.
    fn below(&self, level: f64) -> f64 {
        let lower = level * (1.0 - self.settings.tolerance / 2.0);
        if self.settings.whole {
            lower.ceil().min(level - 1.0)
        } else {
            lower
        }
    }

    /// Whether a long run met the objectives near the level at which one would be made now. That
    /// level may be far above where runs between missed them.
    fn is_confirmed(&self, tier: &Tier, level: f64) -> bool {
        let Some(run) = tier.carried().filter(|run| run.met) else {
            return false;
        };
        let missed_above = self.history.iter().any(|outcome| {
            outcome.purpose == Purpose::Confirm
                && outcome.level > run.level
                && tier.is_met(outcome) != Some(true)
        });
        let moved = (level / run.load()).ln();
        -moved <= self.settings.tolerance && (moved <= self.settings.tolerance || missed_above)
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
    ) -> Result<Probe, SearchEnding> {
        if most == 0 {
            return Err(SearchEnding::BudgetSpent);
        }
        let test = |&(at, share): &(usize, f64)| {
            let curve = curves.iter().find(|(target, _)| *target == at);
            let effect = curve.map_or(UNKNOWN_EFFECT, |(_, curve)| curve.effect);
            TargetTest::new(at, share, effect)
        };
        let tests = tier.targets.iter().map(test).collect();
        let targets = self.settings.targets.len();
        let medians = (self.history.iter()).filter_map(|outcome| outcome.median_ttft_s);
        let probe = Probe::new((tier.id, level, purpose), (length, most), targets, tests);
        Ok(probe.with_idle_ttft(medians.reduce(f64::min)))
    }

    fn level(&self, level: f64) -> f64 {
        let level = level.clamp(self.settings.floor, self.settings.ceiling);
        if self.settings.whole {
            level.round().max(1.0)
        } else {
            level
        }
    }

    /// The highest level that can be tried within a capacity.
    fn held(&self, capacity: f64) -> f64 {
        self.level(if self.settings.whole {
            capacity.floor()
        } else {
            capacity
        })
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
    fn bracketing(&self, tier: &Tier) -> Result<Probe, SearchEnding> {
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
            let lengths = (tier.shortest(), self.left(tier));
            return self.at(tier, next, lengths, Purpose::Bracket, &[]);
        }
        let clear = |outcome: &ProbeOutcome| {
            outcome.level == next
                && outcome.test.unwrap_or(outcome.verdict) == ProbeVerdict::Missed
                && tier.seems_met(outcome) == Some(false)
        };
        if !up && (tier.long_run.is_some() || self.history.iter().any(clear)) {
            return Err(SearchEnding::NeverMet);
        }
        match tier.long_run {
            Some(run) if run.requests < tier.least() => Err(SearchEnding::TooFewSamples),
            Some(run) if run.needs.is_some() => Err(SearchEnding::TooShort),
            Some(run) if !run.met => Err(SearchEnding::Missed),
            Some(_) => Err(SearchEnding::AtCeiling),
            None => {
                let length = tier.longest(UNKNOWN_EFFECT);
                let most = longest_of(self.left(tier), length);
                self.at(tier, next, (length, most), Purpose::Confirm, &[])
            }
        }
    }

    fn curves(&self, tier: &Tier, bracket: [f64; 2]) -> Vec<(usize, Curve)> {
        (tier.targets.iter())
            .map(|&(at, share)| (at, Curve::of(&self.history, at, share, bracket)))
            .collect()
    }

    fn answer(&self, tier: &Tier) -> TierCapacity {
        let ending = tier.ending.unwrap_or(SearchEnding::UnderWay);
        let carried = tier.carried();
        let is_rate = self.settings.over == "rate";
        let needs = match ending {
            SearchEnding::NeverMet | SearchEnding::Interrupted | SearchEnding::UnderWay => None,
            _ => match carried {
                None => Some(tier.least()),
                Some(run) => run.needs.map(|needs| needs + run.filling()),
            },
        };
        let level = tier.long_run.map(|run| run.level).filter(|_| is_rate);
        let mut answer = TierCapacity {
            long_run: tier.long_run,
            needs,
            needs_s: (needs.zip(level)).map(|(needs, level)| needs as f64 / level),
            ending,
            ..TierCapacity::default()
        };
        if ending == SearchEnding::AtCeiling {
            let highest = self.level(self.settings.ceiling);
            answer.value = Some(tier.long_run.map_or(highest, |run| highest.min(run.load())));
            answer.low = answer.value;
        } else if let Some(bracket) = self.bracket(tier) {
            let curves = self.curves(tier, bracket);
            let (target, curve) = binding(&curves);
            let [low, high] = curve.interval();
            // Without a long run that can carry it, a claim about a tail is not made; and none
            // above the rate that came in one that met it, whatever was asked for.
            answer.value = carried.map(|run| {
                let capacity = curve.median();
                self.held(if run.met {
                    capacity.min(run.load())
                } else {
                    capacity
                })
            });
            answer.low = Some(answer.value.map_or(low, |value| low.min(value)));
            answer.high = Some(high);
            answer.binding = Some(self.settings.targets[*target].name.clone());
            answer.edge = Some(curve.edge(&self.history, *target));
        } else {
            answer.low = self.levels(tier, true).reduce(f64::max);
            answer.high = self.levels(tier, false).reduce(f64::min);
        }
        answer
    }
}

/// The most requests of a run that confirms: a queue that remembers too long leaves enough for
/// another run at a lower level, where it forgets sooner.
fn longest_of(left: u64, least: u64) -> u64 {
    (left / 2).max(least).min(left)
}

/// The target whose capacity is the lowest, and its curve.
fn binding(curves: &[(usize, Curve)]) -> &(usize, Curve) {
    (curves.iter())
        .min_by(|(_, a), (_, b)| a.median().total_cmp(&b.median()))
        .expect("a tier has a target, or it would not be there")
}
