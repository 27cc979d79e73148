//! A load as it is planned: what warms up, what is measured, what holds the load.

use inferometer_core::record::Stage;
use inferometer_core::scenario::Hold;
use inferometer_core::units::Offset;
use inferometer_core::window::Opening;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// One continuous load: what warms up, what is measured, what holds the load afterwards.
pub struct LoadPlan {
    pub rhythm: Rhythm,
    /// What must have happened before the window opens; absent: it opens with the first request.
    pub opening: Option<Opening>,
    /// What the requests from the opening on are: measured, or a few that only wake the server.
    pub stage: Stage,
    /// How many of them there are, where that is known.
    pub requests: Option<u64>,
    /// Time of sending from the opening on, if it limits it.
    pub duration: Option<Duration>,
    pub hold: Hold,
    /// What answers get once sending has ended.
    pub drain: Option<Duration>,
}

pub enum Rhythm {
    /// Streams, whose beginnings are spread over a time.
    Closed { streams: u32, spread: Duration },
    /// Arrivals at due times, with a cap.
    Open {
        /// From the beginning on, until the window opens.
        warmup: Schedule,
        /// From the opening on; without an end where the load is held.
        measured: Schedule,
        cap: Option<u32>,
    },
}

/// The part of a load that one worker of one rank sends. Streams and arrivals are dealt out by
/// their numbers, to the ranks first and then to the workers of each; a session stays whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub share: Share,
    pub worker: u64,
    pub workers: u64,
}

impl Part {
    pub(crate) fn holds(self, number: u64) -> bool {
        let Share { place, of } = self.share;
        number % of == place && number / of % self.workers == self.worker
    }
}

/// The share of one of several machines, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    pub place: u64,
    pub of: u64,
}

impl Share {
    pub const WHOLE: Share = Share { place: 0, of: 1 };

    /// Of a number of equal places, those that are its own.
    pub fn of_places(self, all: u64) -> u64 {
        all / self.of + u64::from(self.place < all % self.of)
    }
}

/// Due times of sessions, to be gone through as often as needed.
pub type Schedule = Arc<dyn Fn() -> Box<dyn Iterator<Item = Offset> + Send> + Send + Sync>;
