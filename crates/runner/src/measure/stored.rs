//! Stored records to numbers, in one pass: while a thread reads, others fold, gather what
//! pictures need and, after a run, write the Parquet file.

use super::texts::Verdicts;
use super::watch::{MOST_EXPLAINED, server_view};
use crate::error::RunnerError;
use inferometer_analysis::context::RunContext;
use inferometer_analysis::fold::{Folded, Folding};
use inferometer_analysis::trace::RunTrace;
use inferometer_core::record::Record;
use inferometer_store::error::StorageError;
use inferometer_store::run_dir::{Records, RunDir, Seal};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, ScopedJoinHandle};

/// Records that are handed on together.
const BATCH: usize = 512;
/// Batches that may wait for a slower reader.
const WAITING: usize = 4;

type Batch = Arc<Vec<Record>>;

/// What the records of a run say.
pub struct Reading {
    pub folded: Folded,
    pub trace: RunTrace,
    /// Lines of a journal that could not be read.
    pub damaged_lines: u64,
}

pub fn read(directory: &RunDir, context: &RunContext<'_>) -> Result<Reading, RunnerError> {
    pass(directory, context, None, &Verdicts::default())
}

/// Reads the records of a run that has just ended, while they become Parquet.
pub fn read_and_seal(directory: &RunDir, context: &RunContext<'_>) -> Result<Reading, RunnerError> {
    read_checked_and_seal(directory, context, &Verdicts::default())
}

/// The same with what the check of answers said.
pub(super) fn read_checked_and_seal(
    directory: &RunDir,
    context: &RunContext<'_>,
    verdicts: &Verdicts,
) -> Result<Reading, RunnerError> {
    pass(directory, context, directory.begin_seal()?, verdicts)
}

fn pass(
    directory: &RunDir,
    context: &RunContext<'_>,
    seal: Option<Seal>,
    verdicts: &Verdicts,
) -> Result<Reading, RunnerError> {
    let records = directory.records()?;
    let thresholds = &context.scenario.objectives.thresholds;
    let (back, used) = channel();
    let mut readers = Vec::new();
    let mut passing = || {
        let (to, batches) = sync_channel(WAITING);
        readers.push(to);
        let back = back.clone();
        Passing { batches, back }
    };
    let to_fold = passing();
    let to_trace = passing();
    let to_seal = seal.map(|seal| (seal, passing()));
    let samples = directory.samples()?;
    let spans = directory.spans()?;
    let told = !samples.is_empty() || !spans.is_empty();
    let explained = told && context.ending.planned <= MOST_EXPLAINED;
    let to_keep = explained.then(&mut passing);
    drop(back);
    let (folded, trace, damaged_lines, kept) = thread::scope(|scope| {
        let reader = scope.spawn(move || hand_out(records, verdicts, &readers, &used));
        let trace = scope.spawn(move || {
            let mut trace = RunTrace::new(thresholds);
            to_trace.each(|record| trace.add(record));
            trace
        });
        let sealed = to_seal.map(|(mut seal, batches)| {
            scope.spawn(move || {
                let mut pushed = Ok(());
                batches.each(|record| {
                    if pushed.is_ok() {
                        pushed = seal.push(record);
                    }
                });
                pushed.map(|()| seal)
            })
        });
        // What the server said is laid beside single requests.
        let kept = to_keep.map(|batches| {
            scope.spawn(move || {
                let mut kept = Vec::new();
                batches.each(|record| kept.push(record.clone()));
                kept
            })
        });
        let mut folding = Folding::new(context);
        to_fold.each(|record| folding.add(record));
        // An error in the middle must not pass for the end of the records.
        let damaged_lines = join(reader)?;
        if let Some(sealed) = sealed {
            let seal = join(sealed)?;
            // A damaged journal stays, so that its damage is told again.
            if damaged_lines == 0 {
                seal.finish()?;
            }
        }
        let kept = kept.map(join).unwrap_or_default();
        Ok::<_, StorageError>((folding.finish(), join(trace), damaged_lines, kept))
    })?;
    let summary = folded.summary(context.lang);
    let server = server_view(&samples, &spans, &kept, context.ending, &summary);
    Ok(Reading {
        folded: folded.with_server(server),
        trace,
        damaged_lines,
    })
}

fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// The records of a run as they are read.
struct Passing {
    batches: Receiver<Batch>,
    /// Whoever allocated them frees them: threads that free each other's memory wait for each
    /// other.
    back: Sender<Batch>,
}

impl Passing {
    fn each(self, mut see: impl FnMut(&Record)) {
        for batch in self.batches {
            batch.iter().for_each(&mut see);
            let _ = self.back.send(batch);
        }
    }
}

/// Hands the records to all; one that has gone away gets no more. Returns the lines of a journal
/// that could not be read.
fn hand_out(
    mut records: Records,
    verdicts: &Verdicts,
    to: &[SyncSender<Batch>],
    used: &Receiver<Batch>,
) -> Result<u64, StorageError> {
    loop {
        used.try_iter().for_each(drop);
        let mut batch: Vec<Record> = (&mut records).take(BATCH).collect::<Result<_, _>>()?;
        batch.iter_mut().for_each(|record| verdicts.apply(record));
        if batch.is_empty() {
            return Ok(records.damage().lines);
        }
        let batch = Arc::new(batch);
        for reader in to {
            let _ = reader.send(Arc::clone(&batch));
        }
    }
}

pub fn records(directory: &RunDir) -> Result<Vec<Record>, RunnerError> {
    Ok(directory.records()?.collect::<Result<Vec<_>, _>>()?)
}
