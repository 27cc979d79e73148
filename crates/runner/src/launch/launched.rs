//! An engine that runs because we started it.

use crate::observer::{Event, Observer};
use inferometer_core::environment::StartedEngine;
use inferometer_engine::{MemoryAfter, Running};
use inferometer_text::secret::without_credentials;

/// A started engine. Dropping it stops it, too; so does our own death.
pub struct LaunchedEngine {
    pub running: Running,
    /// What was started, and what it told of itself.
    pub about: StartedEngine,
}

impl LaunchedEngine {
    /// Ends it and waits until the devices are as before; what did not go well is said.
    pub fn stop(self, observer: &mut dyn Observer) {
        observer.event(Event::StoppingEngine);
        let url = without_credentials(self.running.url());
        let stopped = self.running.stop();
        if stopped.remaining > 0 {
            let count = stopped.remaining;
            observer.notice(format!("{count} processes of the engine are still there"));
        }
        if !stopped.reached {
            observer.notice("the engine's stop command failed; it may still run".to_owned());
        }
        if stopped.answers {
            observer.notice(format!(
                "the engine still answers at {url} after its stop; end it there, and give a command that does with --engine-stop"
            ));
        }
        if let MemoryAfter::Held { mib } = stopped.memory {
            observer.notice(format!(
                "the devices still hold {:.1} GiB more than before the engine's start",
                mib / 1024.0
            ));
        }
    }
}
