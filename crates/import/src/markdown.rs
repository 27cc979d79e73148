//! Tables that people keep: one column, or one row, for each concurrency.

use crate::block;
use crate::draft::{Draft, count, number};
use crate::found::{Found, Tool};
use crate::label::{Field, Label, Sample, label};
use crate::notes::Notes;
use crate::quantity::{Unit, leading_number, quantity};
use crate::table::Table;

/// Lines under a table that may say more about all its columns.
const LARGEST_FOOT: usize = 6;

/// One column for each metric: what the first cells name, and the numbers of each result.
struct Grid<'a> {
    /// Names of results: concurrencies, or whatever the header says.
    heads: Vec<&'a str>,
    /// Name of a metric and its cell for each result.
    metrics: Vec<(&'a str, Vec<&'a str>)>,
    /// What the heads count, where their column has a name.
    corner: &'a str,
}

/// The results of a table; empty if it is no table of results.
pub(crate) fn read(table: &Table<'_>, notes: &mut Notes<'_>) -> Vec<Found> {
    let Some(grid) = grid(table) else {
        return Vec::new();
    };
    let units = units(&grid);
    let mut drafts: Vec<Draft> = grid.heads.iter().map(|_| Draft::default()).collect();
    for ((name, cells), unit) in grid.metrics.iter().zip(&units) {
        let Some(label) = label(name) else { continue };
        for (draft, cell) in drafts.iter_mut().zip(cells) {
            if let Some(mut quantity) = quantity(cell) {
                quantity.unit = quantity.unit.or(*unit);
                draft.set(name, label, quantity);
            } else if let Field::Of(sample, _) = label.field {
                // A percentile below a blank cell is still of this row's sample.
                draft.about = Some(sample);
            }
        }
    }
    let mut last = table.last;
    for at in table.last + 1..(table.last + 1 + LARGEST_FOOT).min(notes.lines.len()) {
        let text = notes.bare(at);
        if text.is_empty() {
            continue;
        }
        let entries = block::entries(text);
        let about_all = |field: Field| {
            matches!(
                field,
                Field::Of(Sample::InputLength | Sample::OutputLength, _)
                    | Field::OutputCap
                    | Field::Planned
                    | Field::Total
            )
        };
        if notes.is_taken(at)
            || entries.is_empty()
            || !entries.iter().all(|e| about_all(e.label.field))
        {
            break;
        }
        for entry in &entries {
            for draft in drafts
                .iter_mut()
                .filter(|draft| !draft.has(entry.label.field))
            {
                draft.set(entry.name, entry.label, entry.quantity);
            }
        }
        last = at;
    }
    let mut found = Vec::new();
    for (mut draft, head) in drafts.into_iter().zip(&grid.heads) {
        if draft.results() == 0 {
            continue;
        }
        if !draft.point.contains_key("concurrency")
            && let Some(value) = head_number(head)
        {
            match label(grid.corner).map(|label| label.field) {
                Some(Field::Rate) => {
                    draft.point.insert("rate".into(), number(value));
                }
                _ => {
                    draft.point.insert("concurrency".into(), number(value));
                    draft.summary.concurrency.configured = count(value);
                }
            }
        }
        draft.assumed = assumed(&grid, &units);
        let mut result = draft.finish(Tool::MarkdownTable, (table.first, last));
        if !head.is_empty() && head_number(head).is_none() {
            result.label = Some(inferometer_core::hostile::printable(head, 200));
        }
        found.push(result);
    }
    if !found.is_empty() {
        notes.take((table.first, last));
    }
    found
}

/// Turns a table so that metrics are rows.
fn grid<'a>(table: &Table<'a>) -> Option<Grid<'a>> {
    let (header, rows) = table.rows.split_first()?;
    let corner = header.first().copied().unwrap_or("");
    let known = |text: &&&str| label(text).is_some_and(|label| label.field != Field::Other);
    let down = rows
        .iter()
        .filter_map(|row| row.first())
        .filter(known)
        .count();
    let across = header.iter().skip(1).filter(known).count();
    if down == 0 && across == 0 {
        return None;
    }
    let cell = |row: &Vec<&'a str>, at: usize| row.get(at).copied().unwrap_or("");
    if down >= across {
        let metrics = rows
            .iter()
            .map(|row| {
                (
                    cell(row, 0),
                    (1..header.len()).map(|at| cell(row, at)).collect(),
                )
            })
            .collect();
        return Some(Grid {
            heads: header[1..].to_vec(),
            metrics,
            corner,
        });
    }
    // A first column of numbers names no result: the load stands further right.
    let is_load = |text: &&str| {
        let field = label(text).map(|label| label.field);
        matches!(
            field,
            Some(Field::Concurrency | Field::BareConcurrency | Field::Rate)
        )
    };
    let at_load = || header.iter().position(is_load);
    let named = !known(&&corner) || is_load(&corner);
    let heads_at = if named { 0 } else { at_load().unwrap_or(0) };
    let metrics = (0..header.len())
        .filter(|at| *at != heads_at)
        .map(|at| (header[at], rows.iter().map(|row| cell(row, at)).collect()));
    Some(Grid {
        heads: rows.iter().map(|row| cell(row, heads_at)).collect(),
        metrics: metrics.collect(),
        corner: header[heads_at],
    })
}

/// The number of a head such as `8`, `并发 8`, `c=8` or `8路`.
fn head_number(head: &str) -> Option<f64> {
    if let Some(quantity) = quantity(head) {
        return Some(quantity.value);
    }
    let lower = head.to_lowercase();
    let word = lower
        .trim_end_matches(|c: char| c.is_ascii_digit())
        .trim_end_matches(['=', ':', '：', ' ', '-', '_']);
    let named = [
        "并发",
        "并发数",
        "concurrency",
        "parallel",
        "c",
        "bs",
        "batch",
        "conc",
        "users",
    ];
    if named.contains(&word) {
        let digits = &lower[lower.trim_end_matches(|c: char| c.is_ascii_digit()).len()..];
        return leading_number(digits).map(|(value, _, _)| value);
    }
    let (value, _, rest) = leading_number(&lower)?;
    ["并发", "路", "users", "concurrency", "并发数"]
        .contains(&rest.trim())
        .then_some(value)
}

/// The unit of each metric's times where none is written: by Little's law, else by size.
fn units(grid: &Grid<'_>) -> Vec<Option<Unit>> {
    let values = |cells: &[&str]| -> Vec<f64> {
        cells
            .iter()
            .filter_map(|cell| quantity(cell))
            .map(|quantity| quantity.value)
            .collect()
    };
    let rates = grid
        .metrics
        .iter()
        .find_map(|(name, cells)| (label(name)?.field == Field::RequestsPerS).then_some(cells));
    let mut of_latency = None;
    let mut units = Vec::new();
    let mut about = None;
    for (name, cells) in &grid.metrics {
        let Some(Label { field, unit }) = label(name) else {
            units.push(None);
            continue;
        };
        let sample = match field {
            Field::Of(sample, _) => Some(sample),
            Field::Bare(_) => about,
            _ => None,
        };
        about = sample.or(about);
        let (Some(sample), None) = (sample.filter(|sample| sample.is_time()), unit) else {
            if sample == Some(Sample::E2e) {
                of_latency = of_latency.or(unit);
            }
            units.push(unit);
            continue;
        };
        let typical = values(cells).into_iter().fold(0.0f64, f64::max);
        let guess = match (sample, of_latency) {
            (Sample::E2e, None) => {
                let in_flight = rates.into_iter().flat_map(|rates| {
                    rates
                        .iter()
                        .zip(cells)
                        .zip(&grid.heads)
                        .filter_map(|((rate, cell), head)| {
                            Some(quantity(rate)?.value * quantity(cell)?.value / head_number(head)?)
                        })
                });
                match in_flight.reduce(f64::max) {
                    Some(share) if share > 20.0 => Unit::Millis,
                    Some(_) => Unit::Seconds,
                    None if typical > 300.0 => Unit::Millis,
                    None => Unit::Seconds,
                }
            }
            (Sample::Tpot | Sample::Itl, _) if typical > 1.0 => Unit::Millis,
            (Sample::Tpot | Sample::Itl, _) => Unit::Seconds,
            (Sample::Ttft, None) if typical > 50.0 => Unit::Millis,
            (_, Some(unit)) => unit,
            (_, None) => Unit::Seconds,
        };
        if sample == Sample::E2e {
            of_latency = Some(guess);
        }
        units.push(Some(guess));
    }
    units
}

/// Says which units were not written.
fn assumed(grid: &Grid<'_>, units: &[Option<Unit>]) -> Vec<String> {
    grid.metrics
        .iter()
        .zip(units)
        .filter_map(|((name, cells), unit)| {
            let written = label(name)?.unit.is_some()
                || cells
                    .iter()
                    .filter_map(|cell| quantity(cell))
                    .any(|q| q.unit.is_some());
            let word = match unit {
                _ if written => return None,
                Some(Unit::Seconds) => "seconds",
                Some(Unit::Millis) => "milliseconds",
                _ => return None,
            };
            Some(format!(
                "`{}` has no unit: read as {word}",
                inferometer_core::hostile::printable(name, 80)
            ))
        })
        .collect()
}
