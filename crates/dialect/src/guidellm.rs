//! The tables of GuideLLM's console and the metrics of its report file, as release 0.8 has them.
//!
//! - TPOT is (last token − start) / output tokens: the time to the first token is in it.
//! - ITL is (last token − first token) / (output tokens − 1), of each request.
//! - Both are weighted by tokens, so that a long answer counts more than a short one, and have no
//!   interval; those of other times are as if requests did not depend on each other.
//! - Rates and concurrency are over the time from the first start to the last end, and the tokens
//!   of an answer are spread evenly between its first and its last.
//! - Tokens that nobody counted are the number of messages with text.

mod console;
mod distribution;
mod request;

use crate::object::Object;
use crate::{DialectError, GoodputMetric, Source, millis, successes};
pub(super) use console::tables;
use distribution::Summary;
use inferometer_core::scenario::{Arrival, Shape};
use jiff::civil::Time;
use request::{Request, Status};

#[derive(Clone, Debug)]
pub struct Numbers {
    strategy: Strategy,
    /// Local time of the first start and of the last end.
    clock: [Time; 2],
    duration_s: f64,
    totals: [usize; 4],
    metrics: Vec<(&'static str, ByStatus)>,
    /// From the schedule to the start, of requests that begin a conversation.
    root_delay: Option<Summary>,
    goodput: Option<Goodput>,
}

#[derive(Clone, Debug)]
struct Strategy {
    kind: &'static str,
    /// Streams, or requests in a second.
    level: Option<f64>,
    cap: Option<u32>,
}

/// Requests that meet the objectives.
#[derive(Clone, Debug)]
struct Goodput {
    /// Of those of which it can be said.
    attainment: Option<f64>,
    determined: usize,
    rate: Option<ByStatus>,
}

/// A distribution of the answered requests, of those that failed, of those that were stopped, and
/// of all.
#[derive(Clone, Debug)]
struct ByStatus([Summary; 4]);

const STATUSES: [(&str, Option<Status>); 4] = [
    ("successful", Some(Status::Successful)),
    ("errored", Some(Status::Errored)),
    ("incomplete", Some(Status::Incomplete)),
    ("total", None),
];

impl ByStatus {
    fn of(requests: &[Request], summary: impl Fn(&[Request]) -> Summary) -> Self {
        ByStatus(STATUSES.map(|(_, status)| {
            let of_status = requests.iter().copied();
            let of_status =
                of_status.filter(|request| status.is_none_or(|status| request.status == status));
            summary(&of_status.collect::<Vec<_>>())
        }))
    }

    fn successful(&self) -> &Summary {
        &self.0[0]
    }

    fn total(&self) -> &Summary {
        &self.0[3]
    }

    fn entry(&self) -> Object {
        let mut entry = Object::default();
        for ((name, _), summary) in STATUSES.iter().zip(&self.0) {
            entry.nest(name, summary.entry());
        }
        entry
    }
}

/// The run's numbers as the tool would have had them.
pub fn measure(source: &Source<'_>) -> Result<Numbers, DialectError> {
    let records = source.measured();
    successes(&records, "guidellm")?;
    let requests: Vec<Request> = records.iter().map(|record| Request::of(record)).collect();
    let starts = requests.iter().map(|request| request.start);
    let ends = requests.iter().map(|request| request.end);
    let window = (
        starts.fold(f64::INFINITY, f64::min),
        ends.fold(f64::NEG_INFINITY, f64::max),
    );
    let clock = [window.0, window.1].map(|at| {
        let at = std::time::Duration::from_secs_f64(at.max(0.0));
        let at = source.wall_time(inferometer_core::units::Offset::after(at));
        at.time()
    });
    Ok(Numbers {
        strategy: strategy(source),
        clock,
        duration_s: window.1 - window.0,
        totals: STATUSES.map(|(_, status)| {
            let is_of = |request: &&Request| status.is_none_or(|status| request.status == status);
            requests.iter().filter(is_of).count()
        }),
        metrics: metrics(&requests, window),
        root_delay: root_delay(&requests),
        goodput: goodput(source, &requests, window),
    })
}

fn strategy(source: &Source<'_>) -> Strategy {
    let (kind, level) = match &source.scenario.load.shape {
        Shape::Closed { concurrency: 1, .. } => ("synchronous", None),
        Shape::Closed { concurrency, .. } => ("concurrent", Some(f64::from(*concurrency))),
        Shape::Open { rate, .. } if rate.is_infinite() => ("throughput", None),
        Shape::Open { arrival, rate, .. } => match arrival {
            Arrival::Constant => ("constant", Some(rate.0)),
            Arrival::Poisson | Arrival::Gamma(_) => ("poisson", Some(rate.0)),
        },
        Shape::Replay { .. } => ("replay", None),
    };
    Strategy {
        kind,
        level,
        cap: source.max_concurrency(),
    }
}

/// All metrics by their names in the report.
fn metrics(requests: &[Request], window: (f64, f64)) -> Vec<(&'static str, ByStatus)> {
    let each = |value: &dyn Fn(&Request) -> Option<f64>| {
        ByStatus::of(requests, |of| {
            Summary::of_requests(of.iter().filter_map(value))
        })
    };
    let weighted = |value: &dyn Fn(&Request) -> Option<(f64, f64)>| {
        ByStatus::of(requests, |of| {
            Summary::of_values(of.iter().filter_map(value))
        })
    };
    let rate = |events: &dyn Fn(&Request) -> Vec<(f64, f64)>| {
        ByStatus::of(requests, |of| {
            Summary::of_rate(of.iter().flat_map(events).collect(), window)
        })
    };
    let by_message = |events: &dyn Fn(&Request) -> Vec<(f64, f64)>| {
        ByStatus::of(requests, |of| {
            let tokens = of.iter().flat_map(events);
            Summary::of_values(tokens.map(|(_, tokens)| (tokens, 1.0)))
        })
    };
    let scheduled = requests.iter().any(|request| request.due.is_some());
    let mut metrics = vec![
        ("requests_per_second", rate(&|it| vec![(it.end, 1.0)])),
        (
            "request_concurrency",
            ByStatus::of(requests, |of| {
                let spans = of.iter().map(|it| (it.start, it.end));
                Summary::of_concurrency(spans.collect(), window)
            }),
        ),
        (
            "request_latency",
            each(&|it| Some(it.latency().unwrap_or(0.0))),
        ),
        (
            "request_streaming_iterations_count",
            each(&|it| Some(it.messages)),
        ),
        ("prompt_token_count", each(&|it| Some(it.prompt))),
        ("output_token_count", each(&|it| Some(it.output()))),
        (
            "total_token_count",
            each(&|it| Some(it.prompt + it.output())),
        ),
        ("time_to_first_token_ms", each(&Request::ttft_ms)),
        (
            "time_to_first_output_token_ms",
            each(&Request::first_output_ms),
        ),
        (
            "time_per_output_token_ms",
            weighted(&|it| Some(it.per_token_ms())),
        ),
        ("inter_token_latency_ms", weighted(&Request::gap_ms)),
        // Of websockets; 0 for every other request.
        ("time_to_last_round_trip_ms", each(&|_| Some(0.0))),
        ("avg_round_trip_time_ms", each(&|_| Some(0.0))),
        ("prompt_tokens_per_second", rate(&|it| vec![it.prompt_at()])),
        ("output_tokens_per_second", rate(&Request::output_at)),
        (
            "tokens_per_second",
            rate(&|it| [vec![it.prompt_at()], it.output_at()].concat()),
        ),
        (
            "output_tokens_per_iteration",
            by_message(&Request::output_at),
        ),
        (
            "iter_tokens_per_iteration",
            by_message(&Request::further_at),
        ),
    ];
    if scheduled {
        metrics.extend([
            (
                "request_dispatch_delay",
                each(&|it| Some(it.start - it.due?)),
            ),
            (
                "request_scheduled_latency",
                each(&|it| {
                    it.latency()?;
                    Some(it.end - it.due?)
                }),
            ),
        ]);
    }
    metrics
}

fn root_delay(requests: &[Request]) -> Option<Summary> {
    let roots = requests.iter().filter(|request| request.is_first_turn);
    let delays: Vec<f64> = roots.filter_map(|it| Some(it.start - it.due?)).collect();
    let delays = delays.into_iter().map(|delay| (delay, 1.0));
    (delays.len() > 0).then(|| Summary::of_values(delays))
}

/// Where there are objectives of single requests. A failure meets none; what was stopped at the
/// end does not count.
fn goodput(source: &Source<'_>, requests: &[Request], window: (f64, f64)) -> Option<Goodput> {
    let objectives = source.goodput().into_iter();
    let objectives: Vec<(GoodputMetric, f64)> = objectives
        .map(|(metric, limit)| (metric, millis(limit)))
        .collect();
    if objectives.is_empty() {
        return None;
    }
    let of = |status: Status| requests.iter().filter(move |it| it.status == status);
    let answered = of(Status::Successful).filter_map(|it| Some((*it, it.meets(&objectives)?)));
    let answered: Vec<(Request, bool)> = answered.collect();
    let good: Vec<Request> = (answered.iter())
        .filter_map(|(request, met)| met.then_some(*request))
        .collect();
    let determined = answered.len() + of(Status::Errored).count();
    let is_known = determined > 0;
    Some(Goodput {
        attainment: is_known.then(|| good.len() as f64 / determined as f64),
        determined,
        rate: is_known.then(|| {
            ByStatus::of(&good, |of| {
                Summary::of_rate(of.iter().map(|it| (it.end, 1.0)).collect(), window)
            })
        }),
    })
}

impl Numbers {
    fn metric(&self, key: &str) -> &ByStatus {
        let found = self.metrics.iter().find(|(name, _)| *name == key);
        &found.expect("a metric of every run").1
    }

    pub fn text(&self) -> String {
        tables(std::slice::from_ref(self))
    }

    /// The report file without what it has of single requests.
    pub fn json(&self) -> String {
        let mut totals = Object::default();
        for ((name, _), count) in STATUSES.iter().zip(self.totals) {
            totals.put(name, count);
        }
        let mut metrics = Object::default();
        metrics.nest("request_totals", totals);
        for (key, by_status) in &self.metrics {
            metrics.nest(key, by_status.entry());
        }
        if let Some(delay) = &self.root_delay {
            metrics.nest("root_dispatch_delay", delay.entry());
        }
        let goodput = self.goodput.as_ref();
        metrics.put(
            "slo_attainment",
            goodput.and_then(|goodput| goodput.attainment),
        );
        metrics.put(
            "slo_determined_requests",
            goodput.map_or(0, |goodput| goodput.determined),
        );
        if let Some(rate) = goodput.and_then(|goodput| goodput.rate.as_ref()) {
            metrics.nest("request_goodput", rate.entry());
        }
        let mut strategy = Object::default();
        strategy.put("type_", self.strategy.kind);
        match (self.strategy.kind, self.strategy.level) {
            ("concurrent", Some(streams)) => strategy.put("streams", streams as u64),
            (_, Some(rate)) => strategy.put("rate", rate),
            (_, None) => {}
        }
        strategy.put("max_concurrency", self.strategy.cap);
        let mut config = Object::default();
        config.nest("strategy", strategy);
        let mut benchmark = Object::default();
        benchmark.nest("config", config);
        benchmark.nest("metrics", metrics);
        benchmark.put("duration", self.duration_s);
        let mut report = Object::default();
        report.nest_all("benchmarks", [benchmark]);
        report.finished()
    }
}
