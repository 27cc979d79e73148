//! What is known now of a measurement that goes on, read from its folder: the one source of live
//! pages and of the view in the terminal, whichever process measures.

pub mod course;
mod ladder;
mod run;

pub use inferometer_campaign::capacity::Purpose;
pub use ladder::{Ladder, Step, StepState, load_of, study_time_left};
pub use run::{About, Doubts, Phase, RunNow, time_left};

use run::Follower;

use crate::error::RunnerError;
use inferometer_store::journal::is_being_written;
use inferometer_store::run_dir::RunDir;
use inferometer_store::stored::{PROBES_FILE, STUDY_FILE};
use inferometer_store::sweep_dir::SweepDir;
use inferometer_store::whole_file;
use serde::Serialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Least time between two looks, and how many times the time of a look that is at least: all who
/// look together cost a small part of a core.
const PACE: Duration = Duration::from_millis(350);
const REST: u32 = 10;
/// How long a look is kept for those who come back.
const KEPT: Duration = Duration::from_secs(60);
/// Folders below that of a study in which a run may lie: of trials, searches and probes.
const DEEPEST: usize = 4;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Now {
    /// The load point that is measured; absent between two.
    pub run: Option<RunNow>,
    /// What was measured before it; absent where a run is all there is.
    pub ladder: Option<Ladder>,
}

/// What writes into a folder, and so what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measurement {
    Run,
    Sweep,
    Capacity,
    Study,
}

impl Measurement {
    /// Known by the file that is there from the beginning.
    fn at(folder: &Path) -> Self {
        if SweepDir::is_at(folder) {
            Measurement::Sweep
        } else if folder.join(PROBES_FILE).is_file() {
            Measurement::Capacity
        } else if folder.join(STUDY_FILE).is_file() {
            Measurement::Study
        } else {
            Measurement::Run
        }
    }
}

/// A folder that is looked at again and again.
struct Watched {
    folder: PathBuf,
    /// The run that was measured when it was last looked at.
    run: Option<Follower>,
}

impl Watched {
    fn at(folder: &Path) -> Self {
        Watched {
            folder: folder.to_owned(),
            run: None,
        }
    }

    fn look(&mut self) -> Result<Now, RunnerError> {
        let folder = self.folder.as_path();
        let measurement = Measurement::at(folder);
        let ladder = match measurement {
            Measurement::Run => None,
            Measurement::Sweep => Some(Ladder::of_sweep(folder)?),
            Measurement::Capacity => Some(Ladder::of_search(folder)?),
            Measurement::Study => Some(Ladder::of_study(folder)?),
        };
        let run = match measurement {
            Measurement::Run => Some(RunDir::open(folder)?),
            Measurement::Sweep | Measurement::Capacity | Measurement::Study => measured(folder),
        };
        let run = match (run.map(|run| follow(&mut self.run, run)), &ladder) {
            (Some(Err(error)), None) => return Err(error),
            // One that has just ended may be sealed while it is read.
            (run, _) => run.and_then(Result::ok),
        };
        let run = run.map(|run| RunNow {
            name: place_of(folder, &run.name).unwrap_or(run.name),
            ..run
        });
        let ladder = ladder.map(|(ladder, pace)| Ladder {
            left_s: pace.left_s(run.as_ref()),
            ..ladder
        });
        Ok(Now { run, ladder })
    }
}

/// Looks at a run by what is known of it from before.
fn follow(known: &mut Option<Follower>, run: RunDir) -> Result<RunNow, RunnerError> {
    let mut follower = match known.take() {
        Some(known) if known.is_of(run.path()) => known,
        _ => {
            // The end of a probe is decided by what it shows, not by the most requests it may have.
            let is_open_ended = is_probe(run.path());
            Follower::of(run, is_open_ended)?
        }
    };
    let now = follower.look()?;
    *known = Some(follower);
    Ok(now)
}

/// Whether some process still measures into this folder.
pub fn goes_on(folder: &Path) -> bool {
    match Measurement::at(folder) {
        Measurement::Run => RunDir::open(folder).is_ok_and(|run| run.is_running()),
        Measurement::Sweep | Measurement::Study => is_being_written(&folder.join(STUDY_FILE)),
        Measurement::Capacity => is_being_written(&folder.join(PROBES_FILE)),
    }
}

/// The run that some process measures into this folder, or below it, now.
pub fn measured(folder: &Path) -> Option<RunDir> {
    match Measurement::at(folder) {
        Measurement::Run => RunDir::open(folder).ok().filter(RunDir::is_running),
        Measurement::Sweep | Measurement::Capacity | Measurement::Study => {
            run_below(folder, DEEPEST)
        }
    }
}

/// The file in the folder of a measurement by which others ask the process that measures to end it.
const END_WISH: &str = "end.wish";

/// Asks whoever measures into a folder to end that, as Ctrl-C does.
pub fn wish_end(folder: &Path) -> Result<(), RunnerError> {
    Ok(whole_file::write(folder, END_WISH, "")?)
}

/// Whether somebody asked for the end of what is measured into a folder; each wish is heard once.
pub fn hear_end_wish(folder: &Path) -> bool {
    std::fs::remove_file(folder.join(END_WISH)).is_ok()
}

/// What is known now, the same for all who look within a moment; absent where nothing can be read
/// yet.
pub fn look(folder: &Path) -> Option<Arc<Now>> {
    struct Look {
        made: Instant,
        good_for: Duration,
        now: Option<Arc<Now>>,
        watched: Watched,
    }
    static LOOKS: LazyLock<Mutex<HashMap<PathBuf, Look>>> = LazyLock::new(Mutex::default);
    let mut looks = LOOKS.lock().unwrap_or_else(PoisonError::into_inner);
    looks.retain(|_, look| look.made.elapsed() < look.good_for.max(KEPT));
    if let Some(look) = looks.get(folder)
        && look.made.elapsed() < look.good_for
    {
        return look.now.clone();
    }
    let known = looks.remove(folder);
    let mut watched = known.map_or_else(|| Watched::at(folder), |look| look.watched);
    let began = Instant::now();
    let now = watched.look().ok().map(Arc::new);
    let look = Look {
        made: Instant::now(),
        good_for: PACE.max(REST * began.elapsed()),
        now: now.clone(),
        watched,
    };
    looks.insert(folder.to_owned(), look);
    now
}

/// The runs of a result: itself, or those of a sweep, a search or a study, wherever they lie in its
/// folder.
pub fn runs_of(folder: &Path) -> Vec<RunDir> {
    match RunDir::open(folder) {
        Ok(run) => vec![run],
        Err(_) => {
            let folders = folders_in(folder);
            folders.iter().flat_map(|it| runs_of(it)).collect()
        }
    }
}

/// In the order of their names.
fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

/// The run below a folder that is measured now; of several the last by name.
fn run_below(folder: &Path, depth: usize) -> Option<RunDir> {
    folders_in(folder).into_iter().rev().find_map(|folder| {
        let run = RunDir::open(&folder).ok();
        match run {
            Some(run) => run.is_running().then_some(run),
            None if depth > 1 => run_below(&folder, depth - 1),
            None => None,
        }
    })
}

/// The place on its axes of a sweep's point, by the name of the point's folder.
fn place_of(sweep: &Path, point: &str) -> Option<String> {
    let sweep = SweepDir::is_at(sweep).then(|| SweepDir::open(sweep).ok())??;
    let mut points = sweep.plan().points.iter();
    let found = points.find(|it| point.starts_with(&it.id))?;
    Some(found.point.to_string())
}

fn is_probe(run: &Path) -> bool {
    let search = run.parent().and_then(Path::parent);
    search.is_some_and(|search| search.join(PROBES_FILE).is_file())
}
