//! A load as it is planned: what warms up, what is measured, what holds the load.

use inferometer_core::record::Stage;
use inferometer_core::scenario::Hold;
use inferometer_core::units::Offset;
use inferometer_core::window::Opening;
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

/// Due times of sessions, to be gone through as often as needed.
pub type Schedule = Arc<dyn Fn() -> Box<dyn Iterator<Item = Offset> + Send> + Send + Sync>;
