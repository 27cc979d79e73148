//! How far a figure may be off of a run that is too short for an interval of its own.
//!
//! Such a run did not last long enough to show how its parts differ from each other. But its
//! requests show how unlike they are, and it knows how many of them an interval would need: of so
//! many, at least [`INDEPENDENT`] tell something by themselves, and it has its share of those. The
//! error of as many independent requests, [`SAFETY`] times, is a bound: coarse, but a difference
//! beyond it is one. How often equal servers pass for different ones by it:
//! docs/accuracy-of-intervals.md.

use super::metric::Metric;
use inferometer_core::summary::{Distribution, Summary};
use inferometer_statistics::{Batches, student_quantile};

/// Fewest requests of a run with a bound.
const LEAST_REQUESTS: u64 = 30;
/// Independent requests among those that an interval needs.
const INDEPENDENT: f64 = 200.0;
/// Waves of a closed loop that show its noise, whatever more an interval needs.
const WAVES: f64 = Batches::LEAST as f64;
/// Least coefficient of variation: servers are never as even as their answers.
const LEAST_VARIATION: f64 = 0.25;
const SAFETY: f64 = 2.0;
/// Error of a median over that of a mean, of a normal distribution.
const OF_MEDIAN: f64 = 1.2533;
/// Degrees of freedom of a bound: those of the fewest batches.
pub(crate) const BOUND_DEGREES: f64 = (Batches::LEAST - 1) as f64;

/// A run without an interval; `streams` are those of a closed loop.
#[derive(Clone, Copy, Debug)]
pub struct ShortRun<'a> {
    pub summary: &'a Summary,
    pub streams: Option<u32>,
}

/// How many requests a figure would need for an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needed(pub u64);

impl ShortRun<'_> {
    /// What an interval of a figure needs; absent where that is not known.
    pub(crate) fn needed(&self, metric: Metric) -> Option<Needed> {
        let rate = || self.summary.throughput.requests_needed;
        let sample = metric.distribution(self.summary);
        sample
            .map_or_else(rate, |it| it.requests_needed)
            .map(Needed)
    }

    /// How unlike requests are. Those of very different lengths disturb each other: whatever
    /// differs most counts.
    fn variation(&self) -> f64 {
        let latency = &self.summary.latency;
        let samples = [latency.ttft_ms, latency.tpot_ms, latency.e2e_ms];
        let variations = samples.iter().flatten().filter_map(spread_of);
        variations.fold(LEAST_VARIATION, f64::max)
    }

    /// The same of a result of which figures alone are known, where they tell it of its answers.
    pub(crate) fn stated_variation(&self) -> Option<f64> {
        let latency = &self.summary.latency;
        let answers = [latency.tpot_ms, latency.e2e_ms];
        answers.iter().flatten().find_map(spread_of)?;
        Some(self.variation())
    }

    /// Variance of the logarithm of a mean or a rate of so many requests.
    fn variance_of(&self, requests: u64, needed: f64, variation: f64) -> Option<f64> {
        let counted = requests as f64 * (INDEPENDENT / needed).min(1.0);
        let enough = requests >= LEAST_REQUESTS;
        enough.then(|| (SAFETY * variation).powi(2) / counted)
    }

    fn variance(&self, needed: Needed) -> Option<f64> {
        let needed = match self.streams {
            Some(streams) => (needed.0 as f64).min(WAVES * f64::from(streams)),
            None => needed.0 as f64,
        };
        self.summary.latency.e2e_ms?;
        self.variance_of(self.summary.requests.ok, needed, self.variation())
    }

    /// Variance of the logarithm of a figure; absent for the tail of a distribution.
    pub(crate) fn log_variance(&self, metric: Metric) -> Option<f64> {
        bounded(metric, || self.variance(self.needed(metric)?))
    }

    /// How far the requests under way, by Little's law, were from the streams on average: what the
    /// start and the last answers cost the test.
    fn shortfall(&self) -> Option<f64> {
        let rate = self.summary.throughput.requests_per_s?;
        let latency_s = Metric::E2eMean.of(self.summary)? / 1e3;
        Some((1.0 - rate * latency_s / f64::from(self.streams?)).abs())
    }

    /// Variance of the logarithm of a rate, or of the mean latency, of a closed loop of which no more
    /// than figures of so many requests are known: that of as many independent requests, and what the
    /// start and the last answers cost, which a few long answers decide.
    pub(crate) fn variance_by_littles_law(&self, metric: Metric, requests: u64) -> Option<f64> {
        let is_covered = metric.is_common(false) && requests >= LEAST_REQUESTS;
        let variance = self.shortfall()?.powi(2) + 1.0 / requests as f64;
        is_covered.then_some(variance)
    }

    /// The same of a closed loop of which no more than figures of so many requests are known, but
    /// with how unlike its answers are, or those of the other side to the same requests.
    pub(crate) fn stated_log_variance(
        &self,
        metric: Metric,
        requests: u64,
        of_other_side: Option<f64>,
    ) -> Option<f64> {
        let variation = self.stated_variation().or(of_other_side)?;
        // How unlike the waits are, those of answers do not tell.
        if matches!(metric, Metric::TtftMean | Metric::TtftP50) {
            spread_of(self.summary.latency.ttft_ms.as_ref()?)?;
        }
        let needed = WAVES * f64::from(self.streams?);
        // What the last answers cost differs from test to test as much as answers do.
        let tail = (variation * self.shortfall().unwrap_or_default()).powi(2);
        bounded(metric, || {
            Some(self.variance_of(requests, needed, variation)? + tail)
        })
    }

    /// 95 % interval of a mean or a rate, by the bound.
    pub fn interval(&self, value: f64, needed: Needed) -> Option<[f64; 2]> {
        let error = self.variance(needed)?.sqrt();
        let half = student_quantile(0.975, BOUND_DEGREES) * error;
        Some([value * (-half).exp(), value * half.exp()])
    }
}

/// The coefficient of variation of a sample, by its deviation or by the reach of its tail, which is
/// hardly less.
fn spread_of(sample: &Distribution) -> Option<f64> {
    let middle = if sample.p50.is_finite() {
        sample.p50
    } else {
        sample.mean
    };
    // As many deviations of a normal sample above its median.
    let by_tail = || {
        let tails = [(sample.p99, 2.326), (sample.p95, 1.645)].into_iter();
        let mut reaches = tails.map(|(tail, deviations)| (tail - middle) / deviations);
        reaches.find(|reach| reach.is_finite())
    };
    let deviation = sample.std.or_else(by_tail)?;
    Some(deviation / sample.mean).filter(|it| it.is_finite() && *it >= 0.0)
}

/// The variance of a figure that a bound can be given of, from that of a mean.
fn bounded(metric: Metric, of_mean: impl Fn() -> Option<f64>) -> Option<f64> {
    if metric.tail().is_some() || matches!(metric, Metric::Goodput | Metric::SessionsPerHour) {
        return None;
    }
    Some(if metric.is_median() {
        of_mean()? * OF_MEDIAN.powi(2)
    } else {
        of_mean()?
    })
}
