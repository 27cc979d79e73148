//! New folders for what is kept.

use crate::options::RUNS;
use inferometer_runner::host;
use std::path::PathBuf;

/// `inferometer-runs/TIME-LABEL`, with a number if that is taken; `kind` stands in for a label.
pub fn new_folder(label: Option<&str>, kind: &str) -> PathBuf {
    let label: String = (label.unwrap_or(kind).chars())
        .map(|c| {
            if c.is_alphanumeric() || "._-".contains(c) {
                c
            } else {
                '-'
            }
        })
        .take(60)
        .collect();
    let name = format!("{}-{label}", host::folder_time());
    let names = std::iter::once(name.clone()).chain((2..).map(|number| format!("{name}-{number}")));
    let mut paths = names.map(|name| PathBuf::from(RUNS).join(name));
    paths
        .find(|path| !path.exists())
        .expect("numbers do not end")
}
