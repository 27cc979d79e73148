//! What a study wants.

use super::requirement::{Bound, Requirement};
use crate::trial::{Ending, Level, Measurement};
use inferometer_core::check::Check;
use inferometer_core::slo::{Slo, SloScope};
use inferometer_core::value::Tag;

/// What is wanted: one objective or several, and limits that must be kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    pub objectives: Vec<Objective>,
    pub slos: Vec<Slo>,
    /// Share of requests that must meet the limits of single requests.
    pub attainment: f64,
    /// Figures that must be kept.
    pub requires: Vec<Requirement>,
    /// How answers of trials are checked.
    pub check: Option<Check>,
    /// From where on a measurement is in doubt, where it is not as in a single run.
    pub thresholds: Vec<Tag>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objective {
    /// Its place in the summary: `throughput.output_tokens_per_s`.
    pub path: String,
    pub direction: Direction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Maximize,
    Minimize,
}

/// What an SLO counts as missed by if its figure is missing, and a load whose run is invalid.
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

/// A figure of a trial that is not an objective.
pub(super) enum Figure<'a> {
    /// What an SLO is about.
    Slo(&'a Slo),
    Required(&'a Requirement),
    /// One over all load levels, as an objective's.
    Usual(Objective),
}

impl Figure<'_> {
    pub(super) fn name(&self) -> String {
        match self {
            Figure::Slo(slo) => match slo.scope {
                SloScope::Request | SloScope::Session => slo.to_string(),
                SloScope::Percentile(percent) => format!("latency.{}.p{percent}", in_ms(slo)),
                SloScope::Mean => format!("latency.{}.mean", in_ms(slo)),
            },
            Figure::Required(required) => required.path.clone(),
            Figure::Usual(objective) => objective.path.clone(),
        }
    }

    pub(super) fn direction(&self) -> Direction {
        match self {
            Figure::Slo(slo) => match slo.scope {
                SloScope::Request | SloScope::Session => Direction::Maximize,
                SloScope::Percentile(_) | SloScope::Mean => Direction::Minimize,
            },
            Figure::Required(required) => match required.bound {
                Bound::AtLeast => Direction::Maximize,
                Bound::AtMost => Direction::Minimize,
            },
            Figure::Usual(objective) => objective.direction,
        }
    }

    /// Its logarithm; absent where it is not known, or not above 0.
    pub(super) fn log(&self, ending: &Ending) -> Option<f64> {
        let figure = match self {
            Figure::Slo(slo) => worst_slo_figure(slo, ending),
            Figure::Required(required) => required.worst(ending),
            Figure::Usual(objective) => objective.of(ending),
        };
        figure.filter(|&figure| figure > 0.0).map(f64::ln)
    }
}

impl Goal {
    /// What the SLOs and requirements are about.
    pub(super) fn limited(&self) -> Vec<Figure<'_>> {
        let slos = self.slos.iter().map(Figure::Slo);
        let required = self.requires.iter().map(Figure::Required);
        slos.chain(required).collect()
    }

    /// Those of some figures that are neither objectives nor limited.
    pub(super) fn others(&self, usual: &[(&str, Direction)]) -> Vec<Figure<'_>> {
        let limited: Vec<String> = self.limited().iter().map(Figure::name).collect();
        let is_other = |path: &str| {
            let mut objectives = self.objectives.iter();
            !objectives.any(|it| it.path == path) && !limited.iter().any(|name| name == path)
        };
        let usual = usual.iter().filter(|(path, _)| is_other(path));
        let of = |(path, direction): &(&str, Direction)| {
            Figure::Usual(Objective {
                path: (*path).to_owned(),
                direction: *direction,
            })
        };
        usual.map(of).collect()
    }

    /// The objectives of a trial so that larger is better; absent if one was not measured.
    pub fn objectives_of(&self, ending: &Ending) -> Option<Vec<f64>> {
        let oriented = |objective: &Objective| Some(objective.oriented(objective.of(ending)?));
        self.objectives.iter().map(oriented).collect()
    }

    /// Whether two trials gave the same figures to the last digit.
    pub(super) fn is_alike(&self, one: &Ending, other: &Ending) -> bool {
        let latencies = |ending: &Ending| -> Vec<Option<serde_json::Value>> {
            let each = ending.measurements.iter();
            each.map(|it| it.run().get("latency").cloned()).collect()
        };
        self.objectives_of(one) == self.objectives_of(other) && latencies(one) == latencies(other)
    }

    /// By how much the SLOs are missed, as shares of their limits, summed over load levels; 0
    /// where all are met. A capacity search keeps the limits by itself. An invalid run meets
    /// nothing: an engine that turns requests away serves the others quickly.
    pub fn violation(&self, ending: &Ending) -> f64 {
        let of = |measurement: &Measurement| match measurement.load {
            _ if !measurement.is_valid() => UNKNOWN_VIOLATION,
            Level::Capacity => 0.0,
            Level::Concurrency(_) => self
                .slos
                .iter()
                .map(|slo| self.missed(slo, measurement))
                .sum::<f64>(),
        };
        let required = |measurement: &Measurement| {
            let missed = (self.requires.iter()).map(|it| it.missed(measurement));
            missed
                .map(|it| it.unwrap_or(UNKNOWN_VIOLATION))
                .sum::<f64>()
        };
        let both = |measurement| of(measurement) + required(measurement);
        ending.measurements.iter().map(both).sum()
    }

    /// The figure of each SLO at the load level that is furthest from it, in the order of the
    /// SLOs: milliseconds, or the share of requests that meet it. Absent where it is not known at
    /// every level.
    pub fn slo_figures(&self, ending: &Ending) -> Vec<Option<f64>> {
        let slos = self.slos.iter();
        slos.map(|slo| worst_slo_figure(slo, ending)).collect()
    }

    fn missed(&self, slo: &Slo, measurement: &Measurement) -> f64 {
        let limit_ms = slo.limit.0.as_secs_f64() * 1e3;
        let missed = slo_figure(slo, measurement).map(|figure| match slo.scope {
            SloScope::Request | SloScope::Session => {
                (self.attainment - figure).max(0.0) / self.attainment
            }
            SloScope::Percentile(_) | SloScope::Mean => (figure / limit_ms - 1.0).max(0.0),
        });
        missed
            .filter(|missed| missed.is_finite())
            .unwrap_or(UNKNOWN_VIOLATION)
    }
}

fn worst_slo_figure(slo: &Slo, ending: &Ending) -> Option<f64> {
    let figures: Option<Vec<f64>> = (ending.measurements.iter())
        .filter(|measurement| measurement.load != Level::Capacity)
        .map(|measurement| slo_figure(slo, measurement))
        .collect();
    figures?.into_iter().reduce(|a, b| match slo.scope {
        SloScope::Request | SloScope::Session => a.min(b),
        SloScope::Percentile(_) | SloScope::Mean => a.max(b),
    })
}

/// Summaries name latencies as objectives do, with their unit.
fn in_ms(slo: &Slo) -> String {
    slo.metric.to_string().replace('-', "_") + "_ms"
}

/// What an SLO is about, as it was measured: milliseconds, or the share of requests that meet it.
fn slo_figure(slo: &Slo, measurement: &Measurement) -> Option<f64> {
    let name = in_ms(slo);
    // The summary lists the run's own objectives with any percentile, so it is asked first.
    let written = slo.to_string();
    let objectives = measurement.summary.pointer("/slo/objectives");
    let stated = (objectives.and_then(|all| all.as_array()))
        .into_iter()
        .flatten()
        .find(|one| one["objective"] == written.as_str());
    let (key, path) = match slo.scope {
        SloScope::Request => ("share", "slo.attainment".to_owned()),
        SloScope::Session => ("share", "slo.jobs.attainment".to_owned()),
        SloScope::Percentile(percent) => ("value_ms", format!("latency.{name}.p{percent}")),
        SloScope::Mean => ("value_ms", format!("latency.{name}.mean")),
    };
    let stated = stated.and_then(|one| one[key].as_f64());
    stated.or_else(|| measurement.figure(&path))
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
            requires: Vec::new(),
            check: None,
            thresholds: Vec::new(),
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
    fn a_figure_that_must_be_kept_counts_as_missed_below_it_and_where_it_is_not_known() {
        let with = |requires: &str| Goal {
            requires: vec![requires.parse().unwrap()],
            ..goal("ttft.p99=2s")
        };
        let ending = ending(&[(80.0, 500.0)]);
        let missed = |requires| with(requires).violation(&ending);
        assert_eq!(missed("throughput.output_tokens_per_s>=80"), 0.0);
        assert_eq!(missed("throughput.output_tokens_per_s>=100"), 0.2);
        assert_eq!(missed("throughput.output_tokens_per_s<=64"), 0.25);
        assert_eq!(missed("check.score>=0.7"), UNKNOWN_VIOLATION);
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
    fn the_figure_of_a_limit_is_that_of_the_worst_level() {
        let at = |slo: &str| goal(slo).slo_figures(&ending(&[(1.0, 500.0), (1.0, 1500.0)]));
        assert_eq!(at("ttft.p99=2s"), [Some(1500.0)]);
        assert_eq!(at("ttft=1s"), [Some(0.45)]);
        assert_eq!(at("tpot.p99=1s"), [None]);
        assert_eq!(goal("ttft.p99=2s").slo_figures(&ending(&[])), [None]);
    }

    #[test]
    fn a_limit_is_missed_by_its_share_at_every_level() {
        let at = |slo: &str| goal(slo).violation(&ending(&[(1.0, 500.0), (1.0, 1500.0)]));
        assert_eq!(at("ttft.p99=2s"), 0.0);
        assert_eq!(at("ttft.p99=1s"), 0.5);
        assert_eq!(at("ttft=1s"), 1.0, "half of the asked share, twice");
        assert_eq!(at("tpot.p99=1s"), 2.0, "what is not known is not met");
    }

    #[test]
    fn an_invalid_run_meets_no_goal_however_good_its_figures() {
        let mut shed = ending(&[(1.0, 5.0)]);
        shed.measurements[0].summary["valid"] = json!(false);
        assert!(!shed.is_valid() && goal("ttft.p99=1s").violation(&shed) > 0.0);
        let unlimited = Goal {
            slos: Vec::new(),
            ..goal("ttft.p99=1s")
        };
        assert!(unlimited.violation(&shed) > 0.0);
        let capacity = Ending::done(vec![Measurement {
            load: Level::Capacity,
            summary: json!({"value": 9.0, "confirmed": {"valid": false}}),
            seconds: None,
        }]);
        assert!(unlimited.violation(&capacity) > 0.0);
    }
}
