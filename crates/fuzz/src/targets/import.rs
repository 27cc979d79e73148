//! What other tools wrote, and how they were called.

use super::Scratch;
use crate::seeds;
use inferometer_import::{doubts, groups, measured, read_path, repeats};
use inferometer_translate::translate;

pub fn tables() -> Vec<Vec<u8>> {
    let mut all = seeds::files("fixtures/import", &[".md", ".csv", ".tsv", ".html"]);
    all.extend(seeds::files("fixtures/plan", &[".md"]));
    all.extend(seeds::literals("crates/import/tests/suite", 80));
    all
}

pub fn read(input: &[u8], scratch: &Scratch) -> bool {
    let path = scratch.file("results", input);
    let Ok(imported) = read_path(&path) else {
        return false;
    };
    doubts(&imported.results);
    groups(&imported.results);
    repeats(&imported.results);
    measured(&imported.results);
    for summary in imported
        .results
        .iter()
        .filter_map(|result| result.summary.as_ref())
    {
        let _ = serde_json::to_string(&summary.to_summary());
    }
    let _ = serde_json::to_string(&imported.results);
    !imported.results.is_empty()
}

pub fn command_line(input: &[u8], _: &Scratch) -> bool {
    translate(&[String::from_utf8_lossy(input).into_owned()], &|_| None).is_ok()
}
