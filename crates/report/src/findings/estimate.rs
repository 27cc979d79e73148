//! A figure of a point with the interval that it lies in.

use inferometer_chart::measured::MeasuredPoint;
use inferometer_compare::{Needed, Settings, ShortRun};
use inferometer_core::summary::Summary;
use inferometer_statistics::batch_means;
use std::cmp::Ordering;
use std::f64::consts::SQRT_2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    Ttft,
    Itl,
    Throughput,
}

impl Compared {
    /// What most studies are about comes first.
    pub(super) const ALL: [Compared; 3] = [Compared::Throughput, Compared::Ttft, Compared::Itl];

    /// The figure of one run.
    fn of(self, summary: &Summary) -> Option<Figure> {
        let sample = match self {
            Compared::Ttft => summary.latency.ttft_ms,
            // A gap between chunks depends on how the server packs tokens.
            Compared::Itl => (summary.latency.itl_ms).filter(|_| summary.latency.itl_is_per_token),
            Compared::Throughput => {
                let rate = &summary.throughput;
                return Some(Figure {
                    value: rate.output_tokens_per_s?,
                    interval: rate.output_tokens_per_s_interval,
                    needed: rate.requests_needed.map(Needed),
                });
            }
        }?;
        Some(Figure {
            value: sample.mean,
            interval: sample.mean_interval,
            needed: sample.requests_needed.map(Needed),
        })
    }

    /// Whether a point shows it, however uncertain.
    pub(super) fn is_shown(self, row: &MeasuredPoint<'_>) -> bool {
        row.winnable().any(|summary| self.of(summary).is_some())
    }

    /// Requests that a run of a point without an estimate would need for an interval.
    pub(super) fn needed(self, row: &MeasuredPoint<'_>) -> Option<u64> {
        let figures = row.winnable().filter_map(|summary| self.of(summary));
        let lacking = figures.filter(|figure| figure.interval.is_none());
        lacking
            .filter_map(|it| it.needed)
            .map(|Needed(requests)| requests)
            .max()
    }

    /// The figure of a point without an interval, where enough requests stand behind it that
    /// a large difference is one.
    pub(super) fn plain(self, row: &MeasuredPoint<'_>) -> Option<f64> {
        const LEAST_REQUESTS: u64 = 30;
        let requests = answered(row);
        let values = self.values(row);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (requests >= LEAST_REQUESTS && mean > 0.0).then_some(mean)
    }

    /// The figure of each run of a point.
    pub(super) fn values(self, row: &MeasuredPoint<'_>) -> Vec<f64> {
        let figures = row.winnable().filter_map(|run| self.of(run));
        let values = figures.map(|figure| figure.value);
        values.filter(|value| *value > 0.0).collect()
    }

    /// Order of two values, the better first.
    pub(super) fn rank(self, a: f64, b: f64) -> Ordering {
        match self {
            Compared::Throughput => b.total_cmp(&a),
            Compared::Ttft | Compared::Itl => a.total_cmp(&b),
        }
    }
}

/// Requests behind the figures of a point: those that were answered, or that were to be sent where
/// another tool tells no more.
pub(super) fn answered(row: &MeasuredPoint<'_>) -> u64 {
    let of_run = |run: &Summary| match run.requests.ok + run.requests.failed {
        0 => run.requests.planned,
        _ => run.requests.ok,
    };
    row.winnable().map(of_run).sum()
}

/// A figure of one run, as its summary has it.
struct Figure {
    value: f64,
    interval: Option<[f64; 2]>,
    /// What an interval needs.
    needed: Option<Needed>,
}

/// A figure and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) value: f64,
    pub(super) interval: [f64; 2],
}

/// Half of a normal 95 % interval, in standard deviations.
pub(super) const HALF: f64 = 1.96;

impl Estimate {
    /// Of the runs of a point that did the work that was asked for: over repeats, or of one run from
    /// its own requests, where it is too short for an interval by a bound. A single run cannot show
    /// how much the next would differ, so what `compare` assumes for that is added. Absent where
    /// neither can be had.
    pub(super) fn of(row: &MeasuredPoint<'_>, compared: Compared) -> Option<Self> {
        let figure = |summary: &'_ Summary| {
            let figure = compared.of(summary).filter(|figure| figure.value > 0.0)?;
            let is_closed = !row.point.is_open_loop();
            let short = ShortRun {
                summary,
                streams: summary.concurrency.configured.filter(|_| is_closed),
            };
            let bound = || short.interval(figure.value, figure.needed?);
            Some((figure.value, figure.interval.or_else(bound)))
        };
        let runs: Vec<(f64, Option<[f64; 2]>)> = row.winnable().filter_map(figure).collect();
        if let [(value, interval)] = runs.as_slice() {
            let [low, high] = (*interval)?;
            let between = HALF * Settings::default().run_deviation * value;
            let widened = |end: f64| (end - value).hypot(between);
            return Some(Estimate {
                value: *value,
                interval: [value - widened(low), value + widened(high)],
            });
        }
        let values: Vec<f64> = runs.into_iter().map(|(value, _)| value).collect();
        let known = batch_means(&values, values.len())?;
        Some(Estimate {
            value: known.mean,
            interval: known.interval,
        })
    }

    /// Of a point whose figures do not say how certain they are: apart from another such by a factor
    /// of two alone.
    pub(super) fn rough(row: &MeasuredPoint<'_>, compared: Compared) -> Option<Self> {
        let value = compared.plain(row)?;
        let interval = [value / SQRT_2, value * SQRT_2];
        Some(Estimate { value, interval })
    }

    /// Whether two figures differ: their intervals have nothing in common, and they are further
    /// apart than what `compare` takes for no difference.
    pub(super) fn separate(&self, other: &Self) -> bool {
        let [a, b] = [self.value.abs(), other.value.abs()];
        let apart = (a - b).abs() > Settings::default().margin * a.min(b);
        let disjoint = self.interval[1] < other.interval[0] || other.interval[1] < self.interval[0];
        apart && disjoint
    }
}
