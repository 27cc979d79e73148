//! One probe: a sequential test at a level, fed request by request.

use inferometer_core::statistics::{
    Sprt, SprtStep, SprtVerdict, TailClaim, design_effect, tail_claim,
};

/// Half of the zone between clearly good and clearly bad, in shares of the allowed misses.
const INDIFFERENCE: f64 = 0.4;
/// Risk of each wrong answer of a probe; a wrong one is outvoted later.
const RISK: f64 = 0.05;

/// Why a probe is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To find a level that meets the objectives and one that does not.
    Bracket,
    /// To narrow the interval.
    Bisect,
    /// To confirm the answer; runs to its end.
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
    /// The boundary is near: all requests were spent without a clear answer.
    Near,
}

/// A measurement to make.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Rate or concurrency.
    pub level: f64,
    /// Most requests to send.
    pub requests: u64,
    /// Why.
    pub purpose: Purpose,
    tests: Vec<(usize, f64, Option<Sprt>)>,
    /// Whether each request was within the limit, for each target.
    within: Vec<Vec<bool>>,
    /// Design effects, renewed as the sequence grows.
    effects: Vec<f64>,
    overloaded: bool,
}

/// What a probe found.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Its level.
    pub level: f64,
    /// Why it was made.
    pub purpose: Purpose,
    /// Requests observed.
    pub requests: u64,
    /// How many met each target.
    pub met: Vec<u64>,
    /// How many of them tell as much as one independent one: requests that wait in one queue
    /// share their fate.
    pub effects: Vec<f64>,
    /// The server could not keep up.
    pub overloaded: bool,
    /// What that says.
    pub verdict: Verdict,
}

impl Probe {
    /// A probe that observes `targets` targets and decides by those given with their shares.
    pub(super) fn new(
        level: f64,
        requests: u64,
        purpose: Purpose,
        targets: usize,
        shares: &[(usize, f64)],
    ) -> Self {
        let tests = shares.iter().map(|&(at, share)| {
            let half = INDIFFERENCE * (1.0 - share).min(share);
            let test = Sprt::new(share - half, share + half, RISK, RISK);
            (at, share, test.ok())
        });
        Probe {
            level,
            requests,
            purpose,
            tests: tests.collect(),
            within: vec![Vec::new(); targets],
            effects: vec![1.0; targets],
            overloaded: false,
        }
    }

    /// Takes one ended request: whether it is within the limit of each target, in their order.
    /// A failed request is within none.
    pub fn observe(&mut self, within: &[bool]) -> Step {
        for (at, sequence) in self.within.iter_mut().enumerate() {
            sequence.push(within.get(at).copied().unwrap_or(false));
            // At lengths that grow by a quarter, so that all of them cost little.
            let n = sequence.len();
            if n.is_power_of_two() || n % (n / 4).next_power_of_two() == 0 {
                self.effects[at] = design_effect(sequence);
            }
        }
        for (at, _, test) in &mut self.tests {
            if let Some(test) = test {
                test.observe(within.get(*at).copied().unwrap_or(false));
            }
        }
        self.step()
    }

    /// In-flight and TTFT both rise: the level cannot be held, whatever the first requests say.
    pub fn overload(&mut self) -> Step {
        self.overloaded = true;
        self.step()
    }

    /// Where the probe stands.
    pub fn step(&self) -> Step {
        if self.overloaded {
            return Step::Stop(Verdict::Misses);
        }
        let ended = self.seen() >= self.requests;
        if self.purpose == Purpose::Confirm {
            return match ended {
                true => Step::Stop(self.claim()),
                false => Step::Continue,
            };
        }
        // Short sequences do not show how long a queue remembers.
        if self.purpose == Purpose::Bisect && self.seen() < self.requests / 4 {
            return Step::Continue;
        }
        let says = |wanted| {
            move |(at, _, test): &(usize, f64, Option<Sprt>)| {
                let step = test
                    .as_ref()
                    .map(|test| test.step_for_dependent(self.effects[*at]));
                step == Some(SprtStep::Stop(wanted))
            }
        };
        if self.tests.iter().any(says(SprtVerdict::Bad)) {
            Step::Stop(Verdict::Misses)
        } else if self.tests.iter().all(says(SprtVerdict::Good)) {
            Step::Stop(Verdict::Meets)
        } else if ended {
            Step::Stop(Verdict::Near)
        } else {
            Step::Continue
        }
    }

    fn seen(&self) -> u64 {
        self.within
            .first()
            .map_or(0, |sequence| sequence.len() as u64)
    }

    fn met(&self, target: usize) -> u64 {
        self.within[target].iter().filter(|&&within| within).count() as u64
    }

    /// What a long run says: whether the claim about the tail holds.
    fn claim(&self) -> Verdict {
        let claims: Vec<TailClaim> = (self.tests.iter())
            .map(|&(at, share, _)| {
                let effect = design_effect(&self.within[at]);
                let telling = |count: u64| (count as f64 / effect).round() as u64;
                let missed = self.seen() - self.met(at);
                tail_claim(telling(missed), telling(self.seen()), 100.0 * share)
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

    /// The probe is over, by its own verdict or by the driver's decision.
    pub fn finish(self) -> Outcome {
        let verdict = match self.step() {
            Step::Stop(verdict) => verdict,
            Step::Continue if self.purpose == Purpose::Confirm => self.claim(),
            // A server that answers nothing at all does not meet anything.
            Step::Continue if self.seen() == 0 => Verdict::Misses,
            Step::Continue => Verdict::Near,
        };
        Outcome {
            level: self.level,
            purpose: self.purpose,
            requests: self.seen(),
            met: (0..self.within.len()).map(|at| self.met(at)).collect(),
            effects: (self.within.iter())
                .map(|sequence| design_effect(sequence))
                .collect(),
            overloaded: self.overloaded,
            verdict,
        }
    }
}
