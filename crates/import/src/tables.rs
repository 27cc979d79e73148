//! Results written as tables: which tool's each is, and which belong together.

use crate::crossed_table::Crossed;
use crate::quantity::quantity;
use crate::result::{ImportedResult, Tool};
use crate::unread::UnreadReason;
use crate::{
    aiperf_aggregate, aiperf_table, evalscope_table, load_table, mindie_table, percentiles,
    statistics_table,
};
use inferometer_notes::Notes;
use inferometer_notes::{TextTable, tables};

/// Lines between the two tables of one MindIE result.
const MINDIE_GAP: usize = 12;
/// Lines between EvalScope's summary and its percentiles.
const EVALSCOPE_GAP: u64 = 6;

enum Pending {
    Mindie(mindie_table::Pending, usize),
    Statistics(statistics_table::Pending),
    Aiperf(aiperf_table::Pending),
    Crossed(Crossed),
}

impl Pending {
    fn finish(self, notes: &mut Notes<'_>) -> Vec<ImportedResult> {
        match self {
            Pending::Mindie(pending, _) => vec![pending.finish()],
            Pending::Statistics(pending) => vec![pending.finish()],
            Pending::Aiperf(pending) => Vec::from_iter(pending.finish(notes)),
            Pending::Crossed(pending) => pending.finish(notes),
        }
    }
}

/// What was pending, as the results that it became.
fn finished(pending: &mut Option<Pending>, notes: &mut Notes<'_>) -> Vec<ImportedResult> {
    let last = pending.take();
    last.map_or_else(Vec::new, |last| last.finish(notes))
}

/// All results in the tables that nobody has read.
pub(crate) fn find(notes: &mut Notes<'_>) -> Vec<ImportedResult> {
    let mut found: Vec<ImportedResult> = Vec::new();
    let mut pending: Option<Pending> = None;
    let (tables, aside) = tables_of_results(notes);
    for table in tables {
        if evalscope_table::add_workload(&mut found, &table) {
            notes.take((table.first, table.last));
            continue;
        }
        if evalscope_table::is_of_traces(&table, notes) {
            if evalscope_table::add_traces(&mut found, &table) {
                notes.take((table.first, table.last));
            }
            continue;
        }
        if evalscope_table::is_of_probes(&table) {
            notes.take((table.first, table.last));
            continue;
        }
        if let Some(results) = aiperf_aggregate::results_of_table(&table, notes) {
            found.extend(finished(&mut pending, notes));
            notes.take((table.first, table.last));
            found.extend(results);
            continue;
        }
        if let Some(kind) = mindie_table::kind(&table) {
            let mut result = match pending.take() {
                Some(Pending::Mindie(before, last))
                    if before.wants(kind) && table.first - last <= MINDIE_GAP =>
                {
                    before
                }
                before => {
                    found.extend(before.into_iter().flat_map(|before| before.finish(notes)));
                    mindie_table::Pending::new(table.first)
                }
            };
            result.add(kind, &table);
            notes.take((table.first, table.last));
            pending = Some(Pending::Mindie(result, table.last));
            continue;
        }
        if let Some(Pending::Statistics(result)) = &mut pending
            && !is_titled(table.first, notes)
            && result.take(&table)
        {
            notes.take((table.first, table.last));
            continue;
        }
        if let Some(Pending::Aiperf(result)) = &mut pending
            && result.take(&table, notes)
        {
            notes.take((table.first, table.last));
            continue;
        }
        if let Some(Pending::Crossed(grids)) = &mut pending
            && grids.take(&table, notes)
        {
            continue;
        }
        found.extend(finished(&mut pending, notes));
        if let Some(result) = aiperf_table::begin(&table, notes) {
            notes.take((table.first, table.last));
            pending = Some(Pending::Aiperf(result));
        } else if let Some(rows) = evalscope_table::percentiles(&table) {
            notes.take((table.first, table.last));
            percentiles::join(&mut found, rows);
        } else if let Some(results) = statistics_table::by_load(&table) {
            notes.take((table.first, table.last));
            join_loads(&mut found, results);
        } else if let Some(result) = statistics_table::begin(&table) {
            notes.take(result.lines());
            if result.lacks_means() && follows(&found, &table) {
                percentiles::join(&mut found, result.finish());
            } else {
                pending = Some(Pending::Statistics(result));
            }
        } else if let Some(result) = evalscope_table::summary(&table) {
            found.push(titled(result, notes));
        } else if let Some(grids) = Crossed::begin(&table, notes) {
            pending = Some(Pending::Crossed(grids));
        } else {
            found.extend(load_table::read(&table, notes));
        }
    }
    found.extend(finished(&mut pending, notes));
    if let Some(first) = found.first_mut() {
        for name in aside {
            first.is_without(name, UnreadReason::SeveralRuns);
        }
    }
    found
}

/// All tables; of EvalScope's page those with a row for each run, and of percentiles. With the names
/// of what its other tables say of all runs together.
fn tables_of_results(notes: &mut Notes<'_>) -> (Vec<TextTable>, Vec<String>) {
    let tables = tables(notes);
    let marks = ["evalscope-perf-render", "data-i18n=\"card.perf_metrics\""];
    let mut lines = notes.lines.iter();
    if !lines.any(|line| marks.iter().any(|mark| line.contains(mark))) {
        return (tables, Vec::new());
    }
    notes.take((0, notes.lines.len()));
    let (of_runs, others): (Vec<_>, Vec<_>) = tables.into_iter().partition(|table| {
        let corner = table.rows.first().and_then(|header| header.first());
        corner.is_some_and(|corner| corner == "Conc." || corner.starts_with("Percentile"))
    });
    let rows = others.into_iter().flat_map(|table| table.rows);
    let names = rows.filter_map(|row| match row.as_slice() {
        [name, value] => quantity(value).map(|_| name.clone()),
        _ => None,
    });
    (of_runs, names.collect())
}

/// Whether a table stands right below a result.
fn follows(found: &[ImportedResult], table: &TextTable) -> bool {
    let above = found.last().map(|found| found.lines.1);
    above.is_some_and(|above| (table.first as u64 + 1).saturating_sub(above) <= EVALSCOPE_GAP)
}

/// Statistics by load complete EvalScope's table over these loads; else they are results.
fn join_loads(found: &mut Vec<ImportedResult>, results: Vec<ImportedResult>) {
    for result in results {
        let above = found
            .iter_mut()
            .rev()
            .take_while(|above| above.tool == Tool::Evalscope)
            .find(|above| above.point == result.point);
        match above {
            Some(above) => {
                percentiles::complete(above, &result);
            }
            None => found.push(result),
        }
    }
}

/// Whether EvalScope's title stands above a line: a result of its own begins there.
fn is_titled(line: usize, notes: &Notes<'_>) -> bool {
    let above = line.checked_sub(1);
    above.is_some_and(|above| notes.bare(above).starts_with("Benchmarking summary"))
}

/// Takes the lines of a summary, and of the title above it, which is EvalScope's.
fn titled(mut result: ImportedResult, notes: &mut Notes<'_>) -> ImportedResult {
    if is_titled(result.span().0, notes) {
        result.lines.0 -= 1;
        result.tool = Tool::Evalscope;
    }
    notes.take(result.span());
    result
}
