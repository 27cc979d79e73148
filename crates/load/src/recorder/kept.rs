//! The records of a run in memory, as far as they are few: a short run need not read its journal
//! again when it is over.

use inferometer_core::record::{Record, Stage};
use inferometer_store::journal::Entry;
use std::collections::HashSet;

/// About the memory that they may take.
const MOST_BYTES: usize = 64 << 20;

/// Records that lie together, so that none is moved when more come.
const BATCH: usize = 512;

/// All records of a run in the order in which they ended, in batches.
pub type RecordBatches = Vec<Vec<Record>>;

/// What a run has told its journal so far.
#[derive(Default)]
pub struct Kept {
    batches: RecordBatches,
    bytes: usize,
    /// Requests that the journal knows of, and not how they ended.
    unended: HashSet<(Stage, u64)>,
    too_many: bool,
}

impl Kept {
    pub fn take(&mut self, entry: Entry<'static>) {
        match entry {
            Entry::Begin(record) => {
                self.unended.insert((record.stage, record.index));
            }
            Entry::End(record) => {
                self.unended.remove(&(record.stage, record.index));
                if !self.too_many {
                    self.keep(record.into_owned());
                }
            }
            Entry::Progress(_) | Entry::Client(_) => {}
        }
    }

    fn keep(&mut self, record: Record) {
        self.bytes += size(&record);
        if self.bytes > MOST_BYTES {
            self.too_many = true;
            self.batches = Vec::new();
            return;
        }
        match self.batches.last_mut() {
            Some(batch) if batch.len() < BATCH => batch.push(record),
            _ => {
                let mut batch = Vec::with_capacity(BATCH);
                batch.push(record);
                self.batches.push(batch);
            }
        }
    }

    /// Absent where only the journal has all of them.
    pub fn all(self) -> Option<RecordBatches> {
        (!self.too_many && self.unended.is_empty()).then_some(self.batches)
    }
}

fn size(record: &Record) -> usize {
    // A time, whether it was the same read, and often a count.
    const CHUNK: usize = 8 + 1 + 4;
    const BARE: usize = 16;
    const PER_TOKEN: usize = 8;
    // Id, address, model and finish reason.
    const WORDS: usize = 256;
    let detail = record.failure().map_or(0, |failure| failure.detail.len());
    let per_token = record.per_token.as_ref();
    size_of::<Record>()
        + WORDS
        + detail
        + record.chunks.len() * CHUNK
        + record.bare.len() * BARE
        + per_token.map_or(0, |each| each.batch_size.len() * PER_TOKEN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::record::Chunks;
    use inferometer_core::units::Offset;
    use std::borrow::Cow;

    fn answer(index: u64, tokens: usize) -> Record {
        Record {
            index,
            chunks: Chunks {
                at: vec![Offset(7); tokens],
                tokens: None,
                same_read: vec![false; tokens],
            },
            ..Record::default()
        }
    }

    fn ended(index: u64, tokens: usize) -> Entry<'static> {
        Entry::End(Cow::Owned(answer(index, tokens)))
    }

    #[test]
    fn few_records_are_there_in_the_order_in_which_they_ended() {
        let mut kept = Kept::default();
        kept.take(Entry::Begin(Cow::Owned(answer(5, 0))));
        let order: Vec<u64> = (0..2_000).rev().collect();
        order.iter().for_each(|&index| kept.take(ended(index, 8)));
        let all: Vec<Record> = kept.all().unwrap().concat();
        let indices: Vec<u64> = all.iter().map(|record| record.index).collect();
        assert_eq!(indices, order);
        assert_eq!(all[0], answer(1_999, 8));
    }

    #[test]
    fn what_did_not_end_or_is_too_much_is_in_the_journal_alone() {
        let mut kept = Kept::default();
        kept.take(Entry::Begin(Cow::Owned(answer(5, 0))));
        kept.take(ended(6, 8));
        assert_eq!(kept.all(), None, "the journal tells what came of the fifth");
        let mut kept = Kept::default();
        (0..100).for_each(|index| kept.take(ended(index, 100_000)));
        assert!(kept.batches.is_empty(), "their memory is free at once");
        assert_eq!(kept.all(), None);
    }
}
