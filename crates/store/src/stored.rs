//! What a folder of results holds: runs, sweeps, searches for capacity, studies and imports, the
//! newest first.

use crate::error::StorageError;
use crate::run_dir::{self, RunDir};
use crate::sweep_dir::{SweepDir, below};
use crate::whole_file;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    Run,
    Sweep,
    /// A search for the highest load.
    Capacity,
    Study,
    Import,
}

/// The file by which a search for capacity is known.
pub const CAPACITY_FILE: &str = "capacity.json";

/// The file of a search that holds its plan and what its probes said.
pub const PROBES_FILE: &str = "probes.jsonl";

/// The file by which a study is known: its trials, as they happened.
pub const STUDY_FILE: &str = "trials.jsonl";

/// The file by which kept results of other tools are known.
pub const IMPORT_FILE: &str = "import.json";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    pub path: PathBuf,
    pub kind: Kind,
    /// Wall time of its beginning, RFC 3339, where one of its runs says so.
    pub started: Option<String>,
}

impl Stored {
    /// What a directory holds; absent if it is none of ours.
    pub fn at(path: &Path) -> Option<Self> {
        let kind = kind(path)?;
        Some(Stored {
            started: started(path, kind),
            kind,
            path: path.to_owned(),
        })
    }

    /// When it began, in nanoseconds since 1970: as it says, else by the age of its files. That
    /// age also orders those that began in the same second.
    fn began(&self) -> (Option<i128>, Option<i128>) {
        let stated = self.started.as_deref().and_then(run_dir::instant);
        let age = run_dir::modified(&self.path);
        (stated.or(age), age)
    }
}

fn kind(path: &Path) -> Option<Kind> {
    if SweepDir::is_at(path) {
        Some(Kind::Sweep)
    } else if path.join(CAPACITY_FILE).is_file() || path.join(PROBES_FILE).is_file() {
        // The first is there from the end of the first probe on.
        Some(Kind::Capacity)
    } else if path.join(STUDY_FILE).is_file() {
        Some(Kind::Study)
    } else if path.join(IMPORT_FILE).is_file() {
        Some(Kind::Import)
    } else {
        RunDir::open(path).ok().map(|_| Kind::Run)
    }
}

/// The beginning of the first run.
fn started(path: &Path, kind: Kind) -> Option<String> {
    let first = match kind {
        Kind::Run => path.to_owned(),
        Kind::Import => {
            let import = read_object(&path.join(IMPORT_FILE))?;
            return import["imported"].as_str().map(str::to_owned);
        }
        Kind::Sweep => {
            let sweep = SweepDir::open(path).ok()?;
            let trials = sweep.trials().ok()?;
            trials.iter().find_map(|trial| sweep.run_path(trial))?
        }
        Kind::Study => first_of_study(path)?,
        Kind::Capacity => {
            let found = read_object(&path.join(CAPACITY_FILE))?;
            below(path, found["probes"][0]["directory"].as_str()?)?
        }
    };
    let run = RunDir::open(first).ok()?;
    Some(run.environment().ok()?.started)
}

fn read_object(file: &Path) -> Option<serde_json::Value> {
    whole_file::read_summed(file).ok()
}

/// The first run of the first trial that was measured.
fn first_of_study(path: &Path) -> Option<PathBuf> {
    let inside = |path: &Path| -> Vec<PathBuf> {
        let content = fs::read_dir(path).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = content.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let trials = inside(&path.join("trials"));
    let mut runs = trials.iter().flat_map(|trial| inside(trial));
    runs.find(|run| RunDir::open(run).is_ok())
}

/// All that a folder holds, the newest first; a folder that does not exist holds nothing.
pub fn list(folder: &Path) -> Result<Vec<Stored>, StorageError> {
    list_by(folder, Stored::at)
}

/// The same for a caller that may know already what is at a path.
pub fn list_by(
    folder: &Path,
    at: impl FnMut(&Path) -> Option<Stored>,
) -> Result<Vec<Stored>, StorageError> {
    let paths = run_dir::entries(folder)?;
    let stored = paths.iter().map(PathBuf::as_path).filter_map(at);
    let mut found: Vec<_> = stored.map(|stored| (stored.began(), stored)).collect();
    found.sort_by(|(a, left), (b, right)| (b, &right.path).cmp(&(a, &left.path)));
    Ok(found.into_iter().map(|(_, stored)| stored).collect())
}

/// The newest result of a folder; of runs only those that can be read.
pub fn latest(folder: &Path) -> Result<Stored, StorageError> {
    let readable = |stored: &Stored| match stored.kind {
        Kind::Run => RunDir::open(&stored.path).is_ok_and(|run| {
            run.scenario().is_ok() && run.environment().is_ok() && run.ending().is_ok()
        }),
        Kind::Capacity => stored.path.join(CAPACITY_FILE).is_file(),
        Kind::Sweep | Kind::Study | Kind::Import => true,
    };
    list(folder)?
        .into_iter()
        .find(readable)
        .ok_or_else(|| StorageError::NoRuns {
            folder: folder.to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep_dir::{PLAN_SCHEMA, SweepPlan};
    use inferometer_core::environment::Environment;
    use inferometer_core::options::Options;

    fn run(path: &Path, started: &str) {
        let run = RunDir::create(path).unwrap();
        let options = Options::from_toml("[connection]\nurl = ['http://localhost:1']").unwrap();
        run.write_scenario(&options.resolve().unwrap()).unwrap();
        run.write_environment(&Environment {
            started: started.into(),
            ..Environment::default()
        })
        .unwrap();
    }

    #[test]
    fn results_of_every_kind_are_listed_the_newest_first() {
        let folder = tempfile::tempdir().unwrap();
        run(&folder.path().join("old"), "2001-01-01T00:00:00Z");
        run(&folder.path().join("new"), "2999-01-01T00:00:00Z");
        let plan = SweepPlan {
            schema: PLAN_SCHEMA.to_owned(),
            repeat: 1,
            ..SweepPlan::default()
        };
        SweepDir::begin(folder.path().join("grid"), plan).unwrap();
        let search = folder.path().join("search");
        run(&search.join("probe"), "2500-01-01T00:00:00Z");
        let found = serde_json::json!({
            "schema": "inferometer.capacity/1", "over": "rate", "requests_spent": 1, "value": null,
            "low": null, "high": null, "binding": null, "edge": null, "ending": "never-met",
            "confirmed": null, "probes": [{"level": 1.0, "purpose": "bracket", "requests": 1,
            "verdict": "misses", "directory": "probe"}],
        });
        fs::write(search.join(CAPACITY_FILE), found.to_string()).unwrap();
        fs::create_dir(folder.path().join("else")).unwrap();
        let kinds: Vec<(Kind, Option<String>)> = (list(folder.path()).unwrap().into_iter())
            .map(|stored| (stored.kind, stored.started))
            .collect();
        let at = |year: &str| Some(format!("{year}-01-01T00:00:00Z"));
        assert_eq!(
            kinds,
            [
                (Kind::Run, at("2999")),
                (Kind::Capacity, at("2500")),
                (Kind::Sweep, None),
                (Kind::Run, at("2001")),
            ]
        );
        assert_eq!(
            latest(folder.path()).unwrap().path,
            folder.path().join("new")
        );
    }
}
