//! Other tools' results: text in, results out. A file of notes may hold many between prose;
//! each is found, with the lines it was read from, in the units of `summary.json`, with the
//! doubts that its own numbers raise. What looks like a result and cannot be read is named.
//!
//! Readers go over the text in turn, from the most certain form to the least: JSON objects,
//! tables, blocks of `label: value`. Each takes its lines away from the next.

mod across;
mod aiperf_records;
mod assumption;
mod assumption_texts;
mod block;
mod command;
mod context;
mod doubt;
mod doubt_texts;
mod draft;
mod evalscope;
mod evalscope_database;
mod exports;
mod found;
mod heading;
mod json;
mod json_result;
mod judge;
mod label;
mod markdown;
mod mindie;
mod notes;
mod ours;
mod python_object;
mod quantity;
mod source;
mod statistics;
mod store;
mod summary;
mod table;
mod tables;
mod time_unit;

pub use assumption::{Assumption, TimeUnit};
pub use doubt::{Code, Doubt, ImportDoubt};
pub use found::{Defaults, Found, Imported, SCHEMA, Tool, Twice};
pub use judge::shrunk_concurrency;
pub use ours::measured;
pub use source::{SourceError, read_path};
pub use store::{STORED, StoreError, Stored};
pub use summary::{
    ImportedConcurrency, ImportedLatencies, ImportedRequests, ImportedSlo, ImportedSpeed,
    ImportedSummary, ImportedThroughput, ImportedTokens, Spread,
};

use inferometer_core::doubt::Severity;
use inferometer_text::Lang;
use notes::{Notes, plain_width};

/// What is looked for, to say of a file in which nothing was found.
pub const LOOKED_FOR: &str = "vLLM or SGLang serving benchmark (text, JSON), EvalScope summary \
    (2024 text, today's tables, JSON and benchmark_data.db), MindIE or AISBench tables, MindIE CSV, \
    GuideLLM benchmarks.json, AIPerf or GenAI-Perf export (JSON, CSV) or table, length-grid log, \
    trial log, table by concurrency, rate, length or statistic (Markdown, CSV, TSV, HTML)";

/// Finds every result in `text`; `name` is the file it is from.
pub fn read(name: &str, text: &str) -> Imported {
    let text = &*plain_width(text);
    let mut notes = Notes::new(text);
    let mut results = json::find(text, &mut notes);
    results.extend(tables::find(&mut notes));
    results.extend(block::find(&mut notes));
    results.sort_by_key(|found| found.lines);
    let fruitless = context::attach(&mut results, &mut notes);
    heading::read(&mut results, &notes);
    conclude(name, &mut results);
    let unread = unread(&notes, fruitless);
    Imported { results, unread }
}

/// Says where results are from and what is to be doubted of them.
fn conclude(name: &str, results: &mut [Found]) {
    for found in results.iter_mut() {
        found.file = name.to_owned();
    }
    let doubts = doubts(results);
    for (found, doubts) in results.iter_mut().zip(doubts) {
        let stated = doubts.iter().map(|doubt| doubt.stated(Lang::En));
        found.doubts = stated.collect();
        if let Some(summary) = &mut found.summary {
            summary.label = found.label.clone();
            summary.doubts = found.doubts.clone();
            summary.valid = !found
                .doubts
                .iter()
                .any(|doubt| doubt.severity == Severity::Invalid);
        }
    }
}

/// Doubts of each result, the worst first; those of one file are looked at together.
pub fn doubts(results: &[Found]) -> Vec<Vec<Doubt>> {
    let mut all = Vec::with_capacity(results.len());
    for results in results.chunk_by(|a, b| a.file == b.file) {
        let mut doubts: Vec<Vec<Doubt>> = results.iter().map(own_doubts).collect();
        for (at, doubt) in across::judge(results) {
            doubts[at].push(doubt);
        }
        for of_one in &mut doubts {
            of_one.sort_by_key(|doubt| std::cmp::Reverse(doubt.severity()));
        }
        all.extend(doubts);
    }
    all
}

fn own_doubts(found: &Found) -> Vec<Doubt> {
    let infinite = found.point.get("rate").is_some_and(|rate| rate == "inf");
    let summary = found.summary.as_ref();
    let mut doubts = summary.map_or(Vec::new(), |summary| judge::judge(summary, infinite));
    doubts.extend(found.twice.iter().cloned().map(Doubt::Twice));
    doubts.extend(across::heading_doubt(found));
    doubts
}

/// Completes an EvalScope summary with the percentiles of its other file.
pub fn complete(summary: &mut Found, percentiles: &Found) {
    summary.unread.extend(percentiles.unread.iter().cloned());
    if let (Some(summary), Some(more)) = (&mut summary.summary, &percentiles.summary) {
        let fill = |mine: &mut Option<Spread>, more: &Option<Spread>| {
            if let Some(more) = more {
                mine.get_or_insert_default().fill(more.clone());
            }
        };
        fill(&mut summary.latency.ttft_ms, &more.latency.ttft_ms);
        fill(&mut summary.latency.tpot_ms, &more.latency.tpot_ms);
        fill(&mut summary.latency.itl_ms, &more.latency.itl_ms);
        fill(&mut summary.latency.e2e_ms, &more.latency.e2e_ms);
        fill(
            &mut summary.speed.per_user_tokens_per_s,
            &more.speed.per_user_tokens_per_s,
        );
        fill(
            &mut summary.speed.decode_tokens_per_s,
            &more.speed.decode_tokens_per_s,
        );
        let (tokens, more_tokens) = (&mut summary.tokens, &more.tokens);
        tokens.input_mean = tokens.input_mean.or(more_tokens.input_mean);
        tokens.output_mean = tokens.output_mean.or(more_tokens.output_mean);
        fill(&mut summary.tokens.input_spread, &more.tokens.input_spread);
        fill(
            &mut summary.tokens.output_spread,
            &more.tokens.output_spread,
        );
    }
}

/// Percentiles belong to the summary before them; alone they are a result of their own.
fn join_percentiles(found: &mut Vec<Found>, percentiles: Found) {
    match found.last_mut() {
        Some(before) if before.tool == Tool::Evalscope && lacks_percentiles(before) => {
            complete(before, &percentiles);
            before.lines.1 = percentiles.lines.1;
        }
        _ => found.push(percentiles),
    }
}

fn lacks_percentiles(found: &Found) -> bool {
    found.summary.as_ref().is_some_and(|summary| {
        summary
            .latency
            .known()
            .iter()
            .all(|(_, spread)| spread.percentiles().is_empty())
    })
}

/// Lines that nobody took and that carry a metric with a number, and commands without outcome.
fn unread(notes: &Notes<'_>, fruitless: Vec<(usize, usize)>) -> Vec<(u64, u64)> {
    let mut lines: Vec<usize> = fruitless
        .into_iter()
        .flat_map(|(first, last)| first..=last)
        .collect();
    lines.extend((0..notes.lines.len()).filter(|line| {
        if notes.is_taken(*line) {
            return false;
        }
        let text = notes.lines[*line].trim();
        let bare = notes.bare(*line).trim_matches(['"', ',', '|', ' ']);
        text.contains("Serving Benchmark Result")
            || text.starts_with("Benchmarking summary")
            || block::entries(&bare.replace("\":", ":"))
                .iter()
                .any(|entry| entry.label.field.is_result())
            || looks_like_row(text)
    }));
    lines.sort_unstable();
    lines.dedup();
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for line in lines {
        let line = line as u64 + 1;
        match spans.last_mut() {
            Some(span) if span.1 + 1 == line => span.1 = line,
            _ => spans.push((line, line)),
        }
    }
    spans
}

/// `| QPS | 3 |` outside any table that could be read.
fn looks_like_row(text: &str) -> bool {
    let Some((first, rest)) = text
        .strip_prefix(table::BARS)
        .and_then(|inner| inner.split_once(table::BARS))
    else {
        return false;
    };
    label::label(first).is_some_and(|label| label.field.is_result())
        && rest
            .split(table::BARS)
            .any(|cell| quantity::quantity(cell).is_some())
}
