//! New folders for what is kept.

use crate::options::RUNS;
use inferometer_runner::host;
use std::path::{Path, PathBuf};

/// `inferometer-runs/TIME-LABEL`, with a number if that is taken; `kind` stands in for a label.
pub fn new_folder(label: Option<&str>, kind: &str) -> PathBuf {
    let label = folder_name(label.unwrap_or(kind));
    free_folder(&format!("{}-{label}", host::folder_time()), Path::new(RUNS))
}

/// A text as the name of a folder, or as a part of it.
pub fn folder_name(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
    (text.chars().take(60))
        .map(|c| if plain(c) { c } else { '-' })
        .collect()
}

/// A folder of that name that does not exist yet, with a number if the name is taken.
pub fn free_folder(name: &str, parent: &Path) -> PathBuf {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut paths = (std::iter::once(name.to_owned()).chain(numbered)).map(|it| parent.join(it));
    (paths.find(|path| !path.exists())).expect("numbers do not end")
}
