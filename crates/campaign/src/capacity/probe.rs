//! One probe: a sequential test at a level, fed request by request.

use super::dependence::Misses;
use super::overload::Course;
use inferometer_core::statistics::{Sprt, SprtStep, SprtVerdict, TailClaim, tail_claim};
use std::collections::BTreeMap;

/// Half of the zone between clearly good and clearly bad, in shares of the allowed misses.
const INDIFFERENCE: f64 = 0.4;
/// Risk of each wrong answer of a probe; a wrong one is outvoted later.
const RISK: f64 = 0.05;
/// Waves of requests that an idle server takes to settle: they are left out.
const SETTLING_WAVES: u64 = 4;
/// Part of a probe that is left out at least, for queues whose memory is longer than a wave.
const SETTLING_PART: u64 = 16;
/// Of so many requests in a row to a server that still fills, so many missed are hopeless: it
/// only gets worse from there.
const HOPELESS: u32 = 24;
/// Part of a bisecting probe before which it does not end by a verdict: short sequences do not
/// show how long a queue remembers.
const TRUSTED_PART: u64 = 4;

/// Why a probe is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To find a level that meets the objectives and one that does not.
    Bracket,
    /// To narrow the interval.
    Bisect,
    /// To confirm the answer.
    Confirm,
}

/// What an observation leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send on.
    Continue,
    /// Enough is known, or enough was sent.
    Stop(Verdict),
}

/// What a probe says of its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The objectives are met.
    Meets,
    /// One is missed.
    Misses,
    /// The boundary is near: no clear answer.
    Near,
}

/// One request, once it is known whether it was within the limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen<'a> {
    /// Its number in the probe in the order of sending, from 0.
    pub order: u64,
    /// Requests under way when it was sent, itself included.
    pub in_flight: u64,
    /// Time to its first token; absent if it failed.
    pub ttft_s: Option<f64>,
    /// Whether it was within the limit of each target, in their order. A failed request is
    /// within none.
    pub within: &'a [bool],
}

/// A measurement to make.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Rate or concurrency.
    pub level: f64,
    /// Most requests to send.
    pub most_requests: u64,
    /// Why.
    pub purpose: Purpose,
    /// Requests to count, once the server has settled.
    length: u64,
    tests: Vec<Test>,
    /// Ended before others that were sent earlier.
    early: BTreeMap<u64, (u64, Option<f64>, Vec<bool>)>,
    observed: u64,
    counted: u64,
    misses: Vec<Misses>,
    course: Course,
    overloaded: bool,
    /// By target.
    hopeless: Vec<bool>,
}

/// The test of one target.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Test {
    target: usize,
    share: f64,
    sprt: Option<Sprt>,
    /// Design effect.
    effect: f64,
    /// The last 32 requests, a bit for each that missed.
    recent: u32,
}

impl Test {
    pub(super) fn new(target: usize, share: f64, effect: f64) -> Self {
        let half = INDIFFERENCE * (1.0 - share).min(share);
        Test {
            target,
            share,
            sprt: Sprt::new(share - half, share + half, RISK, RISK).ok(),
            effect,
            recent: 0,
        }
    }

    fn says(&self, verdict: SprtVerdict) -> bool {
        let step = (self.sprt.as_ref()).map(|sprt| sprt.step_for_dependent(self.effect));
        step == Some(SprtStep::Stop(verdict))
    }
}

/// What a probe found.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Its level.
    pub level: f64,
    /// Why it was made.
    pub purpose: Purpose,
    /// Requests sent, those included that were left out while the server settled.
    pub sent: u64,
    /// Requests counted.
    pub requests: u64,
    /// How many of those met each target.
    pub met: Vec<u64>,
    /// The server could not keep up.
    pub overloaded: bool,
    /// What that says.
    pub verdict: Verdict,
    pub(super) misses: Vec<Misses>,
    /// Targets that were missed by most requests from the first on.
    pub(super) hopeless: Vec<bool>,
}

impl Outcome {
    /// The level is above the capacity for a target, whatever the shares say.
    pub(super) fn is_beyond(&self, target: usize) -> bool {
        self.overloaded || self.hopeless[target]
    }
}

impl Probe {
    /// A probe that observes `targets` targets and decides by the tests given.
    pub(super) fn new(
        (level, purpose): (f64, Purpose),
        (length, most_requests): (u64, u64),
        targets: usize,
        tests: Vec<Test>,
    ) -> Self {
        Probe {
            level,
            most_requests,
            purpose,
            length: length.min(most_requests),
            tests,
            early: BTreeMap::new(),
            observed: 0,
            counted: 0,
            misses: vec![Misses::default(); targets],
            course: Course::default(),
            overloaded: false,
            hopeless: vec![false; targets],
        }
    }

    /// Takes a request as soon as its fate is known. Requests count in the order of sending,
    /// however they end: else the quick ones would speak for all.
    pub fn observe(&mut self, seen: Seen<'_>) -> Step {
        let request = (seen.in_flight, seen.ttft_s, seen.within.to_vec());
        if seen.order >= self.observed {
            self.early.insert(seen.order, request);
        }
        while let Some((in_flight, ttft_s, within)) = self.early.remove(&self.observed) {
            self.observed += 1;
            self.course.observe(in_flight, ttft_s);
            // At lengths that grow by an eighth: many looks would find a trend by chance.
            let look = (self.observed / 16).next_power_of_two().max(16);
            if self.observed.is_multiple_of(look) && self.course.is_overloaded() {
                return self.overload();
            }
            if self.is_settled() {
                self.count(&within);
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
        let waves = |wave| SETTLING_WAVES * wave as u64;
        let left_out = self.course.first_wave().map(waves);
        left_out.is_some_and(|waves| self.observed > waves.max(self.length / SETTLING_PART))
    }

    fn is_hopeless(&mut self, within: &[bool]) -> bool {
        for test in &mut self.tests {
            let missed = !within.get(test.target).copied().unwrap_or(false);
            test.recent = test.recent << 1 | u32::from(missed);
            self.hopeless[test.target] |= test.recent.count_ones() >= HOPELESS;
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

    /// Where the probe stands.
    pub fn step(&self) -> Step {
        if self.overloaded || self.hopeless.contains(&true) {
            return Step::Stop(Verdict::Misses);
        }
        let ended = self.counted >= self.length || self.observed >= self.most_requests;
        // Just at the capacity a test of "clearly good or clearly bad" is a toss-up, so a long
        // run goes to its end.
        if self.purpose == Purpose::Confirm {
            return match ended {
                true => Step::Stop(self.claim()),
                false => Step::Continue,
            };
        }
        let trusted =
            self.purpose == Purpose::Bracket || self.counted >= self.length / TRUSTED_PART;
        let bad = || (self.tests.iter()).any(|test| test.says(SprtVerdict::Bad));
        let good = || (self.tests.iter()).all(|test| test.says(SprtVerdict::Good));
        if trusted && bad() {
            Step::Stop(Verdict::Misses)
        } else if trusted && good() {
            Step::Stop(Verdict::Meets)
        } else if ended {
            Step::Stop(Verdict::Near)
        } else {
            Step::Continue
        }
    }

    /// What a long run says: whether the claim about the tail holds.
    fn claim(&self) -> Verdict {
        let claims: Vec<TailClaim> = (self.tests.iter())
            .map(|test| {
                let telling = |count: u64| (count as f64 / test.effect).round() as u64;
                let missed = self.misses[test.target].total();
                tail_claim(telling(missed), telling(self.counted), 100.0 * test.share)
            })
            .collect();
        if claims.contains(&TailClaim::Fails) {
            Verdict::Misses
        } else if claims.iter().all(|&claim| claim == TailClaim::Holds) {
            Verdict::Meets
        } else {
            Verdict::Near
        }
    }

    /// The probe is over, by its own verdict or by the driver's decision, after so many
    /// requests sent.
    pub fn finish(self, sent: u64) -> Outcome {
        let step = self.step();
        // A server that answers nothing at all does not meet anything.
        let silent = step == Step::Continue && self.counted == 0;
        let verdict = match step {
            Step::Stop(verdict) => verdict,
            Step::Continue if silent => Verdict::Misses,
            Step::Continue if self.purpose == Purpose::Confirm => self.claim(),
            Step::Continue => Verdict::Near,
        };
        Outcome {
            level: self.level,
            purpose: self.purpose,
            sent: sent.max(self.observed),
            requests: self.counted,
            met: (self.misses.iter())
                .map(|misses| self.counted - misses.total())
                .collect(),
            overloaded: self.overloaded || silent,
            verdict,
            misses: self.misses,
            hopeless: self.hopeless,
        }
    }
}
