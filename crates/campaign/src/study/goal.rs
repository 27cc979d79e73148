//! What a study wants.

use crate::trial::{Ending, Level, Measurement};
use inferometer_core::slo::{Slo, SloMetric, SloScope};

/// What is wanted: one objective or several, and limits that must be kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// At least one.
    pub objectives: Vec<Objective>,
    /// Hard limits.
    pub slos: Vec<Slo>,
    /// Share of requests that must meet the limits of single requests.
    pub attainment: f64,
}

/// A figure and where it should go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objective {
    /// Its place in the summary: `throughput.output_tokens_per_s`.
    pub path: String,
    /// Which way is better.
    pub direction: Direction,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Larger.
    Maximize,
    /// Smaller.
    Minimize,
}

/// What an SLO counts as missed by if its figure is missing.
const UNKNOWN_VIOLATION: f64 = 1.0;

impl Objective {
    /// The figure over all load levels, as it was measured: the geometric mean, so that each
    /// level weighs alike. Absent unless every level has it.
    pub fn of(&self, ending: &Ending) -> Option<f64> {
        let figures: Option<Vec<f64>> = ending
            .measurements
            .iter()
            .map(|measurement| measurement.figure(&self.path))
            .collect();
        let figures = figures.filter(|figures| !figures.is_empty())?;
        if let [only] = figures.as_slice() {
            return Some(*only);
        }
        let logs = figures.iter().map(|figure| figure.ln()).sum::<f64>();
        Some((logs / figures.len() as f64).exp()).filter(|mean| mean.is_finite())
    }

    /// The figure so that larger is better.
    fn oriented(&self, figure: f64) -> f64 {
        match self.direction {
            Direction::Maximize => figure,
            Direction::Minimize => -figure,
        }
    }
}

impl Goal {
    /// The objectives of a trial so that larger is better; absent if one was not measured.
    pub fn objectives_of(&self, ending: &Ending) -> Option<Vec<f64>> {
        let oriented = |objective: &Objective| Some(objective.oriented(objective.of(ending)?));
        self.objectives.iter().map(oriented).collect()
    }

    /// By how much the SLOs are missed, as shares of their limits, summed over load levels; 0
    /// where all are met. A capacity search keeps the limits by itself.
    pub fn violation(&self, ending: &Ending) -> f64 {
        let of = |measurement: &Measurement| match measurement.load {
            Level::Capacity => 0.0,
            Level::Concurrency(_) => self
                .slos
                .iter()
                .map(|slo| self.missed(slo, measurement))
                .sum::<f64>(),
        };
        ending.measurements.iter().map(of).sum()
    }

    fn missed(&self, slo: &Slo, measurement: &Measurement) -> f64 {
        let name = match slo.metric {
            SloMetric::Ttft => "ttft_ms",
            SloMetric::FirstAnswer => "first_answer_ms",
            SloMetric::Tpot => "tpot_ms",
            SloMetric::Itl => "itl_ms",
            SloMetric::MaxGap => "max_gap_ms",
            SloMetric::E2e => "e2e_ms",
        };
        // The summary lists the run's own objectives with any percentile, so it is asked first.
        let written = slo.to_string();
        let stated = measurement
            .summary
            .pointer("/slo/objectives")
            .and_then(|all| all.as_array());
        let stated = stated
            .into_iter()
            .flatten()
            .find(|one| one["objective"] == written.as_str());
        let limit_ms = slo.limit.0.as_secs_f64() * 1e3;
        let above = |value: f64| (value / limit_ms - 1.0).max(0.0);
        let missed = match slo.scope {
            SloScope::Request => {
                let share = stated.and_then(|one| one["share"].as_f64());
                let share = share.or_else(|| measurement.figure("slo.attainment"));
                share.map(|share| (self.attainment - share).max(0.0) / self.attainment)
            }
            SloScope::Percentile(percent) => stated
                .and_then(|one| one["value_ms"].as_f64())
                .or_else(|| measurement.figure(&format!("latency.{name}.p{percent}")))
                .map(above),
            SloScope::Mean => stated
                .and_then(|one| one["value_ms"].as_f64())
                .or_else(|| measurement.figure(&format!("latency.{name}.mean")))
                .map(above),
        };
        missed
            .filter(|missed| missed.is_finite())
            .unwrap_or(UNKNOWN_VIOLATION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn goal(slo: &str) -> Goal {
        let objective = |path: &str, direction| Objective {
            path: path.into(),
            direction,
        };
        Goal {
            objectives: vec![
                objective("throughput.output_tokens_per_s", Direction::Maximize),
                objective("latency.ttft_ms.p99", Direction::Minimize),
            ],
            slos: vec![slo.parse().unwrap()],
            attainment: 0.9,
        }
    }

    fn ending(levels: &[(f64, f64)]) -> Ending {
        let measured = levels
            .iter()
            .enumerate()
            .map(|(at, (rate, ttft))| Measurement {
                load: Level::Concurrency(at as u32 + 1),
                summary: json!({"throughput": {"output_tokens_per_s": rate},
                "latency": {"ttft_ms": {"p99": ttft}}, "slo": {"attainment": 0.45}}),
                seconds: None,
            });
        Ending::done(measured.collect())
    }

    #[test]
    fn load_levels_weigh_alike_and_minimised_figures_change_their_sign() {
        let objectives = goal("ttft.p99=1s")
            .objectives_of(&ending(&[(100.0, 50.0), (400.0, 200.0)]))
            .unwrap();
        assert!((objectives[0] - 200.0).abs() < 1e-9 && (objectives[1] + 100.0).abs() < 1e-9);
        assert_eq!(goal("ttft.p99=1s").objectives_of(&ending(&[])), None);
    }

    #[test]
    fn a_limit_is_missed_by_its_share_at_every_level() {
        let at = |slo: &str| goal(slo).violation(&ending(&[(1.0, 500.0), (1.0, 1500.0)]));
        assert_eq!(at("ttft.p99=2s"), 0.0);
        assert_eq!(at("ttft.p99=1s"), 0.5);
        assert_eq!(at("ttft=1s"), 1.0, "half of the asked share, twice");
        assert_eq!(at("tpot.p99=1s"), 2.0, "what is not known is not met");
    }
}
