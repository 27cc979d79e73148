//! Wald's sequential probability ratio test on a share: it stops as soon as the answer is
//! clear.

/// A sequential test of "the share is `good` or more" against "it is `bad` or less".
#[derive(Clone, Debug, PartialEq)]
pub struct Sprt {
    step_met: f64,
    step_missed: f64,
    accept: f64,
    reject: f64,
    evidence: f64,
    observed: u64,
    met: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "no sequential test between shares {bad} and {good} with risks {false_good} and {false_bad}: give 0 < bad < good < 1 and risks between 0 and 0.5"
)]
pub struct SprtError {
    bad: f64,
    good: f64,
    false_good: f64,
    false_bad: f64,
}

/// What an observation leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SprtStep {
    Continue,
    Stop(SprtVerdict),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SprtVerdict {
    /// The share is the good one.
    Good,
    /// The share is the bad one.
    Bad,
}

impl Sprt {
    /// With the two shares, the risk to call the bad one good, and the risk to call the good
    /// one bad.
    pub fn new(bad: f64, good: f64, false_good: f64, false_bad: f64) -> Result<Self, SprtError> {
        let risk = |risk: f64| risk > 0.0 && risk < 0.5;
        if !(bad > 0.0 && bad < good && good < 1.0 && risk(false_good) && risk(false_bad)) {
            return Err(SprtError {
                bad,
                good,
                false_good,
                false_bad,
            });
        }
        Ok(Sprt {
            step_met: (good / bad).ln(),
            step_missed: ((1.0 - good) / (1.0 - bad)).ln(),
            accept: ((1.0 - false_bad) / false_good).ln(),
            reject: (false_bad / (1.0 - false_good)).ln(),
            evidence: 0.0,
            observed: 0,
            met: 0,
        })
    }

    pub fn observe(&mut self, met: bool) -> SprtStep {
        self.observed += 1;
        self.met += u64::from(met);
        self.evidence += if met { self.step_met } else { self.step_missed };
        self.step()
    }

    /// What is clear so far.
    pub fn step(&self) -> SprtStep {
        self.step_for_dependent(1.0)
    }

    /// The same where observations depend on their neighbours, so that `effect` of them tell
    /// as much as one independent one would.
    pub fn step_for_dependent(&self, effect: f64) -> SprtStep {
        let evidence = self.evidence / effect.max(1.0);
        if evidence >= self.accept {
            SprtStep::Stop(SprtVerdict::Good)
        } else if evidence <= self.reject {
            SprtStep::Stop(SprtVerdict::Bad)
        } else {
            SprtStep::Continue
        }
    }

    /// Logarithm of how much likelier the good share is than the bad one.
    pub fn evidence(&self) -> f64 {
        self.evidence
    }

    /// Observations so far, and how many were met.
    pub fn counts(&self) -> (u64, u64) {
        (self.observed, self.met)
    }

    /// Wald's approximation of the mean number of observations at a true share.
    pub fn expected_observations(&self, share: f64) -> f64 {
        let drift = share * self.step_met + (1.0 - share) * self.step_missed;
        let spread = share * self.step_met.powi(2) + (1.0 - share) * self.step_missed.powi(2);
        if drift.abs() < 1e-9 {
            return -self.accept * self.reject / spread;
        }
        // The exponent h with E[exp(h·step)] = 1 gives the probability of each end.
        let h = -2.0 * drift / spread;
        let good =
            (1.0 - (h * self.reject).exp()) / ((h * self.accept).exp() - (h * self.reject).exp());
        (good * self.accept + (1.0 - good) * self.reject) / drift
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::seed::{Dimension, rng};
    use rand::RngExt;

    #[test]
    fn boundaries_agree_with_walds_worked_example() {
        // Wald, Sequential Analysis: shares of defectives 0.1 and 0.3, risks 0.02 and 0.03;
        // after m items accept at 0.186 m − 2.58 defectives, reject at 0.186 m + 2.88. A good
        // item is "met" here, so the shares are 0.9 and 0.7.
        let test = Sprt::new(0.7, 0.9, 0.03, 0.02).unwrap();
        let per_defective = test.step_met - test.step_missed;
        assert!((test.step_met / per_defective - 0.1862).abs() < 1e-4);
        assert!((test.accept / per_defective - 2.583).abs() < 2e-3);
        assert!((test.reject / per_defective + 2.876).abs() < 2e-3);
    }

    #[test]
    fn errors_stay_within_the_risks_and_hopeless_levels_end_early() {
        let run = |share: f64, seed| {
            let mut random = rng(seed, Dimension::Words, 7);
            let mut test = Sprt::new(0.85, 0.95, 0.05, 0.05).unwrap();
            loop {
                if let SprtStep::Stop(verdict) = test.observe(random.random_bool(share)) {
                    return (verdict, test.counts().0);
                }
            }
        };
        let wrong = |share, wrong| (0..400).filter(|&s| run(share, s).0 == wrong).count();
        assert!(wrong(0.85, SprtVerdict::Good) <= 28);
        assert!(wrong(0.95, SprtVerdict::Bad) <= 28);
        assert!((0..100).all(|seed| run(0.1, seed).1 < 20));
        let mean = (0..400).map(|seed| run(0.85, seed).1).sum::<u64>() as f64 / 400.0;
        let expected = Sprt::new(0.85, 0.95, 0.05, 0.05).unwrap();
        let expected = expected.expected_observations(0.85);
        assert!((mean / expected - 1.0).abs() < 0.35, "{mean} {expected}");
    }

    #[test]
    fn shares_that_are_no_test_are_refused() {
        for (bad, good) in [(0.9, 0.9), (0.0, 0.5), (0.5, 1.0), (f64::NAN, 0.5)] {
            assert!(Sprt::new(bad, good, 0.05, 0.05).is_err());
        }
        assert!(Sprt::new(0.5, 0.6, 0.0, 0.05).is_err());
    }
}
