//! The bytes of requests that are made ahead of need: bounded together while they wait to be sent,
//! and used again once they were.

use std::ops::Deref;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The requests of one worker that wait to be sent, as their maker sees them.
pub(crate) struct Ahead {
    /// Of those that wait, and again of buffers that are spare.
    most_bytes: usize,
    state: Mutex<State>,
    less: Condvar,
}

#[derive(Default)]
struct State {
    waiting_bytes: usize,
    spare: Vec<Vec<u8>>,
    spare_bytes: usize,
}

impl Ahead {
    pub(crate) fn new(most_bytes: usize) -> Arc<Self> {
        Arc::new(Ahead {
            most_bytes,
            state: Mutex::default(),
            less: Condvar::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that holds the lock can panic halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Empty bytes, in a buffer that served before if there is one.
    pub(crate) fn bytes(self: &Arc<Self>) -> RequestBytes {
        let mut state = self.state();
        let buffer = state.spare.pop().unwrap_or_default();
        state.spare_bytes -= buffer.capacity();
        drop(state);
        RequestBytes {
            buffer,
            waits: false,
            home: Some(Arc::clone(self)),
        }
    }

    /// Whether no further request need be made now. One always may wait, however long it is.
    pub(crate) fn is_full(&self) -> bool {
        self.state().waiting_bytes >= self.most_bytes
    }

    pub(crate) fn wait_until_less(&self) {
        let mut state = self.state();
        while state.waiting_bytes >= self.most_bytes {
            state = (self.less.wait(state)).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The bytes of a request.
#[derive(Default)]
pub struct RequestBytes {
    buffer: Vec<u8>,
    /// Counted among those that wait.
    waits: bool,
    home: Option<Arc<Ahead>>,
}

impl RequestBytes {
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Begins to wait.
    pub(crate) fn enqueue(&mut self) {
        if let Some(home) = &self.home {
            home.state().waiting_bytes += self.buffer.len();
            self.waits = true;
        }
    }

    /// The worker has taken the request.
    pub(crate) fn dequeue(&mut self) {
        if let Some(home) = self.home.as_ref().filter(|_| self.waits) {
            self.waits = false;
            let mut state = home.state();
            let was_full = state.waiting_bytes >= home.most_bytes;
            state.waiting_bytes -= self.buffer.len();
            drop(state);
            if was_full {
                home.less.notify_one();
            }
        }
    }
}

impl Deref for RequestBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for RequestBytes {
    fn drop(&mut self) {
        self.dequeue();
        let Some(home) = self.home.take() else {
            return;
        };
        let mut state = home.state();
        let spare_bytes = state.spare_bytes + self.buffer.capacity();
        if spare_bytes <= home.most_bytes {
            self.buffer.clear();
            state.spare_bytes = spare_bytes;
            state.spare.push(std::mem::take(&mut self.buffer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(ahead: &Arc<Ahead>, length: usize) -> RequestBytes {
        let mut bytes = ahead.bytes();
        bytes.buffer().resize(length, 7);
        bytes.enqueue();
        bytes
    }

    #[test]
    fn what_waits_is_bounded_by_its_bytes_and_one_may_always_wait() {
        let ahead = Ahead::new(100);
        let first = waiting(&ahead, 5_000);
        assert!(ahead.is_full());
        drop(first);
        assert!(!ahead.is_full(), "one that is given up waits no longer");
        let mut queue: Vec<RequestBytes> = (0..10).map(|_| waiting(&ahead, 10)).collect();
        assert!(ahead.is_full());
        queue[0].dequeue();
        assert!(!ahead.is_full());
        ahead.wait_until_less();
        queue[0].dequeue();
        assert_eq!(ahead.state().waiting_bytes, 90, "one leaves only once");
    }

    #[test]
    fn a_maker_that_waits_is_woken_when_the_worker_takes_one() {
        let ahead = Ahead::new(100);
        let mut long = waiting(&ahead, 200);
        let maker = {
            let ahead = Arc::clone(&ahead);
            std::thread::spawn(move || ahead.wait_until_less())
        };
        long.dequeue();
        maker.join().unwrap();
    }

    #[test]
    fn buffers_serve_again_as_far_as_they_do_not_hold_much_memory() {
        let ahead = Ahead::new(2_000);
        let place = |bytes: &RequestBytes| bytes.as_ptr();
        let first = waiting(&ahead, 1_000);
        let was = place(&first);
        drop(first);
        let again = waiting(&ahead, 900);
        assert_eq!(place(&again), was);
        let many: Vec<RequestBytes> = (0..100).map(|_| waiting(&ahead, 100)).collect();
        drop((many, again, waiting(&ahead, 5_000)));
        let state = ahead.state();
        let held: usize = state.spare.iter().map(Vec::capacity).sum();
        assert_eq!(held, state.spare_bytes);
        assert!((1_000..=2_000).contains(&held), "{held}");
        assert!(state.spare.iter().all(|spare| spare.is_empty()));
    }
}
