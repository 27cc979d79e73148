//! EvalScope's tables of today: keys with values, then percentiles.

use crate::builder::ResultBuilder;
use crate::json_result::percentile;
use crate::label::label;
use crate::load_table;
use crate::quantity::{number, quantity};
use crate::result::{ImportedResult, Tool};
use crate::summary::Stat;
use crate::table::TextTable;
use crate::time_unit;
use crate::unread::UnreadReason;

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
        // A row leaves out the load where it is that of the row above.
        if let Some(streams) = (metric > 0).then(|| quantity(&row[0])).flatten() {
            of = found.iter().rposition(|above| {
                above.tool == Tool::Evalscope
                    && above
                        .point
                        .get("concurrency")
                        .and_then(serde_json::Value::as_f64)
                        == Some(streams.value)
            });
        }
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
