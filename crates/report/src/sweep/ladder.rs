//! Points of a sweep in groups, and the ladders that they form.

use super::{LOAD, Row, SweepReport, independent, shown};
use inferometer_core::summary::Summary;
use serde_json::Value;
use std::collections::HashMap;

/// Points that differ in their load alone.
pub(crate) struct Ladder<'a> {
    /// What its points have in common; empty where load is the only axis.
    pub(crate) name: String,
    /// The axis that is climbed.
    pub(crate) axis: &'a String,
    /// Its points, in the order of the plan.
    pub(crate) rows: Vec<Row<'a>>,
}

/// The ladders of a sweep; none where load is not climbed.
pub(crate) fn ladders<'a>(report: &SweepReport<'a>, rows: &[Row<'a>]) -> Vec<Ladder<'a>> {
    let axes = independent(report.plan);
    let Some(climbed) = axes.iter().copied().find(|axis| is_load(axis)) else {
        return Vec::new();
    };
    let others: Vec<&String> = axes.into_iter().filter(|axis| *axis != climbed).collect();
    groups(rows, |row| row.name(&others))
        .into_iter()
        .map(|(name, rows)| Ladder {
            name,
            axis: climbed,
            rows,
        })
        .collect()
}

/// The loads of a ladder in ascending order, each with the output throughput of its valid
/// measurements.
pub(crate) fn rates<'r, 'a: 'r>(
    axis: &str,
    rows: impl IntoIterator<Item = &'r Row<'a>>,
) -> Vec<(f64, Vec<f64>)> {
    let of = |summary: &Summary| summary.throughput.output_tokens_per_s;
    let mut rates: Vec<(f64, Vec<f64>)> = (rows.into_iter())
        .filter_map(|row| Some((row.number(axis)?, row.valid().filter_map(of).collect())))
        .filter(|(_, rates): &(f64, Vec<f64>)| !rates.is_empty())
        .collect();
    rates.sort_by(|a, b| a.0.total_cmp(&b.0));
    rates
}

/// Whether an axis is one of load.
pub(crate) fn is_load(axis: &str) -> bool {
    LOAD.contains(&axis)
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
        match groups.get_mut(place) {
            Some((_, rows)) => rows.push(row.clone()),
            None => groups.push((key, vec![row.clone()])),
        }
    }
    groups
}

impl<'a> Row<'a> {
    pub(crate) fn valid(&self) -> impl Iterator<Item = &'a Summary> {
        self.summaries().filter(|summary| summary.valid)
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
    pub(crate) fn name(&self, axes: &[&String]) -> String {
        let parts: Vec<String> = (axes.iter())
            .map(|axis| format!("{axis}={}", shown(self.point.0.get(*axis))))
            .collect();
        parts.join(", ")
    }
}
