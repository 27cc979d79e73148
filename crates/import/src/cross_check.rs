//! Doubts that only several results of one text together can raise.

use crate::doubt::ImportDoubt;
use crate::result::{ImportedResult, Tool};
use crate::summary::ImportedSummary;
use serde_json::Value;
use std::collections::BTreeMap;

/// How far a table's number may be from the block's, beside its own rounding.
const TOLERANCE: f64 = 0.01;

/// The doubts that results raise about each other, by place. Results are in the order of lines.
pub(crate) fn judge(results: &[ImportedResult]) -> Vec<(usize, ImportDoubt)> {
    let mut doubts = tables_against_blocks(results);
    doubts.extend(token_offsets(results));
    doubts
}

/// The numbers that tables usually hold, by name.
fn numbers(summary: &ImportedSummary) -> BTreeMap<String, f64> {
    let throughput = &summary.throughput;
    let plain = [
        ("window_s", summary.window_s),
        ("requests_per_s", throughput.requests_per_s),
        ("input_tokens_per_s", throughput.input_tokens_per_s),
        ("output_tokens_per_s", throughput.output_tokens_per_s),
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

/// A table's columns against the blocks below it, up to the next table.
fn tables_against_blocks(results: &[ImportedResult]) -> Vec<(usize, ImportDoubt)> {
    let key = |found: &ImportedResult| found.point.get("concurrency").map(Value::to_string);
    let mut below: BTreeMap<String, usize> = BTreeMap::new();
    let mut table_lines = None;
    let mut doubts: Vec<(usize, ImportDoubt)> = Vec::new();
    // From the end, so that the blocks below a table are known when it is reached.
    for at in (0..results.len()).rev() {
        let found = &results[at];
        if found.tool != Tool::MarkdownTable {
            if table_lines.take().is_some() {
                below.clear();
            }
            if let Some(key) = key(found) {
                below.insert(key, at);
            }
            continue;
        }
        if table_lines.is_some_and(|lines| lines != found.lines) {
            below.clear();
        }
        table_lines = Some(found.lines);
        let block = key(found)
            .and_then(|key| below.get(&key))
            .map(|at| &results[*at]);
        let Some(block) = block else { continue };
        let (Some(table), Some(of_block)) = (&found.summary, &block.summary) else {
            continue;
        };
        let of_block = numbers(of_block);
        let differences: Vec<(String, f64, f64)> = numbers(table)
            .into_iter()
            .filter_map(|(name, value)| {
                let other = *of_block.get(&name)?;
                let scale = value.abs().max(other.abs());
                (scale > 0.0 && (value - other).abs() > TOLERANCE * scale)
                    .then_some((name, value, other))
            })
            .collect();
        if !differences.is_empty() {
            let lines = block.lines;
            doubts.push((at, ImportDoubt::TableContradicts { lines, differences }));
        }
    }
    doubts
}

/// Mean lengths of one workload that differ by a whole number of tokens: somebody counts a
/// template or a begin token that the others do not.
fn token_offsets(results: &[ImportedResult]) -> Vec<(usize, ImportDoubt)> {
    let workload = |found: &ImportedResult| {
        let summary = found.summary.as_ref()?;
        let mean = summary.tokens.input_mean?;
        // Only a mean with a fraction identifies a workload: 512 and 1024 are just two lengths.
        let fraction = Some(mean - mean.floor()).filter(|it| (0.002..=0.998).contains(it))?;
        let requests = summary.requests.planned.or(summary.requests.ok)?;
        let chars = found.point.get("input_chars").map(Value::to_string);
        // A derived mean has all digits; a printed one three.
        let thousandths = (fraction * 1000.0).round() as i64;
        Some(((found.tool.name(), requests, chars, thousandths), mean))
    };
    let mut first: BTreeMap<_, f64> = BTreeMap::new();
    let mut doubts = Vec::new();
    for (at, found) in results.iter().enumerate() {
        let Some((key, mean)) = workload(found) else {
            continue;
        };
        let base = *first.entry(key).or_insert(mean);
        let offset = (mean - base).round();
        if offset != 0.0 && (mean - base - offset).abs() < 0.0015 {
            doubts.push((at, ImportDoubt::TokenOffset { mean, offset, base }));
        }
    }
    doubts
}

/// A heading such as `enable-64` or `parallel 8` against the command and the numbers.
pub(crate) fn heading_doubt(found: &ImportedResult) -> Option<ImportDoubt> {
    let heading = found.heading.as_ref().or(found.label.as_ref())?;
    let heading = heading.to_lowercase();
    let number_after = |word: &str| -> Option<u64> {
        let rest = heading
            .split(word)
            .nth(1)?
            .trim_start_matches(['-', '_', ' ', ':', '=', '：']);
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        rest.get(..digits)?.parse().ok()
    };
    if let Some(flags) = &found.flags {
        for (word, on) in [("enable", true), ("disable", false)] {
            let Some(number) = number_after(word) else {
                continue;
            };
            if !flags.values().any(|value| value.as_u64() == Some(number)) {
                return Some(ImportDoubt::HeadingNumber { number });
            }
            if flags.get("enable-chunked-prefill") == Some(&Value::Bool(!on)) {
                return Some(ImportDoubt::HeadingSwitch { word, given: !on });
            }
        }
    }
    let configured = found.summary.as_ref()?.concurrency.configured?;
    let mut words = ["parallel", "concurrency", "并发数", "并发"].into_iter();
    let heading = words.find_map(number_after)?;
    (heading != configured).then_some(ImportDoubt::HeadingConcurrency {
        heading,
        configured,
    })
}
