//! Files that tell of one run as one result. Tools write what they measured as JSON, as CSV, as a
//! page and to the console: of each number the best source is kept, and what the others add.

use crate::conclude::conclude;
use crate::doubt::RepeatedNumber;
use crate::result::{ImportedResult, Tool};
use crate::rounding::{is_same, is_same_time};
use crate::summary::{ImportedSummary, Spread};
use crate::unread::UnreadReason;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Numbers that two results must share to be of one run.
const LEAST_SHARED: usize = 5;
/// The same where one lies in a folder above the tool's own of the other: all must then be equal.
const LEAST_SHARED_ABOVE: usize = 3;
/// Share of them that must agree.
const LEAST_AGREEING: f64 = 0.8;
/// How far numbers may differ beside rounding.
const TOLERANCE: f64 = 0.01;

/// A result with the kinds of files that it is from.
struct Joined {
    result: ImportedResult,
    kinds: Vec<Kind>,
    files: Vec<String>,
}

/// Kinds of files, the best source first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Json,
    Csv,
    /// What was folded here, not by the tool.
    Requests,
    Text,
    Log,
    Page,
}

fn kind(found: &ImportedResult) -> Kind {
    let file = &found.file;
    let first = file.split(" + ").next().unwrap_or(file);
    let end = Path::new(first).extension().unwrap_or_default();
    match &*end.to_string_lossy().to_lowercase() {
        "json" => Kind::Json,
        "csv" | "tsv" => Kind::Csv,
        "jsonl" if found.tool == Tool::Aiperf => Kind::Requests,
        "jsonl" => Kind::Json,
        "db" => Kind::Requests,
        "html" | "htm" => Kind::Page,
        "log" => Kind::Log,
        _ => Kind::Text,
    }
}

/// Results of files, those of one run as one, in the order of their best sources' files.
pub(crate) fn joined(mut results: Vec<ImportedResult>) -> Vec<ImportedResult> {
    let order: Vec<String> = results.iter().map(|found| found.file.clone()).collect();
    let aside = take_aside(&mut results);
    // Of equal files the tool's own of the run, then the one that lies nearest.
    results.sort_by_cached_key(|found| {
        let depth = Path::new(&found.file).iter().count();
        (kind(found), own_folder(found).is_none(), depth)
    });
    let mut joined: Vec<Joined> = Vec::new();
    for result in results {
        let kind = kind(&result);
        // Equal numbers, then a name in common, decide between repeats that agree.
        let stem = stem(&result.file);
        let named = joined.iter_mut().filter(|run| run.takes(&result, kind));
        let named = named.min_by_key(|run| {
            let is_named = run.files.iter().any(|file| self::stem(file) == stem);
            (!run.is_told_by(&result), !is_named)
        });
        match named {
            Some(run) => run.add(result, kind),
            None => joined.push(Joined {
                files: vec![result.file.clone()],
                kinds: vec![kind],
                result,
            }),
        }
    }
    for (result, root, reason) in &aside {
        let runs = joined.iter_mut().filter(|run| {
            let mut files = run.files.iter();
            files.any(|file| Path::new(file).starts_with(root)) && has_load_of(&run.result, result)
        });
        let file = Path::new(&result.file);
        let name = file.strip_prefix(root).unwrap_or(file).display();
        for run in runs.filter(|run| run.result.tool == result.tool) {
            run.result.is_without(name.to_string(), *reason);
        }
    }
    joined.sort_by_key(|run| {
        let place = order.iter().position(|file| *file == run.files[0]);
        (place, run.result.lines)
    });
    let finished = joined.into_iter().map(|run| {
        let mut result = [run.result];
        if run.files.len() > 1 {
            let name = |(at, file): (usize, &String)| match at {
                0 => file.clone(),
                _ => file_name(file).to_owned(),
            };
            let names: Vec<String> = run.files.iter().enumerate().map(name).collect();
            conclude(&names.join(" + "), &mut result);
        }
        let [result] = result;
        result
    });
    finished.collect()
}

fn file_name(file: &str) -> &str {
    Path::new(file)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or(file)
}

fn stem(file: &str) -> &str {
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

/// The folder of a file, where its name is one that a tool gives to what it writes of one run.
fn own_folder(found: &ImportedResult) -> Option<&Path> {
    let path = Path::new(found.file.split(" + ").next()?);
    let name = path.file_name()?.to_str()?;
    let is_own = match found.tool {
        Tool::Aiperf => name.starts_with("profile_export"),
        Tool::Guidellm => name.starts_with("benchmarks."),
        Tool::Evalscope => name.starts_with("benchmark_"),
        _ => false,
    };
    path.parent().filter(|_| is_own)
}

/// Folders in which AIPerf puts what is of a run, or of several, and no result beside them.
const ASIDE: [(&str, UnreadReason); 3] = [
    ("phases/warmup", UnreadReason::WarmUp),
    ("aggregate", UnreadReason::SeveralRuns),
    ("sweep_aggregate", UnreadReason::SeveralRuns),
];

/// Where the runs lie that a result is no more than a part or a conclusion of, and why it is none.
fn aside(found: &ImportedResult) -> Option<(PathBuf, UnreadReason)> {
    let path = Path::new(found.file.split(" + ").next()?);
    let of_folder = |folder: &Path| {
        let (name, reason) = ASIDE.iter().find(|(name, _)| folder.ends_with(name))?;
        let root = folder.ancestors().nth(Path::new(name).iter().count())?;
        Some((root.to_owned(), *reason))
    };
    // That of a sweep may lie in that of its loads: the outermost says where the runs are.
    let folders = path.ancestors().skip(1);
    (folders.filter_map(of_folder).last()).filter(|_| found.tool == Tool::Aiperf)
}

/// Takes away what is no result beside the runs that it is of; without them it is all there is.
fn take_aside(results: &mut Vec<ImportedResult>) -> Vec<(ImportedResult, PathBuf, UnreadReason)> {
    let (mut taken, mut kept) = (Vec::new(), Vec::new());
    let of_runs = |found: &&ImportedResult| aside(found).is_none();
    for found in results.iter() {
        let is_run_of = |root: &Path, run: &ImportedResult| {
            run.tool == found.tool
                && Path::new(&run.file).starts_with(root)
                && has_load_of(run, found)
        };
        match aside(found) {
            Some((root, reason))
                if (results.iter().filter(of_runs)).any(|run| is_run_of(&root, run)) =>
            {
                taken.push((found.clone(), root, reason));
            }
            _ => kept.push(found.clone()),
        }
    }
    *results = kept;
    taken
}

/// Whether both say the same of the load, as far as both do.
fn has_load_of(own: &ImportedResult, other: &ImportedResult) -> bool {
    let differs = |(key, value): (&String, &Value)| {
        let other = other.point.get(key);
        other.is_some_and(|other| match (value.as_f64(), other.as_f64()) {
            // A label may have the rate to two digits.
            (Some(own), Some(other)) => !is_same(own, other),
            _ => value != other,
        })
    };
    !own.point.iter().any(differs)
}

impl Joined {
    fn is_of(&self, other: &ImportedResult) -> bool {
        let own = &self.result;
        // A tool's own table, of which nothing says whose it is, must tell all the same.
        let is_table = other.tool == Tool::MarkdownTable && own.tool != other.tool;
        if (own.tool != other.tool && !is_table) || !has_load_of(own, other) {
            return false;
        }
        let (Some(mine), Some(more)) = (&own.summary, &other.summary) else {
            return false;
        };
        if own_folder(own).is_some() && own_folder(own) == own_folder(other) {
            return true;
        }
        let shared = stated_by_both(own, mine, other, more);
        let is_exact = |(_, mine, more): &(&str, f64, f64)| mine == more;
        if is_table {
            return shared.len() >= LEAST_SHARED && shared.iter().all(is_exact);
        }
        if self.lies_below(other) && self.is_told_by(other) {
            return true;
        }
        let agreeing = shared
            .iter()
            .filter(|(name, mine, more)| agree(name, *mine, *more))
            .count();
        shared.len() >= LEAST_SHARED && agreeing as f64 >= LEAST_AGREEING * shared.len() as f64
    }

    /// Whether a tool put this run into a folder of its own, and the other into one above it.
    fn lies_below(&self, other: &ImportedResult) -> bool {
        let above = Path::new(&other.file).parent();
        own_folder(&self.result)
            .zip(above)
            .is_some_and(|(own, above)| {
                self.result.tool == other.tool && own != above && own.starts_with(above)
            })
    }

    /// Whether all numbers that both have are the same: two runs never have that.
    fn is_told_by(&self, other: &ImportedResult) -> bool {
        let (Some(mine), Some(more)) = (&self.result.summary, &other.summary) else {
            return false;
        };
        let shared = stated_by_both(&self.result, mine, other, more);
        let is_equal = |(name, a, b): &(&str, f64, f64)| is_equal(name, *a, *b);
        let least = if self.lies_below(other) {
            LEAST_SHARED_ABOVE
        } else {
            LEAST_SHARED
        };
        shared.len() >= least && shared.iter().all(is_equal)
    }

    /// Whether a file tells of this run. A second one of a kind may be another run like it, and
    /// must tell the same numbers.
    fn takes(&self, other: &ImportedResult, kind: Kind) -> bool {
        let is_first = !self.kinds.contains(&kind);
        let is_again = || !self.files.contains(&other.file) && self.is_told_by(other);
        self.is_of(other) && (is_first || is_again())
    }

    fn add(&mut self, other: ImportedResult, kind: Kind) {
        let own = &mut self.result;
        let (Some(mine), Some(more)) = (&mut own.summary, &other.summary) else {
            return;
        };
        // What was printed is better than what follows by division.
        let derived = |found: &[std::borrow::Cow<'static, str>], name: &str| {
            found.iter().any(|derived| derived == name)
        };
        for (name, kept, ignored) in shared(mine, more) {
            let is_derived = derived(&own.derived, name) || derived(&other.derived, name);
            // Of requests the time from the first to the last is known, not the tool's window.
            let is_derived = is_derived || kind == Kind::Requests && name == "window_s";
            // Some count among the failed what was given up by wish.
            let given_up = mine.requests.cut.unwrap_or(0) as f64;
            let is_derived = is_derived || name == "requests.failed" && ignored == kept + given_up;
            if !is_derived && !agree(name, kept, ignored) {
                let name = format!("{name} ({})", file_name(&other.file));
                own.twice.push(RepeatedNumber {
                    name,
                    kept,
                    ignored,
                });
            }
        }
        own.derived.retain(|name| {
            let stated = number(more, name).filter(|_| !derived(&other.derived, name));
            if let (Some(place), Some(stated)) = (rate_mut(mine, name), stated) {
                *place = Some(stated);
                return false;
            }
            true
        });
        own.derived.extend(
            other
                .derived
                .iter()
                .filter(|name| number(mine, name).is_none())
                .cloned(),
        );
        mine.fill(more);
        for (key, value) in other.point {
            own.point.entry(key).or_insert(value);
        }
        for (name, fact) in other.facts {
            own.facts.entry(name).or_insert(fact);
        }
        own.label = own.label.take().or(other.label);
        own.command = own.command.take().or(other.command);
        own.client_command = own.client_command.take().or(other.client_command);
        self.kinds.push(kind);
        self.files.push(other.file);
    }
}

/// Whether one number is the other, perhaps rounded.
fn agree(name: &str, a: f64, b: f64) -> bool {
    (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()) || is_equal(name, a, b)
}

/// Whether one number is the other, beside rounding.
fn is_equal(name: &str, a: f64, b: f64) -> bool {
    if name.starts_with("latency.") {
        is_same_time(a, b)
    } else {
        is_same(a, b)
    }
}

const NAMES: [&str; 20] = [
    "requests.ok",
    "requests.failed",
    "window_s",
    "throughput.requests_per_s",
    "throughput.input_tokens_per_s",
    "throughput.output_tokens_per_s",
    "throughput.total_tokens_per_s",
    "tokens.input_mean",
    "tokens.output_mean",
    "latency.ttft_ms.mean",
    "latency.tpot_ms.mean",
    "latency.itl_ms.mean",
    "latency.e2e_ms.mean",
    "latency.e2e_ms.p99",
    // Some consoles have no means.
    "latency.ttft_ms.p50",
    "latency.ttft_ms.p95",
    "latency.tpot_ms.p50",
    "latency.itl_ms.p50",
    "latency.e2e_ms.p50",
    "latency.e2e_ms.p95",
];

fn number(summary: &ImportedSummary, name: &str) -> Option<f64> {
    let mean = |spread: &Option<Spread>| spread.as_ref()?.mean;
    let count = |count: Option<u64>| count.map(|count| count as f64);
    let (throughput, latency) = (&summary.throughput, &summary.latency);
    match name {
        "requests.ok" => count(summary.requests.ok),
        "requests.failed" => count(summary.requests.failed),
        "window_s" => summary.window_s,
        "throughput.requests_per_s" => throughput.requests_per_s,
        "throughput.input_tokens_per_s" => throughput.input_tokens_per_s,
        "throughput.output_tokens_per_s" => throughput.output_tokens_per_s,
        "throughput.total_tokens_per_s" => throughput.total_tokens_per_s,
        "tokens.input_mean" => summary.tokens.input_mean,
        "tokens.output_mean" => summary.tokens.output_mean,
        "latency.ttft_ms.mean" => mean(&latency.ttft_ms),
        "latency.tpot_ms.mean" => mean(&latency.tpot_ms),
        "latency.itl_ms.mean" => mean(&latency.itl_ms),
        "latency.e2e_ms.mean" => mean(&latency.e2e_ms),
        "latency.e2e_ms.p99" => latency.e2e_ms.as_ref()?.p99,
        "latency.ttft_ms.p50" => latency.ttft_ms.as_ref()?.p50,
        "latency.ttft_ms.p95" => latency.ttft_ms.as_ref()?.p95,
        "latency.tpot_ms.p50" => latency.tpot_ms.as_ref()?.p50,
        "latency.itl_ms.p50" => latency.itl_ms.as_ref()?.p50,
        "latency.e2e_ms.p50" => latency.e2e_ms.as_ref()?.p50,
        "latency.e2e_ms.p95" => latency.e2e_ms.as_ref()?.p95,
        _ => None,
    }
}

/// Numbers that both have, by name.
fn shared(mine: &ImportedSummary, more: &ImportedSummary) -> Vec<(&'static str, f64, f64)> {
    let both = |name: &&'static str| Some((*name, number(mine, name)?, number(more, name)?));
    NAMES.iter().filter_map(both).collect()
}

/// Those of them that neither has by division.
fn stated_by_both(
    own: &ImportedResult,
    mine: &ImportedSummary,
    other: &ImportedResult,
    more: &ImportedSummary,
) -> Vec<(&'static str, f64, f64)> {
    let mut shared = shared(mine, more);
    shared.retain(|(name, ..)| {
        let mut derived = own.derived.iter().chain(&other.derived);
        !derived.any(|derived| derived == name)
    });
    shared
}

/// The numbers that may have been derived.
fn rate_mut<'a>(summary: &'a mut ImportedSummary, name: &str) -> Option<&'a mut Option<f64>> {
    Some(match name {
        "throughput.requests_per_s" => &mut summary.throughput.requests_per_s,
        "throughput.input_tokens_per_s" => &mut summary.throughput.input_tokens_per_s,
        "throughput.output_tokens_per_s" => &mut summary.throughput.output_tokens_per_s,
        "tokens.input_mean" => &mut summary.tokens.input_mean,
        "tokens.output_mean" => &mut summary.tokens.output_mean,
        _ => return None,
    })
}
