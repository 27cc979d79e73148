//! Doubts that only several results of one text together can raise.

use crate::doubt::Doubt;
use crate::found::{Found, Tool};
use crate::summary::ImportedSummary;
use serde_json::Value;
use std::collections::BTreeMap;

/// How far a table's number may be from the block's, beside its own rounding.
const TOLERANCE: f64 = 0.01;

/// The doubts that results raise about each other, by place. Results are in the order of lines.
pub(crate) fn judge(results: &[Found]) -> Vec<(usize, Doubt)> {
    let mut doubts = tables_against_blocks(results);
    doubts.extend(token_offsets(results));
    doubts
}

/// The numbers that tables usually hold, by name.
fn numbers(summary: &ImportedSummary) -> BTreeMap<String, f64> {
    let throughput = &summary.throughput;
    let mut all = BTreeMap::new();
    let mut put = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            all.insert(name.to_owned(), value);
        }
    };
    put("window_s", summary.window_s);
    put("requests_per_s", throughput.requests_per_s);
    put("input_tokens_per_s", throughput.input_tokens_per_s);
    put("output_tokens_per_s", throughput.output_tokens_per_s);
    put("total_tokens_per_s", throughput.total_tokens_per_s);
    put("ok", summary.requests.ok.map(|n| n as f64));
    put("failed", summary.requests.failed.map(|n| n as f64));
    for (name, spread) in summary.latency.known() {
        put(&format!("{name}.mean"), spread.mean);
        for (rank, value) in spread.percentiles() {
            put(&format!("{name}.p{rank}"), Some(value));
        }
    }
    all
}

/// A table's columns against the blocks below it, up to the next table.
fn tables_against_blocks(results: &[Found]) -> Vec<(usize, Doubt)> {
    let key = |found: &Found| found.point.get("concurrency").map(Value::to_string);
    let mut below: BTreeMap<String, usize> = BTreeMap::new();
    let mut table_lines = None;
    let mut doubts: Vec<(usize, Doubt)> = Vec::new();
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
        let Some(block) = key(found)
            .and_then(|key| below.get(&key))
            .map(|at| &results[*at])
        else {
            continue;
        };
        let (Some(table), Some(block_summary)) = (&found.summary, &block.summary) else {
            continue;
        };
        let of_block = numbers(block_summary);
        let apart: Vec<(String, f64, f64)> = numbers(table)
            .into_iter()
            .filter_map(|(name, value)| {
                let other = *of_block.get(&name)?;
                let scale = value.abs().max(other.abs());
                (scale > 0.0 && (value - other).abs() > TOLERANCE * scale)
                    .then_some((name, value, other))
            })
            .collect();
        if !apart.is_empty() {
            let lines = block.lines;
            doubts.push((at, Doubt::TableContradicts { lines, apart }));
        }
    }
    doubts
}

/// Mean lengths of one workload that differ by a whole number of tokens: somebody counts a
/// template or a begin token that the others do not.
fn token_offsets(results: &[Found]) -> Vec<(usize, Doubt)> {
    let length = |found: &Found| {
        let summary = found.summary.as_ref()?;
        let mean = summary.tokens.input_mean?;
        // A derived mean has all digits; a printed one three.
        Some((
            found.tool,
            summary.requests.planned.or(summary.requests.ok)?,
            found.point.get("input_chars").map(Value::to_string),
            mean,
        ))
    };
    let mut first: BTreeMap<(String, u64, Option<String>, i64), f64> = BTreeMap::new();
    let mut doubts = Vec::new();
    for (at, found) in results.iter().enumerate() {
        let Some((tool, requests, chars, mean)) = length(found) else {
            continue;
        };
        // Only a broken mean identifies a workload: 512 and 1024 are just two lengths.
        let fraction = mean - mean.floor();
        if !(0.002..=0.998).contains(&fraction) {
            continue;
        }
        let key = (
            tool.name().to_owned(),
            requests,
            chars,
            (fraction * 1000.0).round() as i64,
        );
        let base = *first.entry(key).or_insert(mean);
        let offset = (mean - base).round();
        if offset != 0.0 && (mean - base - offset).abs() < 0.0015 {
            doubts.push((at, Doubt::TokenOffset { mean, offset, base }));
        }
    }
    doubts
}

/// A heading such as `enable-64` or `parallel 8` against the command and the numbers.
pub(crate) fn heading_doubt(found: &Found) -> Option<Doubt> {
    let heading = found.label.as_deref()?.to_lowercase();
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
                return Some(Doubt::HeadingNumber { number });
            }
            if flags.get("enable-chunked-prefill") == Some(&Value::Bool(!on)) {
                return Some(Doubt::HeadingSwitch { word, given: !on });
            }
        }
    }
    let configured = found.summary.as_ref()?.concurrency.configured?;
    let said = ["parallel", "concurrency", "并发数", "并发"]
        .iter()
        .find_map(|word| number_after(word))?;
    (said != configured).then_some(Doubt::HeadingConcurrency { said, configured })
}
