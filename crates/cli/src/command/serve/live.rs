//! A measurement that goes on, as events: what is known of it, until it ends.

use inferometer_load::clock::while_showing;
use inferometer_runner::now::{goes_on, look};
use inferometer_store::run_dir::RunDir;
use inferometer_store::stored::{Kind, Stored};
use inferometer_web::Answer;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time between events; a look that takes long is made more rarely.
const PACE: Duration = Duration::from_millis(400);
/// How long the figures of a run may take once nothing is measured; a killed one has none.
const SEALING: Duration = Duration::from_secs(30);

/// Events of a measurement; the last says that it ended, and the page then becomes its report.
/// `is_at_work`: whether a process that measures it is known to be alive, also before the first
/// request and after the last.
pub fn events(folder: PathBuf, is_at_work: impl Fn() -> bool + Send + 'static) -> Answer {
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
            let is_at_work = is_at_work();
            let patient = is_at_work || quiet < SEALING;
            if patient && lacks_figures(&folder, is_at_work) {
                next = Instant::now() + PACE / 4;
                return Some(waiting());
            }
            ended = true;
            return Some(json!({"ended": true}).to_string());
        }
        quiet_since = None;
        next = Instant::now() + PACE;
        let told = while_showing(|| serde_json::to_string(&*look(&folder)?).ok());
        Some(told.unwrap_or_else(waiting))
    }))
}

/// Whether nothing is measured at the moment, and the figures are still to come.
pub fn lacks_figures(folder: &Path, is_at_work: bool) -> bool {
    match Stored::at(folder) {
        None => is_at_work,
        Some(stored) if stored.kind == Kind::Run => {
            RunDir::open(folder).is_ok_and(|run| run.summary().is_err())
        }
        Some(_) => false,
    }
}
