//! Objectives, judged on a simulated run.

use inferometer_core::quantile::{least_samples, quantile, sort};
use inferometer_core::slo::{Slo, SloMetric, SloScope};
use inferometer_sim::engine::virtual_time::{Keep, Run, Served};
use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objectives {
    pub slos: Vec<Slo>,
    /// Share of requests that must meet those of a request; absent: all.
    pub attainment: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PredictedVerdict {
    Missed,
    /// All are met, but the upper end of an interval misses, or there is none.
    Uncertain,
    /// The upper ends of all intervals meet them.
    Met,
}

/// An objective for sessions, where single requests are predicted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "--slo {0} is about sessions, and predictions are of single requests; give e2e, or compute whole sessions with inferometer sweep --sim-clock virtual --turns 4 --slo {0}"
)]
pub struct OfSessions(Slo);

impl Objectives {
    pub fn of(slos: &[Slo], attainment: Option<f64>) -> Result<Self, OfSessions> {
        match slos.iter().find(|slo| slo.is_of_sessions()) {
            Some(slo) => Err(OfSessions(*slo)),
            None => Ok(Objectives {
                slos: slos.to_vec(),
                attainment,
            }),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.slos.is_empty()
    }

    /// Whether a run, of which what [`keep`](Self::keep) says was kept, meets all. A request that was
    /// refused misses every one.
    pub fn met(&self, run: &Run) -> bool {
        self.met_if(run, &|_| 1.0)
    }

    /// The same if its figures were so many times what they are, by objective; absent where nobody
    /// knows, and then it is not.
    pub fn met_at(&self, run: &Run, times: &dyn Fn(&Slo) -> Option<f64>) -> bool {
        self.met_if(run, &|slo| times(slo).unwrap_or(f64::INFINITY))
    }

    /// What must be kept of a run to judge it: a percentile of gaps is one of all gaps together.
    pub fn keep(&self) -> Keep {
        Keep {
            chunk_times: self.slos.iter().any(is_of_gaps),
            ..Keep::default()
        }
    }

    /// The fewest requests that can carry a claim about what is limited.
    pub fn least_requests(&self) -> u64 {
        let percent = |slo: &Slo| match slo.scope {
            SloScope::Percentile(percent) => percent,
            SloScope::Mean => 50.0,
            // All of them is a claim that no sample carries.
            SloScope::Request | SloScope::Session => 100.0 * self.attainment.unwrap_or(0.99),
        };
        let needed = self.slos.iter().map(percent).filter_map(least_samples);
        needed.max().unwrap_or(1)
    }

    /// Whether a run would meet all if its figures were so many times larger.
    fn met_if(&self, run: &Run, times: &dyn Fn(&Slo) -> f64) -> bool {
        let slos = self.slos.iter();
        let mut of_run = slos.filter(|slo| slo.scope != SloScope::Request);
        of_run.all(|slo| self.strain(slo, run) * times(slo) <= 1.0)
            && self.share(run, times) >= self.attainment.unwrap_or(1.0)
    }

    /// Share of requests that meet all objectives of a request.
    fn share(&self, run: &Run, times: &dyn Fn(&Slo) -> f64) -> f64 {
        let slos = self.slos.iter();
        let of_request = slos.filter(|slo| slo.scope == SloScope::Request);
        let meets = |served: &&Served| {
            served.finished.is_some()
                && of_request.clone().all(|slo| {
                    figure(slo.metric, served).is_none_or(|ms| ms * times(slo) <= limit_ms(slo))
                })
        };
        match run.served.len() {
            0 => 0.0,
            all => run.served.iter().filter(meets).count() as f64 / all as f64,
        }
    }

    /// For each objective its figure as a share of its limit: above 1 it is missed. One of a
    /// request is judged by the slowest request that must still meet it.
    pub fn strains(&self, run: &Run) -> Vec<f64> {
        self.slos.iter().map(|slo| self.strain(slo, run)).collect()
    }

    fn strain(&self, slo: &Slo, run: &Run) -> f64 {
        let sample = if is_of_gaps(slo) {
            run.gaps_ms()
        } else {
            let figures = run.served.iter().filter_map(|it| figure(slo.metric, it));
            let mut sample: Vec<f64> = figures.collect();
            sort(&mut sample);
            sample
        };
        let value = match slo.scope {
            SloScope::Request | SloScope::Session => self.slowest_that_counts(slo.metric, run),
            SloScope::Percentile(percent) => quantile(&sample, percent / 100.0),
            SloScope::Mean => {
                (!sample.is_empty()).then(|| sample.iter().sum::<f64>() / sample.len() as f64)
            }
        };
        value.map_or(f64::INFINITY, |ms| ms / limit_ms(slo))
    }

    /// The metric of the slowest request among the share that must meet an objective; absent if
    /// fewer were served. A request that the metric says nothing of meets any.
    fn slowest_that_counts(&self, metric: SloMetric, run: &Run) -> Option<f64> {
        let served = run.served.iter().filter(|it| it.finished.is_some());
        let mut sample: Vec<f64> = served.map(|it| figure(metric, it).unwrap_or(0.0)).collect();
        sort(&mut sample);
        let wanted = self.attainment.unwrap_or(1.0) * run.served.len() as f64;
        sample
            .get((wanted.ceil() as usize).checked_sub(1)?)
            .copied()
    }
}

/// Whether it limits a percentile or the mean of all gaps of all answers.
fn is_of_gaps(slo: &Slo) -> bool {
    let of_run = matches!(slo.scope, SloScope::Percentile(_) | SloScope::Mean);
    slo.metric == SloMetric::Itl && of_run
}

fn limit_ms(slo: &Slo) -> f64 {
    slo.limit.0.as_secs_f64() * 1e3
}

/// A metric of a simulated request; nothing in it reasons, so its first answer is its first
/// token, and its mean gap its time per token.
fn figure(metric: SloMetric, served: &Served) -> Option<f64> {
    match metric {
        SloMetric::Ttft | SloMetric::FirstAnswer => served.ttft_ms(),
        SloMetric::Tpot | SloMetric::Itl => served.tpot_ms(),
        SloMetric::MaxGap => (served.chunks > 1).then_some(served.longest_gap as f64 * 1e-6),
        SloMetric::E2e | SloMetric::Job => served.latency_ms(),
        SloMetric::PerUser => Some(served.latency_ms()? / f64::from(served.tokens.max(1))),
    }
}
