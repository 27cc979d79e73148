//! One probe: a sequential test at a level, fed request by request.

use super::dependence::{Dependence, Misses};
use super::queue_trend::QueueTrend;
use inferometer_statistics::{Sprt, SprtStep, SprtVerdict, share_bounds};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Half of the zone between clearly good and clearly bad, in shares of the allowed misses.
const INDIFFERENCE: f64 = 0.4;
/// Risk of each wrong answer of a probe; a wrong one is outvoted later.
const RISK: f64 = 0.05;
/// How often all requests under way are replaced by others until a server that was idle has
/// settled: those are left out.
const SETTLING_TURNS: u64 = 3;
/// Waves after which it has settled in any case, as one whose queue only grows does not.
const SETTLING_WAVES: u64 = 8;
/// Part of a probe that is left out at least, for queues whose memory is longer than a wave.
const SETTLING_PART: u64 = 16;
/// Misses, less three for each request that is met, that make a level hopeless while its server
/// still fills: it only gets worse from there. At least, by the design effect, and at most.
const HOPELESS: [f64; 3] = [24.0, 4.0, 160.0];
/// Part of a bisecting probe before which it does not end by a verdict: short sequences do not
/// show how long a queue remembers.
const TRUSTED_PART: u64 = 4;

/// How much longer a confirming run gets before it is looked at again.
const LENGTHENED: f64 = 1.5;
/// Of the interval of a share that decides whether a run confirms.
const CONFIDENCE: f64 = 0.9;
/// A share that needs more than this is at the objective for all that can be told.
const MOST_INDEPENDENT: f64 = 1e9;
/// Part of the most requests before which a run that confirms is not given up, however many it
/// seems to need.
const GIVEN_UP_PART: u64 = 4;

/// Fewest requests whose times show the rate that they came at.
const LEAST_ARRIVALS: u64 = 100;

/// Why a probe is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Purpose {
    /// To find a level that meets the objectives and one that does not.
    Bracket,
    Bisect,
    Confirm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Continue,
    /// Enough is known, or enough was sent.
    Stop(ProbeVerdict),
}

/// What a probe says of its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ProbeVerdict {
    #[serde(alias = "meets")]
    Met,
    #[serde(alias = "misses")]
    Missed,
    /// The boundary is near: no clear answer.
    #[serde(alias = "near")]
    Undecided,
}

/// One request, once it is known whether it was within the limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObservedRequest<'a> {
    /// Its number in the probe in the order of sending, from 0.
    pub order: u64,
    /// When it was sent, where that does not depend on answers: in an open loop.
    pub sent_s: Option<f64>,
    /// Requests under way when it was sent, itself included.
    pub in_flight: u64,
    /// Time to its first token; absent if it failed.
    pub ttft_s: Option<f64>,
    /// Whether it was within the limit of each target, in their order. A failed request is
    /// within none.
    pub within: &'a [bool],
}

#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    pub tier: usize,
    pub level: f64,
    pub most_requests: u64,
    pub purpose: Purpose,
    /// Requests to count, once the server has settled.
    length: u64,
    tests: Vec<TargetTest>,
    early: BTreeMap<u64, PendingRequest>,
    observed: u64,
    /// When the first and the last of those were sent, in an open loop.
    sent_between: Option<[f64; 2]>,
    counted: u64,
    misses: Vec<Misses>,
    trend: QueueTrend,
    overloaded: bool,
    hopeless: Vec<bool>,
    /// TTFT of the server while it had little to do, where that is known.
    idle_ttft_s: Option<f64>,
}

/// A request that ended before others that were sent earlier.
#[derive(Clone, Debug, PartialEq)]
struct PendingRequest {
    sent_s: Option<f64>,
    in_flight: u64,
    ttft_s: Option<f64>,
    within: Vec<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct TargetTest {
    target: usize,
    share: f64,
    sprt: Option<Sprt>,
    effect: f64,
    /// Misses of late, less three for each request that was met.
    recent_misses: u32,
}

impl TargetTest {
    pub(super) fn new(target: usize, share: f64, effect: f64) -> Self {
        let half = INDIFFERENCE * (1.0 - share).min(share);
        TargetTest {
            target,
            share,
            sprt: Sprt::new(share - half, share + half, RISK, RISK).ok(),
            effect,
            recent_misses: 0,
        }
    }

    fn says(&self, verdict: SprtVerdict) -> bool {
        let step = (self.sprt.as_ref()).map(|sprt| sprt.step_for_dependent(self.effect));
        step == Some(SprtStep::Stop(verdict))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProbeOutcome {
    pub tier: usize,
    pub level: f64,
    /// The level that chance offered in its place: random arrivals are never quite as many as
    /// asked for, and their misses tell of what they were.
    pub offered: f64,
    pub purpose: Purpose,
    /// Requests sent, those included that were left out while the server settled.
    pub sent: u64,
    pub requests: u64,
    /// How many of those met each target.
    pub met: Vec<u64>,
    pub overloaded: bool,
    /// What it says of the objectives of its tier, as every report tells it.
    pub verdict: ProbeVerdict,
    /// What its sequential test said: undecided, too, where the level is near the boundary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) test: Option<ProbeVerdict>,
    /// Requests of the whole run and how many of those met each target, where that is known.
    pub(super) stored: Option<(u64, Vec<u64>)>,
    /// Requests that a run which confirms would have had to count, where these are more than it did.
    pub(super) needs: Option<u64>,
    /// What its requests are worth, together with those of other runs; of a run that confirms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) worth: Option<Worth>,
    pub(super) median_ttft_s: Option<f64>,
    /// Requests observed while the server settled.
    pub(super) left_out: u64,
    pub(super) misses: Vec<Misses>,
    /// Targets that were missed by most requests from the first on.
    pub(super) hopeless: Vec<bool>,
}

/// What the requests of a run that confirms are worth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Worth {
    /// Least requests beside the memory of its queue.
    pub(super) for_queue: f64,
    /// How many requests tell as much as one, for each target of its tier.
    pub(super) effects: Vec<f64>,
}

impl ProbeOutcome {
    /// With what the whole run shows as it is stored: requests, and how many met each target. A
    /// run that confirms must meet the objectives there, too, since that is what reports say.
    pub fn with_stored(self, requests: u64, met: Vec<u64>) -> Self {
        ProbeOutcome {
            stored: Some((requests, met)),
            ..self
        }
    }

    /// With the requests that the whole run would have to have for its percentiles, by the rule of
    /// every report; no run confirms what its own report calls too few.
    pub fn needing(mut self, requests: u64) -> Self {
        let filling = self.sent.saturating_sub(self.requests);
        let counted = requests.saturating_sub(filling).max(self.requests + 1);
        self.needs = self.needs.max(Some(counted));
        if let Some(worth) = &mut self.worth {
            worth.for_queue = worth.for_queue.max(counted as f64);
        }
        self
    }

    /// The rate of its arrivals, where it is not quite the level.
    pub fn offered_instead(&self) -> Option<f64> {
        (self.offered != self.level).then_some(self.offered)
    }

    /// The level is above the capacity for a target, whatever the shares say.
    pub(super) fn is_beyond(&self, target: usize) -> bool {
        self.overloaded || self.hopeless[target]
    }
}

impl Probe {
    /// A probe that observes `targets` targets and decides by the tests given.
    pub(super) fn new(
        (tier, level, purpose): (usize, f64, Purpose),
        (length, most_requests): (u64, u64),
        targets: usize,
        tests: Vec<TargetTest>,
    ) -> Self {
        Probe {
            tier,
            level,
            most_requests,
            purpose,
            length: length.min(most_requests),
            tests,
            early: BTreeMap::new(),
            observed: 0,
            sent_between: None,
            counted: 0,
            misses: vec![Misses::default(); targets],
            trend: QueueTrend::default(),
            overloaded: false,
            hopeless: vec![false; targets],
            idle_ttft_s: None,
        }
    }

    pub(super) fn with_idle_ttft(self, idle_ttft_s: Option<f64>) -> Self {
        Probe {
            idle_ttft_s,
            ..self
        }
    }

    /// Takes a request as soon as its fate is known. Requests count in the order of sending,
    /// however they end: else the quick ones would speak for all.
    pub fn observe(&mut self, seen: ObservedRequest<'_>) -> Step {
        let request = PendingRequest {
            sent_s: seen.sent_s,
            in_flight: seen.in_flight,
            ttft_s: seen.ttft_s,
            within: seen.within.to_vec(),
        };
        if seen.order >= self.observed {
            self.early.insert(seen.order, request);
        }
        while let Some(request) = self.early.remove(&self.observed) {
            self.observed += 1;
            if let Some(sent) = request.sent_s {
                let first = self.sent_between.map_or(sent, |[first, _]| first);
                self.sent_between = Some([first, sent]);
            }
            let within = request.within;
            self.trend.observe(request.in_flight, request.ttft_s);
            // At lengths that grow by an eighth: many looks would find a trend by chance.
            let look = (self.observed / 16).next_power_of_two().max(16);
            if self.observed.is_multiple_of(look) && self.trend.is_overloaded() {
                return self.overload();
            }
            if self.is_settled() {
                self.count(&within);
                self.lengthen();
                if self.step() != Step::Continue {
                    break;
                }
            } else if self.is_hopeless(&within) {
                break;
            }
        }
        self.step()
    }

    /// The driver's own judgement that the level cannot be held.
    pub fn overload(&mut self) -> Step {
        self.overloaded = true;
        self.step()
    }

    fn is_settled(&self) -> bool {
        let Some(wave) = self.trend.first_wave() else {
            return false;
        };
        let turns = SETTLING_TURNS * self.trend.most_in_flight();
        let left_out = turns.min(SETTLING_WAVES * wave as u64);
        // Once it has settled, a swing of its queue does not undo that.
        self.counted > 0 || self.observed > left_out.max(self.length / SETTLING_PART)
    }

    fn is_hopeless(&mut self, within: &[bool]) -> bool {
        for test in &mut self.tests {
            let missed = !within.get(test.target).copied().unwrap_or(false);
            test.recent_misses = if missed {
                test.recent_misses + 1
            } else {
                test.recent_misses.saturating_sub(3)
            };
            let [least, by_effect, most] = HOPELESS;
            let hopeless = (by_effect * test.effect).clamp(least, most);
            self.hopeless[test.target] |= f64::from(test.recent_misses) >= hopeless;
        }
        self.hopeless.contains(&true)
    }

    fn count(&mut self, within: &[bool]) {
        self.counted += 1;
        let is_within = |at: usize| within.get(at).copied().unwrap_or(false);
        for (at, misses) in self.misses.iter_mut().enumerate() {
            misses.observe(is_within(at));
        }
        for test in &mut self.tests {
            if let Some(sprt) = &mut test.sprt {
                sprt.observe(is_within(test.target));
            }
        }
    }

    /// A run that confirms goes on until it is long beside the memory of its queue and its
    /// independent requests show whether the objectives are met; or until it cannot show that any
    /// more.
    fn lengthen(&mut self) {
        let is_due = self.purpose == Purpose::Confirm && self.counted >= self.length;
        if is_due
            && self.claim() != ProbeVerdict::Missed
            && let Some(needs) = self.needs()
        {
            let is_hopeless =
                needs > self.most_requests && self.counted >= self.most_requests / GIVEN_UP_PART;
            if !is_hopeless {
                let longer = (self.counted as f64 * LENGTHENED) as u64;
                self.length = longer.min(needs).max(self.counted + 1);
            }
        }
    }

    /// Requests that it should count to confirm, if these are more than it did.
    fn needs(&self) -> Option<u64> {
        let least = (self.tests.iter())
            .map(|test| self.effect(test) * least_independent(self.missed(test), 1.0 - test.share))
            .fold(self.for_queue(), f64::max);
        Some(least.ceil() as u64).filter(|&least| least > self.counted)
    }

    /// Requests that are enough beside the memory of its queue.
    fn for_queue(&self) -> f64 {
        let is_open = self.sent_between.is_some();
        let idle = self.idle_ttft_s.filter(|_| is_open);
        let arrivals = idle.map(|idle| (self.offered(), idle));
        self.trend.least_run(self.counted, arrivals)
    }

    fn missed(&self, test: &TargetTest) -> f64 {
        self.misses[test.target].total() as f64 / self.counted.max(1) as f64
    }

    /// How many of its requests tell as much as one, by what was known before and by itself.
    fn effect(&self, test: &TargetTest) -> f64 {
        let misses = &self.misses[test.target];
        let own = Dependence::seen(std::iter::once((misses, 1.0))).effect(0.0, 0.0);
        own.max(test.effect)
    }

    pub fn step(&self) -> Step {
        if self.overloaded || self.hopeless.contains(&true) {
            return Step::Stop(ProbeVerdict::Missed);
        }
        let ended = self.counted >= self.length || self.observed >= self.most_requests;
        // Just at the capacity a test of "clearly good or clearly bad" is a toss-up, so a long
        // run goes to its end.
        if self.purpose == Purpose::Confirm {
            return if ended {
                Step::Stop(self.claim())
            } else {
                Step::Continue
            };
        }
        let trusted =
            self.purpose == Purpose::Bracket || self.counted >= self.length / TRUSTED_PART;
        let bad = || (self.tests.iter()).any(|test| test.says(SprtVerdict::Bad));
        let good = || (self.tests.iter()).all(|test| test.says(SprtVerdict::Good));
        if trusted && bad() {
            Step::Stop(ProbeVerdict::Missed)
        } else if trusted && good() {
            Step::Stop(ProbeVerdict::Met)
        } else if ended {
            Step::Stop(ProbeVerdict::Undecided)
        } else {
            Step::Continue
        }
    }

    /// What a long run says: on which side of the objective the interval of the share lies that
    /// misses it, with as many requests as are independent.
    fn claim(&self) -> ProbeVerdict {
        let bounds = |test: &TargetTest| {
            let independent = self.counted as f64 / self.effect(test);
            let [low, high] = share_bounds(self.missed(test), independent, CONFIDENCE);
            let allowed = 1.0 - test.share;
            (low > allowed, high <= allowed)
        };
        let bounds: Vec<(bool, bool)> = self.tests.iter().map(bounds).collect();
        if bounds.iter().any(|(fails, _)| *fails) {
            ProbeVerdict::Missed
        } else if bounds.iter().all(|(_, holds)| *holds) {
            ProbeVerdict::Met
        } else {
            ProbeVerdict::Undecided
        }
    }

    /// Requests over time; the level itself in a closed loop.
    fn offered(&self) -> f64 {
        let gaps = self.observed.saturating_sub(1) as f64;
        let rate = self.sent_between.map(|[first, last]| gaps / (last - first));
        let few = self.observed < LEAST_ARRIVALS;
        let rate = rate.filter(|rate| !few && rate.is_finite() && *rate > 0.0);
        rate.unwrap_or(self.level)
    }

    /// The probe is over, by its own verdict or by the driver's decision.
    pub fn finish(self, sent: u64) -> ProbeOutcome {
        let step = self.step();
        // A server that answers nothing at all does not meet anything.
        let silent = step == Step::Continue && self.counted == 0;
        let verdict = match step {
            Step::Stop(verdict) => verdict,
            Step::Continue if silent => ProbeVerdict::Missed,
            Step::Continue if self.purpose == Purpose::Confirm => self.claim(),
            Step::Continue => ProbeVerdict::Undecided,
        };
        ProbeOutcome {
            median_ttft_s: self.trend.median_ttft_s(),
            // No number of requests shows that a level is met which misses more than it may.
            needs: (self.needs())
                .filter(|&needs| self.purpose == Purpose::Confirm && needs < u64::MAX),
            worth: (self.purpose == Purpose::Confirm).then(|| Worth {
                for_queue: self.for_queue(),
                effects: self.tests.iter().map(|test| self.effect(test)).collect(),
            }),
            tier: self.tier,
            level: self.level,
            offered: self.offered(),
            purpose: self.purpose,
            sent: sent.max(self.observed),
            requests: self.counted,
            met: (self.misses.iter())
                .map(|misses| self.counted - misses.total())
                .collect(),
            overloaded: self.overloaded || silent,
            verdict,
            test: Some(verdict),
            stored: None,
            left_out: self.observed - self.counted,
            misses: self.misses,
            hopeless: self.hopeless,
        }
    }
}

/// Least independent requests whose interval is within the allowed share, where this share of
/// them misses.
pub(super) fn least_independent(missed: f64, allowed: f64) -> f64 {
    if missed >= allowed {
        return f64::INFINITY;
    }
    let holds = |n: f64| share_bounds(missed, n, CONFIDENCE)[1] <= allowed;
    let mut n = 1.0;
    while !holds(n) && n < MOST_INDEPENDENT {
        n *= 1.05;
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(sent_s: impl Fn(u64) -> Option<f64>) -> f64 {
        let mut probe = Probe::new((0, 18.0, Purpose::Bisect), (300, 1000), 1, Vec::new());
        for order in 0..200 {
            probe.observe(ObservedRequest {
                order,
                sent_s: sent_s(order),
                in_flight: 1,
                ttft_s: Some(0.1),
                within: &[true],
            });
        }
        probe.finish(200).offered
    }

    #[test]
    fn a_probe_tells_of_the_rate_that_chance_offered() {
        assert!((offered(|order| Some(order as f64 / 20.0)) - 20.0).abs() < 1e-9);
        assert_eq!(offered(|_| None), 18.0);
        assert_eq!(offered(|_| Some(1.0)), 18.0);
    }

    #[test]
    fn a_share_needs_the_more_independent_requests_the_nearer_it_is_to_what_is_allowed() {
        // Without a miss: 0.95 to this power is 0.05.
        let none = least_independent(0.0, 0.05);
        assert!((58.0..62.0).contains(&none), "{none}");
        let half = least_independent(0.025, 0.05);
        assert!((150.0..400.0).contains(&half), "{half}");
        assert_eq!(least_independent(0.05, 0.05), f64::INFINITY);
    }

    /// Sends to a run that confirms a p95 while one in forty requests misses, always so many in a
    /// row: whether its interval lies within the objective, and the requests that it should count.
    fn confirmed(in_a_row: u64, most: u64) -> (ProbeVerdict, Option<u64>, u64) {
        let tests = vec![TargetTest::new(0, 0.95, 3.0)];
        let mut probe = Probe::new((0, 18.0, Purpose::Confirm), (800, most), 1, tests);
        let mut order = 0;
        loop {
            let missed = order / in_a_row % 40 == 20;
            let step = probe.observe(ObservedRequest {
                order,
                sent_s: None,
                in_flight: 1,
                ttft_s: Some(0.1),
                within: &[!missed],
            });
            order += 1;
            if step != Step::Continue {
                break;
            }
        }
        let outcome = probe.finish(order);
        (outcome.verdict, outcome.needs, outcome.requests)
    }

    #[test]
    fn a_run_confirms_with_as_many_requests_as_are_independent() {
        let (verdict, needs, alone) = confirmed(1, 100_000);
        assert_eq!((verdict, needs), (ProbeVerdict::Met, None));
        let (verdict, needs, in_bursts) = confirmed(50, 100_000);
        assert_eq!((verdict, needs), (ProbeVerdict::Met, None));
        assert!(in_bursts > 2 * alone, "{in_bursts} and {alone}");
        // With fewer it is not confirmed, and says how many it would take.
        let (verdict, needs, had) = confirmed(50, 3_000);
        assert_eq!(verdict, ProbeVerdict::Undecided);
        assert!(needs.is_some_and(|needs| needs > had), "{needs:?}");
    }
}
