//! The directory of a sweep: a plan, the runs, and a list of what became of each visit.
//!
//! | file | holds | written |
//! | --- | --- | --- |
//! | `sweep.json` | the plan: every point with its settings, without secrets | at the start |
//! | `trials.jsonl` | a line a visit: which point, what became of it, where its run is | appended after each |
//! | `SHA256SUMS` | the hash of the plan | at the start |
//! | `points/NAME/` | run directories | while measuring |
//!
//! A sweep that was stopped is taken up again with the same plan: what has a line that says
//! `done` or `skipped` is not measured twice. A directory without such a line belongs to a
//! visit that was cut off; it stays, and the visit gets another.

mod seeds;

use crate::error::StorageError;
use crate::json_lines::{self, JsonLines};
use crate::run_dir::RunDir;
use crate::sums::Sums;
use crate::whole_file;
use inferometer_core::options::Options;
use inferometer_core::point::Point;
use inferometer_core::summary::Summary;
use inferometer_core::value::Tag;
use inferometer_records::form;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

pub(crate) const PLAN: &str = "sweep.json";
pub(crate) const TRIALS: &str = "trials.jsonl";
pub(crate) const POINTS: &str = "points";

/// Name and version of the plan's form.
pub const PLAN_SCHEMA: &str = "inferometer.sweep-plan/1";

/// All that a sweep will measure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepPlan {
    /// `inferometer.sweep-plan/1`.
    pub schema: String,
    pub label: Option<String>,
    /// Facts for legends and pairing.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub tags: Vec<Tag>,
    /// Options with more than one value, the one that changes fastest last.
    pub axes: Vec<String>,
    /// Options that say what the engine's command does not, as in `--engine-stop …`, or the log
    /// of a server that others started; without secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub engine_options: Vec<String>,
    /// The command of the engine that is started, without secrets; empty without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub engine: Vec<String>,
    /// What was typed after `inferometer`, without secrets; empty where that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub typed: Vec<String>,
    /// How often each point is measured.
    pub repeat: u32,
    /// Order of the visits, by index of the point and number of the repeat.
    pub visits: Vec<(usize, u32)>,
    pub points: Vec<PlannedPoint>,
    /// The seeds of its repeats, as readers take it; never stored.
    #[serde(skip)]
    pub seeds: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedPoint {
    /// The same whenever the values are.
    pub id: String,
    pub point: Point,
    /// Flags of the engine that is started for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub flags: BTreeMap<String, String>,
    /// The settings of its runs.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "BTreeMap<String, serde_json::Value>")
    )]
    pub options: Options,
}

/// What became of a visit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trial {
    pub id: String,
    /// Which repeat, from 0.
    pub repeat: u32,
    pub state: TrialState,
    /// The run, as a path below the sweep, if there is one.
    #[serde(default)]
    pub directory: Option<String>,
    /// Why there is none, or why it was passed over.
    #[serde(default)]
    pub reason: Option<String>,
    /// The class of the failure of an engine that was started for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Wall time of the end, RFC 3339.
    pub ended: String,
}

/// A visit and what it showed.
#[derive(Clone, Debug)]
pub struct Visited {
    pub trial: Trial,
    /// Its numbers, if it was measured.
    pub summary: Option<Summary>,
}

/// What became of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TrialState {
    /// Measured, valid or not.
    Done,
    /// It could not be measured.
    Failed,
    /// Passed over, since a condition ended its ladder.
    Skipped,
    Interrupted,
}

impl Trial {
    /// Whether a sweep that is taken up again leaves it alone. A measured visit has a reason only
    /// where the server died during it: what it shows is no property of the load.
    pub fn is_final(&self) -> bool {
        match self.state {
            TrialState::Done => self.reason.is_none(),
            TrialState::Skipped => true,
            TrialState::Failed | TrialState::Interrupted => false,
        }
    }
}

/// Why the files of a sweep cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The folder holds something else.
    #[error("{path} holds files that belong to no sweep; choose another folder with --out")]
    Occupied { path: PathBuf },
    #[error(
        "{path} holds another sweep ({difference}); give the same options to go on with it, or another --out"
    )]
    AnotherPlan {
        path: PathBuf,
        /// What is not the same.
        difference: String,
    },
    /// No sweep was made here.
    #[error("{path} is not a sweep directory (it has no sweep.json)")]
    NotASweep { path: PathBuf },
    /// Another process is at work.
    #[error("the sweep in {path} still goes on; wait for its end, or interrupt it first")]
    StillRunning { path: PathBuf },
    #[error(transparent)]
    Storage(#[from] StorageError),
}

#[derive(Debug)]
pub struct SweepDir {
    path: PathBuf,
    plan: SweepPlan,
}

impl SweepDir {
    /// Whether a folder holds a sweep.
    pub fn is_at(path: &Path) -> bool {
        path.join(PLAN).is_file()
    }

    pub fn open(path: impl Into<PathBuf>) -> Result<Self, SweepError> {
        let path = path.into();
        if !Self::is_at(&path) {
            return Err(SweepError::NotASweep { path });
        }
        let file = path.join(PLAN);
        let text = whole_file::read(&file)?;
        if Sums::of(&path)?.is_some_and(|sums| !sums.hold(PLAN, &text)) {
            return Err(StorageError::Altered { path: file }.into());
        }
        form::check(&file, &text)?;
        let plan: SweepPlan =
            serde_json::from_slice(&text).map_err(|e| StorageError::damaged(&file, e))?;
        if plan.schema != PLAN_SCHEMA {
            let said = format!("its form is {}, not {PLAN_SCHEMA}", plan.schema);
            return Err(StorageError::damaged(&file, said).into());
        }
        Ok(SweepDir { path, plan })
    }

    /// Begins a sweep, or takes up one with the same plan.
    pub fn begin(path: impl Into<PathBuf>, plan: SweepPlan) -> Result<Self, SweepError> {
        let path = path.into();
        if Self::is_at(&path) {
            let found = Self::open(&path)?;
            return match difference(&found.plan, &plan) {
                None => Ok(found),
                Some(difference) => Err(SweepError::AnotherPlan { path, difference }),
            };
        }
        match RunDir::check(&path) {
            Ok(()) => {}
            Err(StorageError::NotEmpty { path }) => return Err(SweepError::Occupied { path }),
            Err(other) => return Err(other.into()),
        }
        let points = path.join(POINTS);
        fs::create_dir_all(&points).map_err(|e| StorageError::io("create", &points, e))?;
        let text = serde_json::to_string(&plan)
            .map_err(|e| StorageError::io("write", &path.join(PLAN), e.into()))?;
        whole_file::write(&path, PLAN, &(text + "\n"))?;
        Sums::store(&path, &[PLAN])?;
        Ok(SweepDir { path, plan })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn plan(&self) -> &SweepPlan {
        &self.plan
    }

    /// What became of the visits so far, in the order in which they were made. A last line that
    /// was cut off is no line.
    pub fn trials(&self) -> Result<Vec<Trial>, SweepError> {
        Ok(json_lines::read(&self.path.join(TRIALS))?)
    }

    /// The trials to go by: of each visit the last, in the order of the plan.
    pub fn results(&self) -> Result<Vec<Trial>, SweepError> {
        let trials = self.trials()?;
        let last = |(point, repeat): &(usize, u32)| {
            let id = &self.plan.points.get(*point)?.id;
            trials
                .iter()
                .rev()
                .find(|trial| trial.id == *id && trial.repeat == *repeat)
                .cloned()
        };
        let mut visits = self.plan.visits.clone();
        visits.sort_unstable();
        Ok(visits.iter().filter_map(last).collect())
    }

    /// A folder, new, for the run of a visit; as a path below the sweep.
    pub fn new_run(&self, id: &str, repeat: u32) -> String {
        let base = match repeat {
            0 => format!("{POINTS}/{id}"),
            _ => format!("{POINTS}/{id}.r{}", repeat + 1),
        };
        let others = (2..).map(|attempt| format!("{base}.again{attempt}"));
        let mut names = std::iter::once(base.clone()).chain(others);
        names
            .find(|name| !self.path.join(name).exists())
            .expect("numbers do not end")
    }

    /// A visit with the summary of its run, as it was stored. One whose summary is damaged counts
    /// as failed, and says why.
    pub fn visited(&self, mut trial: Trial) -> Visited {
        let run = self
            .run_path(&trial)
            .and_then(|path| RunDir::open(path).ok());
        let summary = match run.map(|run| run.summary()) {
            Some(Ok(summary)) => Some(summary),
            Some(Err(error @ (StorageError::Altered { .. } | StorageError::Damaged { .. }))) => {
                trial.state = TrialState::Failed;
                trial.reason = Some(error.to_string());
                None
            }
            Some(Err(_)) | None => None,
        };
        Visited { trial, summary }
    }

    /// Where the run of a visit is. A path that would lead out of the sweep is none.
    pub fn run_path(&self, trial: &Trial) -> Option<PathBuf> {
        below(&self.path, trial.directory.as_deref()?)
    }

    /// Opens the list of trials to append to it. While it is open, no other process gets it.
    pub fn log(&self) -> Result<JsonLines, SweepError> {
        let log = JsonLines::open(self.path.join(TRIALS))?;
        log.ok_or_else(|| SweepError::StillRunning {
            path: self.path.clone(),
        })
    }
}

/// A stored path inside a folder; absent if it would lead out of it, also by a link.
pub fn below(folder: &Path, stored: &str) -> Option<PathBuf> {
    let mut path = folder.to_owned();
    for part in Path::new(stored).components() {
        let Component::Normal(name) = part else {
            return None;
        };
        path.push(name);
        if path.is_symlink() {
            return None;
        }
    }
    Some(path)
}

/// What makes two plans different, in a few words.
fn difference(found: &SweepPlan, asked: &SweepPlan) -> Option<String> {
    if found.axes != asked.axes {
        let names = |axes: &[String]| match axes {
            [] => "none".to_owned(),
            axes => axes.join(", "),
        };
        return Some(format!(
            "its axes are {}, not {}",
            names(&found.axes),
            names(&asked.axes)
        ));
    }
    let ids = |plan: &SweepPlan| -> BTreeSet<String> {
        plan.points.iter().map(|point| point.id.clone()).collect()
    };
    if ids(found) != ids(asked) {
        return Some("its points are others".to_owned());
    }
    if (found.repeat, &found.visits) != (asked.repeat, &asked.visits) {
        return Some("its repeats or their order are others".to_owned());
    }
    if found.engine != asked.engine {
        return Some("its engine's command is another".to_owned());
    }
    let same = |a: &PlannedPoint| {
        let same =
            |b: &PlannedPoint| (&a.id, &a.options, &a.flags) == (&b.id, &b.options, &b.flags);
        asked.points.iter().any(same)
    };
    if let Some(other) = found.points.iter().find(|point| !same(point)) {
        return Some(format!("other settings of its point {}", other.id));
    }
    ((&found.label, &found.tags) != (&asked.label, &asked.tags))
        .then(|| "its label or tags are others".to_owned())
}

#[cfg(test)]
mod tests;
