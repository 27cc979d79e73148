//! What a column means, and one run while its columns are read.

use crate::builder::ResultBuilder;
use crate::label::Stat;
use crate::label::{Field, Label, Sample};
use crate::quantity::{Quantity, Unit, count, leading_number, number};
use crate::result::{ImportedResult, Tool};
use inferometer_text::hostile::printable;
use serde_json::Value;

/// What a column holds, and in which unit.
#[derive(Clone, Copy)]
pub(super) enum Column {
    Is(Field, Option<Unit>),
    /// Requests that were stopped at the end.
    Cut,
    MeanConcurrency,
    /// A rate over all requests, failed ones included.
    OfAll(Field),
    Other,
}

#[derive(Default)]
pub(super) struct Run {
    pub(super) builder: ResultBuilder,
    strategy: String,
    /// Rates over all requests, with their names.
    of_all: Vec<(String, Field, Quantity)>,
}

impl Run {
    /// `concurrent@4`, `constant@2.00`, `throughput`.
    pub(super) fn new(strategy: &str) -> Self {
        let mut run = Run {
            strategy: printable(strategy, 80),
            ..Run::default()
        };
        let (kind, level) = strategy.split_once('@').unwrap_or((strategy, ""));
        let level = leading_number(level).map(|(level, _, _)| level);
        match kind {
            "concurrent" => run.builder.set_exact(Field::Concurrency, level),
            "synchronous" => run.builder.set_exact(Field::Concurrency, Some(1.0)),
            // As many as it may have at once, and as soon as it may.
            "throughput" => {
                run.builder.set_exact(Field::Concurrency, level);
                run.builder.point.insert("rate".into(), "inf".into());
            }
            _ => run.builder.set_exact(Field::Rate, level),
        }
        run
    }

    pub(super) fn is(&self, strategy: &str) -> bool {
        self.strategy == strategy
    }

    pub(super) fn set(&mut self, name: &str, column: Column, quantity: Quantity) {
        match column {
            Column::Is(field, unit) => self.builder.set(name, Label { field, unit }, quantity),
            Column::Cut => self.builder.summary.requests.cut = count(quantity.value),
            Column::MeanConcurrency => {
                self.builder.summary.concurrency.mean = Some(quantity.value);
            }
            Column::OfAll(field) => self.of_all.push((name.to_owned(), field, quantity)),
            Column::Other => self.keep(name, number(quantity.value)),
        }
    }

    /// Keeps what has no place in a summary under its own name.
    pub(super) fn keep(&mut self, name: &str, value: Value) {
        let name = printable(name, 120);
        self.builder.summary.other.entry(name).or_insert(value);
    }

    pub(super) fn finish(mut self, lines: (usize, usize)) -> Option<ImportedResult> {
        let requests = self.builder.summary.requests;
        // Where all were answered, those of all are those of the answered.
        let all_answered = requests.failed == Some(0) && requests.cut == Some(0);
        for (name, field, quantity) in std::mem::take(&mut self.of_all) {
            if all_answered {
                self.builder
                    .set(&name, Label { field, unit: None }, quantity);
            } else {
                self.keep(&name, number(quantity.value));
            }
        }
        if self.builder.results() == 0 {
            return None;
        }
        let mut found = self.builder.finish(Tool::Guidellm, lines);
        found.label = Some(self.strategy);
        Some(found)
    }
}

/// A sample's statistic by its name.
pub(super) fn statistic(sample: Sample, name: &str, unit: Option<Unit>) -> Column {
    let name = match name {
        "Std Dev" => "std",
        name => name,
    };
    match Stat::of_word(name) {
        Some(stat) => Column::Is(Field::Of(sample, Some(stat)), unit),
        None => Column::Other,
    }
}

/// Cells between bars. One without any width continues the one to its left.
pub(super) fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let inner = line.strip_prefix('|').unwrap_or(line);
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    let mut cells: Vec<String> = Vec::new();
    for cell in inner.split('|') {
        let text = match cells.last() {
            Some(left) if cell.is_empty() => left.clone(),
            _ => cell.trim().to_owned(),
        };
        cells.push(text);
    }
    cells
}

/// Names of columns under a header of several lines: `Requests / Per Sec / Mean`.
pub(super) fn column_names(header: &[Vec<String>]) -> Vec<String> {
    let width = header.iter().map(Vec::len).max().unwrap_or(0);
    let name = |column: usize| {
        let parts = header.iter().filter_map(|line| line.get(column));
        let parts = parts.filter(|part| !part.is_empty());
        parts.map(String::as_str).collect::<Vec<_>>().join(" / ")
    };
    (0..width).map(name).collect()
}
