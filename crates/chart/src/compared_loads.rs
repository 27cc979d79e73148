//! The ladder of a comparison: its loads, and where a side saturates.

use crate::measured::ladder::rates_at;
use inferometer_campaign::knee::{Knee, knee, still_rising};
use inferometer_compare::Group;
use inferometer_core::point::Point;
use inferometer_core::summary::Summary;

/// Each load by its number, where nothing but that tells the points apart.
pub fn loads(points: &[&Point]) -> Option<Vec<(String, f64)>> {
    let load = |name: &Point| {
        let (axis, value) = name.0.first_key_value()?;
        let is_load = name.0.len() == 1 && ["concurrency", "rate"].contains(&axis.as_str());
        let number = value.as_f64().or_else(|| value.as_str()?.parse().ok());
        Some((axis.clone(), number.filter(|_| is_load)?))
    };
    let (names, _) = Point::told_apart(points);
    let loads: Option<Vec<(String, f64)>> = names.iter().map(load).collect();
    loads.filter(|all| all.windows(2).all(|pair| pair[0].0 == pair[1].0))
}

/// Where nearly all of the highest throughput is reached.
pub enum Saturation {
    At(Knee),
    /// Above the highest load, at which throughput rises still.
    Above(f64),
}

impl Saturation {
    /// Of a side, at loads that are compared; absent where they do not tell.
    pub fn of(group: &Group, points: &[&Point]) -> Option<Self> {
        let loads = loads(points)?;
        let at = |(&(_, load), point): (&(_, f64), &&Point)| {
            let runs = group.counted();
            let runs = runs.filter(|run| run.point.key() == point.key());
            (load, runs.map(|run| &run.summary).collect())
        };
        let measured: Vec<(f64, Vec<&Summary>)> = loads.iter().zip(points).map(at).collect();
        let rates = rates_at(&measured);
        let above = || Some(Saturation::Above(still_rising(&rates)?[1].0));
        knee(&rates).map(Saturation::At).or_else(above)
    }
}
