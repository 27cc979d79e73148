//! MindIE's benchmark tool: a performance and a common table, on the console or as CSV.

use crate::builder::ResultBuilder;
use crate::label::Stat;
use crate::label::{Field, Label, Sample};
use crate::quantity::{Unit, convert, count, number, quantity};
use crate::result::{ImportedResult, Tool};
use crate::summary::Spread;
use inferometer_notes::TextTable;
use serde_json::{Map, Value, json};

/// Names of metrics that nobody else writes.
const NAMES: [&str; 4] = [
    "FirstTokenTime",
    "DecodeTime",
    "GenerateTime",
    "GeneratedTokenSpeed",
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Performance,
    Common,
}

pub(crate) fn kind(table: &TextTable) -> Option<Kind> {
    let header = table.rows.first()?;
    let first = header.first()?.to_lowercase();
    // AISBench has a column between the two.
    if first == "common metric" && header.len() == 2 {
        return Some(Kind::Common);
    }
    let has = |name: &str| header.iter().any(|cell| cell.eq_ignore_ascii_case(name));
    let of_mindie = |row: &Vec<String>| row.first().is_some_and(|name| NAMES.contains(&&**name));
    (first == "metric" && has("average") && table.rows.iter().any(of_mindie))
        .then_some(Kind::Performance)
}

/// Both tables as one JSON object, as our own dialect writes them.
pub(crate) fn result(object: &Map<String, Value>, lines: (usize, usize)) -> Option<ImportedResult> {
    let performance = object.get("performance")?.as_object()?;
    let common = object.get("common")?.as_object()?;
    if !NAMES.iter().any(|name| performance.contains_key(*name)) {
        return None;
    }
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut pending = Pending::new(lines.0);
    for (name, stats) in performance {
        let stats = stats.as_object()?;
        let header = std::iter::once("Metric".to_owned()).chain(stats.keys().cloned());
        let row = std::iter::once(name.clone()).chain(stats.values().map(text));
        pending.performance(&[header.collect(), row.collect()]);
    }
    let rows = common
        .iter()
        .map(|(name, value)| vec![name.clone(), text(value)]);
    pending.common(&rows.collect::<Vec<_>>());
    pending.lines = lines;
    Some(pending.finish())
}

/// A result that may still lack one of its tables.
pub(crate) struct Pending {
    builder: ResultBuilder,
    label: Option<String>,
    lines: (usize, usize),
    has: Vec<Kind>,
}

impl Pending {
    pub(crate) fn new(line: usize) -> Self {
        Pending {
            builder: ResultBuilder::default(),
            label: None,
            lines: (line, line),
            has: Vec::new(),
        }
    }

    /// Whether a table of this kind still fits.
    pub(crate) fn wants(&self, kind: Kind) -> bool {
        !self.has.contains(&kind)
    }

    pub(crate) fn add(&mut self, kind: Kind, table: &TextTable) {
        self.has.push(kind);
        self.lines.1 = table.last;
        match kind {
            Kind::Performance => self.performance(&table.rows),
            Kind::Common => self.common(table.rows.get(1..).unwrap_or_default()),
        }
    }

    pub(crate) fn finish(self) -> ImportedResult {
        let mut found = self.builder.finish(Tool::Mindie, self.lines);
        found.label = self.label;
        found
    }

    fn performance(&mut self, rows: &[Vec<String>]) {
        let Some((header, rows)) = rows.split_first() else {
            return;
        };
        let mut server = match self.builder.summary.server.take() {
            Some(Value::Object(known)) => known,
            _ => Map::new(),
        };
        for row in rows {
            let Some(name) = row.first() else { continue };
            let mut spread = spread(header, row);
            let known = spread.mean.is_some();
            let sample = match name.as_str() {
                "FirstTokenTime" => Sample::Ttft,
                // Its N counts requests, and its values are gaps.
                "DecodeTime" => {
                    spread.n = None;
                    Sample::Itl
                }
                "MaxDecodeTime" => Sample::MaxGap,
                "GenerateTime" => Sample::E2e,
                "InputTokens" => Sample::InputLength,
                "GeneratedTokens" => Sample::OutputLength,
                "GeneratedTokenSpeed" => Sample::PerUserSpeed,
                "CharactersPerToken" => {
                    self.builder.summary.tokens.chars_per_token = spread.mean;
                    continue;
                }
                name => {
                    let spread = known.then(|| json!(spread));
                    let of_server = match name {
                        "QueueWaitTime" => Some("queue_wait_ms"),
                        "PrefillBatchsize" => Some("prefill_batch_size"),
                        "DecoderBatchsize" => Some("decode_batch_size"),
                        _ => None,
                    };
                    match of_server {
                        Some(key) => server.extend(spread.map(|it| (key.to_owned(), it))),
                        None => {
                            let other = &mut self.builder.summary.other;
                            other.extend(spread.map(|it| (name.to_owned(), it)));
                        }
                    }
                    continue;
                }
            };
            self.builder.put(sample, spread);
        }
        if !server.is_empty() {
            self.builder.summary.server = Some(Value::Object(server));
        }
    }

    fn common(&mut self, rows: &[Vec<String>]) {
        for row in rows {
            let (Some(name), Some(cell)) = (row.first(), row.get(1)) else {
                continue;
            };
            if name == "ModelName" && !matches!(cell.as_str(), "" | "/") {
                self.label = Some(inferometer_text::hostile::printable(cell, 200));
            }
            let Some(quantity) = quantity(cell) else {
                continue;
            };
            let field = match name.as_str() {
                "TimeElapsed" => Field::Window,
                "Failed" => Field::Failed,
                "Returned" => Field::Ok,
                "Total" => Field::Total,
                "Concurrency" => Field::Concurrency,
                "Throughput" => Field::RequestsPerS,
                "GenerateSpeed" => Field::OutputPerS,
                "CurrentTime" | "DataSource" | "ModelName" => continue,
                _ => {
                    let other = &mut self.builder.summary.other;
                    other.insert(name.clone(), number(quantity.value));
                    continue;
                }
            };
            let label = Label { field, unit: None };
            self.builder.set(name, label, quantity);
        }
    }
}

/// A row as a sample, times in milliseconds; `/` stays unknown.
fn spread(header: &[String], row: &[String]) -> Spread {
    let mut spread = Spread::default();
    for (name, cell) in header.iter().zip(row).skip(1) {
        let Some(quantity) = quantity(cell) else {
            continue;
        };
        let factor = quantity.unit.and_then(Unit::in_ms).unwrap_or(1.0);
        let value = convert(quantity.value, factor);
        if name == "N" {
            spread.n = count(value);
        } else if name == "SLO_P90" {
            spread.further.insert("slo_p90".into(), value);
        } else if let Some(stat) = Stat::of_word(name) {
            spread.set(stat, value);
        }
    }
    spread
}
