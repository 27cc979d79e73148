//! `benchmarks.csv`: three lines of header, then a line for each run.

use super::columns::{Column, Run, statistic};
use super::export;
use crate::label::{Field, Sample};
use crate::quantity::{Quantity, Unit, quantity};
use crate::result::ImportedResult;
use inferometer_notes::Notes;
use inferometer_notes::separated_cells;
use serde_json::Value;

/// What its lists of percentiles hold: the median has a column of its own.
const RANKS: [&str; 11] = [
    "min", "p0.1", "p1", "p5", "p10", "p25", "p75", "p90", "p95", "p99", "max",
];

pub(super) fn find(notes: &mut Notes<'_>) -> Vec<ImportedResult> {
    let mut found = Vec::new();
    for at in 0..notes.lines.len().saturating_sub(3) {
        if !notes.lines[at].contains("Request Counts,") {
            continue;
        }
        let header: Vec<Vec<String>> = (at..at + 3).map(|at| cells(notes, at)).collect();
        let Some(strategy) = strategy_column(&header) else {
            continue;
        };
        let width = header[0].len();
        let profile = header[1].iter().position(|name| name == "Profile");
        for (nth, line) in (at + 3..notes.lines.len()).enumerate() {
            let row = cells(notes, line);
            if notes.is_taken(line) || row.len() < 2 {
                break;
            }
            // Before 0.6 it left out what a run has none of, and so moved all that follow.
            if row.len() != width {
                notes.fail((line, line));
                continue;
            }
            let mut run = Run::new(&row[strategy]);
            // Before 0.8 the name of a strategy is without its level.
            if let Some(level) = profile.and_then(|at| level(&row[at], nth, &row[strategy])) {
                export::set_load(&mut run.builder, &level);
            }
            for (column, cell) in row.iter().enumerate() {
                let name = |line: usize| header[line].get(column).map_or("", String::as_str);
                take(&mut run, [name(0), name(1), name(2)], cell);
            }
            notes.take((at, line));
            found.extend(run.finish((line, line)));
        }
    }
    found
}

/// The strategy of a row, as the settings of all rows list it.
fn level(profile: &str, row: usize, named: &str) -> Option<Value> {
    let profile: Value = serde_json::from_str(profile).ok()?;
    let strategy = profile.get("completed_strategies")?.get(row)?;
    (export::kind(strategy) == Some(named)).then(|| strategy.clone())
}

fn cells(notes: &Notes<'_>, line: usize) -> Vec<String> {
    let text = notes.lines[line].trim_start_matches('\u{feff}');
    separated_cells(text, ',')
}

fn strategy_column(header: &[Vec<String>]) -> Option<usize> {
    let [groups, names, _] = header else {
        return None;
    };
    let has = |name: &str| groups.iter().any(|group| group == name);
    if !has("Request Counts") || !has("Request Latency") || groups.len() != names.len() {
        return None;
    }
    names.iter().position(|name| name == "Strategy")
}

fn take(run: &mut Run, [group, name, stat]: [&str; 3], cell: &str) {
    let parts = [group, name, stat]
        .into_iter()
        .filter(|part| !part.is_empty());
    let full = parts.collect::<Vec<_>>().join(" / ");
    let sample = sample(group, name);
    if let Some(number) = quantity(cell) {
        let column = match sample {
            Some((sample, unit)) => statistic(sample, stat, unit),
            None => column(group, name, stat),
        };
        return run.set(&full, column, number);
    }
    let Ok(value @ (Value::Array(_) | Value::Object(_))) = serde_json::from_str::<Value>(cell)
    else {
        return;
    };
    match (&value, sample) {
        (Value::Array(values), Some((sample, unit)))
            if stat == "Percentiles" && values.len() == RANKS.len() =>
        {
            for (rank, value) in RANKS.iter().zip(values) {
                if let Some(value) = value.as_f64() {
                    let column = statistic(sample, rank, unit);
                    run.set(&full, column, Quantity::exact(value));
                }
            }
        }
        _ if stat.contains("CI") || stat == "Percentiles" => run.keep(&full, value),
        // Settings.
        _ => {}
    }
}

fn sample(group: &str, name: &str) -> Option<(Sample, Option<Unit>)> {
    let (ms, seconds) = (Some(Unit::Millis), Some(Unit::Seconds));
    Some(match (group, name) {
        ("Request Latency", "Successful Sec") => (Sample::E2e, seconds),
        ("Time to First Token", "Successful ms") => (Sample::Ttft, ms),
        ("Time per Output Token", "Successful ms") => (Sample::Tpot, ms),
        ("Inter Token Latency", "Successful ms") => (Sample::Itl, ms),
        ("Token Metrics", "Successful Input Tokens") => (Sample::InputLength, None),
        ("Token Metrics", "Successful Output Tokens") => (Sample::OutputLength, None),
        _ => return None,
    })
}

fn column(group: &str, name: &str, stat: &str) -> Column {
    let field = match (group, name, stat) {
        ("Timings", "Duration", "Sec") => Field::Window,
        ("Request Counts", "Successful", _) => Field::Ok,
        ("Request Counts", "Errored", _) => Field::Failed,
        ("Request Counts", "Total", _) => Field::Planned,
        ("Request Counts", "Incomplete", _) => return Column::Cut,
        ("Server Throughput", "Successful Concurrency", "Mean") => return Column::MeanConcurrency,
        ("Server Throughput", "Successful Requests/Sec", "Mean") => Field::RequestsPerS,
        ("Token Throughput", "Successful Input Tokens/Sec", "Mean") => Field::InputPerS,
        ("Token Throughput", "Successful Output Tokens/Sec", "Mean") => Field::OutputPerS,
        ("Token Throughput", "Successful Total Tokens/Sec", "Mean") => Field::TotalPerS,
        _ => return Column::Other,
    };
    Column::Is(field, None)
}
