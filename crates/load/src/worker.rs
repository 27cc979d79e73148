//! A worker: one thread with its own runtime, connections, buffer and recorder. It shares
//! nothing with other workers but the cap of an open loop and the request to stop.

mod gate;
mod session;
mod tasks;

use self::gate::Gate;
pub use self::gate::{Stop, Window};
use self::tasks::{Counted, Tasks};
use crate::absence::Absence;
pub use crate::ahead::Requests;
use crate::clock::thread_cpu_time;
use crate::connect::Transport;
use crate::exchange::ExchangeContext;
use crate::flight::{Flight, Sink};
use crate::pace::Pacer;
use crate::setup::{PreparedRequest, Setup};
use inferometer_core::record::{Outcome, Stage};
use inferometer_core::scenario::Hold;
use inferometer_core::units::Offset;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::LocalRuntime;
use tokio::sync::{Mutex, Semaphore, watch};

pub struct LoadShare {
    pub pacing: Pacing,
    /// Sent until the window opens; absent where it is open from the beginning.
    pub warmup: Option<Requests>,
    /// Sent from then on: the measured requests, then those that hold the load.
    pub requests: Requests,
    pub start: Offset,
    pub hold: Hold,
    /// What measured answers get once sending has ended.
    pub drain: Option<Duration>,
    pub window: watch::Receiver<Window>,
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
    sink: Rc<Sink>,
    pacer: Pacer,
    absence: Absence,
    sent: Cell<MeasuredSends>,
}

/// The measured sends of a worker.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeasuredSends {
    pub last: Offset,
    /// CPU time of the worker's thread at the first.
    pub cpu_at_first: Option<Duration>,
}

impl<T: Transport> Worker<T> {
    pub fn new(setup: Arc<Setup<T>>, sink: Sink, pacer: Pacer) -> Self {
        let mut context = ExchangeContext::new(setup.clock, setup.dialect, setup.timeouts);
        context.keep_text = setup.keep_text;
        Worker {
            context,
            absence: Absence::of(setup.routes.len()),
            pools: setup.routes.iter().map(|_| RefCell::default()).collect(),
            setup,
            sink: Rc::new(sink),
            pacer,
            sent: Cell::default(),
        }
    }

    /// Runs its share of a load to the end. What is still in flight then is cut, and recorded
    /// so.
    pub fn run(
        self: &Rc<Self>,
        runtime: &LocalRuntime,
        share: LoadShare,
        stop: watch::Receiver<Stop>,
    ) -> MeasuredSends {
        self.sent.take();
        runtime.block_on(Rc::clone(self).run_share(share, stop));
        self.sent.get()
    }

    /// Sends and waits for answers. To be run where local tasks can be spawned.
    pub async fn run_share(self: Rc<Self>, share: LoadShare, mut stop: watch::Receiver<Stop>) {
        let tasks = Rc::new(Tasks::default());
        let gate = Gate {
            clock: self.setup.clock,
            hold: share.hold,
            stop: stop.clone(),
            window: share.window,
            tasks: Rc::clone(&tasks),
        };
        let supply = Supply {
            warmup: share.warmup,
            requests: share.requests,
        };
        match share.pacing {
            Pacing::Closed(begins) => {
                let supply = Rc::new(Mutex::new(supply));
                for begin in begins {
                    let stream = Rc::clone(&self).stream(begin, Rc::clone(&supply), gate.clone());
                    Tasks::spawn(&tasks, stream);
                }
            }
            Pacing::Open { cap } => {
                let arrivals = Rc::clone(&self).arrivals(supply, share.start, cap, gate.clone());
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
            () = gate.reached(Window::Over) => {}
            _ = stop.wait_for(|stop| *stop == Stop::Leave) => {}
        }
        // Ended tasks drop their flights, which record themselves as cut.
        tasks.end().await;
    }

    async fn stream(self: Rc<Self>, begin: Offset, supply: Rc<Mutex<Supply>>, gate: Gate) {
        tokio::select! {
            () = tokio::time::sleep_until(self.setup.clock.instant(begin)) => {}
            () = gate.sending_over() => return,
        }
        while gate.is_open() {
            tokio::select! {
                biased;
                () = self.absence.turn(&self.setup.clock) => {}
                () = gate.quiet() => return,
            }
            let Some(request) = supply.lock().await.next(&gate).await else {
                gate.tasks.exhausted();
                return;
            };
            let Some(request) = gate.admit(request, None) else {
                return;
            };
            self.session(request, None, &gate).await;
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
            sink: Rc::clone(&self.sink),
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
        mut supply: Supply,
        start: Offset,
        cap: Option<Arc<Semaphore>>,
        gate: Gate,
    ) {
        while let Some(mut request) = supply.next(&gate).await {
            let warmup = request.place.stage == Stage::Warmup;
            let from = Some(start).filter(|_| warmup).or_else(|| gate.opened_at());
            let due =
                from.unwrap_or_default() + request.record.due.unwrap_or_default().as_duration();
            request.record.due = Some(due);
            tokio::select! {
                biased;
                () = self.pacer.until(&self.setup.clock, due) => {}
                () = gate.quiet() => return,
                // What would still come of the warm-up gives way to the measured arrivals.
                () = gate.opened(), if warmup && gate.is_shut() => continue,
            }
            let Some(request) = gate.admit(request, Some(due)) else {
                break;
            };
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
            cancel_after,
            ..
        } = request;
        let mut flight = Flight::begin(record, Rc::clone(&self.sink));
        flight.cancel_after = cancel_after;
        self.send_on_connection(&bytes, route, &mut flight).await;
        let at = (flight.record.end).unwrap_or_else(|| self.setup.clock.now());
        self.absence.learn(&flight.record, at);
        Ended {
            at,
            well: flight.record.outcome == Outcome::Done,
            answer: flight.text.as_ref().map(|text| text.answer.clone()),
        }
    }

    async fn send_on_connection(&self, bytes: &[u8], route: usize, flight: &mut Flight) {
        let idle = self.idle_connection(route);
        let mut begun = self.setup.clock.now();
        if flight.record.stage == Stage::Measured {
            let mut sent = self.sent.get();
            sent.last = sent.last.max(begun);
            sent.cpu_at_first.get_or_insert_with(thread_cpu_time);
            self.sent.set(sent);
        }
        if let Some(mut stream) = idle {
            if self
                .context
                .exchange(&mut stream, begun, bytes, flight)
                .await
            {
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
        begun = self.setup.clock.now();
        if self
            .context
            .exchange(&mut stream, begun, bytes, flight)
            .await
        {
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

/// The requests of a worker, made ahead of need.
struct Supply {
    warmup: Option<Requests>,
    requests: Requests,
}

impl Supply {
    /// The next request of the stage that the load is in.
    async fn next(&mut self, gate: &Gate) -> Option<PreparedRequest> {
        if let Some(warmup) = &mut self.warmup {
            if gate.is_shut()
                && let Some(request) = warmup.next().await
                && gate.is_shut()
            {
                return Some(request);
            }
            self.warmup = None;
        }
        self.requests.next().await
    }
}

/// A request that has arrived and waits at the cap. If the run ends before its turn comes, it
/// is recorded as cut: its user waited, and got nothing.
struct WaitingAtCap {
    request: Option<PreparedRequest>,
    sink: Rc<Sink>,
}

impl Drop for WaitingAtCap {
    fn drop(&mut self) {
        if let Some(request) = self.request.take() {
            drop(Flight::begin(request.record, Rc::clone(&self.sink)));
        }
    }
}

/// How a request ended, for the turn that follows it.
struct Ended {
    at: Offset,
    well: bool,
    answer: Option<String>,
}
