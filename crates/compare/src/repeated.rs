//! Loads that another tool measured several times: how far apart these results are.

use super::pairing::by_point;
use super::{Group, Metric, Settings};
use inferometer_core::point::Point;
use serde::{Deserialize, Serialize};

/// What decides where the settings name nothing: the first that all repeats have.
const USUAL: [Metric; 3] = [
    Metric::OutputTokensPerS,
    Metric::RequestsPerS,
    Metric::E2eMean,
];

/// Results of one load, and of nothing else that is known to differ, which differ by more than the
/// margin. Between sides of one run each a difference as small as that is not told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Repeated {
    pub group: String,
    pub point: Point,
    pub runs: usize,
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub metric: Metric,
    pub low: f64,
    pub high: f64,
}

impl Repeated {
    pub(super) fn of(group: &Group, settings: &Settings) -> Vec<Repeated> {
        let of = |(point, runs): (&Point, Vec<&super::RunSample>)| {
            let figures = |metric: Metric| -> Option<Vec<f64>> {
                let figures = runs.iter().map(|run| metric.of(&run.summary));
                figures.map(|it| it.filter(|it| *it > 0.0)).collect()
            };
            let metrics = settings.primary.into_iter().chain(USUAL);
            let (metric, figures) = metrics
                .filter_map(|metric| Some((metric, figures(metric)?)))
                .next()?;
            let is_of_another = runs.iter().all(|run| run.series.is_none());
            let low = figures.iter().copied().reduce(f64::min)?;
            let high = figures.iter().copied().reduce(f64::max)?;
            let is_apart = runs.len() > 1 && high > low * (1.0 + settings.margin);
            (is_of_another && is_apart).then(|| Repeated {
                group: group.name.clone(),
                point: point.clone(),
                runs: runs.len(),
                metric,
                low,
                high,
            })
        };
        by_point(group).into_iter().filter_map(of).collect()
    }

    /// Standard deviation of one run's logarithm, of which two runs are so far apart.
    pub fn deviation(&self) -> f64 {
        (self.high / self.low).ln() / std::f64::consts::SQRT_2
    }
}
