//! A measurement that goes on, as events: what is known of it, until it ends.

use inferometer_runner::now::{goes_on, look};
use inferometer_store::run_dir::RunDir;
use inferometer_store::stored::{Kind, Stored};
use inferometer_web::Answer;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time between events.
const PACE: Duration = Duration::from_secs(1);
/// How long the figures of a run may take once nothing is measured; a killed one has none.
const SEALING: Duration = Duration::from_secs(30);

/// Whether there is something to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    Yes,
    /// This process is about to measure it, or to end.
    OrWillBe,
}

/// Events of a measurement; the last says that it ended, and the page then becomes its report.
pub fn events(folder: PathBuf, begun: Begun) -> Answer {
    let mut next = Instant::now();
    let mut ended = false;
    let mut quiet_since = None;
    let waiting = || json!({"waiting": true}).to_string();
    Answer::events(Box::new(move || {
        if ended {
            return None;
        }
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        if !goes_on(&folder) {
            let quiet = quiet_since.get_or_insert_with(Instant::now).elapsed();
            let patient = begun == Begun::OrWillBe || quiet < SEALING;
            if patient && lacks_figures(&folder, begun) {
                next = Instant::now() + PACE / 4;
                return Some(waiting());
            }
            ended = true;
            return Some(json!({"ended": true}).to_string());
        }
        quiet_since = None;
        let now = look(&folder);
        next = Instant::now() + PACE;
        let told = now.and_then(|now| serde_json::to_string(&*now).ok());
        Some(told.unwrap_or_else(waiting))
    }))
}

/// Whether nothing is measured at the moment, and the figures are still to come.
fn lacks_figures(folder: &Path, begun: Begun) -> bool {
    match Stored::at(folder) {
        None => begun == Begun::OrWillBe,
        Some(stored) if stored.kind == Kind::Run => {
            RunDir::open(folder).is_ok_and(|run| run.summary().is_err())
        }
        Some(_) => false,
    }
}
