//! How a run is stopped: by a signal, a rule or the watchdog.

use crate::worker::Stop;
use inferometer_core::environment::EndCause;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Stops a run from another thread, such as a signal's.
#[derive(Clone)]
pub struct Control {
    pub(crate) stop: Arc<watch::Sender<Stop>>,
    cause: Arc<Mutex<Option<EndCause>>>,
    pub(crate) measuring: Arc<AtomicBool>,
}

impl Default for Control {
    fn default() -> Self {
        Control {
            stop: Arc::new(watch::Sender::new(Stop::Go)),
            cause: Arc::default(),
            measuring: Arc::default(),
        }
    }
}

impl Control {
    /// Sends nothing more and waits for answers; the second time, leaves at once.
    pub fn interrupt(&self) {
        let next = match *self.stop.borrow() {
            Stop::Go => Stop::Drain,
            Stop::Drain | Stop::Leave => Stop::Leave,
        };
        self.end(next, EndCause::Signal);
    }

    pub fn enough(&self, stop: Stop) {
        self.end(stop, EndCause::Precise);
    }

    /// Leaves at once: the server is known to be gone.
    pub fn abandon(&self) {
        self.end(Stop::Leave, EndCause::Watchdog);
    }

    /// Makes it good for another run, unless the user wants to leave.
    pub fn renew(&self) {
        let mut cause = self.lock_cause();
        if *cause != Some(EndCause::Signal) {
            *cause = None;
            self.stop.send_replace(Stop::Go);
        }
    }

    /// Whether there are workers that a request to stop would reach, and results to keep.
    pub fn is_measuring(&self) -> bool {
        self.measuring.load(Ordering::Relaxed)
    }

    pub fn state(&self) -> Stop {
        *self.stop.borrow()
    }

    /// Whether the user wished once that it ends.
    pub(crate) fn is_waiting_for_answers(&self) -> bool {
        self.state() == Stop::Drain && self.cause() == EndCause::Signal
    }

    /// Waits until the user wished for the second time that it ends.
    pub async fn user_leaves(&self) {
        let mut stop = self.stop.subscribe();
        let leaves = |stop: &Stop| *stop == Stop::Leave && self.cause() == EndCause::Signal;
        if stop.wait_for(leaves).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    pub(crate) fn end(&self, stop: Stop, cause: EndCause) {
        self.lock_cause().get_or_insert(cause);
        self.stop.send_if_modified(|state| {
            let further = stop > *state;
            *state = stop.max(*state);
            further
        });
    }

    pub(crate) fn cause(&self) -> EndCause {
        self.lock_cause().unwrap_or_default()
    }

    fn lock_cause(&self) -> MutexGuard<'_, Option<EndCause>> {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
