//! Objectives, judged on a simulated run.

use inferometer_core::quantile::{quantile, sort};
use inferometer_core::slo::{Slo, SloMetric, SloScope};
use inferometer_sim::engine::virtual_time::{Run, Served};

/// What must be met.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objectives {
    /// The objectives.
    pub slos: Vec<Slo>,
    /// Share of requests that must meet those of a request; absent: all.
    pub attainment: Option<f64>,
}

impl Objectives {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slos.is_empty()
    }

    /// Whether a run meets all. A request that was refused misses every one.
    pub fn met(&self, run: &Run) -> bool {
        self.slos_of_the_run(run) && self.share(run) >= self.attainment.unwrap_or(1.0)
    }

    /// Share of requests that meet all objectives of a request.
    fn share(&self, run: &Run) -> f64 {
        let of_request: Vec<&Slo> = self
            .slos
            .iter()
            .filter(|slo| slo.scope == SloScope::Request)
            .collect();
        let meets = |served: &&Served| {
            served.finished.is_some()
                && of_request
                    .iter()
                    .all(|slo| figure(slo.metric, served).is_none_or(|ms| ms <= limit_ms(slo)))
        };
        match run.served.len() {
            0 => 0.0,
            all => run.served.iter().filter(meets).count() as f64 / all as f64,
        }
    }

    fn slos_of_the_run(&self, run: &Run) -> bool {
        self.slos.iter().all(|slo| {
            let mut sample: Vec<f64> = run
                .served
                .iter()
                .filter_map(|served| figure(slo.metric, served))
                .collect();
            sort(&mut sample);
            let value = match slo.scope {
                SloScope::Request => return true,
                SloScope::Percentile(percent) => quantile(&sample, percent / 100.0),
                SloScope::Mean => {
                    (!sample.is_empty()).then(|| sample.iter().sum::<f64>() / sample.len() as f64)
                }
            };
            value.is_some_and(|ms| ms <= limit_ms(slo))
        })
    }
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
        SloMetric::E2e => served.latency_ms(),
    }
}
