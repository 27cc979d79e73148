//! Whether stored results are still what was written: all that is stored below a folder, each file
//! against its hash or its checksums, or read from end to end where there are none.

use crate::error::StorageError;
use crate::json_lines;
use crate::run_dir::{self, RunDir};
use crate::stored::{CAPACITY_FILE, COMPARISON_FILE, IMPORT_FILE, PROBES_FILE, STUDY_FILE};
use crate::sums::Sums;
use crate::sweep_dir::{POINTS, SweepDir, SweepError, TRIALS, TrialState, below};
use crate::whole_file;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders inside folders that are looked into: a study holds trials, which hold runs.
const DEPTH: usize = 6;

#[derive(Debug)]
pub struct Verified {
    /// The folder of a result.
    pub path: PathBuf,
    pub state: Integrity,
}

#[derive(Debug)]
pub enum Integrity {
    /// All files are as their hashes and checksums say.
    Intact { files: usize },
    /// It can be read, but has neither: it is of an older version.
    Unhashed,
    /// A line for each file.
    Damaged(Vec<String>),
}

/// Verifies what is at a path and below it; empty if that is no result of ours.
pub fn verify(path: &Path) -> Vec<Verified> {
    let mut found = Vec::new();
    look(path, DEPTH, &mut found);
    found
}

fn look(path: &Path, depth: usize, found: &mut Vec<Verified>) {
    let mut files = Vec::new();
    match (SweepDir::is_at(path), RunDir::open(path)) {
        (true, _) => files.extend(sweep(path).into_iter().map(|it| it.map(|()| false))),
        (false, Ok(run)) => files.push(records(&run).map(|()| false)),
        (false, Err(_)) => {}
    }
    files.extend(summed_files(path));
    files.extend(lost_probes(path).into_iter().map(Err));
    files.extend(lost_trials(path).into_iter().map(Err));
    if !files.is_empty() {
        found.push(Verified {
            path: path.to_owned(),
            state: state(path, files),
        });
    }
    if depth > 0 {
        for folder in inside(path) {
            look(&folder, depth - 1, found);
        }
    }
}

/// Whether a hash or a checksum of what is at a path, or below it, says that it is damaged. Nothing
/// is read but to be hashed, so that many can be looked at beside other work.
pub fn has_wrong_hash(path: &Path) -> bool {
    fn look(path: &Path, depth: usize) -> bool {
        let is_wrong = matches!(state(path, summed_files(path)), Integrity::Damaged(_));
        is_wrong || (depth > 0 && inside(path).iter().any(|it| look(it, depth - 1)))
    }
    look(path, DEPTH)
}

/// Files that bear checksums of their own.
fn summed_files(path: &Path) -> Vec<Result<bool, StorageError>> {
    let there = |name: &&str| fs::symlink_metadata(path.join(name)).is_ok();
    let whole = [CAPACITY_FILE, IMPORT_FILE, COMPARISON_FILE]
        .into_iter()
        .filter(there);
    let whole = whole.map(|name| whole_file::verify(&path.join(name)));
    let lines = [PROBES_FILE, STUDY_FILE].into_iter().filter(there);
    let lines = lines.map(|name| json_lines::verify(&path.join(name)));
    whole.chain(lines).collect()
}

/// The folders in a folder, in order.
fn inside(path: &Path) -> Vec<PathBuf> {
    let mut folders = run_dir::folders(path).unwrap_or_default();
    folders.sort();
    folders
}

/// The state of a folder. Of each file that was read, whether it has a checksum of its own.
fn state(path: &Path, files: Vec<Result<bool, StorageError>>) -> Integrity {
    let sums = match Sums::of(path) {
        Ok(sums) => sums,
        Err(error) => return Integrity::Damaged(vec![error.to_string()]),
    };
    let names: Vec<&str> = sums.iter().flat_map(Sums::names).collect();
    let checked = sums.iter().flat_map(|sums| {
        let check = |name: &&str| sums.check(path, name).err();
        names.iter().filter_map(check)
    });
    let mut damage: Vec<String> = checked.map(|error| error.to_string()).collect();
    let mut count = names.len();
    for file in files {
        match file.map_err(|error| error.to_string()) {
            Ok(summed) => count += usize::from(summed),
            Err(error) if damage.contains(&error) => {}
            Err(error) => damage.push(error),
        }
    }
    match (damage.is_empty(), count) {
        (false, _) => Integrity::Damaged(damage),
        (true, 0) => Integrity::Unhashed,
        (true, files) => Integrity::Intact { files },
    }
}

/// The plan, the list of trials, and that the run of each trial is there.
fn sweep(path: &Path) -> Vec<Result<(), StorageError>> {
    let read = SweepDir::open(path).and_then(|sweep| sweep.results());
    let trials = match read {
        Ok(trials) => trials,
        Err(SweepError::Storage(error)) => return vec![Err(error)],
        Err(other) => return vec![Err(StorageError::damaged(path, other))],
    };
    let done = trials.iter().filter(|it| it.state == TrialState::Done);
    let runs = done.filter_map(|it| lost(path, it.directory.as_deref()?));
    let runs = runs.map(Err).collect::<Vec<_>>();
    let is_listed = path.join(TRIALS).is_file() || inside(&path.join(POINTS)).is_empty();
    let listed = (!is_listed).then(|| {
        Err(StorageError::damaged(
            &path.join(TRIALS),
            "it is gone, and points are there",
        ))
    });
    runs.into_iter().chain(listed).collect()
}

/// Runs of a search that its findings rest on and that are gone.
fn lost_probes(path: &Path) -> Vec<StorageError> {
    let found = whole_file::read_summed::<serde_json::Value>(&path.join(CAPACITY_FILE));
    let found = found.unwrap_or_default();
    let probes = found["probes"].as_array().into_iter().flatten();
    let lost = probes.filter_map(|probe| lost(path, probe["directory"].as_str()?));
    lost.collect()
}

/// Trials of a study that were measured and whose runs are gone.
fn lost_trials(path: &Path) -> Vec<StorageError> {
    let lines = json_lines::read::<serde_json::Value>(&path.join(STUDY_FILE)).unwrap_or_default();
    let ended = lines.iter().map(|line| &line["ended"]);
    let lost = ended
        .filter(|trial| trial["state"] == "done")
        .filter_map(|trial| {
            let folder = path.join(format!("trials/{:03}", trial["id"].as_u64()?));
            let measured = trial["measurements"].as_array()?.len();
            let left = inside(&folder).len();
            (left < measured).then(|| {
                let why = format!("of its {measured} measurements {left} are left");
                StorageError::damaged(&folder, why)
            })
        });
    lost.collect()
}

fn lost(path: &Path, directory: &str) -> Option<StorageError> {
    let run = below(path, directory);
    if run.is_some_and(|run| RunDir::open(run).is_ok()) {
        None
    } else {
        Some(StorageError::damaged(
            &path.join(directory),
            "the run that was here is gone",
        ))
    }
}

/// Reads all that a report reads.
fn records(run: &RunDir) -> Result<(), StorageError> {
    run.scenario()?;
    if run.stored_ending()?.is_some() {
        run.environment()?;
    }
    run.samples()?;
    run.spans()?;
    if Sums::of(run.path())?.is_none() {
        json_lines::verify(&run.samples_path())?;
        json_lines::verify(&run.spans_path())?;
    }
    let mut records = run.records()?;
    for record in &mut records {
        record?;
    }
    match records.damage().lines {
        0 => Ok(()),
        lines => Err(StorageError::damaged(
            &run.journal_path(),
            format!("lines that are not our records: {lines}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_lines::JsonLines;
    use serde_json::json;

    #[test]
    fn searches_studies_and_imports_are_verified_by_their_checksums() {
        let folder = tempfile::tempdir().unwrap();
        let (search, import) = (folder.path().join("a"), folder.path().join("b"));
        for path in [&search, &import] {
            fs::create_dir(path).unwrap();
        }
        let object = json!({"value": 12, "high": 13});
        whole_file::write_summed(&search, CAPACITY_FILE, &object).unwrap();
        let mut probes = JsonLines::open(search.join(PROBES_FILE)).unwrap().unwrap();
        for _ in 0..2 {
            probes.append(&object).unwrap();
        }
        whole_file::write_summed(&import, IMPORT_FILE, &object).unwrap();
        let intact = |path: &Path| match &verify(path)[..] {
            [
                Verified {
                    state: Integrity::Intact { files },
                    ..
                },
            ] => *files,
            _ => 0,
        };
        assert_eq!((intact(&search), intact(&import)), (2, 1));
        assert!(!has_wrong_hash(folder.path()));
        for (path, name) in [
            (&search, CAPACITY_FILE),
            (&search, PROBES_FILE),
            (&import, IMPORT_FILE),
        ] {
            let file = path.join(name);
            let written = fs::read_to_string(&file).unwrap();
            let end = written.rfind("12").unwrap();
            let flipped = written[..end].to_owned() + "13" + &written[end + 2..];
            fs::write(&file, flipped).unwrap();
            assert_eq!(intact(path), 0, "{name}");
            assert!(has_wrong_hash(folder.path()), "{name}");
            fs::write(&file, written).unwrap();
        }
        assert_eq!((intact(&search), intact(&import)), (2, 1));
        // A line that is lost, doubled or out of its place.
        let probes = search.join(PROBES_FILE);
        let written = fs::read_to_string(&probes).unwrap();
        let lines: Vec<&str> = written.lines().collect();
        for others in [
            vec![lines[1]],
            vec![lines[0], lines[0], lines[1]],
            vec![lines[1], lines[0]],
        ] {
            fs::write(&probes, others.join("\n") + "\n").unwrap();
            assert_eq!(intact(&search), 0, "{others:?}");
        }
        fs::write(&probes, written).unwrap();
        assert_eq!(intact(&search), 2);
        fs::write(import.join(IMPORT_FILE), object.to_string()).unwrap();
        let found = verify(&import);
        assert!(matches!(found[0].state, Integrity::Unhashed), "{found:?}");
    }

    #[test]
    fn a_trial_whose_runs_are_gone_is_damage() {
        let folder = tempfile::tempdir().unwrap();
        let study = folder.path().join(STUDY_FILE);
        let mut trials = JsonLines::open(study).unwrap().unwrap();
        for line in [
            json!({"proposed": {"id": 0}}),
            json!({"ended": {"id": 0, "state": "done", "measurements": [{}, {}]}}),
            json!({"ended": {"id": 1, "state": "refused", "measurements": []}}),
        ] {
            trials.append(&line).unwrap();
        }
        let state = || verify(folder.path()).remove(0).state;
        for name in ["concurrency-8", "concurrency-16"] {
            let told = format!("{:?}", state());
            assert!(told.contains("trials/000"), "{told}");
            fs::create_dir_all(folder.path().join("trials/000").join(name)).unwrap();
        }
        let whole = state();
        assert!(matches!(whole, Integrity::Intact { files: 1 }), "{whole:?}");
    }
}
