//! Stored records to numbers. A million of them take seconds, so reading, folding and whatever
//! else looks at them go on side by side.

use super::watch::server_view;
use crate::error::RunnerError;
use inferometer_analysis::fold::{Folded, Folding, RunContext};
use inferometer_core::record::Record;
use inferometer_core::summary::Summary;
use inferometer_store::run_dir::{Records, RunDir, StorageError};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// Records that are handed on together.
const BATCH: usize = 512;
/// Batches that may wait for a slower reader.
const WAITING: usize = 4;

type Batch = Arc<Vec<Record>>;

/// The records of a run as they are read.
pub struct Passing {
    batches: Receiver<Batch>,
    /// Whoever allocated them frees them: threads that free each other's memory wait for each
    /// other.
    back: Sender<Batch>,
}

impl Passing {
    /// Calls `see` with each.
    pub fn each(self, mut see: impl FnMut(&Record)) {
        for batch in self.batches {
            batch.iter().for_each(&mut see);
            let _ = self.back.send(batch);
        }
    }
}

/// Folds the stored records of a run; says how many lines of a journal could not be read.
pub fn fold(directory: &RunDir, context: &RunContext<'_>) -> Result<(Summary, u64), RunnerError> {
    let (folded, (), lines) = fold_beside(directory, context, drop)?;
    Ok((folded.summary(context.lang), lines))
}

/// The same for reports in several languages, while another makes something of the same records.
pub fn fold_beside<T: Send>(
    directory: &RunDir,
    context: &RunContext<'_>,
    beside: impl FnOnce(Passing) -> T + Send,
) -> Result<(Folded, T, u64), RunnerError> {
    let records = directory.records()?;
    let (to_fold, folds) = sync_channel(WAITING);
    let (to_other, others) = sync_channel(WAITING);
    let (back, used) = channel();
    let passing = |batches| Passing {
        batches,
        back: back.clone(),
    };
    let (folds, others) = (passing(folds), passing(others));
    drop(back);
    let (folded, other, lines) = thread::scope(|scope| {
        let reader = scope.spawn(move || read(records, &[to_fold, to_other], &used));
        let other = scope.spawn(move || beside(others));
        let mut folding = Folding::new(context);
        folds.each(|record| folding.add(record));
        // An error in the middle must not pass for the end of the records.
        let lines = reader.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        let folded = folding.finish();
        let other = other.join().unwrap_or_else(|panic| resume_unwind(panic));
        Ok::<_, StorageError>((folded, other, lines))
    })?;
    let server = server_view(directory, context.ending, &folded.summary(context.lang))?;
    Ok((folded.with_server(server), other, lines))
}

/// Hands the records to all; one that has gone away gets no more. Returns the lines of a journal
/// that could not be read.
fn read(
    mut records: Records,
    to: &[SyncSender<Batch>],
    used: &Receiver<Batch>,
) -> Result<u64, StorageError> {
    loop {
        used.try_iter().for_each(drop);
        let batch: Vec<Record> = (&mut records).take(BATCH).collect::<Result<_, _>>()?;
        if batch.is_empty() {
            return Ok(records.damage().lines);
        }
        let batch = Arc::new(batch);
        for reader in to {
            let _ = reader.send(Arc::clone(&batch));
        }
    }
}

/// All stored records of a run.
pub fn records(directory: &RunDir) -> Result<Vec<Record>, RunnerError> {
    Ok(directory.records()?.collect::<Result<Vec<_>, _>>()?)
}
