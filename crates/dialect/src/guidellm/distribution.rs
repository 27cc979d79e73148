//! Distributions by the tool's rules: values with weights, of which a percentile is the first at
//! which the weights reach it, and rates and concurrency weighted by the time that they hold.

use crate::object::Object;
use inferometer_core::quantile::sort;
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};

/// Two-sided level of the intervals.
const CONFIDENCE: f64 = 0.95;
/// Events that are as near as this, in seconds, count as one.
const NEAR_S: f64 = 1e-4;
const LEAST_S: f64 = 1e-6;

pub(super) const PERCENTILES: [(&str, f64); 11] = [
    ("p001", 0.001),
    ("p01", 0.01),
    ("p05", 0.05),
    ("p10", 0.1),
    ("p25", 0.25),
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p999", 0.999),
];

/// Bounds of an interval.
type Interval = (f64, f64);

/// What the tool keeps of a distribution; all 0 where there is nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Summary {
    pub(super) mean: f64,
    mode: f64,
    variance: f64,
    min: f64,
    max: f64,
    count: u64,
    percentiles: [f64; PERCENTILES.len()],
    /// Of a sample of requests; values with weights have none.
    pub(super) intervals: Option<Intervals>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Intervals {
    pub(super) mean: Interval,
    percentiles: [Option<Interval>; PERCENTILES.len()],
}

impl Summary {
    /// One value for each request, with intervals.
    pub(super) fn of_requests(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        sort(&mut values);
        let summary = Self::of_values(values.iter().map(|value| (*value, 1.0)));
        Summary {
            intervals: Intervals::of_sample(&values),
            ..summary
        }
    }

    /// Values with their weights, which are counted.
    pub(super) fn of_values(pairs: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let pairs: Vec<(f64, f64)> = pairs.into_iter().collect();
        let count = pairs.iter().map(|(_, weight)| weight).sum::<f64>().round();
        Self::of_weighted(pairs, count as u64)
    }

    fn of_weighted(mut pairs: Vec<(f64, f64)>, count: u64) -> Self {
        let total: f64 = pairs.iter().map(|(_, weight)| weight).sum();
        if total > LEAST_S {
            pairs.retain(|(_, weight)| *weight > 0.0);
        } else {
            pairs.iter_mut().for_each(|(_, weight)| *weight = 1.0);
        }
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        pairs.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 += later.1;
            }
            same
        });
        let total: f64 = pairs.iter().map(|(_, weight)| weight).sum();
        let (Some(least), Some(most)) = (pairs.first(), pairs.last()) else {
            return Summary {
                count,
                ..Summary::default()
            };
        };
        let over_all = |of: &dyn Fn(f64) -> f64| {
            let pairs = pairs.iter();
            pairs
                .map(|(value, weight)| of(*value) * weight)
                .sum::<f64>()
                / total
        };
        let mean = over_all(&|value| value);
        let frequent = pairs.iter().fold(*least, |most, &next| match next {
            next if next.1 > most.1 => next,
            _ => most,
        });
        let percentile = |share: f64| {
            let mut reached = 0.0;
            let found = pairs.iter().find(|(_, weight)| {
                reached += weight / total;
                reached >= share
            });
            found.unwrap_or(most).0
        };
        Summary {
            mean,
            mode: frequent.0,
            variance: over_all(&|value| (value - mean).powi(2)),
            min: least.0,
            max: most.0,
            count,
            percentiles: PERCENTILES.map(|(_, share)| percentile(share)),
            intervals: None,
        }
    }

    /// How often something happens in a second: each event, with its weight, is spread from half
    /// of the way to the one before it to half of the way to the next.
    pub(super) fn of_rate(events: Vec<(f64, f64)>, (begin, end): (f64, f64)) -> Self {
        let inside = events
            .into_iter()
            .filter(|(at, _)| (begin..=end).contains(at));
        let events = merged(inside.chain([(begin, 0.0), (end, 0.0)]).collect());
        let last = events.len() - 1;
        if last == 0 {
            return Self::of_weighted(Vec::new(), 1);
        }
        let middle = |at: usize| (events[at].0 + events[at + 1].0) / 2.0;
        let parts = (0..=last).map(|at| {
            let took = match at {
                0 => middle(0) - events[0].0,
                at if at == last => (events[last].0 - middle(last - 1)).max(LEAST_S),
                at => middle(at) - middle(at - 1),
            };
            (events[at].1 / took, took)
        });
        let count = events.iter().map(|(_, weight)| weight).sum::<f64>().round();
        Self::of_weighted(parts.collect(), count as u64)
    }

    /// How many of these spans there are at a time.
    pub(super) fn of_concurrency(spans: Vec<(f64, f64)>, (begin, end): (f64, f64)) -> Self {
        let spans = spans.into_iter();
        let spans: Vec<(f64, f64)> = spans
            .filter(|(from, to)| *to >= begin && *from <= end)
            .collect();
        if spans.is_empty() {
            return Summary::default();
        }
        let changes = spans
            .iter()
            .flat_map(|(from, to)| [(*from, 1.0), (*to, -1.0)]);
        let changes = merged(changes.collect());
        let before = changes.iter().filter(|(at, _)| *at < begin);
        let before: f64 = before.map(|(_, change)| change).sum();
        let inside = changes
            .iter()
            .copied()
            .filter(|(at, _)| (begin..=end).contains(at));
        let changes = [(begin, before)].into_iter().chain(inside);
        let changes: Vec<(f64, f64)> = changes.chain([(end, 0.0)]).collect();
        let mut under_way = 0.0;
        let parts = changes.windows(2).map(|pair| {
            under_way += pair[0].1;
            (f64::max(under_way, 0.0), pair[1].0 - pair[0].0)
        });
        let parts: Vec<(f64, f64)> = parts.filter(|(_, took)| *took > 0.0).collect();
        Self::of_weighted(parts, spans.len() as u64)
    }

    pub(super) fn percentile(&self, name: &str) -> f64 {
        let at = PERCENTILES.iter().position(|(known, _)| *known == name);
        at.map_or(0.0, |at| self.percentiles[at])
    }

    pub(super) fn total(&self) -> f64 {
        self.mean * self.count as f64
    }

    /// Whether its 95th percentile has no interval, although others have one.
    pub(super) fn is_unbounded_at_p95(&self) -> bool {
        let at = PERCENTILES.iter().position(|(name, _)| *name == "p95");
        let intervals = self.intervals.as_ref();
        intervals
            .zip(at)
            .is_some_and(|(intervals, at)| intervals.percentiles[at].is_none())
    }

    pub(super) fn entry(&self) -> Object {
        let interval = |bounds: Interval| serde_json::json!({"lower": bounds.0, "upper": bounds.1});
        let mut entry = Object::default();
        entry.put("mean", self.mean);
        entry.put("median", self.percentile("p50"));
        entry.put("mode", self.mode);
        entry.put("variance", self.variance);
        entry.put("std_dev", self.variance.sqrt());
        entry.put("min", self.min);
        entry.put("max", self.max);
        entry.put("count", self.count);
        entry.put("total_sum", self.total());
        let values = PERCENTILES.iter().zip(self.percentiles);
        let values = values.map(|((name, _), value)| (*name, value.into()));
        entry.nest("percentiles", Object::from_pairs(values));
        entry.put("pdf", serde_json::Value::Null);
        let intervals = self.intervals.as_ref();
        entry.put(
            "mean_ci",
            intervals.map(|intervals| interval(intervals.mean)),
        );
        match intervals {
            Some(intervals) => {
                let bounds = PERCENTILES.iter().zip(intervals.percentiles);
                let bounds = bounds.map(|((name, _), bounds)| (*name, bounds.map(interval).into()));
                entry.nest("percentile_cis", Object::from_pairs(bounds));
            }
            None => entry.put("percentile_cis", serde_json::Value::Null),
        }
        entry
    }
}

impl Intervals {
    /// Student's t for the mean, and order statistics for percentiles, as if requests did not
    /// depend on each other. `None` for fewer than two.
    fn of_sample(sorted: &[f64]) -> Option<Self> {
        let n = sorted.len();
        if n < 2 {
            return None;
        }
        let mean = sorted.iter().sum::<f64>() / n as f64;
        let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (squares / (n - 1) as f64 / n as f64).sqrt();
        let student = StudentsT::new(0.0, 1.0, (n - 1) as f64).ok()?;
        let half = student.inverse_cdf((1.0 + CONFIDENCE) / 2.0) * error;
        Some(Intervals {
            mean: (mean - half, mean + half),
            percentiles: PERCENTILES.map(|(_, share)| {
                let (low, high) = ranks(n as u64, share)?;
                Some((sorted[low], sorted[high]))
            }),
        })
    }
}

/// The ranks between which a quantile lies; `None` if the sample is too small for that.
fn ranks(n: u64, share: f64) -> Option<(usize, usize)> {
    let below = Binomial::new(share, n).ok()?;
    let tail = (1.0 - CONFIDENCE) / 2.0;
    // The first rank at which something holds, of a share that only grows.
    let first = |holds: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (0, n);
        while low < high {
            let middle = (low + high) / 2;
            if holds(below.cdf(middle)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    };
    let low = first(&|share| share > tail).checked_sub(1)?;
    let high = first(&|share| share >= 1.0 - tail);
    (high < n).then_some((low as usize, high as usize))
}

/// Events in order, those within a tenth of a millisecond of the first of them as one.
fn merged(mut events: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    events.dedup_by(|later, kept| {
        let near = later.0 <= kept.0 + NEAR_S;
        if near {
            kept.1 += later.1;
        }
        near
    });
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heavy_value_takes_more_percentiles() {
        let sample = Summary::of_values([(10.0, 1.0), (20.0, 3.0), (10.0, 0.0)]);
        assert_eq!(sample.mean, 17.5);
        assert_eq!(sample.percentile("p25"), 10.0);
        assert_eq!(sample.percentile("p50"), 20.0);
        assert_eq!((sample.mode, sample.count), (20.0, 4));
        let nothing = Summary::of_values([]);
        assert_eq!((nothing.mean, nothing.percentile("p50")), (0.0, 0.0));
        assert_eq!((sample.intervals, nothing.intervals), (None, None));
    }

    #[test]
    fn a_rate_is_the_number_of_events_over_the_window() {
        let rate = Summary::of_rate(vec![(1.0, 1.0), (2.0, 1.0), (9.0, 1.0)], (0.0, 4.0));
        assert!((rate.mean - 2.0 / 4.0).abs() < 1e-9, "{rate:?}");
        assert_eq!(rate.count, 2);
        assert_eq!(Summary::of_rate(Vec::new(), (1.0, 1.0)).mean, 0.0);
    }

    #[test]
    fn concurrency_is_weighted_by_its_time() {
        let spans = vec![(0.0, 2.0), (1.0, 2.0), (8.0, 9.0)];
        let of = Summary::of_concurrency(spans, (0.0, 4.0));
        assert_eq!((of.mean, of.max, of.min, of.count), (0.75, 2.0, 0.0, 2));
    }

    #[test]
    fn a_percentile_has_an_interval_where_the_sample_is_large_enough() {
        // 0.975 ^ n < 0.025 from 72 on, for the 95th.
        assert!(ranks(71, 0.95).is_none());
        assert!(ranks(72, 0.95).is_some_and(|(_, high)| high == 71));
        // 40 draws of 0.5: 13 or fewer in 1.9 %, 14 in 4 %.
        assert_eq!(ranks(40, 0.5), Some((13, 26)));
    }
}
