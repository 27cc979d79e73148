//! Drives the engine in virtual time: no waiting, the same answers on every machine.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use super::{
    Engine, EngineConfig, Event, EventKind, Finish, Nanos, Rejection, Request, StepRecord,
};

/// What to keep beside the facts about each request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// When each chunk left ([`Served::chunk_times`]).
    pub chunk_times: bool,
    /// The batch of each token ([`Served::batches`]).
    pub batches: bool,
    /// The step log ([`Run::steps`]).
    pub steps: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    pub id: u64,
    pub arrived: Nanos,
    /// When an API server set about it.
    pub accepted: Nanos,
    /// When the scheduler first took it up.
    pub started: Option<Nanos>,
    pub first_token: Option<Nanos>,
    pub finished: Option<Nanos>,
    /// When the engine had made the first token and the last so far, before the front end sent
    /// them.
    pub made: Option<[Nanos; 2]>,
    /// When an API server took those from the engine.
    pub picked_up: Option<[Nanos; 2]>,
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
    /// Sequences in the batch that made each token, where that is kept.
    pub batches: Vec<u32>,
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

    /// Time to the first token as the server itself counts it: without what a request waits for
    /// an API server, and what its first chunk waits to be sent.
    pub fn engine_ttft_ms(&self) -> Option<f64> {
        Some((self.picked_up?[0] - self.accepted) as f64 * 1e-6)
    }

    /// Time per token after the first by the engine's own clock, ms.
    pub fn engine_tpot_ms(&self) -> Option<f64> {
        let after_first = self.tokens.checked_sub(1).filter(|&tokens| tokens > 0)?;
        let [first, last] = self.made?;
        Some((last - first) as f64 * 1e-6 / f64::from(after_first))
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
    /// Requests that only made the load, before those and after them.
    pub around: Vec<Served>,
    /// Begin and end of the time in which the load was steady; absent: from the first arrival to
    /// the last chunk.
    pub window: Option<[Nanos; 2]>,
    /// The step log, where it is kept.
    pub steps: Vec<StepRecord>,
    /// When the last chunk left.
    pub ended: Nanos,
}

impl Run {
    pub fn requests_per_second(&self) -> f64 {
        self.rate(|_| 1.0)
    }

    pub fn tokens_per_second(&self) -> f64 {
        self.rate(|served| f64::from(served.tokens))
    }

    /// What was finished per second; at the edges of a window by the share of the answer's time
    /// that lies inside. Waiting does not count: where a queue grows, nobody has received what
    /// waits in it.
    fn rate(&self, amount: impl Fn(&Served) -> f64) -> f64 {
        let began = self.served.iter().map(|served| served.arrived).min();
        let [from, to] = self.window.unwrap_or([began.unwrap_or(0), self.ended]);
        if to <= from {
            return 0.0;
        }
        let inside = |served: &Served| {
            let end = served.finished.unwrap_or(served.arrived);
            let begin = served.first_token.unwrap_or(end);
            let inside = end.min(to).saturating_sub(begin.max(from));
            match end - begin {
                0 => f64::from(u8::from(from <= end && end <= to)),
                whole => inside as f64 / whole as f64,
            }
        };
        let all = self.served.iter().chain(&self.around);
        let done = all.filter(|served| served.finished.is_some());
        let sum: f64 = done.map(|served| inside(served) * amount(served)).sum();
        sum / ((to - from) as f64 * 1e-9)
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
    drive(engine, keep, |agenda, happening| match happening {
        Happening::Begin => {
            for (&start, request) in starts.iter().zip(requests.by_ref()) {
                agenda.schedule(start, request);
            }
        }
        Happening::Arrived { .. } => {}
        Happening::Ended { at, .. } => {
            if let Some(request) = requests.next() {
                agenda.schedule(at, request);
            }
        }
    })
}

/// The same in a load that is steady while the requests are served: clients begin together, with
/// answers of which each but the last is cut shorter, so that they go on apart; the given
/// requests are served once each client has had an answer, and then the load goes on until the
/// last of them has ended.
pub fn steady_loop(engine: &mut Engine, requests: &[Request], streams: usize, keep: Keep) -> Run {
    let (mut ended, mut next, mut measured_ended) = (0, 0, 0);
    // The place in `requests` of each that was sent; absent for those around them.
    let mut sent: Vec<Option<usize>> = Vec::new();
    let mut window = None;
    let mut client = |agenda: &mut Agenda, happening: Happening| {
        if let Happening::Ended { place, .. } = happening {
            measured_ended += usize::from(sent[place].is_some());
        }
        let mut send = |at: Nanos, measured: Option<usize>| {
            let like = measured.unwrap_or(sent.len() % requests.len());
            let mut request = requests[like].clone();
            if sent.len() < streams {
                let share = (sent.len() as f64 + 0.5) / streams as f64;
                request.output_tokens = (f64::from(request.output_tokens) * share).ceil() as u32;
            }
            sent.push(measured);
            agenda.schedule(at, request);
        };
        match happening {
            Happening::Begin => (0..streams).for_each(|_| send(0, None)),
            Happening::Arrived { .. } => {}
            Happening::Ended { at, .. } => {
                ended += 1;
                if ended < streams {
                    send(at, None);
                } else if next < requests.len() {
                    let [from, _] = window.unwrap_or([at, at]);
                    window = Some([from, at]);
                    send(at, Some(next));
                    next += 1;
                } else if measured_ended < requests.len() {
                    send(at, None);
                }
            }
        }
    };
    if requests.is_empty() {
        return Run::default();
    }
    let mut run = drive(engine, keep, &mut client);
    let all = std::mem::take(&mut run.served);
    for (served, measured) in all.into_iter().zip(sent) {
        match measured {
            Some(_) => run.served.push(served),
            None => run.around.push(served),
        }
    }
    run.window = window;
    run
}

/// When so many clients begin who spread their first requests evenly over a time.
pub fn spread_over(span: Nanos, streams: u32) -> Vec<Nanos> {
    let apart = span / u64::from(streams.max(1));
    (0..u64::from(streams))
        .map(|stream| apart * stream)
        .collect()
}

/// Time that a request takes on an engine that has nothing else to do.
pub fn latency_alone(config: &EngineConfig, request: Request) -> Nanos {
    let mut engine = Engine::new(config.clone(), 0);
    let run = closed_loop(&mut engine, [request], 1, Keep::default());
    run.ended
}

/// Serves requests that come at given times, whatever becomes of the others.
pub fn open_loop(
    engine: &mut Engine,
    requests: impl IntoIterator<Item = (Nanos, Request)>,
    keep: Keep,
) -> Run {
    let mut requests = Some(requests);
    drive(engine, keep, |agenda, _| {
        for (at, request) in requests.take().into_iter().flatten() {
            agenda.schedule(at, request);
        }
    })
}

/// What a client may answer with further requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    Begin,
    /// At its place in [`Run::served`].
    Arrived {
        at: Nanos,
        place: usize,
    },
    /// Answered or refused.
    Ended {
        at: Nanos,
        place: usize,
        refused: bool,
    },
}

/// Serves what a client schedules, at the beginning and whenever something happens, until
/// nothing is left.
pub fn drive(engine: &mut Engine, keep: Keep, client: impl FnMut(&mut Agenda, Happening)) -> Run {
    let mut all: Vec<Served> = Vec::new();
    let mut run = drive_each(engine, keep, client, |place, served| {
        if all.len() <= place {
            all.resize(place + 1, Served::default());
        }
        all[place] = served;
    });
    run.served = all;
    run
}

/// The same, but each request is handed over with its place when it is over, so that a run may
/// have any number of them; at the end those that never were.
pub fn drive_each(
    engine: &mut Engine,
    keep: Keep,
    mut client: impl FnMut(&mut Agenda, Happening),
    over: impl FnMut(usize, Served),
) -> Run {
    let mut agenda = Agenda {
        keep,
        ..Agenda::default()
    };
    client(&mut agenda, Happening::Begin);
    agenda.drive(engine, client, over);
    agenda.run
}

/// The requests of a run that are still to come or under way.
#[derive(Default)]
pub struct Agenda {
    run: Run,
    keep: Keep,
    arrivals: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// From the place `first` on; absent where a request is over.
    tasks: VecDeque<Option<Task>>,
    first: usize,
}

struct Task {
    served: Served,
    /// Until it arrives.
    request: Option<Request>,
}

impl Agenda {
    pub fn schedule(&mut self, at: Nanos, mut request: Request) {
        let place = self.first + self.tasks.len();
        let served = Served {
            id: request.id,
            arrived: at,
            ..Served::default()
        };
        // In the engine a request goes by its place in the run.
        request.id = place as u64;
        self.tasks.push_back(Some(Task {
            served,
            request: Some(request),
        }));
        self.arrivals.push(Reverse((at, place)));
    }

    /// Takes back what has not arrived yet.
    pub fn withdraw(&mut self, place: usize) {
        if self.task(place).is_some_and(|task| task.request.is_some()) {
            self.take(place);
        }
    }

    fn task(&mut self, place: usize) -> Option<&mut Task> {
        let waits = place.checked_sub(self.first)?;
        self.tasks.get_mut(waits)?.as_mut()
    }

    fn take(&mut self, place: usize) -> Option<Served> {
        let waits = place.checked_sub(self.first)?;
        let task = self.tasks.get_mut(waits)?.take()?;
        while let Some(None) = self.tasks.front() {
            self.tasks.pop_front();
            self.first += 1;
        }
        Some(task.served)
    }

    fn drive(
        &mut self,
        engine: &mut Engine,
        mut client: impl FnMut(&mut Agenda, Happening),
        mut over: impl FnMut(usize, Served),
    ) {
        let mut ends = Vec::new();
        loop {
            let arrival = self.arrivals.peek().map(|first| first.0);
            match (arrival, engine.wake()) {
                (Some((at, place)), wake) if wake.is_none_or(|wake| at <= wake) => {
                    self.arrivals.pop();
                    let Some(task) = self.task(place) else {
                        continue;
                    };
                    let Some(request) = task.request.take() else {
                        continue;
                    };
                    if let Err(refusal) = engine.add(at, request) {
                        task.served.refused = Some(refusal);
                        ends.push((at, place));
                    }
                    client(self, Happening::Arrived { at, place });
                }
                (_, Some(_)) => {
                    // Nothing that the clients do comes before their next request.
                    let until = arrival.map_or(Nanos::MAX, |(at, _)| at - 1);
                    let outcome = engine.step(until);
                    if self.keep.steps
                        && let Some(step) = outcome.began
                    {
                        self.run.steps.push(step);
                    }
                    for event in outcome.events {
                        self.note(event, &mut ends);
                    }
                }
                (_, None) => break,
            }
            for (at, place) in ends.drain(..) {
                let task = self.task(place);
                let refused = task.is_some_and(|task| task.served.refused.is_some());
                client(self, Happening::Ended { at, place, refused });
                if let Some(served) = self.take(place) {
                    over(place, served);
                }
            }
        }
        for (place, task) in (self.first..).zip(std::mem::take(&mut self.tasks)) {
            if let Some(task) = task {
                over(place, task.served);
            }
        }
    }

    fn note(&mut self, event: &Event, ends: &mut Vec<(Nanos, usize)>) {
        let place = event.request as usize;
        if let EventKind::Finished { .. } = event.kind {
            self.run.ended = self.run.ended.max(event.at);
            ends.push((event.at, place));
        }
        let keep = self.keep;
        let Some(Task { served, .. }) = self.task(place) else {
            return;
        };
        match event.kind {
            EventKind::Started {
                cached_tokens,
                accepted_at,
                ..
            } => {
                served.started = Some(event.at);
                served.accepted = accepted_at;
                served.cached_tokens = cached_tokens;
            }
            EventKind::Made { .. } => {
                let first = served.made.map_or(event.at, |[first, _]| first);
                served.made = Some([first, event.at]);
            }
            EventKind::Tokens {
                count,
                picked_up,
                batch,
                ..
            } => {
                let first = served.picked_up.map_or(picked_up[0], |[first, _]| first);
                served.picked_up = Some([first, picked_up[1]]);
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
                if keep.chunk_times {
                    served.chunk_times.push(event.at);
                }
                if keep.batches {
                    served.batches.extend((0..count).map(|_| batch));
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
            }
        }
    }
}
