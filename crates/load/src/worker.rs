//! A worker: one thread with its own runtime, connections, buffer and recorder. It shares
//! nothing with other workers but the cap of an open loop and the wish to stop.

use crate::clock::Clock;
use crate::connect::Transport;
use crate::exchange::Bench;
use crate::flight::{Flight, Sink};
use crate::pace::Pacer;
use crate::setup::{Prepared, Setup};
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
    /// Leave at once; what is under way is cut.
    Leave,
}

/// A worker's part of a phase.
pub struct Part {
    pub rhythm: Rhythm,
    /// The requests, made ahead of need.
    pub requests: mpsc::Receiver<Prepared>,
    pub start: Offset,
    /// When sending ends, if time limits it.
    pub send_until: Option<Offset>,
    /// What answers get after that.
    pub drain: Option<Duration>,
}

pub enum Rhythm {
    /// One request after the other on each stream; the streams begin at these times.
    Closed(Vec<Offset>),
    /// Each request at its due time.
    Open {
        /// Requests under way at once, over all workers.
        cap: Option<Arc<Semaphore>>,
    },
}

/// What a worker says of its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartReport {
    /// When the last request was taken up.
    pub last_sent: Offset,
}

pub struct Worker<T: Transport> {
    setup: Arc<Setup<T>>,
    bench: Bench,
    /// Open connections at rest, for each way.
    pools: Vec<RefCell<Vec<T::Stream>>>,
    sink: Sink,
    pacer: Pacer,
    last_sent: Cell<Offset>,
}

impl<T: Transport> Worker<T> {
    /// A worker; must be made on its own runtime.
    pub fn new(setup: Arc<Setup<T>>, sink: Sink, pacer: Pacer) -> Self {
        Worker {
            bench: Bench {
                keep_text: setup.keep_text,
                ..Bench::new(setup.clock, setup.dialect, setup.timeouts)
            },
            pools: setup.ways.iter().map(|_| RefCell::default()).collect(),
            setup,
            sink,
            pacer,
            last_sent: Cell::default(),
        }
    }

    /// Runs a part to its end. What is still under way then is cut, and recorded so.
    pub fn run(
        self: &Rc<Self>,
        runtime: &LocalRuntime,
        part: Part,
        stop: watch::Receiver<Stop>,
    ) -> PartReport {
        runtime.block_on(Rc::clone(self).run_part(part, stop));
        PartReport {
            last_sent: self.last_sent.get(),
        }
    }

    /// Sends and waits for answers. To be run where local tasks can be spawned.
    pub async fn run_part(self: Rc<Self>, part: Part, mut stop: watch::Receiver<Stop>) {
        let tasks = Rc::new(Tasks::default());
        let gate = Gate {
            clock: self.setup.clock,
            send_until: part.send_until,
            stop: stop.clone(),
            tasks: Rc::clone(&tasks),
        };
        match part.rhythm {
            Rhythm::Closed(begins) => {
                let requests = Rc::new(Mutex::new(part.requests));
                for begin in begins {
                    let stream = Rc::clone(&self).stream(begin, Rc::clone(&requests), gate.clone());
                    Tasks::spawn(&tasks, stream);
                }
            }
            Rhythm::Open { cap } => {
                let arrivals =
                    Rc::clone(&self).arrivals(part.requests, part.start, cap, gate.clone());
                Tasks::spawn(&tasks, arrivals);
            }
        }
        let give_up = async {
            gate.sending_over().await;
            match part.drain {
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

    /// One stream of a closed loop: the next request when the last answer is complete.
    async fn stream(
        self: Rc<Self>,
        begin: Offset,
        requests: Rc<Mutex<mpsc::Receiver<Prepared>>>,
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
    async fn session(&self, first: Prepared, cap: Option<&Semaphore>, gate: &Gate) {
        let mut history: Vec<Exchange> = Vec::new();
        let mut request = first;
        let talk = self.setup.talk;
        let mut talking = talk.map(|_| Talking::begin(&gate.tasks));
        loop {
            let next = request.place.next();
            let said = request.said.take();
            if next.is_none() {
                talking.take();
            }
            let Some(ended) = self.send_under(request, cap, gate).await else {
                return;
            };
            let (Some(talk), Some(place)) = (talk, next) else {
                return;
            };
            if let (Some((user, in_work)), true) = (said, ended.well) {
                let assistant = match talk.history {
                    History::Server => ended.answer.map(Arc::from),
                    History::Data => in_work,
                };
                let assistant = assistant.unwrap_or_else(|| "".into());
                history.push(Exchange { user, assistant });
            }
            let due = ended.at + talk.think;
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
        request: Prepared,
        cap: Option<&Semaphore>,
        gate: &Gate,
    ) -> Option<Ended> {
        let Some(cap) = cap else {
            return Some(self.send(request).await);
        };
        let mut waiting = Waiting {
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
        mut requests: mpsc::Receiver<Prepared>,
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
            Tasks::spawn(
                &gate.tasks,
                Rc::clone(&self).arrival(request, cap.clone(), gate.clone()),
            );
        }
        gate.tasks.exhausted();
    }

    /// One arrival and the turns that follow it.
    async fn arrival(self: Rc<Self>, request: Prepared, cap: Option<Arc<Semaphore>>, gate: Gate) {
        self.session(request, cap.as_deref(), &gate).await;
    }

    /// Sends one request and reads its answer. It is recorded however it ends.
    async fn send(&self, request: Prepared) -> Ended {
        let Prepared {
            record, bytes, way, ..
        } = request;
        let mut flight = Flight::begin(record, self.sink.clone());
        self.fly(&bytes, way, &mut flight).await;
        Ended {
            at: flight.record.end.unwrap_or(self.setup.clock.now()),
            well: flight.record.outcome == Outcome::Done,
            answer: flight.text.as_ref().map(|text| text.answer.clone()),
        }
    }

    async fn fly(&self, bytes: &[u8], way: usize, flight: &mut Flight) {
        let begun = self.setup.clock.now();
        self.last_sent.set(self.last_sent.get().max(begun));
        if let Some(mut stream) = self.rested(way) {
            if self.bench.exchange(&mut stream, bytes, flight).await {
                self.pools[way].borrow_mut().push(stream);
            }
            if !flight.found_closed() {
                return;
            }
            flight.resend();
        }
        // Time lost on a dead connection is time to get a living one, not the client's lag.
        let Some(mut stream) = self.open(way, begun, flight).await else {
            return;
        };
        if self.bench.exchange(&mut stream, bytes, flight).await {
            self.pools[way].borrow_mut().push(stream);
        }
    }

    /// A new connection; the time it takes is the record's.
    async fn open(&self, way: usize, begun: Offset, flight: &mut Flight) -> Option<T::Stream> {
        let opened = self.setup.ways[way].transport.open().await;
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
    fn rested(&self, way: usize) -> Option<T::Stream> {
        let mut pool = self.pools[way].borrow_mut();
        while let Some(mut stream) = pool.pop() {
            if T::is_open(&mut stream) {
                return Some(stream);
            }
        }
        None
    }
}

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
    /// Conversations that have turns left to send.
    talking: Cell<usize>,
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

    /// There is nothing left to send.
    fn exhausted(&self) {
        if !self.exhausted.replace(true) {
            self.changed.notify_waiters();
        }
    }

    async fn when_exhausted(&self) {
        while !self.exhausted.get() || self.talking.get() > 0 {
            self.changed.notified().await;
        }
    }
}

/// A request that has arrived and waits at the cap. If the run ends before its turn comes, it
/// is recorded as cut: its user waited, and got nothing.
struct Waiting {
    request: Option<Prepared>,
    sink: Sink,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(request) = self.request.take() {
            drop(Flight::begin(request.record, self.sink.clone()));
        }
    }
}

/// A conversation with turns left to send.
struct Talking(Rc<Tasks>);

impl Talking {
    fn begin(tasks: &Rc<Tasks>) -> Self {
        tasks.talking.set(tasks.talking.get() + 1);
        Talking(Rc::clone(tasks))
    }
}

impl Drop for Talking {
    fn drop(&mut self) {
        let left = self.0.talking.get() - 1;
        self.0.talking.set(left);
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

/// Counts a task as long as it lives.
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
