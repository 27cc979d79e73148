//! Parts of what others measured: `FILE#MindIE/7B`, `FILE#3`, `FILE@engine=MindIE`.

use anyhow::Context;
use inferometer_import::{Imported, Stored, read_path, under, with_fact};
use std::path::Path;

/// Reads a file, a folder or a kept import, or the part of it that is named.
pub fn read(name: &str) -> anyhow::Result<Imported> {
    let path = Path::new(name);
    if !path.exists() {
        if let Some((path, fact)) = name.rsplit_once('@')
            && let Some((fact, value)) = fact.split_once('=')
        {
            return part(name, path, |results| with_fact(results, fact, value));
        }
        if let Some((path, headings)) = name.split_once('#') {
            return part(name, path, |results| under(results, headings));
        }
    }
    if Stored::is_at(path) {
        let stored = Stored::open(path)?;
        return Ok(Imported {
            title: stored.title,
            results: stored.results,
            unread: stored.unread,
        });
    }
    Ok(read_path(path)?)
}

fn part(
    name: &str,
    path: &str,
    choose: impl Fn(
        Vec<inferometer_import::ImportedResult>,
    )
        -> Result<Vec<inferometer_import::ImportedResult>, inferometer_import::SelectError>,
) -> anyhow::Result<Imported> {
    let whole = read(path)?;
    let results =
        choose(whole.results).with_context(|| format!("{name} names nothing in {path}"))?;
    Ok(Imported {
        results,
        title: whole.title,
        unread: Vec::new(),
    })
}
