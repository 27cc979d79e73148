//! AIPerf's and GenAI-Perf's tables, as printed and as CSV: several of them are one result, each
//! with a row for each metric.

use crate::aiperf_metrics;
use crate::builder::ResultBuilder;
use crate::commands;
use crate::label::Field;
use crate::quantity::{Quantity, Unit, quantity};
use crate::result::{ImportedResult, Tool};
use inferometer_notes::Notes;
use inferometer_notes::TextTable;
use std::collections::BTreeSet;

/// Lines between two tables of one result.
const LARGEST_GAP: usize = 12;
/// Lines below the tables, most of them hints, in which the command may stand.
const LARGEST_FOOT: usize = 80;

/// A metric's name, and its statistics by theirs.
type Metric = (String, Vec<(String, Quantity)>);

pub(crate) struct Pending {
    builder: ResultBuilder,
    lines: (usize, usize),
    names: BTreeSet<String>,
}

/// The metrics of a table, each with its statistics, if it is one of AIPerf's.
fn metrics(table: &TextTable, notes: &Notes<'_>) -> Option<Vec<Metric>> {
    let (header, rows) = table.rows.split_first()?;
    let corner = header.first()?.as_str();
    if !matches!(corner, "Metric" | "Statistic") || header.get(1)? != "avg" {
        return None;
    }
    let titled = (table.first.saturating_sub(2)..table.first).any(|line| {
        let above = notes.lines[line];
        above.contains("NVIDIA AIPerf") || above.contains("GenAI-Perf")
    });
    let rows = whole_rows(rows);
    let has_latency = |row: &Vec<String>| row[0].to_lowercase().starts_with("request latency (");
    if !titled && !rows.iter().any(has_latency) {
        return None;
    }
    Some(rows.iter().map(|row| statistics(header, row)).collect())
}

/// Rows whose name is broken, because it is wider than its column, as one.
fn whole_rows(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let mut whole: Vec<Vec<String>> = Vec::new();
    for row in rows {
        let (Some(name), true) = (row.first(), row.iter().skip(1).all(String::is_empty)) else {
            whole.push(row.clone());
            continue;
        };
        if let Some(above) = whole.last_mut() {
            above[0] = format!("{} {name}", above[0]);
        }
    }
    whole.retain(|row| !row.is_empty());
    whole
}

fn statistics(header: &[String], row: &[String]) -> Metric {
    let cells = header.iter().zip(row).skip(1);
    let said = cells.filter_map(|(column, cell)| Some((column.clone(), quantity(cell)?)));
    (row[0].clone(), said.collect())
}

/// `Metric,Value` below the table of statistics, and the count of each error.
fn single_values(table: &TextTable) -> Option<Vec<Metric>> {
    let (header, rows) = table.rows.split_first()?;
    let [metric, value] = header.as_slice() else {
        return None;
    };
    if metric != "Metric" || value != "Value" {
        return None;
    }
    let said = rows.iter().filter_map(|row| {
        let avg = ("avg".to_owned(), quantity(row.get(1)?)?);
        Some((row[0].clone(), vec![avg]))
    });
    Some(said.collect())
}

/// Begins a result with one of AIPerf's tables.
pub(crate) fn begin(table: &TextTable, notes: &Notes<'_>) -> Option<Pending> {
    let metrics = metrics(table, notes)?;
    let mut pending = Pending {
        builder: ResultBuilder::default(),
        lines: (table.first, table.first),
        names: BTreeSet::new(),
    };
    pending.add(table, metrics);
    Some(pending)
}

impl Pending {
    /// Takes a further table of the same result. Returns whether it is one.
    pub(crate) fn take(&mut self, table: &TextTable, notes: &Notes<'_>) -> bool {
        if table.first - self.lines.1 > LARGEST_GAP {
            return false;
        }
        let Some(metrics) = metrics(table, notes).or_else(|| single_values(table)) else {
            return false;
        };
        if metrics.iter().any(|(name, _)| self.names.contains(name)) {
            return false;
        }
        self.add(table, metrics);
        true
    }

    fn add(&mut self, table: &TextTable, metrics: Vec<Metric>) {
        for (name, stats) in metrics {
            let unit = name
                .rsplit_once('(')
                .map(|(_, unit)| unit.trim_end_matches(')'));
            let unit = unit
                .and_then(Unit::of_word)
                .filter(|unit| unit.in_ms().is_some());
            aiperf_metrics::set(&mut self.builder, &name, unit, &stats);
            self.names.insert(name);
        }
        self.lines.1 = table.last;
    }

    /// `None` where nothing but metrics without a place was found.
    pub(crate) fn finish(mut self, notes: &mut Notes<'_>) -> Option<ImportedResult> {
        if self.builder.results() == 0 {
            return None;
        }
        let command = self.foot(notes);
        if let Some(command) = &command {
            aiperf_metrics::set_load(&mut self.builder, command);
        }
        let mut found = self.builder.finish(Tool::Aiperf, self.lines);
        let flags = command.as_deref().map(commands::flags);
        let model = flags
            .as_ref()
            .and_then(|flags| flags.get("model")?.as_str());
        if let Some(model) = model {
            found.is_of_model(model);
            found.label = Some(inferometer_text::hostile::printable(model, 200));
        }
        found.client_command = command;
        Some(found)
    }

    /// What is printed below the tables: the command, over as many lines as it needs, and how
    /// long it took.
    fn foot(&mut self, notes: &mut Notes<'_>) -> Option<String> {
        let end = (self.lines.1 + 1 + LARGEST_FOOT).min(notes.lines.len());
        let mut command: Option<String> = None;
        for at in self.lines.1 + 1..end {
            let text = notes.lines[at].trim();
            if text.contains("NVIDIA AIPerf") {
                break;
            }
            if let Some(rest) = text.strip_prefix("CLI Command: ") {
                command = Some(rest.to_owned());
            } else if let Some(duration) = text.strip_prefix("Benchmark Duration:") {
                let duration = quantity(duration).map(|value| ("avg".to_owned(), value));
                let name = "Benchmark Duration";
                if let Some(duration) = duration.filter(|_| !self.builder.has(Field::Window)) {
                    aiperf_metrics::set(&mut self.builder, name, None, &[duration]);
                }
                notes.take((self.lines.1 + 1, at));
                self.lines.1 = at;
                break;
            } else if let Some(command) = command.as_mut() {
                command.push(' ');
                command.push_str(text);
            }
        }
        command.map(|command| commands::safe(&command))
    }
}
