//! Results written as tables: which tool's each is, and which belong together.

use crate::found::{Found, Tool};
use crate::notes::Notes;
use crate::table::{self, Table};
use crate::{complete, evalscope, join_percentiles, markdown, mindie, statistics};

/// Lines between the two tables of one MindIE result.
const MINDIE_GAP: usize = 12;
/// Lines between EvalScope's summary and its percentiles.
const EVALSCOPE_GAP: u64 = 6;

/// A result whose second table may follow.
enum Pending {
    Mindie(mindie::Pending, usize),
    Statistics(statistics::Pending),
}

impl Pending {
    fn finish(self) -> Found {
        match self {
            Pending::Mindie(pending, _) => pending.finish(),
            Pending::Statistics(pending) => pending.finish(),
        }
    }
}

/// All results in the tables that nobody has read.
pub(crate) fn find(notes: &mut Notes<'_>) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut pending: Option<Pending> = None;
    for table in table::tables(notes) {
        if let Some(kind) = mindie::kind(&table) {
            let mut result = match pending.take() {
                Some(Pending::Mindie(before, last))
                    if before.wants(kind) && table.first - last <= MINDIE_GAP =>
                {
                    before
                }
                before => {
                    found.extend(before.map(Pending::finish));
                    mindie::Pending::new(table.first)
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
        found.extend(pending.take().map(Pending::finish));
        if let Some(percentiles) = evalscope::percentiles(&table) {
            notes.take((table.first, table.last));
            join_percentiles(&mut found, percentiles);
        } else if let Some(results) = statistics::by_load(&table) {
            notes.take((table.first, table.last));
            join_loads(&mut found, results);
        } else if let Some(result) = statistics::begin(&table) {
            notes.take(result.lines());
            if result.lacks_means() && follows(&found, &table) {
                join_percentiles(&mut found, result.finish());
            } else {
                pending = Some(Pending::Statistics(result));
            }
        } else if let Some(result) = evalscope::summary(&table) {
            found.push(titled(result, notes));
        } else {
            found.extend(markdown::read(&table, notes));
        }
    }
    found.extend(pending.map(Pending::finish));
    found
}

/// Whether a table stands right below a result.
fn follows(found: &[Found], table: &Table) -> bool {
    let above = found.last().map(|found| found.lines.1);
    above.is_some_and(|above| (table.first as u64 + 1).saturating_sub(above) <= EVALSCOPE_GAP)
}

/// Statistics by load complete EvalScope's table over these loads; else they are results.
fn join_loads(found: &mut Vec<Found>, results: Vec<Found>) {
    for result in results {
        let above = found
            .iter_mut()
            .rev()
            .take_while(|above| above.tool == Tool::Evalscope)
            .find(|above| above.point == result.point);
        match above {
            Some(above) => {
                complete(above, &result);
                above.lines.1 = result.lines.1;
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
fn titled(mut result: Found, notes: &mut Notes<'_>) -> Found {
    if is_titled(result.span().0, notes) {
        result.lines.0 -= 1;
        result.tool = Tool::Evalscope;
    }
    notes.take(result.span());
    result
}
