//! Results that are told more than once: tools print a table over all loads beside the block of
//! each, people make one of them by hand, and paste a block twice.

use crate::result::{ImportedResult, Tool};
use crate::rounding::{is_same, is_same_time};
use serde_json::Value;
use std::collections::BTreeMap;

/// How far a table's number may be from the block's, beside its own rounding.
const TOLERANCE: f64 = 0.01;

/// How far it may be by the rounding of seconds.
const MOST_ROUNDED: f64 = 0.05;

/// Numbers that two blocks must share to be one that was pasted twice.
const FEWEST_SHARED: usize = 4;
/// Likewise of the cells of two tables.
const FEWEST_OF_CELLS: usize = 2;

/// Blocks of one load that a row is held against; more are a list of something else.
const MOST_BLOCKS: usize = 64;

/// For each result the one that it tells again: for a row of a table its block, for a block an
/// equal one before it.
pub fn repeats(results: &[ImportedResult]) -> Vec<Option<usize>> {
    let mut rows = BTreeMap::<_, usize>::new();
    for found in results.iter().filter(|found| found.summary.is_some()) {
        *rows.entry((found.file.as_str(), found.lines)).or_default() += 1;
    }
    let is_table = |found: &ImportedResult| match found.tool {
        Tool::MarkdownTable => true,
        Tool::Evalscope if is_overview(found) => true,
        Tool::Evalscope | Tool::Guidellm => rows[&(found.file.as_str(), found.lines)] > 1,
        _ => false,
    };
    let measured = || (results.iter().enumerate()).filter(|(_, found)| found.summary.is_some());
    let mut repeated = vec![None; results.len()];
    let mut blocks: BTreeMap<(&str, Option<String>), Vec<usize>> = BTreeMap::new();
    let mut first_of: BTreeMap<String, usize> = BTreeMap::new();
    for (at, found) in measured().filter(|(_, found)| !is_table(found)) {
        if let Some(content) = content(found, FEWEST_SHARED) {
            let first = *first_of.entry(content).or_insert(at);
            repeated[at] = (first != at).then_some(first);
        }
        blocks
            .entry((&found.file, streams(found)))
            .or_default()
            .push(at);
    }
    for (at, row) in measured().filter(|(_, found)| is_table(found)) {
        let of_load = blocks.get(&(row.file.as_str(), streams(row)));
        let near = nearest(of_load.map(Vec::as_slice).unwrap_or_default(), at);
        let of_load: Vec<usize> = (near.iter().copied())
            .filter(|block| same_load(row, &results[*block]))
            .collect();
        repeated[at] = block_of(row, at, &of_load, results);
    }
    // A cell of one table that stands in another one of its section, to the last digit.
    let mut first_cell: BTreeMap<String, usize> = BTreeMap::new();
    for (at, cell) in measured().filter(|(_, found)| found.tool == Tool::MarkdownTable) {
        let content = content(cell, FEWEST_OF_CELLS).filter(|_| repeated[at].is_none());
        let Some(content) = content else { continue };
        let first = *first_cell.entry(content).or_insert(at);
        let is_other_table = results[first].lines != cell.lines;
        repeated[at] = is_other_table.then_some(first);
    }
    repeated
}

/// EvalScope's table over all loads has the share of answered requests, where the block of each
/// load has their number and the duration.
fn is_overview(found: &ImportedResult) -> bool {
    let has_shares = found.summary.as_ref().is_some_and(|summary| {
        let requests = &summary.requests;
        requests.failed_share.is_some() && requests.ok.is_none() && summary.window_s.is_none()
    });
    found.tool == Tool::Evalscope && has_shares
}

/// Takes the rows of a tool's own table over all loads into the blocks that they repeat. Rows that
/// say otherwise stay, and so do tables that people made.
pub(crate) fn fold(results: &mut Vec<ImportedResult>) {
    let mut folded = vec![false; results.len()];
    for (at, block) in repeats(results).into_iter().enumerate() {
        let Some(block) = block.filter(|block| is_overview(&results[at]) && *block != at) else {
            continue;
        };
        if results[block].tool != Tool::Evalscope || !agree(&results[at], &results[block]) {
            continue;
        }
        folded[at] = true;
        let row = results[at].clone();
        let own = &mut results[block];
        if let (Some(mine), Some(more)) = (&mut own.summary, row.summary) {
            mine.fill(&more);
            for (name, value) in more.other {
                mine.other.entry(name).or_insert(value);
            }
        }
        for (key, value) in row.point {
            own.point.entry(key).or_insert(value);
        }
        for (name, reason) in row.unread_because {
            own.is_without(name, reason);
        }
    }
    let mut folded = folded.into_iter();
    results.retain(|_| !folded.next().unwrap_or(false));
}

/// The block of a row: of those under its own headings the one that agrees with it, else the
/// nearest where they cannot be of several things; under other headings only one that agrees.
fn block_of(
    row: &ImportedResult,
    at: usize,
    of_load: &[usize],
    results: &[ImportedResult],
) -> Option<usize> {
    let near = |block: &usize| {
        let section = &results[*block].section;
        row.section.starts_with(section) || section.starts_with(&row.section)
    };
    let (own, others): (Vec<usize>, Vec<usize>) = of_load.iter().copied().partition(near);
    let agreeing = |blocks: &[usize]| {
        let mut agreeing = blocks.iter().filter(|block| agree(row, &results[**block]));
        let first = agreeing.next().copied();
        first.filter(|_| agreeing.next().is_none())
    };
    let of_one_thing = || {
        let mut sections = own.iter().map(|block| &results[*block].section);
        let first = sections.next();
        first.is_some() && sections.all(|section| Some(section) == first)
    };
    let nearest = || own.iter().copied().min_by_key(|block| block.abs_diff(at));
    agreeing(&own)
        .or_else(|| nearest().filter(|_| of_one_thing()))
        .or_else(|| agreeing(&others).filter(|_| own.is_empty()))
}

fn nearest(blocks: &[usize], at: usize) -> &[usize] {
    let place = blocks.partition_point(|block| *block < at);
    let first = place.saturating_sub(MOST_BLOCKS / 2);
    &blocks[first..blocks.len().min(first + MOST_BLOCKS)]
}

fn streams(found: &ImportedResult) -> Option<String> {
    found.point.get("concurrency").map(Value::to_string)
}

/// What both say of the load is the same.
fn same_load(a: &ImportedResult, b: &ImportedResult) -> bool {
    let shared = |(key, value): (&String, &Value)| Some(b.point.get(key)? == value);
    a.point.iter().filter_map(shared).all(|same| same)
}

/// All numbers that both have are alike, and there are some.
fn agree(a: &ImportedResult, b: &ImportedResult) -> bool {
    let (a, b) = (numbers(a), numbers(b));
    let mut shared = a
        .iter()
        .filter_map(|(name, a)| Some((name, a, b.get(name)?)));
    let first = shared.next();
    (first.into_iter().chain(shared)).all(|(name, a, b)| alike(name, *a, *b)) && first.is_some()
}

pub(crate) fn alike(name: &str, a: f64, b: f64) -> bool {
    let apart = (a - b).abs() / a.abs().max(b.abs());
    // Seconds have few digits: those of whole ones explain too much.
    let is_rounded_time = name.contains("_ms") && apart <= MOST_ROUNDED && is_same_time(a, b);
    apart <= TOLERANCE || is_same(a, b) || is_rounded_time
}

/// All that a block or cell says, if it is enough to be known again.
fn content(found: &ImportedResult, fewest: usize) -> Option<String> {
    let numbers = numbers(found);
    let load: Vec<_> = found.point.iter().collect();
    let model = found.facts.get("model");
    let place = (&found.file, &found.section, found.tool, model, &found.flags);
    (numbers.len() >= fewest).then(|| format!("{:?}", (place, load, numbers)))
}

/// The numbers that tables usually hold, by name.
pub(crate) fn numbers(found: &ImportedResult) -> BTreeMap<String, f64> {
    let Some(summary) = &found.summary else {
        return BTreeMap::new();
    };
    let throughput = &summary.throughput;
    let plain = [
        ("window_s", summary.window_s),
        ("requests_per_s", throughput.requests_per_s),
        ("input_tokens_per_s", throughput.input_tokens_per_s),
        ("output_tokens_per_s", throughput.output_tokens_per_s),
        ("output_chars_per_s", throughput.output_chars_per_s),
        ("total_tokens_per_s", throughput.total_tokens_per_s),
        ("ok", summary.requests.ok.map(|n| n as f64)),
        ("failed", summary.requests.failed.map(|n| n as f64)),
    ];
    let plain = plain.into_iter();
    let plain = plain.filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let mut all: BTreeMap<String, f64> = plain.collect();
    for (name, spread) in summary.latency.known() {
        all.extend(spread.mean.map(|mean| (format!("{name}.mean"), mean)));
        let ranks = spread.percentiles().into_iter();
        all.extend(ranks.map(|(rank, value)| (format!("{name}.p{rank}"), value)));
    }
    all
}
