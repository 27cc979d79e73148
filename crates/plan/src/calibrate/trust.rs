//! Whether a calibration may be trusted at all.

use super::{Calibration, FittedPoint, Verified};
use crate::means::MeanMetric;

/// The point that was missed most when it was left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worst<'a> {
    pub point: &'a FittedPoint,
    pub metric: MeanMetric,
    /// predicted / measured − 1.
    pub error: f64,
}

/// A prediction that is off by more than this factor says nothing of a setting.
pub(crate) const USELESS: f64 = 1.5;

impl Calibration {
    /// The point that speaks against trusting this calibration: the others predict it so badly
    /// that either it is wrong or the model is. Absent where all are predicted well enough.
    pub fn distrusted(&self) -> Option<Worst<'_>> {
        let missed = self.points.iter().flat_map(|point| {
            MeanMetric::all().filter_map(move |metric| {
                let error = *point.errors.get(metric.into_str())?;
                Some(Worst {
                    point,
                    metric,
                    error,
                })
            })
        });
        let worst = missed.max_by(|a, b| a.size().total_cmp(&b.size()))?;
        (worst.size() > USELESS.ln()).then_some(worst)
    }
}

impl Verified {
    /// Whether the prediction held; of records that do not say, whether no error is so large that
    /// it was of no use.
    pub fn held(&self) -> bool {
        let useless = |error: &f64| error.ln_1p().abs() > USELESS.ln();
        self.held
            .unwrap_or_else(|| !self.errors.values().any(useless))
    }
}

impl Worst<'_> {
    /// By how much, alike for too high and too low.
    fn size(&self) -> f64 {
        self.error.ln_1p().abs()
    }
}
