//! What a tree of folders holds: runs, sweeps, searches for capacity, studies, imports and
//! comparisons, the newest first.

use crate::error::StorageError;
use crate::run_dir::{self, RunDir, SUMMARY};
use crate::sweep_dir::{PLAN, SweepDir, below};
use crate::whole_file;
use inferometer_core::environment::Environment;
use inferometer_records::form;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Read as _;
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
    /// A comparison that was kept: what was compared, and how.
    Comparison,
}

/// Folders inside folders that are looked into for results.
const DEPTH: usize = 4;

/// Folders that are looked into, so that one of a million files is not read from end to end.
const MOST_FOLDERS: usize = 2_000;

/// The file by which a search for capacity is known.
pub const CAPACITY_FILE: &str = "capacity.json";

/// The file of a search that holds its plan and what its probes said.
pub const PROBES_FILE: &str = "probes.jsonl";

/// The file by which a study is known: its trials, as they happened.
pub const STUDY_FILE: &str = "trials.jsonl";

/// The file by which kept results of other tools are known.
pub const IMPORT_FILE: &str = "import.json";

/// The file by which a kept comparison is known.
pub const COMPARISON_FILE: &str = "comparison.json";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    pub path: PathBuf,
    pub kind: Kind,
    /// Wall time of its beginning, RFC 3339, where one of its runs says so.
    pub started: Option<String>,
    /// The model, and the engine with its version, as its first run has them.
    pub model: Option<String>,
    pub engine: Option<String>,
}

impl Stored {
    /// Whether a directory holds a result; of most, one look at a file tells.
    pub fn is_at(path: &Path) -> bool {
        RunDir::is_at(path) || kind(path).is_some()
    }

    /// What a directory holds; absent if it is none of ours.
    pub fn at(path: &Path) -> Option<Self> {
        let kind = kind(path)?;
        let stored = Stored {
            kind,
            path: path.to_owned(),
            started: None,
            model: None,
            engine: None,
        };
        let named = |file: &str, field: &str| {
            let kept = read_object(&path.join(file))?;
            kept[field].as_str().map(str::to_owned)
        };
        Some(match kind {
            Kind::Import => Stored {
                started: named(IMPORT_FILE, "imported"),
                ..stored
            },
            Kind::Comparison => Stored {
                started: named(COMPARISON_FILE, "compared"),
                ..stored
            },
            Kind::Run | Kind::Sweep | Kind::Capacity | Kind::Study => {
                match first_environment(path, kind) {
                    Some(first) => Stored {
                        engine: first.engine_name(),
                        started: Some(first.started),
                        model: Some(first.server.model).filter(|it| !it.is_empty()),
                        ..stored
                    },
                    None => stored,
                }
            }
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

/// Whether a later version has written the result in a folder.
pub fn is_newer(folder: &Path) -> bool {
    let files = [
        SUMMARY,
        PLAN,
        CAPACITY_FILE,
        IMPORT_FILE,
        COMPARISON_FILE,
        PROBES_FILE,
        STUDY_FILE,
    ];
    files.iter().any(|name| {
        let mut head = Vec::new();
        let file = whole_file::open(&folder.join(name)).ok();
        let read = file.map(|file| file.take(form::HEAD as u64).read_to_end(&mut head));
        matches!(read, Some(Ok(_))) && form::newer(&head).is_some()
    })
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
    } else if path.join(COMPARISON_FILE).is_file() {
        Some(Kind::Comparison)
    } else {
        RunDir::open(path).ok().map(|_| Kind::Run)
    }
}

/// What was known before the first request of the first run.
fn first_environment(path: &Path, kind: Kind) -> Option<Environment> {
    let first = match kind {
        Kind::Run => path.to_owned(),
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
        Kind::Import | Kind::Comparison => return None,
    };
    RunDir::open(first).ok()?.environment().ok()
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

/// All that a folder and those inside it hold, the newest first; a folder that does not exist holds
/// nothing.
pub fn list(folder: &Path) -> Result<Vec<Stored>, StorageError> {
    let paths = places(folder, Stored::is_at)?;
    let stored = paths.iter().filter_map(|path| Stored::at(path));
    Ok(newest_first(stored.collect()))
}

/// Where results are in a folder and those inside it, for a caller that may know some of them
/// already. What is inside of a result is part of it.
pub fn places(
    folder: &Path,
    mut is_result: impl FnMut(&Path) -> bool,
) -> Result<Vec<PathBuf>, StorageError> {
    let (mut found, mut open) = (Vec::new(), vec![(folder.to_owned(), 0)]);
    let mut opened = 0;
    while let Some((folder, depth)) = open.pop() {
        let entries = match run_dir::folders(&folder) {
            // One that may not be read, or vanished meanwhile, hides nothing but itself.
            Err(_) if depth > 0 => continue,
            entries => entries?,
        };
        opened += 1;
        for path in entries {
            if is_result(&path) {
                found.push(path);
            } else if depth < DEPTH && opened + open.len() < MOST_FOLDERS && !is_hidden(&path) {
                open.push((path, depth + 1));
            }
        }
    }
    Ok(found)
}

fn is_hidden(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(b".")
}

pub fn newest_first(stored: Vec<Stored>) -> Vec<Stored> {
    let mut found: Vec<_> = (stored.into_iter().map(|it| (it.began(), it))).collect();
    found.sort_by(|(a, left), (b, right)| (b, &right.path).cmp(&(a, &left.path)));
    found.into_iter().map(|(_, stored)| stored).collect()
}

/// The newest result of a folder; of runs only those that can be read.
pub fn latest(folder: &Path) -> Result<Stored, StorageError> {
    let readable = |stored: &Stored| match stored.kind {
        Kind::Run => RunDir::open(&stored.path).is_ok_and(|run| {
            run.scenario().is_ok() && run.environment().is_ok() && run.ending().is_ok()
        }),
        Kind::Capacity => stored.path.join(CAPACITY_FILE).is_file(),
        Kind::Sweep | Kind::Study | Kind::Import | Kind::Comparison => true,
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
        run(
            &folder.path().join("else/deeper/run"),
            "2400-01-01T00:00:00Z",
        );
        run(&folder.path().join(".trash/run"), "2450-01-01T00:00:00Z");
        std::os::unix::fs::symlink(folder.path().join("old"), folder.path().join("link")).unwrap();
        let kinds: Vec<(Kind, Option<String>)> = (list(folder.path()).unwrap().into_iter())
            .map(|stored| (stored.kind, stored.started))
            .collect();
        let at = |year: &str| Some(format!("{year}-01-01T00:00:00Z"));
        assert_eq!(
            kinds,
            [
                (Kind::Run, at("2999")),
                (Kind::Capacity, at("2500")),
                (Kind::Run, at("2400")),
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
