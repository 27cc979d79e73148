//! New folders for what is kept.

use crate::options::RUNS;
use crate::registry;
use inferometer_bucket::Location;
use inferometer_runner::host;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Folders that were made here, to be removed if nothing came into them.
static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// `inferometer-runs/TIME-LABEL`, with a number if that is taken; `kind` stands in for a label.
pub fn new_folder(label: Option<&str>, kind: &str) -> PathBuf {
    let label = folder_name(label.unwrap_or(kind));
    free_folder(&format!("{}-{label}", host::folder_time()), Path::new(RUNS))
}

/// Endings by which `-o` knows the format of a report.
const OF_REPORTS: [&str; 7] = ["html", "json", "csv", "md", "txt", "svg", "png"];

/// `--out` of commands that upload nothing.
pub fn folder_here(text: &str) -> Result<PathBuf, String> {
    if Location::is_meant_by(text) {
        return Err("only run, sweep and capacity upload what they measure; keep it in a folder, and upload that with `inferometer upload FOLDER URL`".to_owned());
    }
    Ok(PathBuf::from(text))
}

/// The folder that `--out` names, which is remembered, or else a new one.
pub fn kept_in(out: Option<&Path>, label: Option<&str>, kind: &str) -> anyhow::Result<PathBuf> {
    let Some(out) = out else {
        return Ok(new_folder(label, kind));
    };
    let ending = out.extension().and_then(|ending| ending.to_str());
    if ending.is_some_and(|ending| OF_REPORTS.contains(&ending)) && !out.is_dir() {
        anyhow::bail!(
            "--out {0}: that is the folder in which the measurement is kept, and {0} is named like a report; for the report, write -o {0}",
            out.display()
        );
    }
    registry::remember(out);
    Ok(out.to_owned())
}

/// A text as the name of a folder, or as a part of it.
pub fn folder_name(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
    (text.chars().take(60))
        .map(|c| if plain(c) { c } else { '-' })
        .collect()
}

/// A folder of that name, with a number if the name is taken. It is made here, so that of several
/// processes in the same second each gets its own.
pub fn free_folder(name: &str, parent: &Path) -> PathBuf {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut paths = (std::iter::once(name.to_owned()).chain(numbered)).map(|it| parent.join(it));
    let _ = std::fs::create_dir_all(parent);
    let taken = |path: &PathBuf| match std::fs::create_dir(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => true,
        // Whoever writes into it says what is wrong.
        Err(_) => false,
        Ok(()) => {
            let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
            made.push(path.clone());
            false
        }
    };
    (paths.find(|path| !taken(path))).expect("numbers do not end")
}

/// Removes the folders that were made for results that never came.
pub fn remove_empty() {
    let made = std::mem::take(&mut *MADE.lock().unwrap_or_else(PoisonError::into_inner));
    for folder in made {
        // Only an empty one goes.
        let removed = std::fs::remove_dir(&folder).is_ok();
        if let Some(parent) = folder.parent().filter(|_| removed) {
            let _ = std::fs::remove_dir(parent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_of_many_that_ask_at_once_gets_a_folder_of_its_own() {
        let parent = tempfile::tempdir().unwrap();
        let ask = || free_folder("20261116-080000-run", parent.path());
        let folders: BTreeSet<PathBuf> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert_eq!(folders.len(), 8);
        assert!(folders.iter().all(|folder| folder.is_dir()));
    }
}
