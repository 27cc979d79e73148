//! The fresh starts of one configuration.

use super::goal::{Direction, Goal, Objective};
use crate::trial::{Ending, State};

pub(super) struct Series {
    /// Logarithms of the figures of the first objective.
    pub(super) logs: Vec<f64>,
    /// Which way it is better.
    towards: Direction,
    /// Every start was measured, and validly.
    pub(super) is_steady: bool,
    pub(super) meets: bool,
}

impl Series {
    pub(super) fn of<'a>(endings: impl Iterator<Item = &'a Ending>, goal: &Goal) -> Self {
        let endings: Vec<&Ending> = endings.collect();
        let first = goal.objectives.first();
        let log = |ending: &&Ending| log_figure(first?, ending);
        let logs: Vec<f64> = endings.iter().filter_map(log).collect();
        Series {
            is_steady: logs.len() == endings.len(),
            meets: endings.iter().all(|ending| goal.violation(ending) <= 0.0),
            towards: first.map_or(Direction::Maximize, |objective| objective.direction),
            logs,
        }
    }

    pub(super) fn holds(&self) -> bool {
        self.is_steady && self.meets
    }

    /// The mean of the first objective, larger is better.
    pub(super) fn mean(&self) -> f64 {
        match self.towards {
            _ if self.logs.is_empty() => f64::NEG_INFINITY,
            Direction::Maximize => mean(&self.logs),
            Direction::Minimize => -mean(&self.logs),
        }
    }
}

/// Absent where the start was not measured validly.
pub(super) fn log_figure(objective: &Objective, ending: &Ending) -> Option<f64> {
    let is_good = ending.state == State::Done && ending.is_valid();
    let figure = objective.of(ending).filter(|&figure| figure > 0.0);
    figure.filter(|_| is_good).map(f64::ln)
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(super) fn squared_spread(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}
