//! EvalScope's tables of today: keys with values, then percentiles.

use crate::builder::ResultBuilder;
use crate::json_result::percentile;
use crate::label::Stat;
use crate::label::label;
use crate::load_table;
use crate::quantity::{number, quantity};
use crate::result::{ImportedResult, Tool};
use crate::time_unit;
use crate::unread::UnreadReason;
use inferometer_notes::Notes;
use inferometer_notes::TextTable;

/// `Key | Value` with at least two results.
pub(crate) fn summary(table: &TextTable) -> Option<ImportedResult> {
    let (header, rows) = table.rows.split_first()?;
    let names: Vec<String> = header.iter().map(|cell| cell.to_lowercase()).collect();
    if !matches!(
        names.first().map(String::as_str),
        Some("key" | "metric" | "指标" | "名称")
    ) || !matches!(
        names.get(1).map(String::as_str),
        Some("value" | "值" | "数值")
    ) || names.len() != 2
    {
        return None;
    }
    let tool = match names[0].as_str() {
        "key" => Tool::Evalscope,
        _ => Tool::MarkdownTable,
    };
    let mut builder = ResultBuilder::default();
    let cells: Vec<(&str, Vec<&str>)> = (rows.iter())
        .filter_map(|row| match row.as_slice() {
            [name, cell] => Some((name.as_str(), vec![cell.trim_end_matches('.')])),
            _ => None,
        })
        .collect();
    // The tool writes its units; people leave them out.
    let units = if tool == Tool::MarkdownTable {
        time_unit::units(&cells, &[None])
    } else {
        vec![None; cells.len()]
    };
    builder.assumed = load_table::assumed(&cells, &units);
    for ((name, cells), unit) in cells.iter().zip(units) {
        match (label(name), cells.first().and_then(|cell| quantity(cell))) {
            (Some(label), Some(mut quantity)) => {
                quantity.unit = quantity.unit.or(unit);
                builder.set(name, label, quantity);
            }
            (None, Some(_)) => builder.skip(name, UnreadReason::of_unknown(name)),
            (_, None) => {}
        }
    }
    (builder.results() >= 2).then(|| builder.finish(tool, (table.first, table.last)))
}

/// A row for each rank, a column for each metric.
pub(crate) fn percentiles(table: &TextTable) -> Option<ImportedResult> {
    let (header, rows) = table.rows.split_first()?;
    let corner = header.first()?.to_lowercase();
    if !corner.starts_with("percentile") && corner != "百分位" && corner != "分位" {
        return None;
    }
    let mut builder = ResultBuilder::default();
    for row in rows {
        let Some(rank) = row.first().and_then(|cell| Stat::of_word(cell)) else {
            continue;
        };
        for (column, cell) in header.iter().zip(row).skip(1) {
            if let Some(quantity) = quantity(cell) {
                percentile(&mut builder, rank, column, quantity.value);
            }
        }
    }
    (builder.results() >= 1).then(|| builder.finish(Tool::Evalscope, (table.first, table.last)))
}

/// Adds a table of throughput over parts of the run to the results above it: of EvalScope 1.14,
/// a column for each part.
pub(crate) fn add_workload(found: &mut [ImportedResult], table: &TextTable) -> bool {
    let Some((header, rows)) = table.rows.split_first() else {
        return false;
    };
    let metric = header.iter().position(|name| name == "Metric (tok/s)");
    let Some(metric) = metric.filter(|at| header.get(at + 1).is_some_and(|it| it == "Overall"))
    else {
        return false;
    };
    let mut of = found.len().checked_sub(1);
    for row in rows.iter().filter(|row| row.len() == header.len()) {
        of = of_load(found, &row[..metric], of);
        let summary = of.and_then(|of| found[of].summary.as_mut());
        let Some(summary) = summary else { continue };
        for (column, cell) in header.iter().zip(row).skip(metric + 1) {
            if let Some(quantity) = quantity(cell) {
                let name = format!("{} ({column})", row[metric]);
                summary.other.insert(name, number(quantity.value));
            }
        }
    }
    of.is_some()
}

/// The result above that has the load of a row. A row leaves out the load where it is that of the
/// row above.
fn of_load(found: &[ImportedResult], load: &[String], above: Option<usize>) -> Option<usize> {
    let Some(streams) = load.first().and_then(|cell| quantity(cell)) else {
        return above;
    };
    found.iter().rposition(|found| {
        let configured = found.point.get("concurrency");
        found.tool == Tool::Evalscope
            && configured.and_then(serde_json::Value::as_f64) == Some(streams.value)
    })
}

/// Lines above a table in which its title may stand.
const LARGEST_TITLE: usize = 3;

/// Whether a table has the statistics of whole conversations, which are not those of requests.
pub(crate) fn is_of_traces(table: &TextTable, notes: &Notes<'_>) -> bool {
    let titles = table.first.saturating_sub(LARGEST_TITLE)..table.first;
    titles.into_iter().any(|line| {
        let title = notes.lines[line].trim().to_lowercase();
        title.starts_with("per-trace summary") || title == "per-trace metrics"
    })
}

/// Keeps the statistics of conversations under names of their own. Returns whether there is a
/// result that they are of.
pub(crate) fn add_traces(found: &mut [ImportedResult], table: &TextTable) -> bool {
    let Some((header, rows)) = table.rows.split_first() else {
        return false;
    };
    let Some(metric) = header.iter().position(|name| name == "Metric") else {
        return false;
    };
    let mut of = found.len().checked_sub(1);
    for row in rows.iter().filter(|row| row.len() == header.len()) {
        of = of_load(found, &row[..metric], of);
        let summary = of.and_then(|of| found[of].summary.as_mut());
        let Some(summary) = summary else { continue };
        let cells = header.iter().zip(row).skip(metric + 1);
        let statistics = cells
            .filter_map(|(column, cell)| Some((column.clone(), number(quantity(cell)?.value))));
        let name = format!("{} (per trace)", row[metric]);
        let statistics = serde_json::Map::from_iter(statistics);
        summary.other.insert(name, statistics.into());
    }
    of.is_some()
}

/// Whether a table lists the tries of a search for the largest load. Each is a run, whose result
/// stands elsewhere.
pub(crate) fn is_of_probes(table: &TextTable) -> bool {
    let header = table.rows.first();
    let has = |name: &str| header.is_some_and(|header| header.iter().any(|cell| cell == name));
    has("Pressure") && has("Run status")
}
