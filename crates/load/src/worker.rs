//! A worker: one thread with its own runtime, connections, buffer and recorder. It shares
//! nothing with other workers but the cap of an open loop and the request to stop.

use crate::clock::Clock;
use crate::connect::Transport;
use crate::exchange::ExchangeContext;
use crate::flight::{Flight, Sink};
use crate::pace::Pacer;
use crate::setup::{PreparedRequest, Setup};
use inferometer_core::content::Exchange;
use inferometer_core::record::Outcome;
use inferometer_core::units::Offset;
use inferometer_core::work::History;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::LocalRuntime;
use tokio::sync::{Mutex, Notify, Semaphore, mpsc, watch};
use tokio::task::AbortHandle;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    Go,
    /// Send nothing more, let answers come.
    Drain,
    /// Leave at once; what is in flight is cut.
    Leave,
}

pub struct PhaseShare {
    pub pacing: Pacing,
    pub requests: mpsc::Receiver<PreparedRequest>,
    pub start: Offset,
    /// When sending ends, if time limits it.
    pub send_until: Option<Offset>,
    /// What answers get after that.
    pub drain: Option<Duration>,
}

pub enum Pacing {
    /// One request after the other on each stream; the streams begin at these times.
    Closed(Vec<Offset>),
    Open {
        /// Requests in flight at once, over all workers.
        cap: Option<Arc<Semaphore>>,
    },
}

pub struct Worker<T: Transport> {
    setup: Arc<Setup<T>>,
    context: ExchangeContext,
    pools: Vec<RefCell<Vec<T::Stream>>>,
    sink: Sink,
    pacer: Pacer,
    last_sent: Cell<Offset>,
}

impl<T: Transport> Worker<T> {
    pub fn new(setup: Arc<Setup<T>>, sink: Sink, pacer: Pacer) -> Self {
        Worker {
            context: ExchangeContext {
                keep_text: setup.keep_text,
                ..ExchangeContext::new(setup.clock, setup.dialect, setup.timeouts)
            },
            pools: setup.routes.iter().map(|_| RefCell::default()).collect(),
            setup,
            sink,
            pacer,
            last_sent: Cell::default(),
        }
    }

    /// Runs its share of a phase to the end; returns when the last request was begun. What is
    /// still in flight then is cut, and recorded so.
    pub fn run(
        self: &Rc<Self>,
        runtime: &LocalRuntime,
        share: PhaseShare,
        stop: watch::Receiver<Stop>,
    ) -> Offset {
        runtime.block_on(Rc::clone(self).run_share(share, stop));
        self.last_sent.get()
    }

    /// Sends and waits for answers. To be run where local tasks can be spawned.
    pub async fn run_share(self: Rc<Self>, share: PhaseShare, mut stop: watch::Receiver<Stop>) {
        let tasks = Rc::new(Tasks::default());
        let gate = Gate {
            clock: self.setup.clock,
            send_until: share.send_until,
            stop: stop.clone(),
            tasks: Rc::clone(&tasks),
        };
        match share.pacing {
            Pacing::Closed(begins) => {
                let requests = Rc::new(Mutex::new(share.requests));
                for begin in begins {
                    let stream = Rc::clone(&self).stream(begin, Rc::clone(&requests), gate.clone());
                    Tasks::spawn(&tasks, stream);
                }
            }
            Pacing::Open { cap } => {
                let arrivals =
                    Rc::clone(&self).arrivals(share.requests, share.start, cap, gate.clone());
                Tasks::spawn(&tasks, arrivals);
            }
        }
        let give_up = async {
            gate.sending_over().await;
            match share.drain {
                Some(drain) => tokio::time::sleep(drain).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = tasks.all_done() => {}
            () = give_up => {}
            _ = stop.wait_for(|stop| *stop == Stop::Leave) => {}
        }
        // Ended tasks drop their flights, which record themselves as cut.
        tasks.end().await;
    }

    async fn stream(
        self: Rc<Self>,
        begin: Offset,
        requests: Rc<Mutex<mpsc::Receiver<PreparedRequest>>>,
        gate: Gate,
    ) {
        tokio::select! {
            () = tokio::time::sleep_until(self.setup.clock.instant(begin)) => {}
            () = gate.sending_over() => return,
        }
        while gate.is_open() {
            let Some(request) = requests.lock().await.recv().await else {
                gate.tasks.exhausted();
                return;
            };
            if !gate.is_open() {
                return;
            }
            self.session(request, None, &gate).await;
        }
    }

    /// The turns of a session, one after the other. A turn that failed leaves no trace in the
    /// history; the next is sent all the same, so that every planned request is.
    async fn session(&self, first: PreparedRequest, cap: Option<&Semaphore>, gate: &Gate) {
        let mut history: Vec<Exchange> = Vec::new();
        let mut request = first;
        let conversation = self.setup.conversation;
        let mut unfinished = conversation.map(|_| OpenConversation::begin(&gate.tasks));
        loop {
            let next = request.place.next();
            let said = request.said.take();
            if next.is_none() {
                unfinished.take();
            }
            let Some(ended) = self.send_under(request, cap, gate).await else {
                return;
            };
            let (Some(conversation), Some(place)) = (conversation, next) else {
                return;
            };
            if let (Some((user, in_work)), true) = (said, ended.well) {
                let assistant = match conversation.history {
                    History::Server => ended.answer.map(Arc::from),
                    History::Data => in_work,
                };
                let assistant = assistant.unwrap_or_else(|| "".into());
                history.push(Exchange { user, assistant });
            }
            let due = ended.at + conversation.think;
            tokio::select! {
                biased;
                () = gate.stopped() => return,
                () = self.pacer.until(&self.setup.clock, due) => {}
            }
            if !gate.is_open() {
                return;
            }
            request = self.setup.prepare(place, Some(due), &history);
        }
    }

    /// Sends a request as soon as the cap, if there is one, has a place for it.
    async fn send_under(
        &self,
        request: PreparedRequest,
        cap: Option<&Semaphore>,
        gate: &Gate,
    ) -> Option<Ended> {
        let Some(cap) = cap else {
            return Some(self.send(request).await);
        };
        let mut waiting = WaitingAtCap {
            request: Some(request),
            sink: self.sink.clone(),
        };
        let asked = self.setup.clock.now();
        let _place = tokio::select! {
            biased;
            () = gate.stopped() => return None,
            place = cap.acquire() => place,
        };
        let mut request = waiting.request.take()?;
        request.record.cap_wait = Some(self.setup.clock.now().since(asked));
        Some(self.send(request).await)
    }

    /// The arrivals of an open loop: each request at its due time, whatever the others do.
    async fn arrivals(
        self: Rc<Self>,
        mut requests: mpsc::Receiver<PreparedRequest>,
        start: Offset,
        cap: Option<Arc<Semaphore>>,
        gate: Gate,
    ) {
        while let Some(mut request) = requests.recv().await {
            let due = start + request.record.due.unwrap_or_default().as_duration();
            request.record.due = Some(due);
            tokio::select! {
                biased;
                () = self.pacer.until(&self.setup.clock, due) => {}
                () = gate.stopped() => return,
            }
            let (this, cap, gate_of_task) = (Rc::clone(&self), cap.clone(), gate.clone());
            Tasks::spawn(&gate.tasks, async move {
                this.session(request, cap.as_deref(), &gate_of_task).await;
            });
        }
        gate.tasks.exhausted();
    }

    /// Sends one request and reads its answer. It is recorded however it ends.
    async fn send(&self, request: PreparedRequest) -> Ended {
        let PreparedRequest {
            record,
            bytes,
            route,
            ..
        } = request;
        let mut flight = Flight::begin(record, self.sink.clone());
        self.send_on_connection(&bytes, route, &mut flight).await;
        Ended {
            at: flight.record.end.unwrap_or(self.setup.clock.now()),
            well: flight.record.outcome == Outcome::Done,
            answer: flight.text.as_ref().map(|text| text.answer.clone()),
        }
    }

    async fn send_on_connection(&self, bytes: &[u8], route: usize, flight: &mut Flight) {
        let begun = self.setup.clock.now();
        self.last_sent.set(self.last_sent.get().max(begun));
        if let Some(mut stream) = self.idle_connection(route) {
            if self.context.exchange(&mut stream, bytes, flight).await {
                self.pools[route].borrow_mut().push(stream);
            }
            if !flight.found_closed() {
                return;
            }
            flight.resend();
        }
        // Time lost on a dead connection is time to get a living one, not the client's lag.
        let Some(mut stream) = self.open(route, begun, flight).await else {
            return;
        };
        if self.context.exchange(&mut stream, bytes, flight).await {
            self.pools[route].borrow_mut().push(stream);
        }
    }

    /// A new connection; the time it takes is the record's.
    async fn open(&self, route: usize, begun: Offset, flight: &mut Flight) -> Option<T::Stream> {
        let opened = self.setup.routes[route].transport.open().await;
        let ended = self.setup.clock.now();
        match opened {
            Ok(stream) => {
                flight.record.connect = Some(ended.since(begun));
                Some(stream)
            }
            Err(failure) => {
                flight.record.end = Some(ended);
                flight.record.outcome = Outcome::Failed(failure);
                None
            }
        }
    }

    /// A connection that the server has not closed meanwhile.
    fn idle_connection(&self, route: usize) -> Option<T::Stream> {
        let mut pool = self.pools[route].borrow_mut();
        while let Some(mut stream) = pool.pop() {
            if T::is_open(&mut stream) {
                return Some(stream);
            }
        }
        None
    }
}

/// Whether requests may still be sent.
#[derive(Clone)]
struct Gate {
    clock: Clock,
    send_until: Option<Offset>,
    stop: watch::Receiver<Stop>,
    tasks: Rc<Tasks>,
}

impl Gate {
    fn is_open(&self) -> bool {
        *self.stop.borrow() == Stop::Go && self.send_until.is_none_or(|end| self.clock.now() < end)
    }

    async fn stopped(&self) {
        let _ = self
            .stop
            .clone()
            .wait_for(|stop| *stop >= Stop::Drain)
            .await;
    }

    /// Nothing more will be sent: the time is over, somebody wants an end, or all is sent.
    async fn sending_over(&self) {
        let time_over = async {
            match self.send_until {
                Some(end) => tokio::time::sleep_until(self.clock.instant(end)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = time_over => {}
            () = self.stopped() => {}
            () = self.tasks.when_exhausted() => {}
        }
    }
}

/// The tasks of a phase, counted so that their end can be awaited.
#[derive(Default)]
struct Tasks {
    running: Cell<usize>,
    handles: RefCell<Vec<AbortHandle>>,
    exhausted: Cell<bool>,
    open_conversations: Cell<usize>,
    changed: Notify,
}

impl Tasks {
    fn spawn(tasks: &Rc<Tasks>, work: impl Future<Output = ()> + 'static) {
        tasks.running.set(tasks.running.get() + 1);
        let running = Running(Rc::clone(tasks));
        let task = tokio::task::spawn_local(async move {
            // Moved in, so that it is dropped when the task ends in any way.
            let _running = running;
            work.await;
        });
        let mut handles = tasks.handles.borrow_mut();
        // Finished tasks are forgotten now and then, so that a long run does not pile them up.
        if handles.len() > 2 * tasks.running.get() + 64 {
            handles.retain(|handle| !handle.is_finished());
        }
        handles.push(task.abort_handle());
    }

    async fn all_done(&self) {
        while self.running.get() > 0 {
            self.changed.notified().await;
        }
    }

    /// Ends what is still running, and waits until it is gone.
    async fn end(&self) {
        for handle in self.handles.take() {
            handle.abort();
        }
        self.all_done().await;
    }

    fn exhausted(&self) {
        if !self.exhausted.replace(true) {
            self.changed.notify_waiters();
        }
    }

    async fn when_exhausted(&self) {
        while !self.exhausted.get() || self.open_conversations.get() > 0 {
            self.changed.notified().await;
        }
    }
}

/// A request that has arrived and waits at the cap. If the run ends before its turn comes, it
/// is recorded as cut: its user waited, and got nothing.
struct WaitingAtCap {
    request: Option<PreparedRequest>,
    sink: Sink,
}

impl Drop for WaitingAtCap {
    fn drop(&mut self) {
        if let Some(request) = self.request.take() {
            drop(Flight::begin(request.record, self.sink.clone()));
        }
    }
}

struct OpenConversation(Rc<Tasks>);

impl OpenConversation {
    fn begin(tasks: &Rc<Tasks>) -> Self {
        tasks
            .open_conversations
            .set(tasks.open_conversations.get() + 1);
        OpenConversation(Rc::clone(tasks))
    }
}

impl Drop for OpenConversation {
    fn drop(&mut self) {
        let left = self.0.open_conversations.get() - 1;
        self.0.open_conversations.set(left);
        if left == 0 {
            self.0.changed.notify_waiters();
        }
    }
}

/// How a request ended, for the turn that follows it.
struct Ended {
    at: Offset,
    well: bool,
    answer: Option<String>,
}

struct Running(Rc<Tasks>);

impl Drop for Running {
    fn drop(&mut self) {
        let left = self.0.running.get() - 1;
        self.0.running.set(left);
        if left == 0 {
            self.0.changed.notify_waiters();
        }
    }
}
