//! Loads that another tool measured several times: how far apart these results are.

use super::pairing::by_point;
use super::{Group, Metric, RunSample, Settings};
use inferometer_core::point::Point;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What decides where the settings name nothing: the first that all repeats have.
const USUAL: [Metric; 3] = [
    Metric::OutputTokensPerS,
    Metric::RequestsPerS,
    Metric::E2eMean,
];

/// Results of one load, and of nothing else that is known to differ, which differ by more than the
/// margin.
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
        let of = |(point, runs): (&Point, Vec<&RunSample>)| {
            let figures = |metric: Metric| -> Option<Vec<f64>> {
                let figures = runs.iter().map(|run| metric.of(&run.summary));
                figures.map(|it| it.filter(|it| *it > 0.0)).collect()
            };
            let metrics = settings.primary.into_iter().chain(USUAL);
            let (metric, figures) = metrics
                .filter_map(|metric| Some((metric, figures(metric)?)))
                .next()?;
            let low = figures.iter().copied().reduce(f64::min)?;
            let high = figures.iter().copied().reduce(f64::max)?;
            let is_apart = runs.len() > 1 && high > low * (1.0 + settings.margin);
            (are_of_another(&runs) && is_apart).then(|| Repeated {
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
}

/// Figures alone, which do not say how much of a difference is noise within the runs.
fn are_of_another(runs: &[&RunSample]) -> bool {
    runs.iter().all(|run| run.series.is_none())
}

/// What a test tells of how far single results may be off: loads that a side measured several times,
/// and how steadily one side leads over the other from load to load.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repeats<'a> {
    /// Those of the load that is asked about, which counts them itself.
    own: Vec<&'a [&'a RunSample]>,
    others: Vec<&'a [&'a RunSample]>,
    /// Other loads with one result on each side.
    single: Vec<[&'a RunSample; 2]>,
}

/// The sum of squares of logarithms around their means, and what it is divided by for a variance.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scatter {
    pub(crate) squares: f64,
    pub(crate) degrees: f64,
}

impl Scatter {
    fn of(logs: &[f64]) -> Self {
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        Scatter {
            squares: logs.iter().map(|log| (log - mean).powi(2)).sum(),
            degrees: logs.len().saturating_sub(1) as f64,
        }
    }

    fn and(self, other: Self) -> Self {
        Scatter {
            squares: self.squares + other.squares,
            degrees: self.degrees + other.degrees,
        }
    }
}

type Loads<'a> = [(&'a Point, Vec<&'a RunSample>)];

/// One load, as far as each side has results of it.
pub(crate) struct LoadOfTest<'a> {
    test: Option<&'a str>,
    key: String,
    sides: [&'a [&'a RunSample]; 2],
}

/// All loads of two sides, gathered once: every load asks for those of its test.
pub(crate) fn loads_of_tests<'a>(a: &'a Loads<'a>, b: &'a Loads<'a>) -> Vec<LoadOfTest<'a>> {
    let mut others: BTreeMap<String, &(&Point, Vec<&RunSample>)> =
        b.iter().map(|load| (load.0.key(), load)).collect();
    let mut gathered: Vec<LoadOfTest<'a>> = (a.iter())
        .map(|(point, runs)| {
            let key = point.key();
            let beside = others.remove(&key).map_or(&[][..], |(_, runs)| runs);
            LoadOfTest {
                test: point.group(),
                key,
                sides: [runs, beside],
            }
        })
        .collect();
    gathered.extend(others.into_iter().map(|(key, (point, runs))| LoadOfTest {
        test: point.group(),
        key,
        sides: [&[], runs],
    }));
    gathered
}

impl<'a> Repeats<'a> {
    /// Those of the test that a load is of, figures alone.
    pub(crate) fn around(point: &Point, loads: &[LoadOfTest<'a>]) -> Self {
        let mut found = Repeats::default();
        let key = point.key();
        for load in loads.iter().filter(|load| load.test == point.group()) {
            let is_here = load.key == key;
            for runs in load.sides {
                if runs.len() > 1 && are_of_another(runs) {
                    let list = if is_here {
                        &mut found.own
                    } else {
                        &mut found.others
                    };
                    list.push(runs);
                }
            }
            if let [&[a], &[b]] = load.sides
                && !is_here
                && are_of_another(&[a, b])
            {
                found.single.push([a, b]);
            }
        }
        found
    }

    /// How a figure scatters at the other loads; absent where no repeat of the test is further off
    /// than the margin.
    pub(crate) fn scatter(&self, metric: Metric, margin: f64) -> Option<Scatter> {
        let log = |run: &&RunSample| {
            let value = metric.of(&run.summary).filter(|it| *it > 0.0)?;
            Some(value.ln())
        };
        let logs = |runs: &[&RunSample]| Vec::from_iter(runs.iter().filter_map(log));
        let is_apart = |runs: &&[&RunSample]| {
            let logs = logs(runs);
            let high = logs.iter().copied().reduce(f64::max);
            let low = logs.iter().copied().reduce(f64::min);
            high.zip(low)
                .is_some_and(|(high, low)| high - low > margin.ln_1p())
        };
        if !self.own.iter().chain(&self.others).any(is_apart) {
            return None;
        }
        let repeats = self.others.iter().map(|runs| Scatter::of(&logs(runs)));
        let repeats = repeats.fold(Scatter::default(), Scatter::and);
        let own = self.own.iter().map(|runs| Scatter::of(&logs(runs)));
        let seen = own.fold(repeats, Scatter::and);
        let leads = self
            .single
            .iter()
            .filter_map(|[a, b]| Some(log(b)? - log(a)?));
        // Both sides of a ratio scatter.
        let leads = Scatter::of(&Vec::from_iter(leads));
        let leads = Scatter {
            squares: leads.squares / 2.0,
            ..leads
        };
        // Where a lead changes more than repeats differ, it is another at each load.
        let is_steady = leads.squares * seen.degrees < seen.squares * leads.degrees;
        Some(if is_steady {
            repeats.and(leads)
        } else {
            repeats
        })
    }
}
