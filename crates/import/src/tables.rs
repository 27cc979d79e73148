//! Results written as tables: which tool's each is, and which belong together.

use crate::found::Found;
use crate::notes::Notes;
use crate::table;
use crate::{evalscope, join_percentiles, markdown, mindie, statistics};

/// Lines between the two tables of one MindIE result.
const MINDIE_GAP: usize = 12;

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
            && result.take(&table)
        {
            notes.take((table.first, table.last));
            continue;
        }
        found.extend(pending.take().map(Pending::finish));
        if let Some(percentiles) = evalscope::percentiles(&table) {
            notes.take((table.first, table.last));
            join_percentiles(&mut found, percentiles);
        } else if let Some(result) = statistics::begin(&table) {
            notes.take(result.lines());
            pending = Some(Pending::Statistics(result));
        } else if let Some(result) = evalscope::summary(&table) {
            found.push(titled(result, notes));
        } else {
            found.extend(markdown::read(&table, notes));
        }
    }
    found.extend(pending.map(Pending::finish));
    found
}

/// Takes the lines of a summary, and of the title above it.
fn titled(mut result: Found, notes: &mut Notes<'_>) -> Found {
    let above = result.span().0.saturating_sub(1);
    if notes.bare(above).starts_with("Benchmarking summary") {
        result.lines.0 = above as u64 + 1;
    }
    notes.take(result.span());
    result
}
