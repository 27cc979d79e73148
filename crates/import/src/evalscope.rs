//! EvalScope's tables of today: keys with values, then percentiles.

use crate::draft::Draft;
use crate::found::{Found, Tool};
use crate::json_result::percentile;
use crate::label::label;
use crate::quantity::quantity;
use crate::summary::Stat;
use crate::table::Table;

/// `Key | Value` with at least two results.
pub(crate) fn summary(table: &Table) -> Option<Found> {
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
    let mut draft = Draft::default();
    for row in rows {
        let [name, cell] = row.as_slice() else {
            continue;
        };
        match (label(name), quantity(cell.trim_end_matches('.'))) {
            (Some(label), Some(quantity)) => draft.set(name, label, quantity),
            (None, Some(_)) => draft.pass_over(name),
            (_, None) => {}
        }
    }
    let tool = match names[0].as_str() {
        "key" => Tool::Evalscope,
        _ => Tool::MarkdownTable,
    };
    (draft.results() >= 2).then(|| draft.finish(tool, (table.first, table.last)))
}

/// A row for each rank, a column for each metric.
pub(crate) fn percentiles(table: &Table) -> Option<Found> {
    let (header, rows) = table.rows.split_first()?;
    let corner = header.first()?.to_lowercase();
    if !corner.starts_with("percentile") && corner != "百分位" && corner != "分位" {
        return None;
    }
    let mut draft = Draft::default();
    for row in rows {
        let Some(rank) = row.first().and_then(|cell| Stat::of_word(cell)) else {
            continue;
        };
        for (column, cell) in header.iter().zip(row).skip(1) {
            if let Some(quantity) = quantity(cell) {
                percentile(&mut draft, rank, column, quantity.value);
            }
        }
    }
    (draft.results() >= 1).then(|| draft.finish(Tool::Evalscope, (table.first, table.last)))
}
