//! The points of a sweep with all that was measured at them, and the ladders that they form.

use super::{SweepReport, Visited};
use crate::number;
use inferometer_core::compare::Point;
use inferometer_core::summary::{SloOutcome, Summary};
use serde_json::Value;
use std::collections::HashMap;

/// Axes that are climbed.
const LOAD: [&str; 2] = ["concurrency", "rate"];

/// All that is known of one point.
#[derive(Clone)]
pub(crate) struct Row<'a> {
    pub(crate) point: &'a Point,
    pub(crate) trials: Vec<&'a Visited>,
}

impl<'a> Row<'a> {
    pub(crate) fn summaries(&self) -> impl Iterator<Item = &'a Summary> {
        self.trials
            .iter()
            .filter_map(|visited| visited.summary.as_ref())
    }

    /// The valid measurements.
    pub(crate) fn valid(&self) -> impl Iterator<Item = &'a Summary> {
        self.summaries().filter(|summary| summary.valid)
    }

    /// Numbers to show: of the valid measurements, else of any.
    pub(crate) fn shown(&self) -> Vec<&'a Summary> {
        let valid: Vec<&Summary> = self.valid().collect();
        match valid.is_empty() {
            true => self.summaries().collect(),
            false => valid,
        }
    }

    pub(crate) fn mean(&self, of: impl Fn(&Summary) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.shown().into_iter().filter_map(of).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    pub(crate) fn tokens_per_s(&self) -> Option<f64> {
        self.mean(|summary| summary.throughput.output_tokens_per_s)
    }

    pub(crate) fn meets(&self) -> Option<bool> {
        let met = |summary: &Summary| {
            summary
                .slo
                .as_ref()
                .map(|slo| slo.outcome() == SloOutcome::Met)
        };
        let outcomes: Option<Vec<bool>> = self.shown().into_iter().map(met).collect();
        outcomes
            .filter(|all| !all.is_empty())
            .map(|all| all.into_iter().all(|met| met))
    }

    /// The value of an axis as a number.
    pub(crate) fn number(&self, axis: &str) -> Option<f64> {
        match self.point.0.get(axis)? {
            Value::String(text) => text.parse().ok(),
            value => value.as_f64(),
        }
        .filter(|value: &f64| value.is_finite())
    }

    /// Its values of these axes: `concurrency=8, input-tokens=512`.
    pub(crate) fn name<'b>(&self, axes: impl IntoIterator<Item = &'b String>) -> String {
        let parts: Vec<String> = (axes.into_iter())
            .map(|axis| format!("{axis}={}", shown(self.point.0.get(axis))))
            .collect();
        parts.join(", ")
    }
}

/// Points that differ in their load alone.
pub(crate) struct Ladder<'a> {
    /// What its points have in common; empty where load is the only axis.
    pub(crate) name: String,
    /// The axis that is climbed.
    pub(crate) axis: &'a String,
    /// Its points, in the order of the plan.
    pub(crate) rows: Vec<Row<'a>>,
}

/// The points that were visited, in the order of the plan.
pub(crate) fn rows<'a>(report: &SweepReport<'a>) -> Vec<Row<'a>> {
    let mut by_id: HashMap<&str, Vec<&Visited>> = HashMap::new();
    for visited in report.visited {
        by_id.entry(&visited.trial.id).or_default().push(visited);
    }
    (report.plan.points.iter())
        .filter_map(|planned| {
            Some(Row {
                point: &planned.point,
                trials: by_id.remove(planned.id.as_str())?,
            })
        })
        .collect()
}

/// The ladders of a sweep; none where load is not climbed.
pub(crate) fn ladders<'a>(report: &SweepReport<'a>, rows: &[Row<'a>]) -> Vec<Ladder<'a>> {
    let axes = &report.plan.axes;
    let Some(climbed) = axes.iter().find(|axis| LOAD.contains(&axis.as_str())) else {
        return Vec::new();
    };
    groups(rows, |row| {
        row.name(axes.iter().filter(|axis| *axis != climbed))
    })
    .into_iter()
    .map(|(name, rows)| Ladder {
        name,
        axis: climbed,
        rows,
    })
    .collect()
}

/// Rows by their key, in the order in which keys first come.
pub(crate) fn groups<'a>(
    rows: &[Row<'a>],
    key: impl Fn(&Row<'a>) -> String,
) -> Vec<(String, Vec<Row<'a>>)> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<(String, Vec<Row<'a>>)> = Vec::new();
    for row in rows {
        let key = key(row);
        let place = *places.entry(key.clone()).or_insert(groups.len());
        if place == groups.len() {
            groups.push((key, Vec::new()));
        }
        groups[place].1.push(row.clone());
    }
    groups
}

/// Whether an axis is one of load.
pub(crate) fn is_load(axis: &str) -> bool {
    LOAD.contains(&axis)
}

/// A value of an axis.
pub(crate) fn shown(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => number::ABSENT.to_owned(),
    }
}
