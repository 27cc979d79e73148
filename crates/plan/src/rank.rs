//! Candidates in the order in which a calibrated profile expects them, so that a tuner measures
//! the promising first.
//!
//! A profile that is wrong by a third in its coefficients still tells good settings from bad
//! ones, since they differ by their queues and batches; it does not tell the best from the
//! second. So take the head of the list, never the first alone.

use crate::calibrate::Calibration;
use crate::cores::on_all;
use crate::device::BadDevice;
use crate::flags::Flag;
use crate::means::{MeanMetric, Means};
use crate::predict::simulate_keeping;
use crate::what_if::Objectives;
use crate::work::Work;

#[derive(Clone, Debug)]
pub struct Goal {
    /// The figure; more of a rate is better, less of a time.
    pub metric: MeanMetric,
    pub objectives: Objectives,
}

impl Goal {
    /// What is expected of a candidate so that larger is better; never below 0.
    pub fn worth(&self, ranked: &Ranked) -> f64 {
        match self.metric {
            MeanMetric::Requests | MeanMetric::Throughput => ranked.predicted,
            _ => 1.0 / ranked.predicted.max(1e-9),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    pub index: usize,
    pub predicted: f64,
    pub met: bool,
    /// The figure of each objective as a share of its limit.
    pub strains: Vec<f64>,
    /// Whether the calibration was measured near by.
    pub inside_envelope: bool,
}

/// Seed of simulations: candidates differ by themselves alone.
const SEED: u64 = 7;

/// The candidates from the most to the least promising: those that meet the objectives first,
/// then by the figure. Candidates that the engine refuses, or that serve nothing, are left out.
/// Flags that a candidate does not give are those of the calibration.
pub fn rank(
    calibration: &Calibration,
    work: &Work,
    goal: &Goal,
    candidates: &[Vec<Flag>],
) -> Result<Vec<Ranked>, BadDevice> {
    let subject = calibration.subject()?;
    let expected = on_all(candidates.len(), |index| {
        let flags = over(calibration.base_flags(), &candidates[index]);
        let config = subject.start(&flags, &calibration.timing).ok()?;
        let settled = subject.settled(&flags, &calibration.timing).ok()?;
        let run = simulate_keeping(config, work, SEED, goal.objectives.keep());
        let figures = Means::of(&run);
        let beyond = calibration.envelope.beyond(work, &settled, &figures);
        Some(Ranked {
            index,
            predicted: figures.get(goal.metric)?,
            met: goal.objectives.is_empty() || goal.objectives.met(&run),
            strains: goal.objectives.strains(&run),
            inside_envelope: beyond.is_empty(),
        })
    });
    let mut ranked: Vec<Ranked> = expected.into_iter().flatten().collect();
    let by_worth = |a: &Ranked, b: &Ranked| goal.worth(b).total_cmp(&goal.worth(a));
    ranked.sort_by(|a, b| b.met.cmp(&a.met).then(by_worth(a, b)));
    Ok(ranked)
}

fn over(base: Vec<Flag>, given: &[Flag]) -> Vec<Flag> {
    let named = |name: &str| given.iter().any(|(known, _)| known == name);
    let kept = base.into_iter().filter(|(name, _)| !named(name));
    kept.chain(given.iter().cloned()).collect()
}
