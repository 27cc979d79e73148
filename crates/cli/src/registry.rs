//! Where `--out` has put results: a list of folders in the user's state directory, so that `runs`
//! finds them and `report` and `compare` take their names.
//!
//! It is only a hint. It may be missing, stale, unreadable or unwritable, and nothing else changes:
//! what is kept is found in the folders themselves. It holds paths, one a line, and nothing more.

use crate::options::RUNS;
use crate::stderr::say;
use inferometer_store::stored::Stored;
use inferometer_store::whole_file;
use std::path::{Path, PathBuf};

/// Folders that are remembered, the newest last.
const MOST: usize = 500;

/// The file, unless nothing is to be remembered: on a CI machine, or where the user says `off`.
fn file() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(own) = variable("INFEROMETER_REGISTRY") {
        return (own != "off").then(|| PathBuf::from(own));
    }
    if variable("CI").is_some() {
        return None;
    }
    let state = variable("XDG_STATE_HOME").map(PathBuf::from);
    // Relative paths are to be ignored, as the specification of these variables says.
    let state = state.filter(|path| path.is_absolute());
    let state = state.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".local/state")))?;
    Some(state.join("inferometer/results"))
}

/// Remembers a folder that `--out` named.
pub fn remember(folder: &Path) {
    let Some((file, folder)) = file().zip(std::path::absolute(folder).ok()) else {
        return;
    };
    let parent = file
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    if parent.is_some_and(|parent| std::fs::create_dir_all(parent).is_err()) {
        return;
    }
    let text = with(known_in(&file), folder);
    let _ = whole_file::replace(&file, text.as_bytes());
}

/// The list with one more folder, without those that are gone.
fn with(mut known: Vec<PathBuf>, folder: PathBuf) -> String {
    known.retain(|path| *path != folder && path.is_dir());
    known.push(folder);
    let from = known.len().saturating_sub(MOST);
    let lines = known[from..].iter().filter_map(|path| path.to_str());
    let lines = lines.filter(|line| !line.contains('\n'));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Those that are remembered, the oldest first, whether they are there or not.
fn known_in(file: &Path) -> Vec<PathBuf> {
    /// A list of so many paths is never longer.
    const MOST_BYTES: u64 = 4 << 20;
    let is_list = std::fs::metadata(file).is_ok_and(|it| it.is_file() && it.len() <= MOST_BYTES);
    let text = (is_list.then(|| std::fs::read_to_string(file).ok())).flatten();
    let text = text.unwrap_or_default();
    let lines = text.lines().map(PathBuf::from);
    lines.filter(|path| path.is_absolute()).collect()
}

/// Results that are remembered and still there, but for those below `folder`.
pub fn elsewhere(folder: &Path) -> Vec<Stored> {
    let known = file().map(|file| known_in(&file)).unwrap_or_default();
    let here = std::path::absolute(folder).ok();
    (known.iter())
        .filter(|path| here.as_ref().is_none_or(|here| !path.starts_with(here)))
        .filter_map(|path| Stored::at(path))
        .collect()
}

/// A name as `runs` prints it, as a path: what exists is taken as it is, else what the folder of
/// runs has under that name, else what is remembered. A part that is asked for (`@K=V`, `#N`) stays.
pub fn path_of(name: &str) -> String {
    let (base, part) = name.split_at(name.find(['@', '#']).unwrap_or(name.len()));
    if base.is_empty() || Path::new(name).exists() || Path::new(base).exists() {
        return name.to_owned();
    }
    let below = Path::new(RUNS).join(base);
    let found = if below.exists() {
        Some(below)
    } else {
        let known = file().map(|file| known_in(&file)).unwrap_or_default();
        let mut known = known.into_iter().rev();
        let found = known.find(|path| path.ends_with(base) && path.is_dir());
        // Who meant a folder of this directory must see that another one is read.
        if let Some(path) = &found {
            say(format_args!(
                "{base} is not here; reading {}",
                path.display()
            ));
        }
        found
    };
    match found.as_deref().and_then(Path::to_str) {
        Some(path) => format!("{path}{part}"),
        None => name.to_owned(),
    }
}

/// What a result is called in a list: its name in the folder of runs, else a path.
pub fn name_of(path: &Path) -> String {
    let short = match (path.strip_prefix(RUNS), std::env::current_dir()) {
        (Ok(name), _) => name,
        (_, Ok(here)) => path.strip_prefix(here).unwrap_or(path),
        _ => path,
    };
    short.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_holds_each_folder_once_and_forgets_those_that_are_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["a", "b"] {
            std::fs::create_dir(path(name)).unwrap();
        }
        let list = folder.path().join("list");
        std::fs::write(
            &list,
            with(vec![path("a"), path("gone"), path("b")], path("a")),
        )
        .unwrap();
        assert_eq!(known_in(&list), [path("b"), path("a")]);
        std::fs::write(&list, "relative\n\n\u{fffd}\n").unwrap();
        assert!(known_in(&list).is_empty());
        assert!(known_in(folder.path()).is_empty(), "no file at all");
    }

    #[test]
    fn names_of_the_runs_folder_are_short_and_others_are_paths() {
        assert_eq!(name_of(Path::new("inferometer-runs/x")), "x");
        assert_eq!(name_of(Path::new("/elsewhere/x")), "/elsewhere/x");
        assert_eq!(path_of("/nowhere/x@rate=1"), "/nowhere/x@rate=1");
    }
}
