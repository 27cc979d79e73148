//! What Prometheus is told: the client's view of all runs that go on, or have just ended, those that
//! are part of a sweep, a search or a study as well. Of each only what is new is read.

use inferometer_core::point::Point;
use inferometer_runner::now::{goes_on, look, runs_of};
use inferometer_site::{Counted, View, open_metrics};
use inferometer_store::journal::GrowingJournal;
use inferometer_store::run_dir::{RunDir, modified};
use inferometer_store::stored::{PROBES_FILE, STUDY_FILE};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// Times what it took to make metrics that they are then good for.
const REST: u32 = 10;
/// The least time that they are good for.
const GOOD_FOR: Duration = Duration::from_millis(500);
/// How long a run that has ended is told of: longer than a Prometheus waits between two looks.
const KEPT_AFTER_END: Duration = Duration::from_secs(300);

/// What was read for the last answer.
#[derive(Default)]
pub struct Scrape {
    runs: HashMap<PathBuf, Counting>,
    /// The answer, and until when it is good.
    made: Option<(String, Instant)>,
}

/// The records of a run, as far as they were counted.
struct Counting {
    model: String,
    load: String,
    counted: Counted,
    records: Records,
}

/// How much of a run was counted.
enum Records {
    /// What is in its journal so far.
    SoFar(Box<GrowingJournal>),
    /// Nothing yet of a run that has ended.
    Sealed,
    All,
}

impl Scrape {
    /// The metrics of results, by their names in addresses.
    pub fn metrics<'a>(&mut self, results: impl Iterator<Item = (&'a str, &'a Path)>) -> String {
        let began = Instant::now();
        let mut before = std::mem::take(&mut self.runs);
        let mut views = Vec::new();
        for (id, result) in results {
            for run in current(result) {
                let path = run.path().to_owned();
                let Some(counting) = Counting::of(&run, before.remove(&path)) else {
                    continue;
                };
                let below = path.strip_prefix(result).unwrap_or(&path);
                let point = Some(below.display().to_string()).filter(|it| !it.is_empty());
                views.push(counting.view(id.to_owned(), point, &run));
                self.runs.insert(path, counting);
            }
        }
        let text = open_metrics(&views);
        let good_for = (began.elapsed() * REST).max(GOOD_FOR);
        self.made = Some((text.clone(), Instant::now() + good_for));
        text
    }

    /// The last answer, as long as it is good.
    pub fn made(&self) -> Option<String> {
        let (text, until) = self.made.as_ref()?;
        (Instant::now() < *until).then(|| text.clone())
    }
}

/// The runs of a result that go on or ended a short time ago.
fn current(result: &Path) -> Vec<RunDir> {
    let is_recent = |file: PathBuf| {
        let then = modified(&file).and_then(|ns| u64::try_from(ns).ok());
        let then = then.map(|ns| SystemTime::UNIX_EPOCH + Duration::from_nanos(ns));
        then.is_some_and(|then| then.elapsed().unwrap_or_default() < KEPT_AFTER_END)
    };
    let logs = [STUDY_FILE, PROBES_FILE].map(|log| result.join(log));
    if !RunDir::is_at(result) && !logs.into_iter().any(is_recent) && !goes_on(result) {
        return Vec::new();
    }
    let mut runs = runs_of(result);
    runs.retain(|run| {
        let files = [run.parquet_path(), run.journal_path()];
        files.into_iter().any(is_recent) || run.is_running()
    });
    runs
}

impl Counting {
    /// All of a run so far, by what was counted of it before.
    fn of(run: &RunDir, before: Option<Self>) -> Option<Self> {
        let mut counting = match before {
            Some(before) => before,
            None => Counting {
                model: run.environment().ok()?.server.model,
                load: Point::of_load(&run.scenario().ok()?.load).to_string(),
                counted: Counted::default(),
                records: if run.parquet_path().exists() {
                    Records::Sealed
                } else {
                    Records::SoFar(Box::new(GrowingJournal::open(&run.journal_path()).ok()?))
                },
            },
        };
        match &mut counting.records {
            Records::All => {}
            // Also what was cut at the end, which a journal does not tell.
            records if run.parquet_path().exists() => {
                let mut counted = Counted::default();
                for record in run.records().ok()? {
                    counted.add(&record.ok()?);
                }
                (*records, counting.counted) = (Records::All, counted);
            }
            Records::Sealed => return None,
            Records::SoFar(journal) => {
                let counted = &mut counting.counted;
                journal.each_new(|record| counted.add(record)).ok()?;
            }
        }
        Some(counting)
    }

    fn view(&self, run: String, point: Option<String>, directory: &RunDir) -> View {
        // The newest are not told yet: how many it had a moment ago, as its page says.
        let now = (directory.is_running())
            .then(|| look(directory.path()))
            .flatten();
        View {
            run,
            point,
            model: self.model.clone(),
            load: self.load.clone(),
            counted: self.counted.clone(),
            in_flight: (now.as_ref().and_then(|now| now.run.as_ref())).map_or(0, |it| it.in_flight),
        }
    }
}
