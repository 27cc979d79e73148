//! Which rows of a data set a run takes, and how many fell to what.
//!
//! The file is read once. In its own order it is read only as far as the run needs; shuffled,
//! all of it passes by and a sample is kept, so that a large file costs time but no memory.

use super::count::{Counted, Counter, complete_counts, count_rows};
use super::error::{DataError, Fault, KEPT_BYTES};
use super::filter::{FilteredOut, Filters, RowVerdict};
use super::format::Manner;
use super::format::reader::Reading;
use super::opened::{End, Opened, ReadRow};
use super::row::{Picked, Row};
use super::sample::KeptRows;
use super::text;
use crate::tokenizer::{CountCache, Tokenizer};
use inferometer_core::work::{DataFormat, DataSource};
use std::path::Path;

/// Bad rows that are kept with their reason; all are counted.
const BAD_ROWS_KEPT: usize = 100;
/// Rows whose tokens are counted together, and about how many bytes of them.
pub(super) const BATCH_ROWS: usize = 1_024;
pub(super) const BATCH_BYTES: usize = 16 << 20;

#[derive(Clone, Copy)]
pub struct Selection<'a> {
    pub data: &'a DataSource,
    /// Where the file is, be it as given or downloaded.
    pub path: &'a Path,
    /// Rows that the run needs; absent: all that there are.
    pub wanted: Option<u64>,
    /// Decides which rows are drawn and their order.
    pub seed: u64,
    pub tokenizer: Option<&'a dyn Tokenizer>,
    /// Knows the counts of an earlier run.
    pub cache: Option<&'a CountCache>,
}

/// The rows that were taken, and what became of the others.
#[derive(Clone, Debug)]
pub struct Selected {
    pub format: DataFormat,
    /// Rows in the order in which they are sent; at least one.
    pub rows: Vec<Picked>,
    /// Rows that were looked at.
    pub seen: u64,
    /// Sound rows that hold nothing to send.
    pub unusable: u64,
    /// Rows that were not wanted.
    pub filtered_out: FilteredOut,
    /// The first bad rows that were skipped.
    pub bad: Vec<BadRow>,
    /// All bad rows that were skipped.
    pub bad_count: u64,
    pub end: End,
}

impl Selected {
    /// Leaves the lengths of prompts unsaid, where the tokenizer was not the model's.
    pub fn forget_prompt_tokens(&mut self) {
        for picked in &mut self.rows {
            picked.prompt_tokens = None;
            picked.turns.iter_mut().for_each(|turn| turn.user = None);
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRow {
    /// The line where it begins, counted from 1.
    pub line: u64,
    pub reason: Fault,
}

impl Selection<'_> {
    fn counter(&self) -> Option<Counter<'_>> {
        let cache = self.cache;
        let tokenizer = self.tokenizer?;
        Some(Counter { tokenizer, cache })
    }

    fn manner(&self) -> Manner<'_> {
        Manner {
            field: self.data.field.as_deref(),
            block_tokens: self.data.block_tokens,
            tokenizer: self.tokenizer,
        }
    }

    /// Reads the data and takes rows from it.
    pub fn run(&self) -> Result<Selected, DataError> {
        if self.data.format == Some(DataFormat::Text) {
            return self.of_pieces();
        }
        let mut opened = Opened::open(self.path, self.data.format, self.manner())?;
        let trace = opened.format().is_trace();
        if self.data.shuffle && trace {
            return Err(DataError::ShuffledTrace {
                path: self.path.to_owned(),
            });
        }
        let filters = Filters::new(self.data, trace, self.tokenizer.is_some())?;
        let mut collector = Collector::new(self, filters, opened.format());
        let end = loop {
            let (batch, end) = self.batch(&mut opened, collector.selected.seen, &filters);
            if let Some(end) = collector.take_batch(batch)?.or(end) {
                break end;
            }
        };
        collector.finish(end)
    }

    /// The next rows, several if their tokens are to be counted before it is known whether
    /// they are taken. What lies behind the row that fills the need must not matter, so an error
    /// comes in its place and not at once.
    fn batch(
        &self,
        opened: &mut Opened,
        seen: u64,
        filters: &Filters,
    ) -> (Vec<Result<ReadRow, DataError>>, Option<End>) {
        let most = if filters.by_tokens { BATCH_ROWS } else { 1 };
        let (mut batch, mut bytes) = (Vec::with_capacity(most), 0);
        while batch.len() < most && bytes < BATCH_BYTES {
            if (self.data.limit).is_some_and(|limit| seen + batch.len() as u64 >= limit) {
                return (batch, Some(End::Limit));
            }
            match opened.next_row().transpose() {
                None => return (batch, Some(End::OfFile)),
                Some(Err(error)) => {
                    batch.push(Err(error));
                    break;
                }
                Some(Ok(row)) => {
                    if let Ok(Reading::Row(row)) = &row.reading {
                        bytes += row.held_bytes();
                    }
                    batch.push(Ok(row));
                }
            }
        }
        (batch, None)
    }

    fn of_pieces(&self) -> Result<Selected, DataError> {
        let length = self
            .data
            .max_prompt
            .ok_or_else(|| DataError::NoPieceLength {
                path: self.path.to_owned(),
            })?;
        let wanted = match (self.wanted, self.data.limit) {
            (Some(wanted), Some(limit)) if !self.data.shuffle => Some(wanted.min(limit)),
            (Some(wanted), None) if !self.data.shuffle => Some(wanted),
            (_, limit) => limit,
        };
        let (pieces, end) = text::pieces(self.path, length, wanted, self.tokenizer)?;
        let mut collector = Collector::new(self, Filters::default(), DataFormat::Text);
        for piece in pieces {
            if let Some(end) = collector.take_batch(vec![Ok(piece.into())])? {
                return collector.finish(end);
            }
        }
        collector.finish(end)
    }
}

struct Collector<'a> {
    selection: &'a Selection<'a>,
    filters: Filters,
    kept: KeptRows,
    selected: Selected,
}

impl<'a> Collector<'a> {
    fn new(selection: &'a Selection<'a>, filters: Filters, format: DataFormat) -> Self {
        let shuffled = selection.data.shuffle.then_some(selection.seed);
        Collector {
            selection,
            filters,
            kept: KeptRows::new(selection.wanted, shuffled),
            selected: Selected {
                format,
                rows: Vec::new(),
                seen: 0,
                unusable: 0,
                filtered_out: FilteredOut::default(),
                bad: Vec::new(),
                bad_count: 0,
                end: End::OfFile,
            },
        }
    }

    /// Takes what is wanted of some rows; says so when no more are needed.
    fn take_batch(
        &mut self,
        batch: Vec<Result<ReadRow, DataError>>,
    ) -> Result<Option<End>, DataError> {
        let mut counts = match (self.filters.by_tokens, self.selection.counter()) {
            (true, Some(counter)) => {
                let readings = batch.iter().flatten().map(|row| &row.reading);
                let rows = readings.filter_map(|reading| match reading {
                    Ok(Reading::Row(row)) => Some(row),
                    _ => None,
                });
                count_rows(rows, counter)
            }
            _ => Vec::new(),
        }
        .into_iter();
        for row in batch {
            let row = row?;
            self.selected.seen += 1;
            match row.reading {
                Ok(Reading::Row(content)) => {
                    let counted = counts.next().unwrap_or_default();
                    if let Some(end) = self.take(content, row.line, counted) {
                        return Ok(Some(end));
                    }
                }
                Ok(_) => self.selected.unusable += 1,
                Err(fault) => self.skip(row.line, fault)?,
            }
        }
        Ok(None)
    }

    fn take(&mut self, mut row: Row, line: u64, counted: Counted) -> Option<End> {
        match self.filters.judge(&mut row, counted) {
            RowVerdict::Take => {}
            RowVerdict::Skip(count) => {
                *count(&mut self.selected.filtered_out) += 1;
                return None;
            }
            RowVerdict::End => {
                self.selected.seen -= 1;
                return Some(End::Window);
            }
        }
        self.kept.offer(Picked {
            row,
            line,
            prompt_tokens: counted.prompt,
            reference_tokens: counted.reference,
            turns: Box::default(),
        });
        if self.kept.is_enough() {
            Some(End::Enough)
        } else {
            (self.kept.bytes() > KEPT_BYTES).then_some(End::Memory)
        }
    }

    fn skip(&mut self, line: u64, fault: Fault) -> Result<(), DataError> {
        if !self.selection.data.skip_bad {
            return Err(DataError::BadRow {
                path: self.selection.path.to_owned(),
                line,
                fault,
            });
        }
        self.selected.bad_count += 1;
        if self.selected.bad.len() < BAD_ROWS_KEPT {
            self.selected.bad.push(BadRow {
                line,
                reason: fault,
            });
        }
        Ok(())
    }

    fn finish(mut self, end: End) -> Result<Selected, DataError> {
        self.selected.end = end;
        self.selected.rows = self.kept.take_rows();
        if self.selected.rows.is_empty() {
            return Err(self.nothing_left());
        }
        let counter = self.selection.counter();
        complete_counts(&mut self.selected.rows, counter, self.filters.by_tokens);
        Ok(self.selected)
    }

    fn nothing_left(&self) -> DataError {
        let path = self.selection.path.to_owned();
        let selected = &self.selected;
        if selected.seen == 0 {
            return DataError::Empty { path };
        }
        let mut why = self.filters.describe(&selected.filtered_out);
        for (count, what) in [
            (selected.bad_count, "bad"),
            (selected.unusable, "without a prompt or an answer"),
        ] {
            if count > 0 {
                why.push(format!("{count} {what}"));
            }
        }
        DataError::NothingLeft {
            path,
            seen: selected.seen,
            why: why.join(", "),
        }
    }
}
