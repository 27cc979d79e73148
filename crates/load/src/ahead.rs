//! Requests that are made ahead of need: a queue from a maker to its worker, bounded in number and
//! bytes.

use crate::request_bytes::{RequestBytes, SpareBuffers};
use crate::setup::PreparedRequest;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// What may wait together. One request always may, however long it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Most {
    pub requests: usize,
    /// Of those that wait, and again of buffers that are spare.
    pub bytes: usize,
}

/// A worker that waits for requests which are made quickly gets so many at once: to wake it for
/// each costs more than to make one.
const BURST: usize = 16;
/// Making one quickly takes at most this long.
const QUICK: Duration = Duration::from_micros(25);

/// The maker's end and the worker's.
pub(crate) fn queue(most: Most) -> (Made, Requests) {
    let queue = Arc::new(Queue {
        most,
        state: Mutex::default(),
        room: Condvar::new(),
    });
    let spare = SpareBuffers::new(most.bytes);
    let made = Made {
        queue: Arc::clone(&queue),
        spare,
        last: Instant::now(),
    };
    (made, Requests(queue))
}

struct Queue {
    most: Most,
    state: Mutex<State>,
    /// The maker waits for it.
    room: Condvar,
}

#[derive(Default)]
struct State {
    requests: VecDeque<PreparedRequest>,
    bytes: usize,
    maker_sleeps: bool,
    /// That of the worker, while it waits.
    worker: Option<Waker>,
    /// No more will come.
    is_over: bool,
    /// Nobody wants them any more.
    unwanted: bool,
}

impl State {
    fn is_full(&self, most: Most) -> bool {
        let waiting = self.requests.len();
        waiting > 0 && (waiting >= most.requests || self.bytes >= most.bytes)
    }

    /// Whether a maker that sleeps should go on: when half is sent, since to be woken for each
    /// request would cost both threads a system call for each.
    fn has_room(&self, most: Most) -> bool {
        let waiting = self.requests.len();
        let is_half = waiting <= most.requests / 2 && self.bytes <= most.bytes / 2;
        !self.is_full(most) && (is_half || waiting <= 1)
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that holds the lock can panic halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake_maker(&self, mut state: MutexGuard<'_, State>) {
        if std::mem::take(&mut state.maker_sleeps) {
            drop(state);
            self.room.notify_one();
        }
    }
}

fn wake(worker: Option<Waker>) {
    if let Some(worker) = worker {
        worker.wake();
    }
}

/// The maker's end. When it goes, no more will come.
pub(crate) struct Made {
    queue: Arc<Queue>,
    spare: Arc<SpareBuffers>,
    /// When the last one was made.
    last: Instant,
}

impl Made {
    /// Empty bytes, in a buffer that served before if there is one.
    pub fn bytes(&self) -> RequestBytes {
        RequestBytes::reusing(&self.spare)
    }

    /// Whether no further request need be made now.
    pub fn is_full(&self) -> bool {
        self.queue.state().is_full(self.queue.most)
    }

    pub fn wait_for_room(&self) {
        let mut state = self.queue.state();
        wake(state.worker.take());
        while !state.has_room(self.queue.most) && !state.unwanted {
            state.maker_sleeps = true;
            state = (self.queue.room.wait(state)).unwrap_or_else(PoisonError::into_inner);
        }
        state.maker_sleeps = false;
    }

    /// Hands a request on; false if nobody wants it.
    pub fn push(&mut self, request: PreparedRequest) -> bool {
        let now = Instant::now();
        let is_quick = now.duration_since(std::mem::replace(&mut self.last, now)) <= QUICK;
        let mut state = self.queue.state();
        if state.unwanted {
            return false;
        }
        state.bytes += request.bytes.len();
        state.requests.push_back(request);
        let worker = if is_quick && state.requests.len() < BURST {
            None
        } else {
            state.worker.take()
        };
        drop(state);
        wake(worker);
        true
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        state.is_over = true;
        let worker = state.worker.take();
        drop(state);
        wake(worker);
    }
}

/// The worker's end.
pub struct Requests(Arc<Queue>);

impl Requests {
    /// Requests that are all there already.
    pub fn ready(requests: impl IntoIterator<Item = PreparedRequest>) -> Requests {
        let (mut made, ready) = queue(Most {
            requests: usize::MAX,
            bytes: usize::MAX,
        });
        for request in requests {
            made.push(request);
        }
        ready
    }

    /// The next one; absent if no more will come.
    pub async fn next(&mut self) -> Option<PreparedRequest> {
        poll_fn(|context| {
            let mut state = self.0.state();
            let Some(request) = state.requests.pop_front() else {
                if state.is_over {
                    return Poll::Ready(None);
                }
                state.worker = Some(context.waker().clone());
                return Poll::Pending;
            };
            state.bytes -= request.bytes.len();
            if state.has_room(self.0.most) {
                self.0.wake_maker(state);
            }
            Poll::Ready(Some(request))
        })
        .await
    }
}

#[cfg(test)]
impl Requests {
    pub(crate) fn waiting(&self) -> usize {
        self.0.state().requests.len()
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.unwanted = true;
        let unsent = std::mem::take(&mut state.requests);
        self.0.wake_maker(state);
        drop(unsent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::RequestPlace;
    use inferometer_core::record::{Record, Stage};
    use std::pin::pin;
    use std::task::Context;

    fn request(made: &Made, length: usize) -> PreparedRequest {
        let mut bytes = made.bytes();
        bytes.buffer().resize(length, 7);
        PreparedRequest {
            record: Record::default(),
            bytes,
            route: 0,
            place: RequestPlace {
                session: 0,
                turn: 0,
                turns: 1,
                index: 0,
                stage: Stage::Measured,
            },
            cancel_after: None,
            said: None,
        }
    }

    fn push(made: &mut Made, length: usize) {
        let request = request(made, length);
        assert!(made.push(request));
    }

    fn most(requests: usize, bytes: usize) -> Most {
        Most { requests, bytes }
    }

    /// What the worker gets without waiting; absent if it would have to.
    fn taken(requests: &mut Requests) -> Option<Option<PreparedRequest>> {
        match pin!(requests.next()).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(request) => Some(request),
            Poll::Pending => None,
        }
    }

    #[test]
    fn what_waits_is_bounded_by_its_number_and_bytes_and_one_may_always_wait() {
        let (mut made, mut requests) = queue(most(20, 100));
        push(&mut made, 5_000);
        assert!(made.is_full());
        taken(&mut requests);
        (0..9).for_each(|_| push(&mut made, 10));
        assert!(!made.is_full());
        push(&mut made, 10);
        assert!(made.is_full(), "by its bytes");
        while taken(&mut requests).is_some() {}
        (0..20).for_each(|_| push(&mut made, 0));
        assert!(made.is_full(), "by its number");
    }

    #[test]
    fn a_maker_sleeps_until_half_of_what_waited_is_sent() {
        let (mut made, mut requests) = queue(most(8, 1_000));
        (0..8).for_each(|_| push(&mut made, 10));
        let mut room_after = || {
            taken(&mut requests);
            requests.0.state().has_room(requests.0.most)
        };
        let rooms: Vec<bool> = (0..8).map(|_| room_after()).collect();
        assert_eq!(rooms, [false, false, false, true, true, true, true, true]);
        // Where two fill everything, the maker goes on beside the last.
        (0..2).for_each(|_| push(&mut made, 700));
        assert!(room_after());
    }

    #[test]
    fn a_maker_that_sleeps_is_woken_by_the_worker_that_takes_one_or_goes() {
        for goes in [false, true] {
            let (mut made, mut requests) = queue(most(100, 100));
            push(&mut made, 200);
            let maker = std::thread::spawn(move || {
                made.wait_for_room();
                let next = request(&made, 1);
                made.push(next)
            });
            while !requests.0.state().maker_sleeps {
                std::thread::yield_now();
            }
            if goes {
                drop(requests);
            } else {
                taken(&mut requests);
            }
            assert_eq!(maker.join().unwrap(), !goes, "nobody wants it then");
        }
    }

    #[tokio::test]
    async fn a_worker_that_waits_gets_every_request_and_is_told_of_the_end() {
        for slowly in [false, true] {
            let (mut made, mut requests) = queue(most(1_000, 1_000_000));
            let maker = std::thread::spawn(move || {
                for length in 0..200 {
                    if slowly {
                        std::thread::sleep(QUICK);
                    }
                    push(&mut made, length);
                }
            });
            for length in 0..200 {
                assert_eq!(requests.next().await.unwrap().bytes.len(), length);
            }
            assert!(requests.next().await.is_none());
            maker.join().unwrap();
        }
    }
}
