//! Tables of statistics: a row for each metric, a column for mean, percentiles and the like, and
//! the table of single values that tools put below. AISBench, and people.

use crate::builder::ResultBuilder;
use crate::column_labels::is_total;
use crate::label::Stat;
use crate::label::{Field, Label, Sample, label};
use crate::load_table;
use crate::quantity::{Quantity, Unit, count, quantity, rate};
use crate::result::{ImportedResult, Tool};
use crate::time_unit::{self, Columns};
use crate::unread::UnreadReason;
use inferometer_notes::TextTable;

/// Lines between the two tables of one result.
const LARGEST_GAP: usize = 6;

/// A result that may still lack its single values.
pub(crate) struct Pending {
    builder: ResultBuilder,
    tool: Tool,
    lines: (usize, usize),
}

/// Begins a result, if the table is one of statistics.
pub(crate) fn begin(table: &TextTable) -> Option<Pending> {
    let turned;
    let rows = if is_upright(&table.rows) {
        &table.rows
    } else {
        turned = transposed(&table.rows);
        is_upright(&turned).then_some(&turned)?
    };
    let (header, rows) = rows.split_first()?;
    let mut pending = Pending {
        builder: ResultBuilder::default(),
        tool: tool(header),
        lines: (table.first, table.last),
    };
    pending.metrics(header, rows.iter().map(Vec::as_slice));
    (pending.builder.results() > 0).then_some(pending)
}

/// The results of a table that has a column of metrics behind those of the load: one for each
/// load, which a row leaves out where it is that of the row above.
pub(crate) fn by_load(table: &TextTable) -> Option<Vec<ImportedResult>> {
    let (header, rows) = table.rows.split_first()?;
    let is_metric =
        |name: &String| matches!(name.to_lowercase().as_str(), "metric" | "metrics" | "指标");
    let at_metric = header.iter().position(is_metric).filter(|at| *at > 0)?;
    let statistics = header[at_metric..]
        .iter()
        .filter_map(|name| Stat::of_word(name));
    if statistics.count() < 2 {
        return None;
    }
    let mut groups: Vec<(&[String], Vec<&[String]>)> = Vec::new();
    for row in rows.iter().filter(|row| row.len() > at_metric) {
        let (load, metric) = row.split_at(at_metric);
        let is_new = |above: &[String]| load != above && load.iter().any(|cell| !cell.is_empty());
        match groups.last_mut() {
            Some((above, metrics)) if !is_new(above) => metrics.push(metric),
            _ => groups.push((load, vec![metric])),
        }
    }
    let mut found = Vec::new();
    for (load, metrics) in groups {
        let mut pending = Pending {
            builder: ResultBuilder::default(),
            tool: Tool::MarkdownTable,
            lines: (table.first, table.last),
        };
        for (name, cell) in header.iter().zip(load) {
            if let (Some(label), Some(number)) = (label(name), rate(cell)) {
                pending.builder.set(name, label, number);
            }
        }
        pending.metrics(&header[at_metric..], metrics.into_iter());
        if pending.builder.results() > 0 {
            found.push(pending.finish());
        }
    }
    (!found.is_empty()).then_some(found)
}

/// Names of metrics in the first column, statistics above the others.
fn is_upright(rows: &[Vec<String>]) -> bool {
    let Some((header, rows)) = rows.split_first() else {
        return false;
    };
    let statistics = header.iter().skip(1).filter_map(|name| Stat::of_word(name));
    let names = rows.iter().filter_map(|row| label(row.first()?));
    let samples = names.filter_map(|label| label.field.sample());
    statistics.count() >= 2 && samples.count() >= 1
}

fn transposed(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let width = rows.first().map_or(0, Vec::len);
    let column = |at: usize| {
        let cells = rows.iter().map(|row| row.get(at).cloned());
        cells.map(Option::unwrap_or_default).collect()
    };
    (0..width).map(column).collect()
}

fn tool(header: &[String]) -> Tool {
    let corner = header.first().map_or("", String::as_str).to_lowercase();
    if corner == "performance parameters" {
        Tool::Aisbench
    } else {
        Tool::MarkdownTable
    }
}

impl Pending {
    /// Takes rows of statistics. Tools write the units of times; where people leave one out, it is
    /// told by the other rows.
    fn metrics<'a>(&mut self, header: &[String], rows: impl Iterator<Item = &'a [String]>) {
        let rows: Vec<&[String]> = rows.filter(|row| !row.is_empty()).collect();
        let cells = |row: &&'a [String]| {
            let cells = header.iter().zip(*row).skip(1);
            let cells = cells.filter(|(column, _)| Stat::of_word(column).is_some());
            (
                row[0].as_str(),
                cells.map(|(_, cell)| cell.as_str()).collect(),
            )
        };
        let columns: Vec<(&str, Vec<&str>)> = rows.iter().map(cells).collect();
        let columns: &Columns<'_> = &columns;
        let units = time_unit::units(columns, &vec![None; header.len()]);
        self.builder
            .assumed
            .extend(load_table::assumed(columns, &units));
        for (row, unit) in rows.into_iter().zip(units) {
            self.metric(header, row, unit);
        }
    }

    fn metric(&mut self, header: &[String], row: &[String], assumed: Option<Unit>) {
        let Some(name) = row.first() else { return };
        let columns = || header.iter().zip(row).skip(1);
        let numbers: Vec<(Stat, Quantity)> = columns()
            .filter_map(|(column, cell)| Some((Stat::of_word(column)?, quantity(cell)?)))
            .collect();
        if numbers.is_empty() {
            return;
        }
        let Some(Label { field, unit }) = label(name) else {
            return self.builder.skip(name, UnreadReason::of_unknown(name));
        };
        // `Request count | 40 | N/A | N/A`: one value, which is not the mean of a sample.
        let single = matches!(numbers.as_slice(), [(Stat::Mean, _)]);
        let sample = match (field, single) {
            (Field::Of(sample, _) | Field::Speed(sample), _) => sample,
            // Tokens of which there is a mean are those of a request.
            (Field::InputTokens, _) if !is_total(name) => Sample::InputLength,
            (Field::OutputTokens, _) if !is_total(name) => Sample::OutputLength,
            (_, true) => return self.single(name, numbers[0].1),
            (field, false) => match field.sample() {
                Some(sample) => sample,
                None => return self.builder.skip(name, UnreadReason::NoCounterpart),
            },
        };
        for (column, cell) in columns() {
            if column.eq_ignore_ascii_case("n") || column.eq_ignore_ascii_case("count") {
                let n = quantity(cell).and_then(|quantity| count(quantity.value));
                self.builder.spread(sample).n = n;
                continue;
            }
            let Some(stat) = Stat::of_word(column) else {
                continue;
            };
            let label = Label {
                field: Field::Of(sample, Some(stat)),
                unit,
            };
            match quantity(cell) {
                Some(mut quantity) => {
                    quantity.unit = quantity.unit.or(unit).or(assumed);
                    self.builder.set(name, label, quantity);
                }
                None if cell.contains(|c: char| c.is_ascii_digit()) => {
                    let name = format!("{name} {column}");
                    self.builder.skip(&name, UnreadReason::NotANumber);
                }
                None => {}
            }
        }
    }

    fn single(&mut self, name: &str, quantity: Quantity) {
        let Some(label) = label(name) else {
            return self.builder.skip(name, UnreadReason::of_unknown(name));
        };
        self.builder.set(name, label, quantity);
    }

    /// Takes a table of single values that stands right below. Returns whether it is one.
    pub(crate) fn take(&mut self, table: &TextTable) -> bool {
        let Some((header, rows)) = table.rows.split_first() else {
            return false;
        };
        let first = header.first().map(|cell| cell.to_lowercase());
        let last = header.last().map(|cell| cell.to_lowercase());
        let is_values = matches!(
            first.as_deref(),
            Some("metric" | "common metric" | "key" | "指标" | "statistic")
        ) && matches!(last.as_deref(), Some("value" | "值" | "数值"));
        if !is_values || table.first - self.lines.1 > LARGEST_GAP {
            return false;
        }
        for row in rows {
            let number = row.last().and_then(|cell| quantity(cell));
            if let (Some(name), Some(quantity)) = (row.first(), number) {
                self.single(name, quantity);
            }
        }
        self.lines.1 = table.last;
        true
    }

    /// Whether it only completes a result that has the means.
    pub(crate) fn lacks_means(&self) -> bool {
        self.builder.lacks_means()
    }

    pub(crate) fn lines(&self) -> (usize, usize) {
        self.lines
    }

    pub(crate) fn finish(self) -> ImportedResult {
        self.builder.finish(self.tool, self.lines)
    }
}
