//! Parts of what others measured: `FILE#MindIE/7B`, `FILE#3`, `FILE@engine=MindIE`,
//! `FILE@max-num-seqs=16`.

use anyhow::{Context, bail};
use inferometer_import::{
    Imported, ImportedResult, SelectError, Stored, read_path, repeats, under, with_fact,
};
use std::collections::BTreeSet;
use std::path::Path;

/// Reads a file, a folder or a kept import, or the part of it that is named.
pub fn read(name: &str) -> anyhow::Result<Imported> {
    let path = Path::new(name);
    if !path.exists() {
        if let Some((path, fact)) = name.rsplit_once('@')
            && let Some((fact, value)) = fact.split_once('=')
        {
            return part(name, path, |results| with_fact(&results, fact, value));
        }
        // A flag without a value is one that was given: `FILE@enforce-eager`.
        let file = name.split(['@', '#']).next().unwrap_or(name);
        if let Some((path, flag)) = name.rsplit_once('@')
            && Path::new(file).exists()
        {
            return part(name, path, |results| with_fact(&results, flag, "true"));
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

/// Parts of one file that hold the same result say nothing against each other.
pub fn refuse_shared(names: &[String]) -> anyhow::Result<()> {
    // Sweeps and stores of ours have parts, too, and those never share a run.
    let is_part = |name: &&String| {
        let mut base = name.as_str();
        while !Path::new(base).exists() {
            let Some((outer, _)) = base.rsplit_once(['@', '#']) else {
                return false;
            };
            base = outer;
        }
        let base = Path::new(base);
        base != Path::new(name) && (base.is_file() || Stored::is_at(base))
    };
    let mut known: Vec<(&String, BTreeSet<(String, u64)>)> = Vec::new();
    for name in names.iter().filter(is_part) {
        let results = read(name)?.results.into_iter();
        let own: BTreeSet<_> = results.map(|found| (found.file, found.number)).collect();
        for (other, theirs) in &known {
            if own != *theirs
                && let Some((_, number)) = own.intersection(theirs).next()
            {
                bail!(
                    "{other} and {name} both hold result #{number}, which cannot be compared with itself; narrow one of them, as in {other}@NAME=VALUE, or name single results by their numbers, as in FILE#{number}"
                );
            }
        }
        known.push((name, own));
    }
    Ok(())
}

fn part(
    name: &str,
    path: &str,
    choose: impl Fn(Vec<ImportedResult>) -> Result<Vec<ImportedResult>, SelectError>,
) -> anyhow::Result<Imported> {
    let whole = read(path)?;
    let chosen =
        choose(whole.results.clone()).with_context(|| format!("{name} names nothing in {path}"))?;
    let numbers: BTreeSet<u64> = chosen.iter().map(|found| found.number).collect();
    // A table that tells of a chosen block may contradict it.
    let blocks = repeats(&whole.results).into_iter();
    let blocks: Vec<Option<u64>> = blocks
        .map(|block| block.map(|at| whole.results[at].number))
        .collect();
    let results = whole.results.into_iter().zip(blocks);
    let results = results
        .filter(|(found, block)| {
            let of_chosen = block.is_some_and(|block| numbers.contains(&block));
            numbers.contains(&found.number) || of_chosen
        })
        .map(|(found, _)| found);
    Ok(Imported {
        results: results.collect(),
        title: whole.title,
        unread: Vec::new(),
    })
}
