//! Drives the engine in virtual time: no waiting, the same answers on every machine.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{
    Engine, EngineConfig, Event, EventKind, Finish, Nanos, Rejection, Request, StepRecord,
};

/// What to keep beside the facts about each request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// When each chunk left ([`Served::chunk_times`]).
    pub chunk_times: bool,
    /// The step log ([`Run::steps`]).
    pub steps: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    pub id: u64,
    pub arrived: Nanos,
    /// When the scheduler first took it up.
    pub started: Option<Nanos>,
    pub first_token: Option<Nanos>,
    pub finished: Option<Nanos>,
    pub tokens: u32,
    pub chunks: u32,
    /// The longest time between two chunks.
    pub longest_gap: Nanos,
    /// Prompt tokens found in the prefix cache.
    pub cached_tokens: u32,
    pub preemptions: u32,
    pub finish: Option<Finish>,
    pub refused: Option<Rejection>,
    /// When each chunk left, where that is kept.
    pub chunk_times: Vec<Nanos>,
    last_chunk: Nanos,
}

impl Served {
    pub fn ttft_ms(&self) -> Option<f64> {
        Some((self.first_token? - self.arrived) as f64 * 1e-6)
    }

    /// Time per token after the first, ms; `None` for answers of one token.
    pub fn tpot_ms(&self) -> Option<f64> {
        let after_first = self.tokens.checked_sub(1).filter(|&tokens| tokens > 0)?;
        Some((self.finished? - self.first_token?) as f64 * 1e-6 / f64::from(after_first))
    }

    pub fn latency_ms(&self) -> Option<f64> {
        Some((self.finished? - self.arrived) as f64 * 1e-6)
    }

    /// Time in the queue before the scheduler took it up, ms.
    pub fn queue_ms(&self) -> Option<f64> {
        Some((self.started? - self.arrived) as f64 * 1e-6)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Run {
    /// In the order in which they were given.
    pub served: Vec<Served>,
    /// The step log, where it is kept.
    pub steps: Vec<StepRecord>,
    /// When the last chunk left.
    pub ended: Nanos,
}

impl Run {
    /// Finished requests per second, from the first arrival to the last chunk.
    pub fn requests_per_second(&self) -> f64 {
        let ends = self.served.iter().filter_map(|served| served.finished);
        self.rate(ends.count() as f64)
    }

    /// Generated tokens per second, over the same time.
    pub fn tokens_per_second(&self) -> f64 {
        let tokens = self.served.iter().map(|served| u64::from(served.tokens));
        self.rate(tokens.sum::<u64>() as f64)
    }

    fn rate(&self, count: f64) -> f64 {
        let began = self.served.iter().map(|served| served.arrived).min();
        match self.ended.saturating_sub(began.unwrap_or(0)) {
            0 => 0.0,
            time => count / (time as f64 * 1e-9),
        }
    }

    /// The mean of a figure over the requests that have it.
    pub fn mean(&self, figure: impl Fn(&Served) -> Option<f64>) -> Option<f64> {
        let figures: Vec<f64> = self.served.iter().filter_map(figure).collect();
        (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
    }

    /// All times between chunks, ms, in rising order; empty where chunk times were not kept.
    pub fn gaps_ms(&self) -> Vec<f64> {
        let times = self.served.iter().map(|served| &served.chunk_times);
        let pairs = times.flat_map(|times| times.windows(2));
        let gaps = pairs.map(|pair| (pair[1] - pair[0]) as f64 * 1e-6);
        let mut gaps: Vec<f64> = gaps.collect();
        gaps.sort_unstable_by(f64::total_cmp);
        gaps
    }
}

/// Serves requests with `streams` clients, each of which sends its next request when the last
/// answer is complete. All begin at once.
pub fn closed_loop(
    engine: &mut Engine,
    requests: impl IntoIterator<Item = Request>,
    streams: usize,
    keep: Keep,
) -> Run {
    staggered_loop(engine, requests, &vec![0; streams], keep)
}

/// The same with a client for each of the times, who begins then.
pub fn staggered_loop(
    engine: &mut Engine,
    requests: impl IntoIterator<Item = Request>,
    starts: &[Nanos],
    keep: Keep,
) -> Run {
    let mut requests = requests.into_iter();
    let mut driver = Driver::new(keep);
    for (&start, request) in starts.iter().zip(requests.by_ref()) {
        driver.schedule(start, request);
    }
    driver.drive(engine, |driver, at| {
        if let Some(request) = requests.next() {
            driver.schedule(at, request);
        }
    });
    driver.run
}

/// When so many clients begin who spread their first requests evenly over a time.
pub fn spread_over(span: Nanos, streams: u32) -> Vec<Nanos> {
    let apart = span / u64::from(streams.max(1));
    (0..u64::from(streams))
        .map(|stream| apart * stream)
        .collect()
}

/// The time over which a measurement spreads its streams by itself: the mean latency of one wave
/// that begins at once, as a warm-up shows it.
pub fn first_wave(config: &EngineConfig, wave: impl IntoIterator<Item = Request>) -> Nanos {
    let wave: Vec<Request> = wave.into_iter().collect();
    let streams = wave.len();
    let mut engine = Engine::new(config.clone(), 0);
    let run = closed_loop(&mut engine, wave, streams, Keep::default());
    run.mean(Served::latency_ms)
        .map_or(0, |ms| (ms * 1e6) as Nanos)
}

/// Serves requests that come at given times, whatever becomes of the others.
pub fn open_loop(
    engine: &mut Engine,
    requests: impl IntoIterator<Item = (Nanos, Request)>,
    keep: Keep,
) -> Run {
    let mut driver = Driver::new(keep);
    for (at, request) in requests {
        driver.schedule(at, request);
    }
    driver.drive(engine, |_, _| {});
    driver.run
}

#[derive(Default)]
struct Driver {
    run: Run,
    keep: Keep,
    arrivals: BinaryHeap<Reverse<(Nanos, usize)>>,
    requests: Vec<Option<Request>>,
}

impl Driver {
    fn new(keep: Keep) -> Driver {
        Driver {
            keep,
            ..Driver::default()
        }
    }

    fn schedule(&mut self, at: Nanos, mut request: Request) {
        let index = self.requests.len();
        self.run.served.push(Served {
            id: request.id,
            arrived: at,
            ..Served::default()
        });
        // In the engine a request goes by its place in the run.
        request.id = index as u64;
        self.requests.push(Some(request));
        self.arrivals.push(Reverse((at, index)));
    }

    /// Runs until nothing is left; `ended` hears of each request that ends, and when.
    fn drive(&mut self, engine: &mut Engine, mut ended: impl FnMut(&mut Driver, Nanos)) {
        let mut ends = Vec::new();
        loop {
            let arrival = self.arrivals.peek().map(|first| first.0);
            match (arrival, engine.wake()) {
                (Some((at, index)), wake) if wake.is_none_or(|wake| at <= wake) => {
                    self.arrivals.pop();
                    let Some(request) = self.requests[index].take() else {
                        continue;
                    };
                    if let Err(refusal) = engine.add(at, request) {
                        self.run.served[index].refused = Some(refusal);
                        ends.push(at);
                    }
                }
                (_, Some(wake)) => {
                    let outcome = engine.step(wake);
                    if self.keep.steps
                        && let Some(step) = outcome.began
                    {
                        self.run.steps.push(step);
                    }
                    for event in outcome.events {
                        self.run.note(event, self.keep.chunk_times, &mut ends);
                    }
                }
                (_, None) => return,
            }
            for at in ends.drain(..) {
                ended(self, at);
            }
        }
    }
}

impl Run {
    fn note(&mut self, event: &Event, keep_times: bool, ends: &mut Vec<Nanos>) {
        let served = &mut self.served[event.request as usize];
        match event.kind {
            EventKind::Started { cached_tokens } => {
                served.started = Some(event.at);
                served.cached_tokens = cached_tokens;
            }
            EventKind::Tokens { count, .. } => {
                match served.first_token {
                    None => served.first_token = Some(event.at),
                    Some(_) => {
                        let gap = event.at - served.last_chunk;
                        served.longest_gap = served.longest_gap.max(gap);
                    }
                }
                served.last_chunk = event.at;
                served.tokens += count;
                served.chunks += 1;
                if keep_times {
                    served.chunk_times.push(event.at);
                }
            }
            EventKind::Preempted => {}
            EventKind::Finished {
                finish,
                preemptions,
            } => {
                served.finished = Some(event.at);
                served.finish = Some(finish);
                served.preemptions = preemptions;
                self.ended = self.ended.max(event.at);
                ends.push(event.at);
            }
        }
    }
}
