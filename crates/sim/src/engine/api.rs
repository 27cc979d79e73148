//! The front end: API servers that take requests in and send chunks out, each an event loop on one
//! core.
//!
//! A request belongs to one of them. A handler of outputs takes what a step of the engine brought,
//! a slice of requests at a time, and lays it where each request's own task finds it and sends it.
//! It goes on with further steps that have come meanwhile; only between the slices of a step, and
//! when there is nothing left, do the other tasks have their turn. So what several steps brought
//! goes out in one chunk where a server is behind and all its requests are in one slice. With more
//! of them every token is a chunk of its own, however late: this is how vLLM's `AsyncLLM` and
//! its `RequestOutputCollector` work together. SGLang's handler knows no slices.
//!
//! To take a request in, a server reads it, lets others have their turn while its prompt becomes
//! tokens, and hands it to the scheduler; so requests that come together are seen late, but close
//! to each other. Between the two the request is passed on from task to task, and each lets all
//! others have their turn: on an idle server that is nothing, on one that is behind it is as many
//! rounds of what it has to send. So answers that end while a server is behind are followed by
//! requests that the engine sees when the whole wave has ended, and streams stay in step.

use std::{
    collections::{HashMap, VecDeque},
    ops::ControlFlow,
};

use inferometer_catalog::timing::ApiCost;

use super::{EngineConfig, Event, EventKind, Finish, Nanos, Policy, Request, nanos};

/// Where the front end keeps a request: looked up once per request, not once per token.
pub(super) type Ticket = u32;

/// Tokens on their way through the front end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) request: u64,
    pub(super) ticket: Ticket,
    pub(super) tokens: u32,
    /// Sequences in the batch that made the last of them.
    pub(super) batch: u32,
    /// Why the answer ends with it, and how often the request was preempted.
    pub(super) finished: Option<(Finish, u32)>,
}

/// A request that the engine has said it can serve.
#[derive(Clone, Debug)]
pub(super) struct Admitted {
    pub(super) request: Request,
    /// The tokens that it gets.
    pub(super) output: u32,
    /// The replica that serves it.
    pub(super) core: usize,
}

/// A request that a server hands to the scheduler.
#[derive(Debug)]
pub(super) struct TakenIn {
    pub(super) admitted: Admitted,
    pub(super) ticket: Ticket,
    /// When the server set about it.
    pub(super) begun: Nanos,
    /// When the scheduler sees it.
    pub(super) seen_at: Nanos,
}

#[derive(Clone, Copy, Debug)]
enum Task {
    Read(Ticket),
    /// Passing it on so many times more.
    PassOn(Ticket, u8),
    /// Handing it to the scheduler.
    TakeIn(Ticket),
    HandleOutputs,
    Send(Ticket),
}

/// One with an empty queue begins a task when it comes; so the next task of a queue begins when
/// the server is free.
#[derive(Clone, Debug, Default)]
struct ApiServer {
    free_at: Nanos,
    queue: VecDeque<Task>,
    /// What the task under way leaves to do once all that waits has had its turn.
    then: Option<Task>,
    /// What steps brought and the handler has not seen: its end marks each step.
    outputs: VecDeque<Output>,
    handler_is_queued: bool,
}

impl ApiServer {
    fn has_work(&self) -> bool {
        !self.queue.is_empty() || self.then.is_some()
    }
}

#[derive(Clone, Copy, Debug)]
enum Output {
    Chunk(Chunk),
    EndOfStep,
}

#[derive(Clone, Debug, Default)]
struct Open {
    /// Absent where the ticket is free.
    id: Option<u64>,
    server: usize,
    /// Until the scheduler has it. Boxed, since every token passes here.
    arriving: Option<Box<Admitted>>,
    /// When the server set about it.
    begun: Nanos,
    /// Handled, and waiting to be sent; and when the server took the first and the last of its
    /// tokens from the engine.
    waiting: Option<(Chunk, [Nanos; 2])>,
}

#[derive(Clone, Debug)]
pub(super) struct FrontEnd {
    servers: Vec<ApiServer>,
    /// By ticket.
    open: Vec<Open>,
    free: Vec<Ticket>,
    tickets: HashMap<u64, Ticket>,
    turn: usize,
    /// Time that the servers have spent, together.
    pub(super) busy: Nanos,
    habits: Habits,
    request: f64,
    prompt_token: f64,
    chunk: Nanos,
    token: f64,
    latency: Nanos,
}

/// How an engine's API server goes about its work, whatever that costs.
#[derive(Clone, Copy, Debug)]
struct Habits {
    /// The most outputs of a step that are handled at once.
    slice: usize,
    /// How often a request is passed on between being read and being handed to the scheduler.
    passes: u8,
    /// Of what it costs to take a request in, the share that goes into reading it.
    reading: f64,
    /// What ends an answer, in chunks: the last tokens, and what else is sent then.
    closing: u64,
}

/// `VLLM_V1_OUTPUT_PROC_CHUNK_SIZE`, as it is by itself; the rest as seen by the client of 64 and of
/// 256 streams that begin together (`fixtures/plan/h200-front-end.md`): when headers come, which vLLM
/// sends as it hands a request on, and in which intervals answers end.
const VLLM: Habits = Habits {
    slice: 128,
    passes: 9,
    reading: 0.33,
    closing: 3,
};

/// Not measured.
const OTHERS: Habits = Habits {
    slice: usize::MAX,
    passes: 0,
    reading: 0.5,
    closing: 1,
};

impl Habits {
    /// What is next of a request that has so many passes before it.
    fn after_passing_on(self, ticket: Ticket, left: u8) -> Task {
        match left.checked_sub(1) {
            Some(left) => Task::PassOn(ticket, left),
            None => Task::TakeIn(ticket),
        }
    }
}

impl FrontEnd {
    pub(super) fn new(config: &EngineConfig) -> FrontEnd {
        let habits = match config.policy {
            Policy::Vllm(_) => VLLM,
            Policy::Sglang(_) | Policy::Mindie(_) | Policy::Trtllm(_) => OTHERS,
        };
        FrontEnd::with(config.api, config.api_servers, habits)
    }

    fn with(cost: ApiCost, servers: u32, habits: Habits) -> FrontEnd {
        FrontEnd {
            servers: vec![ApiServer::default(); servers.max(1) as usize],
            open: Vec::new(),
            free: Vec::new(),
            tickets: HashMap::new(),
            turn: 0,
            busy: 0,
            habits,
            request: cost.request_us * 1e-6,
            prompt_token: cost.prompt_token_us * 1e-6,
            chunk: nanos(cost.chunk_us * 1e-6),
            token: cost.token_us * 1e-6,
            latency: nanos(cost.latency_us * 1e-6),
        }
    }

    pub(super) fn knows(&self, id: u64) -> bool {
        self.tickets.contains_key(&id)
    }

    /// Forgets a request; false where none of this id is under way.
    pub(super) fn cancel(&mut self, id: u64) -> bool {
        let Some(&ticket) = self.tickets.get(&id) else {
            return false;
        };
        // The ticket is given to another, who must not find what is left of this one.
        let server = &mut self.servers[self.open[ticket as usize].server];
        server.queue.retain(|task| match task {
            Task::Read(of) | Task::PassOn(of, _) | Task::TakeIn(of) | Task::Send(of) => {
                *of != ticket
            }
            Task::HandleOutputs => true,
        });
        server.then = server.then.filter(
            |task| !matches!(task, Task::PassOn(of, _) | Task::TakeIn(of) if *of == ticket),
        );
        server.outputs.retain(|output| match output {
            Output::Chunk(chunk) => chunk.ticket != ticket,
            Output::EndOfStep => true,
        });
        self.close(ticket);
        true
    }

    fn close(&mut self, ticket: Ticket) {
        let open = std::mem::take(&mut self.open[ticket as usize]);
        if let Some(id) = open.id {
            self.tickets.remove(&id);
            self.free.push(ticket);
        }
    }

    /// A request comes; requests go to the servers in turn.
    pub(super) fn accept(&mut self, now: Nanos, admitted: Admitted) -> Option<TakenIn> {
        let (id, place) = (admitted.request.id, self.turn);
        let takes_time = self.taking_in(admitted.request.prompt_tokens) > 0.0;
        self.turn = (self.turn + 1) % self.servers.len();
        let ticket = self.free.pop().unwrap_or_else(|| {
            self.open.push(Open::default());
            (self.open.len() - 1) as Ticket
        });
        self.tickets.insert(id, ticket);
        self.open[ticket as usize] = Open {
            id: Some(id),
            server: place,
            arriving: Some(Box::new(admitted)),
            begun: now,
            waiting: None,
        };
        if !self.queue(place, Task::Read(ticket), now) {
            return None;
        }
        let read = self.other_task(place);
        if takes_time {
            return read;
        }
        // Where it takes no time, nothing comes between.
        let mut taken_in = read;
        while taken_in.is_none() && self.servers[place].has_work() {
            taken_in = self.other_task(place);
        }
        taken_in
    }

    /// A step of the engine has brought these chunks by now.
    pub(super) fn hand_over(&mut self, now: Nanos, chunks: &[Chunk]) {
        for chunk in chunks {
            let open = &self.open[chunk.ticket as usize];
            if open.id == Some(chunk.request) {
                let server = &mut self.servers[open.server];
                server.outputs.push_back(Output::Chunk(*chunk));
            }
        }
        for place in 0..self.servers.len() {
            let server = &mut self.servers[place];
            if let Some(Output::Chunk(_)) = server.outputs.back() {
                server.outputs.push_back(Output::EndOfStep);
                if !server.handler_is_queued {
                    server.handler_is_queued = true;
                    self.queue(place, Task::HandleOutputs, now);
                }
            }
        }
    }

    /// When a server sets about its next task.
    pub(super) fn wake(&self) -> Option<Nanos> {
        self.next().map(|(at, _)| at)
    }

    /// The task that is due first: when, and the server that sets about it.
    pub(super) fn next(&self) -> Option<(Nanos, usize)> {
        let servers = self.servers.iter().enumerate();
        let behind = servers.filter(|(_, server)| server.has_work());
        behind.map(|(place, server)| (server.free_at, place)).min()
    }

    /// Queues a task; true where the server has nothing else to do.
    fn queue(&mut self, place: usize, task: Task, now: Nanos) -> bool {
        let server = &mut self.servers[place];
        let idle = !server.has_work() && server.free_at <= now;
        if idle {
            server.free_at = now;
        }
        server.queue.push_back(task);
        idle
    }

    /// Lets a server do its next task, and more of them before the time given where they are
    /// chunks to send. It ends with a request for the scheduler, or with the last chunk of an
    /// answer.
    pub(super) fn work(
        &mut self,
        place: usize,
        until: Nanos,
        events: &mut Vec<Event>,
    ) -> ControlFlow<Option<TakenIn>> {
        let others = self.servers.iter().enumerate();
        let others = others.filter(|(other, server)| *other != place && server.has_work());
        let until = others
            .map(|(_, server)| server.free_at)
            .fold(until, Nanos::min);
        let server = &mut self.servers[place];
        let then = server.then.take();
        server.queue.extend(then);
        while let Some(&Task::Send(ticket)) = server.queue.front() {
            server.queue.pop_front();
            let Some((chunk, picked_up)) = self.open[ticket as usize].waiting.take() else {
                continue;
            };
            let closing = chunk.finished.map_or(1, |_| self.habits.closing);
            let cost = self.chunk.saturating_mul(closing);
            self.busy = self.busy.saturating_add(cost);
            server.free_at = server.free_at.saturating_add(cost);
            let (request, at) = (chunk.request, server.free_at.saturating_add(self.latency));
            let mut tell = |kind| events.push(Event { request, at, kind });
            tell(EventKind::Tokens {
                count: chunk.tokens,
                batch: chunk.batch,
                picked_up,
            });
            if let Some((finish, preemptions)) = chunk.finished {
                tell(EventKind::Finished {
                    finish,
                    preemptions,
                });
                self.close(ticket);
                return ControlFlow::Break(None);
            }
            if server.free_at >= until {
                return ControlFlow::Continue(());
            }
        }
        match self.other_task(place) {
            None => ControlFlow::Continue(()),
            taken_in => ControlFlow::Break(taken_in),
        }
    }

    /// The next task of a server where that is not to send a chunk.
    fn other_task(&mut self, place: usize) -> Option<TakenIn> {
        let server = &mut self.servers[place];
        let then = server.then.take();
        server.queue.extend(then);
        match server.queue.pop_front()? {
            Task::Read(ticket) => {
                let open = &mut self.open[ticket as usize];
                open.begun = server.free_at;
                server.then = Some(self.habits.after_passing_on(ticket, self.habits.passes));
                let tokens = open.arriving.as_ref()?.request.prompt_tokens;
                self.spend(place, self.taking_in(tokens) * self.habits.reading);
                None
            }
            Task::PassOn(ticket, left) => {
                // With nobody else there all its turns are one.
                let left = if server.queue.is_empty() { 0 } else { left };
                server.then = Some(self.habits.after_passing_on(ticket, left));
                None
            }
            Task::TakeIn(ticket) => {
                let open = &mut self.open[ticket as usize];
                let (admitted, begun) = (open.arriving.take()?, open.begun);
                let whole = self.taking_in(admitted.request.prompt_tokens);
                self.spend(place, whole * (1.0 - self.habits.reading));
                let seen_at = self.servers[place].free_at.saturating_add(self.latency);
                Some(TakenIn {
                    admitted: *admitted,
                    ticket,
                    begun,
                    seen_at,
                })
            }
            Task::HandleOutputs => {
                self.handle_outputs(place);
                None
            }
            Task::Send(_) => None,
        }
    }

    fn taking_in(&self, prompt_tokens: u32) -> f64 {
        self.request + f64::from(prompt_tokens) * self.prompt_token
    }

    fn handle_outputs(&mut self, place: usize) {
        let now = self.servers[place].free_at;
        let (mut handled, mut tokens) = (0, 0.0);
        let server = &mut self.servers[place];
        // What comes while it works is seen at its next turn.
        while let Some(output) = server.outputs.pop_front() {
            let Output::Chunk(mut chunk) = output else {
                handled = 0;
                continue;
            };
            let waiting = &mut self.open[chunk.ticket as usize].waiting;
            tokens += f64::from(chunk.tokens);
            let mut picked_up = [now, now];
            match waiting {
                Some((before, [first, _])) => {
                    chunk.tokens += before.tokens;
                    picked_up[0] = *first;
                }
                None => server.queue.push_back(Task::Send(chunk.ticket)),
            }
            *waiting = Some((chunk, picked_up));
            handled += 1;
            let more = matches!(server.outputs.front(), Some(Output::Chunk(_)));
            if handled == self.habits.slice && more {
                break;
            }
        }
        server.handler_is_queued = !server.outputs.is_empty();
        if server.handler_is_queued {
            server.queue.push_back(Task::HandleOutputs);
        }
        self.spend(place, tokens * self.token);
    }

    fn spend(&mut self, place: usize, seconds: f64) {
        let cost = nanos(seconds);
        let server = &mut self.servers[place];
        server.free_at = server.free_at.saturating_add(cost);
        self.busy = self.busy.saturating_add(cost);
    }
}

#[cfg(test)]
mod tests;
