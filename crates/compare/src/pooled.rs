//! The metric that decides, over all loads of a test together: each may be too uncertain to tell what
//! all of them show.

use super::{Compared, Metric, Settings, Verdict, judged};
use inferometer_statistics::Difference;
use serde::{Deserialize, Serialize};

/// The primary metric of a group over all loads of one test, where these do not point to either side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pooled {
    pub group: String,
    /// The test of an import, by its model and last heading.
    pub test: Option<String>,
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub metric: Metric,
    pub loads: usize,
    /// Geometric mean of their ratios.
    pub ratio: f64,
    /// Low end of its interval, which holds with 95 % together with those of the loads.
    pub low: f64,
    pub high: f64,
    pub verdict: Verdict,
}

impl Pooled {
    /// Of the loads of one test, `tests` of which and of such sums share the risk.
    pub(super) fn of(
        group: &str,
        loads: &[&Compared<'_>],
        tests: usize,
        settings: &Settings,
    ) -> Option<Self> {
        let first = loads.first()?;
        let known = loads.iter().filter_map(|load| load.contrasts.first());
        let known: Vec<_> = known.filter(|(_, it)| it.is_decidable()).collect();
        let parts: Vec<Difference> = known.iter().filter_map(|(_, it)| it.difference).collect();
        // Runs of one start of a server are off together.
        let single = known.iter().map(|(_, it)| it.between_single);
        let shared = 2.0 * single.fold(0.0, f64::max);
        let all = Difference::mean_of(&parts, shared).filter(|_| parts.len() > 1)?;
        let [low, high] = all.interval(1.0 - settings.risk / tests as f64);
        let margin = (1.0 + settings.margin).ln();
        let above = (low > 0.0 || high < 0.0).then_some(low > 0.0);
        let (_, verdict) = judged(first.primary, above, -margin < low && high < margin);
        let is_one_way =
            parts.iter().all(|it| it.value > 0.0) || parts.iter().all(|it| it.value < 0.0);
        (is_one_way || verdict == Verdict::Same).then(|| Pooled {
            group: group.to_owned(),
            test: first.point.group().map(str::to_owned),
            metric: first.primary,
            loads: parts.len(),
            ratio: all.value.exp(),
            low: low.exp(),
            high: high.exp(),
            verdict,
        })
    }
}
