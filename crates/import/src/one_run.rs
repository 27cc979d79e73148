//! Files that tell of one run as one result. Tools write what they measured as JSON, as CSV, as a
//! page and to the console: of each number the best source is kept, and what the others add.

use crate::conclude::conclude;
use crate::doubt::RepeatedNumber;
use crate::result::{ImportedResult, Tool};
use crate::summary::{ImportedSummary, Spread};
use serde_json::Value;
use std::path::Path;

/// Numbers that two results must share to be of one run.
const LEAST_SHARED: usize = 5;
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

fn kind(file: &str) -> Kind {
    let first = file.split(" + ").next().unwrap_or(file);
    let end = Path::new(first).extension().unwrap_or_default();
    match &*end.to_string_lossy().to_lowercase() {
        "json" => Kind::Json,
        "csv" | "tsv" => Kind::Csv,
        "jsonl" if first.ends_with("profile_export.jsonl") => Kind::Requests,
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
    results.sort_by_key(|found| kind(&found.file));
    let mut joined: Vec<Joined> = Vec::new();
    for result in results {
        let kind = kind(&result.file);
        let is_same = |run: &&mut Joined| !run.kinds.contains(&kind) && run.is_of(&result);
        // A name in common decides between repeats that agree.
        let stem = stem(&result.file);
        let named = joined.iter_mut().filter(is_same);
        let named = named.min_by_key(|run| run.files.iter().all(|file| self::stem(file) != stem));
        match named {
            Some(run) => run.add(result, kind),
            None => joined.push(Joined {
                files: vec![result.file.clone()],
                kinds: vec![kind],
                result,
            }),
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

impl Joined {
    fn is_of(&self, other: &ImportedResult) -> bool {
        let own = &self.result;
        if own.tool != other.tool {
            return false;
        }
        let differs = |(key, value): (&String, &Value)| {
            let other = other.point.get(key);
            other.is_some_and(|other| {
                other.as_f64() != value.as_f64() || other.is_string() != value.is_string()
            })
        };
        if own.point.iter().any(differs) {
            return false;
        }
        let (Some(mine), Some(more)) = (&own.summary, &other.summary) else {
            return false;
        };
        if own_folder(own).is_some() && own_folder(own) == own_folder(other) {
            return true;
        }
        let mut shared = shared(mine, more);
        let is_derived = |name: &str| {
            let mut derived = own.derived.iter().chain(&other.derived);
            derived.any(|derived| derived == name)
        };
        shared.retain(|(name, ..)| !is_derived(name));
        let agreeing = shared
            .iter()
            .filter(|(_, mine, more)| agree(*mine, *more))
            .count();
        shared.len() >= LEAST_SHARED && agreeing as f64 >= LEAST_AGREEING * shared.len() as f64
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
            if !is_derived && !agree(kept, ignored) {
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
        fill(mine, more);
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

/// Whether one number is the other, perhaps rounded, in milliseconds or in seconds.
fn agree(a: f64, b: f64) -> bool {
    let near = |a: f64, b: f64, tolerance: f64| (a - b).abs() <= tolerance * a.abs().max(b.abs());
    let rounds_to = |exact: f64, printed: f64| {
        [1.0, 1000.0].into_iter().any(|unit| {
            (0..4).any(|digits| {
                let scale = 10f64.powi(digits);
                let rounded = (exact / unit * scale).round() / scale * unit;
                rounded != 0.0 && near(rounded, printed, 1e-9)
            })
        })
    };
    near(a, b, TOLERANCE) || rounds_to(a, b) || rounds_to(b, a)
}

const NAMES: [&str; 14] = [
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
        _ => None,
    }
}

/// Numbers that both have, by name.
fn shared(mine: &ImportedSummary, more: &ImportedSummary) -> Vec<(&'static str, f64, f64)> {
    let both = |name: &&'static str| Some((*name, number(mine, name)?, number(more, name)?));
    NAMES.iter().filter_map(both).collect()
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

/// Takes what the other source knows and the better one does not.
fn fill(mine: &mut ImportedSummary, more: &ImportedSummary) {
    fn or<T: Copy>(mine: &mut Option<T>, more: Option<T>) {
        *mine = mine.or(more);
    }
    let spread = |mine: &mut Option<Spread>, more: &Option<Spread>| {
        if let Some(more) = more {
            mine.get_or_insert_default().fill(more.clone());
        }
    };
    or(&mut mine.window_s, more.window_s);
    let (requests, others) = (&mut mine.requests, &more.requests);
    or(&mut requests.planned, others.planned);
    or(&mut requests.ok, others.ok);
    or(&mut requests.failed, others.failed);
    or(&mut requests.cut, others.cut);
    let (throughput, others) = (&mut mine.throughput, &more.throughput);
    or(&mut throughput.requests_per_s, others.requests_per_s);
    or(
        &mut throughput.input_tokens_per_s,
        others.input_tokens_per_s,
    );
    or(
        &mut throughput.output_tokens_per_s,
        others.output_tokens_per_s,
    );
    or(
        &mut throughput.total_tokens_per_s,
        others.total_tokens_per_s,
    );
    let (concurrency, others) = (&mut mine.concurrency, &more.concurrency);
    or(&mut concurrency.configured, others.configured);
    or(&mut concurrency.mean, others.mean);
    or(&mut concurrency.peak, others.peak);
    let (latency, others) = (&mut mine.latency, &more.latency);
    spread(&mut latency.ttft_ms, &others.ttft_ms);
    spread(&mut latency.second_token_ms, &others.second_token_ms);
    spread(&mut latency.tpot_ms, &others.tpot_ms);
    spread(&mut latency.itl_ms, &others.itl_ms);
    spread(&mut latency.e2e_ms, &others.e2e_ms);
    let (speed, others) = (&mut mine.speed, &more.speed);
    spread(
        &mut speed.per_user_tokens_per_s,
        &others.per_user_tokens_per_s,
    );
    spread(&mut speed.decode_tokens_per_s, &others.decode_tokens_per_s);
    let (tokens, others) = (&mut mine.tokens, &more.tokens);
    or(&mut tokens.input, others.input);
    or(&mut tokens.output, others.output);
    or(&mut tokens.input_mean, others.input_mean);
    or(&mut tokens.output_mean, others.output_mean);
    or(&mut tokens.output_asked, others.output_asked);
    spread(&mut tokens.input_spread, &others.input_spread);
    spread(&mut tokens.output_spread, &others.output_spread);
    or(&mut mine.slo, more.slo);
    if mine.other.is_empty() {
        mine.other = more.other.clone();
    }
}
