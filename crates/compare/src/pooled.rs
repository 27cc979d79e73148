//! The metric that decides, over all loads of a test together: each may be too uncertain to tell what
//! all of them show.

use super::contrast::Contrast;
use super::{Compared, Metric, Settings, Verdict, judged};
use inferometer_statistics::Difference;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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

/// Fewest loads that show by themselves how far a difference at one of them is off.
const LEAST_LOADS: usize = 4;

/// The mean of differences, by how these differ from load to load: where figures alone are known, what
/// is assumed of their noise may be far more than what they have, or nothing.
fn by_scatter(values: &[f64], shared: f64) -> Option<Difference> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let of_loads = squares / (n - 1.0) / n;
    let variance = of_loads + shared;
    (values.len() >= LEAST_LOADS && variance > 0.0).then(|| Difference {
        value: mean,
        error: variance.sqrt(),
        degrees: variance.powi(2) / (of_loads.powi(2) / (n - 1.0)),
    })
}

/// The mean of the loads by their repeats, where a repeat has one seed at all loads: its requests are
/// the same at each, so that the errors of the loads are not independent.
fn by_repeats(loads: &[&Contrast]) -> Option<Difference> {
    let first = loads.first()?;
    let seeds = |side: usize| first.by_seed[side].keys();
    let are_same = |it: &&Contrast| (0..2).all(|side| it.by_seed[side].keys().eq(seeds(side)));
    let least = first.by_seed.iter().map(BTreeMap::len).min()?;
    if least < 2 || !loads.iter().all(are_same) {
        return None;
    }
    let means = |side: usize| -> Vec<f64> {
        let of_seed = |seed: &u64| {
            let logs = loads.iter().map(|it| it.by_seed[side][seed]);
            logs.sum::<f64>() / loads.len() as f64
        };
        seeds(side).map(of_seed).collect()
    };
    let [a, b] = [0, 1].map(means);
    if loads.iter().all(|it| it.paired) {
        let ratios: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
        return Difference::of_mean(&ratios);
    }
    Difference::pooled(&a, &b)
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
        let known: Vec<&Contrast> = known.map(|(_, it)| it).collect();
        // Runs of one start of a server are off together.
        let single = known.iter().map(|it| it.between_single);
        let shared = 2.0 * single.fold(0.0, f64::max);
        let decidable = known.iter().filter(|it| it.is_decidable());
        let parts: Vec<Difference> = decidable.clone().filter_map(|it| it.difference).collect();
        let repeated: Vec<&Contrast> = decidable.copied().collect();
        let by_repeats = by_repeats(&repeated);
        let by_parts = by_repeats.or_else(|| Difference::mean_of(&parts, shared));
        let by_parts = by_parts.filter(|_| parts.len() > 1);
        let count = parts.len();
        let are_figures = known.iter().all(|it| !it.recorded);
        let ratios = known.iter().filter(|_| are_figures);
        let ratios: Vec<f64> = ratios.filter_map(|it| it.log_ratio()).collect();
        let by_loads = by_scatter(&ratios, shared).filter(|_| by_repeats.is_none());
        let risk = settings.risk / tests as f64;
        let (loads, mean, [low, high]) = match (by_parts, by_loads) {
            // Of two ways to know the error each takes half of the risk.
            (Some(own), Some(seen)) => {
                let both = [own, seen].map(|it| it.interval(1.0 - risk / 2.0));
                let is_closer = both[1][1] - both[1][0] < both[0][1] - both[0][0];
                if is_closer {
                    (ratios.len(), seen.value, both[1])
                } else {
                    (count, own.value, both[0])
                }
            }
            (Some(all), None) => (count, all.value, all.interval(1.0 - risk)),
            (None, Some(all)) => (ratios.len(), all.value, all.interval(1.0 - risk)),
            (None, None) => return None,
        };
        let margin = (1.0 + settings.margin).ln();
        let above = (low > 0.0 || high < 0.0).then_some(low > 0.0);
        let (_, verdict) = judged(first.primary, above, -margin < low && high < margin);
        let values = || {
            parts
                .iter()
                .map(|it| it.value)
                .chain(ratios.iter().copied())
        };
        let is_one_way = values().all(|it| it > 0.0) || values().all(|it| it < 0.0);
        (is_one_way || verdict == Verdict::Same).then(|| Pooled {
            group: group.to_owned(),
            test: first.point.group().map(str::to_owned),
            metric: first.primary,
            loads,
            ratio: mean.exp(),
            low: low.exp(),
            high: high.exp(),
            verdict,
        })
    }
}
