//! `vllm bench sweep serve`: `vllm bench serve` against `vllm serve`, once for each combination of
//! their settings.
//!
//! Each combination is written into the command that it is for and translated like one by itself.
//! What differs between the translations are the axes of our sweep.

use super::options::Options;
use super::translator::{Client, TranslateError, Translation};
use super::{ReadFile, single};
use inferometer_catalog::engine::words::split;
use serde_json::{Map, Value};

/// About output and progress.
const NOT_NEEDED: &str = "show-stdout|o|output-dir|e|experiment-name|dry-run|resume|\
    continue-on-error";
/// Options of ours whose values have commas of their own.
const NO_AXES: [&str; 6] = ["prompt", "stop", "slo", "extra", "header", "model"];
const SERVE_PARAMS: &str = "serve-params";
const BENCH_PARAMS: &str = "bench-params";

/// Settings of one combination.
type Settings = Map<String, Value>;

pub(super) fn translate(
    mut options: Options,
    read: ReadFile<'_>,
) -> Result<Translation, TranslateError> {
    let command = |text: Option<String>, usual: &str| split(text.as_deref().unwrap_or(usual));
    let serve = command(options.value("serve-cmd"), "vllm serve")?;
    let mut bench = command(options.value("bench-cmd"), "vllm bench serve")?;
    if let Some(count) = options.value("warmup-num-prompts") {
        bench.extend(["--num-warmups".to_owned(), count]);
    }
    let mut told = Translation::default();
    let mut records = |name: &str| match options.value(name) {
        None => vec![Settings::new()],
        Some(path) => read(&path)
            .and_then(|text| settings(&text))
            .unwrap_or_else(|| {
                told.not_expressed.push(format!(
                    "--{name} {path}: no list of settings can be read there, so they are left out"
                ));
                vec![Settings::new()]
            }),
    };
    let (of_serve, of_bench) = (records(SERVE_PARAMS), records(BENCH_PARAMS));
    let links = options.list("link-vars").unwrap_or_default();
    let mut combinations = Vec::new();
    for serve in &of_serve {
        for own in of_bench.iter().filter(|own| are_linked(serve, own, &links)) {
            let words = [bench.clone(), as_options(own)].concat();
            let one = single(&words)?;
            combinations.push(entries(serve, &one.words));
            take_notes(&mut told, one);
        }
    }
    combinations.dedup();
    told.tool = Client::VllmSweep.into();
    told.words.push("sweep".to_owned());
    told.words.extend(joined(&combinations).unwrap_or_else(|| {
        told.not_expressed.push("--serve-params and --bench-params: their combinations differ in more than values, so this is the first of them; write each as a command of its own".to_owned());
        joined(&combinations[..combinations.len().min(1)]).unwrap_or_default()
    }));
    let runs = options.value("num-runs").unwrap_or_else(|| "3".to_owned());
    if runs != "1" {
        told.words.extend(["--repeat".to_owned(), runs]);
        told.differs.push("each of --num-runs sends the same again there; here repeats have seeds of their own, so that what they are apart holds for other prompts, too".to_owned());
    }
    if let Some(seconds) = options.value("server-ready-timeout") {
        let limit = ["--engine-timeout".to_owned(), format!("{seconds}s")];
        told.words.extend(limit);
    }
    told.words.push("--".to_owned());
    told.words.extend(serve);
    if options.value("after-bench-cmd").is_some() {
        told.not_expressed.push("--after-bench-cmd: before each point the server's prefix cache is emptied, and nothing else is done".to_owned());
    }
    told.not_needed.extend(options.written(NOT_NEEDED));
    let unused = options.unused();
    told.not_expressed
        .extend(unused.map(|option| format!("{option}: has no counterpart here")));
    Ok(told)
}

/// A list of settings, or settings by name.
fn settings(text: &str) -> Option<Vec<Settings>> {
    let records: Vec<Value> = match serde_json::from_str(text).ok()? {
        Value::Array(records) => records,
        Value::Object(by_name) => by_name.into_iter().map(|(_, record)| record).collect(),
        _ => return None,
    };
    let record = |value| match value {
        Value::Object(mut settings) => {
            settings.remove("_benchmark_name");
            Some(settings)
        }
        _ => None,
    };
    let records: Option<Vec<Settings>> = records.into_iter().map(record).collect();
    records.filter(|records| !records.is_empty())
}

/// `a=b`: only combinations count in which the server's `a` is the client's `b`.
fn are_linked(serve: &Settings, bench: &Settings, links: &[String]) -> bool {
    links.iter().all(|link| {
        let (a, b) = link.split_once('=').unwrap_or((link, link));
        serve.get(a).is_some() && serve.get(a) == bench.get(b)
    })
}

fn name(setting: &str) -> String {
    setting.replace('_', "-")
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// As words after a command, where the last occurrence of an option counts.
fn as_options(settings: &Settings) -> Vec<String> {
    let option = |(setting, value): (&String, &Value)| match value {
        Value::Bool(is_on) => vec![format!("--{}={is_on}", name(setting))],
        _ => vec![format!("--{}", name(setting)), text(value)],
    };
    settings.iter().flat_map(option).collect()
}

/// A setting of a combination as our command has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// Before the value: `--concurrency`, or `--engine-flag` and the flag's name.
    option: String,
    flag: Option<String>,
    value: Option<String>,
}

/// What our command says of one combination; the engine's own address is known.
fn entries(serve: &Settings, ours: &[String]) -> Vec<Entry> {
    let flag = |(setting, value): (&String, &Value)| Entry {
        option: "--engine-flag".to_owned(),
        flag: Some(name(setting)),
        value: Some(text(value)),
    };
    let mut entries: Vec<Entry> = serve.iter().map(flag).collect();
    for word in ours.iter().skip_while(|word| !word.starts_with("--")) {
        match entries.last_mut() {
            Some(last) if !word.starts_with("--") => last.value = Some(word.clone()),
            _ => entries.push(Entry {
                option: word.clone(),
                flag: None,
                value: None,
            }),
        }
    }
    entries
}

/// All combinations as one command; absent where they differ in more than the values of axes.
fn joined(combinations: &[Vec<Entry>]) -> Option<Vec<String>> {
    let first = combinations.first()?;
    let of_one_form = |other: &Vec<Entry>| {
        let pairs = first.iter().zip(other);
        other.len() == first.len()
            && pairs
                .into_iter()
                .all(|(a, b)| (&a.option, &a.flag) == (&b.option, &b.flag))
    };
    if !combinations.iter().all(of_one_form) {
        return None;
    }
    let values = |at: usize| -> Vec<&str> {
        let values = combinations.iter().map(|it| it[at].value.as_deref());
        values.map(Option::unwrap_or_default).collect()
    };
    let columns: Vec<Vec<&str>> = (0..first.len()).map(values).collect();
    let distinct: Vec<Vec<&str>> = columns.iter().map(|column| distinct(column)).collect();
    let all: usize = distinct.iter().map(Vec::len).product();
    let is_product = all == combinations.len();
    let mut words = Vec::new();
    for ((entry, column), distinct) in first.iter().zip(&columns).zip(&distinct) {
        words.push(entry.option.clone());
        let is_axis = distinct.len() > 1;
        let is_one_option = |name: &&str| entry.option.strip_prefix("--") == Some(*name);
        if is_axis && NO_AXES.iter().any(is_one_option) {
            return None;
        }
        let list = if is_product {
            distinct.join(",")
        } else {
            column.join(",")
        };
        let value = if is_axis {
            Some(list)
        } else {
            entry.value.clone()
        };
        words.extend(match &entry.flag {
            Some(flag) => value.map(|value| format!("{flag}={value}")),
            None => value,
        });
    }
    if !is_product {
        words.push("--zip".to_owned());
    }
    Some(words)
}

fn distinct<'a>(column: &[&'a str]) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for value in column {
        if !found.contains(value) {
            found.push(value);
        }
    }
    found
}

/// What is said of one combination, where it has not been said.
fn take_notes(told: &mut Translation, one: Translation) {
    let new = |all: &mut Vec<String>, notes: Vec<String>| {
        for note in notes {
            if !all.contains(&note) {
                all.push(note);
            }
        }
    };
    new(&mut told.not_expressed, one.not_expressed);
    new(&mut told.differs, one.differs);
    new(&mut told.not_needed, one.not_needed);
}
