//! What a search for capacity is given.

use inferometer_core::quantile::least_samples;

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

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What a level is: `rate` or `concurrency`.
    pub over: String,
    pub targets: Vec<Target>,
    pub start: f64,
    /// No level below this is tried.
    pub floor: f64,
    /// No level above this is tried.
    pub ceiling: f64,
    /// Levels are whole numbers, as concurrency is.
    pub whole: bool,
    /// Half of the answer's 90 % interval, as a share, as far as it comes of chance. What the
    /// form of the curve may be wrong by is added to the interval.
    pub tolerance: f64,
    /// Most requests to spend, the confirmation included.
    pub budget: u64,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CapacityError {
    #[error("a capacity needs an objective; give one as in --slo ttft.p99=1s")]
    NoTarget,
    #[error("'{name}' asks for a share of {share}; give one above 0 and below 1, such as 0.99")]
    BadShare { name: String, share: f64 },
    #[error(
        "cannot search between {floor} and {ceiling} from {start}; give levels above 0 that rise from the lowest (--lowest) over the first (--start) to the highest (--highest)"
    )]
    BadLevels {
        floor: f64,
        start: f64,
        ceiling: f64,
    },
    #[error("a tolerance of {} % cannot be reached; give one between 0.1 and 50 %", 100.0 * .0)]
    BadTolerance(f64),
    #[error(
        "{budget} requests cannot carry '{name}', which needs {least} at its confirmation alone; allow more"
    )]
    BudgetTooSmall {
        name: String,
        budget: u64,
        /// Least sample of its percentile.
        least: u64,
    },
}

impl Settings {
    pub(super) fn check(&self) -> Result<(), CapacityError> {
        let &Settings {
            floor,
            start,
            ceiling,
            budget,
            ..
        } = self;
        if self.targets.is_empty() {
            return Err(CapacityError::NoTarget);
        }
        let rises = 0.0 < floor && floor <= start && start <= ceiling && ceiling.is_finite();
        // Halvings must reach the floor, doublings the ceiling.
        if !(rises && floor.is_normal() && (!self.whole || ceiling >= 1.0)) {
            return Err(CapacityError::BadLevels {
                floor,
                start,
                ceiling,
            });
        }
        if !(0.001..=0.5).contains(&self.tolerance) {
            return Err(CapacityError::BadTolerance(self.tolerance));
        }
        for Target { name, share, .. } in &self.targets {
            let (name, share) = (name.clone(), *share);
            let least = least_samples(100.0 * share).filter(|_| share > 0.0 && share < 0.9999);
            match least {
                None => return Err(CapacityError::BadShare { name, share }),
                Some(least) if budget < least => {
                    return Err(CapacityError::BudgetTooSmall {
                        name,
                        budget,
                        least,
                    });
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}
