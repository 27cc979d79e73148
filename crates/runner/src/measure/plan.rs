//! A load point, planned before the first byte is sent.

use crate::{host, work};
use inferometer_core::scenario::{Scenario, Shape, Stagger, Warmup};
use inferometer_core::schedule::arrivals;
use inferometer_core::units::Offset;
use inferometer_load::instrument::{Phase, PhaseLoad};
use inferometer_load::setup::WARMUP_SESSION;
use inferometer_workload::Workload;
use std::sync::Arc;
use std::time::Duration;

/// The measured part, planned before the first byte is sent.
pub struct Planned {
    pub rhythm: PlannedRhythm,
    /// Requests in all, where they are known.
    pub requests: Option<u64>,
}

pub enum PlannedRhythm {
    Closed {
        streams: u32,
        stagger: Stagger,
    },
    Open {
        due: Arc<[Offset]>,
        cap: Option<u32>,
    },
}

impl Planned {
    /// Sessions at most, where they are known.
    pub fn sessions(&self) -> Option<u64> {
        match &self.rhythm {
            PlannedRhythm::Open { due, .. } => Some(due.len() as u64),
            PlannedRhythm::Closed { .. } => self.requests,
        }
    }

    /// The first session that the measured part does not use.
    pub fn spare_session(&self) -> u64 {
        self.sessions().unwrap_or(WARMUP_SESSION)
    }
}

pub fn measured_phase(scenario: &Scenario, workload: &Workload) -> Planned {
    let load = &scenario.load;
    let extent = load.extent;
    let talks = scenario.work.conversation.is_some();
    let (due, cap) = match load.shape {
        Shape::Closed {
            concurrency,
            stagger,
        } => {
            return Planned {
                rhythm: PlannedRhythm::Closed {
                    streams: concurrency,
                    stagger,
                },
                requests: extent.requests(),
            };
        }
        Shape::Open {
            rate,
            arrival,
            ramp,
            max_concurrency,
        } => {
            let sessions = arrivals(rate, arrival, ramp, extent, scenario.seed);
            let needed = match extent.requests().filter(|_| talks) {
                Some(requests) => sessions_for(workload, requests),
                None => sessions.len(),
            };
            (sessions.into_iter().take(needed).collect(), max_concurrency)
        }
        Shape::Replay {
            speed,
            max_concurrency,
        } => {
            let times = workload.arrivals.as_deref().unwrap_or_default();
            (work::replay(times, speed, extent), max_concurrency)
        }
    };
    let requests = if talks {
        // Turns that time cuts off were never planned.
        extent.requests().filter(|_| extent.duration().is_none())
    } else {
        Some(due.len() as u64)
    };
    Planned {
        rhythm: PlannedRhythm::Open {
            due: due.into(),
            cap,
        },
        requests,
    }
}

/// Conversations whose turns add up to these requests.
fn sessions_for(workload: &Workload, requests: u64) -> usize {
    let mut turns = 0;
    let enough = |session: &u64| {
        turns += u64::from(workload.prompts.turns(*session).max(1));
        turns < requests
    };
    (0..requests).take_while(enough).count() + 1
}

/// Requests of the warm-up, where that is how it is measured.
pub fn warmup_requests(scenario: &Scenario) -> u64 {
    match scenario.load.warmup {
        Warmup::Requests(count) => count,
        Warmup::Time(_) => 0,
    }
}

/// The warm-up is a closed loop in either case: it opens connections and wakes the server.
pub fn warmup_phase(scenario: &Scenario) -> Option<Phase> {
    let (requests, duration) = match scenario.load.warmup {
        Warmup::Requests(0) => return None,
        Warmup::Requests(count) => (Some(count), None),
        Warmup::Time(span) if span.0.is_zero() => return None,
        Warmup::Time(span) => (None, Some(span.0)),
    };
    let streams = match scenario.load.shape {
        Shape::Closed { concurrency, .. } => concurrency,
        Shape::Open {
            max_concurrency, ..
        }
        | Shape::Replay {
            max_concurrency, ..
        } => max_concurrency.unwrap_or(8).min(8),
    };
    let streams = requests.map_or(streams, |count| {
        streams.min(u32::try_from(count).unwrap_or(u32::MAX))
    });
    Some(Phase {
        warmup: true,
        load: PhaseLoad::Closed {
            streams,
            stagger: Duration::ZERO,
        },
        requests,
        duration,
        drain: None,
    })
}

/// Most requests that can be under way at once.
pub fn most_streams(scenario: &Scenario) -> u64 {
    match &scenario.load.shape {
        Shape::Closed { concurrency, .. } => u64::from(*concurrency),
        Shape::Open {
            max_concurrency: Some(cap),
            ..
        }
        | Shape::Replay {
            max_concurrency: Some(cap),
            ..
        } => u64::from(*cap),
        // Without a cap nobody knows; a rate that keeps a thousand under way is a guess.
        Shape::Open { rate, .. } if rate.is_infinite() => {
            scenario.load.extent.requests().unwrap_or(1024)
        }
        Shape::Open { .. } | Shape::Replay { .. } => 1024,
    }
}

/// One thread for each 256 streams, at most one per core: more threads than the load needs only
/// take the cores from the server on the same host.
pub fn default_workers(scenario: &Scenario) -> u32 {
    let streams = match &scenario.load.shape {
        Shape::Open {
            rate,
            max_concurrency: None,
            ..
        } if !rate.is_infinite() => rate.0 as u64,
        _ => most_streams(scenario),
    };
    u32::try_from(streams.div_ceil(256))
        .unwrap_or(u32::MAX)
        .clamp(1, host::cores())
}
