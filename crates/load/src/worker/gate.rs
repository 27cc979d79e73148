//! What workers are told while they send: whether to go on, and what is measured.

use super::tasks::Tasks;
use crate::clock::Clock;
use crate::setup::PreparedRequest;
use inferometer_core::record::Stage;
use inferometer_core::scenario::Hold;
use inferometer_core::units::Offset;
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use tokio::sync::watch;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stop {
    Go,
    /// Send nothing more, let answers come.
    Drain,
    /// Leave at once; what is in flight is cut.
    Leave,
}

/// The measured window, as the instrument tells it to the workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Window {
    /// Warming up.
    Shut,
    /// Requests that are sent in this time are measured; later ones hold the load.
    Open { from: Offset, to: Option<Offset> },
    /// Nothing more is sent.
    Closed,
    /// The measured answers are in: what is still under way is cut.
    Over,
}

impl Window {
    /// Ends what is measured at a moment, if the window is open; says whether it was.
    pub fn close_at(&mut self, at: Offset) -> bool {
        if let Window::Open { to, .. } = self {
            *to = Some(to.map_or(at, |to| to.min(at)));
            return true;
        }
        false
    }
}

/// Whether requests may still be sent, and as what.
#[derive(Clone)]
pub(super) struct Gate {
    pub(super) clock: Clock,
    pub(super) hold: Hold,
    pub(super) stop: watch::Receiver<Stop>,
    pub(super) window: watch::Receiver<Window>,
    pub(super) tasks: Rc<Tasks>,
}

impl Gate {
    pub(super) fn is_open(&self) -> bool {
        let in_time = self.hold == Hold::Auto || self.is_in_time(None);
        *self.stop.borrow() == Stop::Go && *self.window.borrow() < Window::Closed && in_time
    }

    pub(super) fn is_shut(&self) -> bool {
        *self.window.borrow() == Window::Shut
    }

    /// When the window opened, unless that is long forgotten.
    pub(super) fn opened_at(&self) -> Option<Offset> {
        match *self.window.borrow() {
            Window::Open { from, .. } => Some(from),
            Window::Shut | Window::Closed | Window::Over => None,
        }
    }

    /// When measured sending ends, once that is known.
    pub(super) fn send_until(&self) -> Option<Offset> {
        match *self.window.borrow() {
            Window::Open { to, .. } => to,
            Window::Shut | Window::Closed | Window::Over => None,
        }
    }

    /// Whether a moment, or this one, comes before the end of measured sending.
    pub(super) fn is_in_time(&self, at: Option<Offset>) -> bool {
        let before = |end: Offset| at.unwrap_or_else(|| self.clock.now()) < end;
        self.send_until().is_none_or(before)
    }

    /// A request as what it is sent at a moment, or now: a measured one whose time is over holds the
    /// load, where that is wanted.
    pub(super) fn admit(
        &self,
        mut request: PreparedRequest,
        at: Option<Offset>,
    ) -> Option<PreparedRequest> {
        if request.record.stage == Stage::Measured && !self.is_in_time(at) {
            request.record.stage = Stage::Hold;
            request.place.stage = Stage::Hold;
        }
        if request.record.stage == Stage::Hold {
            self.tasks.exhausted();
        }
        (self.is_open() && (request.record.stage != Stage::Hold || self.hold == Hold::Auto))
            .then_some(request)
    }

    pub(super) async fn stopped(&self) {
        let mut stop = self.stop.clone();
        let _ = stop.wait_for(|stop| *stop >= Stop::Drain).await;
    }

    pub(super) async fn opened(&self) {
        let mut window = self.window.clone();
        let _ = window.wait_for(|window| *window > Window::Shut).await;
    }

    /// The window is that far; never, if nobody is left to say so.
    pub(super) async fn reached(&self, least: Window) {
        let mut window = self.window.clone();
        if window.wait_for(|window| *window >= least).await.is_err() {
            std::future::pending().await
        }
    }

    /// Nothing at all is sent any more, neither measured nor to hold the load.
    pub(super) async fn quiet(&self) {
        tokio::select! {
            () = self.reached(Window::Closed) => {}
            () = self.stopped() => {}
        }
    }

    /// Nothing more will be measured: the time is over, somebody wants an end, or all is sent.
    pub(super) async fn sending_over(&self) {
        // The end may come nearer while it is awaited.
        let mut window = self.window.clone();
        let time_over = async {
            loop {
                let end = self.send_until();
                let over = async {
                    match end {
                        Some(end) => tokio::time::sleep_until(self.clock.instant(end)).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = over => return,
                    changed = window.changed() => if changed.is_err() {
                        std::future::pending().await
                    }
                }
            }
        };
        tokio::select! {
            () = time_over => {}
            () = self.stopped() => {}
            () = self.tasks.when_exhausted() => {}
        }
    }
}
