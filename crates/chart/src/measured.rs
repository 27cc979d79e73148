//! Measured points: what figures and findings read of a sweep, and of an import.
//!
//! Both have axes, points on them, and numbers of each point; only a sweep has a plan and a state
//! of every trial. So figures and findings take [`MeasuredPoints`], which either fills, and
//! neither has to pose as the other. It is a struct and not a trait: its users go over the points
//! many times, in groups, and both sources have all of them in memory.

mod dependence;
pub mod ladder;

pub use dependence::{confounded, independent};

use inferometer_core::point::Point;
use inferometer_core::summary::{SloOutcome, Summary};
use inferometer_page::number;
use inferometer_store::sweep_dir::Trial;
use serde_json::Value;
use std::collections::HashMap;

/// Axes of load.
pub const LOAD: [&str; 2] = ["concurrency", "rate"];
/// The axis of whatever tells results of one load apart in an import: its values are names.
pub const SETTING: &str = "result";
const INPUT: [&str; 2] = ["input-tokens", "input-chars"];
const OUTPUT: [&str; 3] = ["output-tokens", "max-tokens", "ask-chars"];

/// The points of a sweep or an import.
pub struct MeasuredPoints<'a> {
    pub axes: &'a [String],
    /// All points that were planned: whether an axis follows another is seen from these.
    pub planned: Vec<&'a Point>,
    /// Those that were visited, in the order of the plan.
    pub points: Vec<MeasuredPoint<'a>>,
    /// Footnotes of every figure.
    pub notes: Vec<String>,
}

/// All that is known of one point.
#[derive(Clone)]
pub struct MeasuredPoint<'a> {
    pub point: &'a Point,
    /// How its visits ended; none of an import.
    pub trials: Vec<&'a Trial>,
    /// The numbers of every measurement.
    pub summaries: Vec<&'a Summary>,
}

impl<'a> MeasuredPoint<'a> {
    pub fn summaries(&self) -> impl Iterator<Item = &'a Summary> {
        self.summaries.iter().copied()
    }

    pub fn valid(&self) -> impl Iterator<Item = &'a Summary> {
        self.summaries().filter(|summary| summary.valid)
    }

    /// Those that may be called better than others.
    pub fn winnable(&self) -> impl Iterator<Item = &'a Summary> {
        self.summaries().filter(|summary| summary.can_win())
    }

    /// Numbers to show: of the valid measurements, else of any.
    pub fn shown(&self) -> Vec<&'a Summary> {
        let valid: Vec<&Summary> = self.valid().collect();
        if valid.is_empty() {
            self.summaries.clone()
        } else {
            valid
        }
    }

    /// Of several measurements, the one with the median throughput.
    pub fn typical(&self) -> Option<&'a Summary> {
        let mut all = self.shown();
        all.sort_by(|a, b| {
            let rate = |it: &Summary| it.throughput.output_tokens_per_s.unwrap_or(0.0);
            rate(a).total_cmp(&rate(b))
        });
        all.get(all.len().saturating_sub(1) / 2).copied()
    }

    pub fn mean(&self, of: impl Fn(&Summary) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.shown().into_iter().filter_map(of).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    pub fn tokens_per_s(&self) -> Option<f64> {
        self.mean(|summary| summary.throughput.output_tokens_per_s)
    }

    /// Whether it meets its objectives; absent where none are judged.
    pub fn meets(&self) -> Option<bool> {
        let met = |summary: &Summary| Some(summary.slo.as_ref()?.outcome() == SloOutcome::Met);
        let outcomes: Option<Vec<bool>> = self.shown().into_iter().map(met).collect();
        outcomes
            .filter(|all| !all.is_empty())
            .map(|all| all.into_iter().all(|met| met))
    }

    pub fn number(&self, axis: &str) -> Option<f64> {
        match self.point.0.get(axis)? {
            Value::String(text) => text.parse().ok(),
            value => value.as_f64(),
        }
        .filter(|value: &f64| value.is_finite())
    }

    pub fn text(&self, axis: &str) -> String {
        value_text(self.point.0.get(axis))
    }

    /// Its values of these axes: `concurrency=8, input-tokens=512`; the name of a setting alone.
    pub fn name(&self, axes: &[&String]) -> String {
        let parts: Vec<String> = (axes.iter())
            .map(|axis| match axis.as_str() {
                SETTING => self.text(axis),
                _ => format!("{axis}={}", self.text(axis)),
            })
            .collect();
        parts.join(", ")
    }
}

/// A value of an axis as it is written.
pub fn value_text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => number::ABSENT.to_owned(),
    }
}

/// Points by their key, in the order in which keys first come.
pub fn groups<'a>(
    points: &'a [MeasuredPoint<'a>],
    key: impl Fn(&MeasuredPoint<'_>) -> String,
) -> Vec<(String, Vec<&'a MeasuredPoint<'a>>)> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<(String, Vec<&MeasuredPoint<'_>>)> = Vec::new();
    for point in points {
        let key = key(point);
        let place = *places.entry(key.clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, points)) => points.push(point),
            None => groups.push((key, vec![point])),
        }
    }
    groups
}

/// Each of some things once, in the order in which they come.
pub fn distinct<T: PartialEq>(things: impl Iterator<Item = T>) -> Vec<T> {
    let mut known = Vec::new();
    for thing in things {
        if !known.contains(&thing) {
            known.push(thing);
        }
    }
    known
}

pub fn is_load(axis: &str) -> bool {
    LOAD.contains(&axis)
}

/// Whether an axis is a length of prompts or answers.
pub fn is_length(axis: &str) -> bool {
    INPUT.contains(&axis) || OUTPUT.contains(&axis)
}

/// Whether an axis says what is asked of a server: work that is given, and no setting to choose.
pub fn is_work(axis: &str) -> bool {
    is_length(axis) || axis == "template"
}

/// The axis of output lengths, if there is one.
pub fn output_length(axes: &[String]) -> Option<&String> {
    axes.iter().find(|axis| OUTPUT.contains(&axis.as_str()))
}

/// The axes of input and output lengths, where there are both.
pub fn lengths(axes: &[String]) -> Option<[&String; 2]> {
    let of = |names: &[&str]| axes.iter().find(|axis| names.contains(&axis.as_str()));
    Some([of(&INPUT)?, of(&OUTPUT)?])
}
