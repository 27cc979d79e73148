//! EvalScope's tables of today: keys with values, then percentiles.

use crate::builder::ResultBuilder;
use crate::json_result::percentile;
use crate::label::label;
use crate::quantity::quantity;
use crate::result::{ImportedResult, Tool};
use crate::summary::Stat;
use crate::table::TextTable;

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
    let mut builder = ResultBuilder::default();
    for row in rows {
        let [name, cell] = row.as_slice() else {
            continue;
        };
        match (label(name), quantity(cell.trim_end_matches('.'))) {
            (Some(label), Some(quantity)) => builder.set(name, label, quantity),
            (None, Some(_)) => builder.skip(name),
            (_, None) => {}
        }
    }
    let tool = match names[0].as_str() {
        "key" => Tool::Evalscope,
        _ => Tool::MarkdownTable,
    };
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
