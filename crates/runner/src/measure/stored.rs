//! Stored records to numbers, in one pass: while a thread reads, others fold, gather what
//! pictures need, if any are wanted, and, after a run, write the Parquet file. Of a finished run with more records than
//! a fold keeps one by one, threads read and fold parts of it each, which are then put together.

use super::texts::Verdicts;
use super::watch::{MOST_EXPLAINED, server_view};
use crate::error::RunnerError;
use inferometer_analysis::context::RunContext;
use inferometer_analysis::fold::{Folded, Folding};
use inferometer_analysis::trace::RunTrace;
use inferometer_core::record::Record;
use inferometer_core::server::{Sample, Spans};
use inferometer_load::recorder::RecordBatches;
use inferometer_store::error::StorageError;
use inferometer_store::run_dir::{Parts, Records, RunDir, Seal};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, ScopedJoinHandle};

/// Records that are handed on together.
const BATCH: usize = 512;
/// Batches that may wait for a slower reader.
const WAITING: usize = 4;

/// Most threads that fold parts of a run: each holds some 150 MB.
const MOST_FOLDERS: usize = 8;
/// Parts for each of them, so that one that is slowed down leaves some to the others.
const PARTS_EACH: usize = 4;

type Batch = Arc<Vec<Record>>;

/// What the records of a run say.
pub struct Reading {
    pub folded: Folded,
    /// Absent where nobody wants pictures.
    pub trace: Option<RunTrace>,
    /// Lines of a journal that could not be read.
    pub damaged_lines: u64,
}

/// What records are read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadFor {
    Numbers,
    /// And numbers.
    Pictures,
}

impl ReadFor {
    fn trace(self, context: &RunContext<'_>) -> Option<RunTrace> {
        let thresholds = &context.scenario.objectives.thresholds;
        (self == ReadFor::Pictures).then(|| RunTrace::new(thresholds))
    }
}

pub fn read(
    directory: &RunDir,
    context: &RunContext<'_>,
    purpose: ReadFor,
) -> Result<Reading, RunnerError> {
    let said = Said::of(directory)?;
    if !said.is_explained(context) {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.min(MOST_FOLDERS);
        let parts = directory.parts(threads * PARTS_EACH)?;
        let many = parts.filter(|parts| Folding::takes_parts(context, parts.records));
        if let Some(parts) = many {
            let (folding, trace) = fold_parts(&parts, context, threads, purpose)?;
            return Ok(said.beside(folding.finish(context), trace, &[], 0, context));
        }
    }
    let source = Source::Stored(directory.records()?);
    pass(source, context, None, &Verdicts::default(), &said, purpose)
}

/// What a run that has just ended leaves beside its files.
#[derive(Default)]
pub(super) struct AfterLoad {
    /// What the check of answers said.
    pub verdicts: Verdicts,
    /// All its records, where they are still in memory.
    pub records: Option<RecordBatches>,
}

/// Reads the records of a run that has just ended, while they become Parquet.
pub fn read_and_seal(directory: &RunDir, context: &RunContext<'_>) -> Result<Reading, RunnerError> {
    read_and_seal_after(directory, context, AfterLoad::default())
}

pub(super) fn read_and_seal_after(
    directory: &RunDir,
    context: &RunContext<'_>,
    after: AfterLoad,
) -> Result<Reading, RunnerError> {
    let (seal, said) = (directory.begin_seal()?, Said::of(directory)?);
    let source = match after.records {
        Some(batches) => Source::Kept(batches.into_iter()),
        None => Source::Stored(directory.records()?),
    };
    let pictures = ReadFor::Pictures;
    pass(source, context, seal, &after.verdicts, &said, pictures)
}

/// Where the records of a run come from.
enum Source {
    Stored(Records),
    Kept(std::vec::IntoIter<Vec<Record>>),
}

impl Source {
    /// The next of them; none after the last.
    fn batch(&mut self) -> Result<Vec<Record>, StorageError> {
        match self {
            Source::Stored(records) => records.take(BATCH).collect(),
            Source::Kept(batches) => Ok(batches.next().unwrap_or_default()),
        }
    }

    /// Lines of a journal that could not be read so far.
    fn damaged_lines(&self) -> u64 {
        match self {
            Source::Stored(records) => records.damage().lines,
            Source::Kept(_) => 0,
        }
    }
}

fn pass(
    source: Source,
    context: &RunContext<'_>,
    seal: Option<Seal>,
    verdicts: &Verdicts,
    said: &Said,
    purpose: ReadFor,
) -> Result<Reading, RunnerError> {
    let (back, used) = channel();
    let mut readers = Vec::new();
    let mut passing = || {
        let (to, batches) = sync_channel(WAITING);
        readers.push(to);
        let back = back.clone();
        Passing { batches, back }
    };
    let to_fold = passing();
    let to_trace = purpose.trace(context).map(|trace| (trace, passing()));
    let to_seal = seal.map(|seal| (seal, passing()));
    let to_keep = said.is_explained(context).then(&mut passing);
    drop(back);
    let (folded, trace, damaged_lines, kept) = thread::scope(|scope| {
        let reader = scope.spawn(move || hand_out(source, verdicts, &readers, &used));
        let trace = to_trace.map(|(mut trace, batches)| {
            scope.spawn(move || {
                batches.each(|record| trace.add(record));
                trace
            })
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
        let trace = trace.map(join);
        Ok::<_, StorageError>((folding.finish(context), trace, damaged_lines, kept))
    })?;
    Ok(said.beside(folded, trace, &kept, damaged_lines, context))
}

/// What the server said of itself.
struct Said {
    samples: Vec<Sample>,
    spans: Spans,
}

impl Said {
    fn of(directory: &RunDir) -> Result<Self, StorageError> {
        Ok(Said {
            samples: directory.samples()?,
            spans: directory.spans()?,
        })
    }

    /// Whether it is laid beside single requests.
    fn is_explained(&self, context: &RunContext<'_>) -> bool {
        let told = !self.samples.is_empty() || !self.spans.is_empty();
        told && context.ending.planned <= MOST_EXPLAINED
    }

    fn beside(
        &self,
        folded: Folded,
        trace: Option<RunTrace>,
        kept: &[Record],
        damaged_lines: u64,
        context: &RunContext<'_>,
    ) -> Reading {
        let summary = folded.summary(context.lang);
        let server = server_view(&self.samples, &self.spans, kept, context.ending, &summary);
        Reading {
            folded: folded.with_server(server),
            trace,
            damaged_lines,
        }
    }
}

/// Folds the parts of a run, several at a time. Which thread takes which is left to chance: it
/// does not matter to any figure.
fn fold_parts(
    run: &Parts,
    context: &RunContext<'_>,
    threads: usize,
    purpose: ReadFor,
) -> Result<(Folding, Option<RunTrace>), StorageError> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let next = || next.fetch_add(1, Ordering::Relaxed);
    let empty = || (Folding::new(context), purpose.trace(context));
    let fold = || {
        let (mut folding, mut trace) = empty();
        let mut read = Ok(());
        loop {
            let at = next();
            if let Some(file) = run.checks.get(at) {
                // A file that was altered is that, whatever else is found in it.
                file.check().map_err(|altered| (true, altered))?;
            } else if let Some(part) = run.parts.get(at - run.checks.len()) {
                if failed.load(Ordering::Relaxed) {
                    continue;
                }
                let seen = part.each(|record| {
                    folding.add(record);
                    trace.iter_mut().for_each(|trace| trace.add(record));
                });
                failed.fetch_or(seen.is_err(), Ordering::Relaxed);
                read = read.and(seen);
            } else {
                return read
                    .map_err(|error| (false, error))
                    .map(|()| (folding, trace));
            }
        }
    };
    let found: Vec<_> = thread::scope(|scope| {
        let folding: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(fold)).collect();
        folding.into_iter().map(join).collect()
    });
    let (mut folding, mut trace) = empty();
    let mut wrong = None;
    for part in found {
        match part {
            Ok((part, its_trace)) => {
                folding.merge(part);
                if let Some((trace, more)) = trace.as_mut().zip(its_trace) {
                    trace.merge(more);
                }
            }
            Err((altered, error)) if altered || wrong.is_none() => wrong = Some(error),
            Err(_) => {}
        }
    }
    wrong.map_or(Ok((folding, trace)), Err)
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
    mut source: Source,
    verdicts: &Verdicts,
    to: &[SyncSender<Batch>],
    used: &Receiver<Batch>,
) -> Result<u64, StorageError> {
    loop {
        used.try_iter().for_each(drop);
        let mut batch = source.batch()?;
        batch.iter_mut().for_each(|record| verdicts.apply(record));
        if batch.is_empty() {
            return Ok(source.damaged_lines());
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

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::environment::{Ending, Environment};
    use inferometer_core::options::Options;
    use inferometer_core::record::{Chunks, Outcome, Usage};
    use inferometer_core::units::Offset;
    use inferometer_load::recorder::Kept;
    use inferometer_store::journal::{Entry, Header};
    use inferometer_store::parquet_file::RecordsWriter;
    use inferometer_text::Lang;
    use std::borrow::Cow;
    use std::fs;

    const RECORDS: u64 = 264_000;
    const RANKS: u64 = 3;

    fn answer(index: u64) -> Record {
        let sent = index * 1_000_000;
        let noise = index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44;
        let at = [20_000_000 + noise, 30_000_000 + 2 * noise].map(|after| Offset(sent + after));
        Record {
            id: index.to_string(),
            index,
            rank: Some((index % RANKS) as u32),
            sent: Some(Offset(sent)),
            first_byte: Some(at[0]),
            chunks: Chunks {
                at: at.to_vec(),
                tokens: None,
                same_read: vec![false; 2],
            },
            end: Some(at[1]),
            outcome: Outcome::Done,
            usage: Some(Usage {
                input: Some(8),
                output: Some(2),
                cached: None,
            }),
            output_chars: 8,
            streamed: true,
            ..Record::default()
        }
    }

    #[test]
    fn records_from_memory_are_sealed_as_those_from_the_journal() {
        let folder = tempfile::tempdir().unwrap();
        let scenario = Options::from_toml("[load]\nconcurrency = 4\nrequests = 2000\n");
        let scenario = scenario.unwrap().resolve().unwrap();
        let ending = Ending {
            planned: 2_000,
            sending_ended: Offset(2_000_000_000),
            ..Ending::default()
        };
        let context = RunContext {
            scenario: &scenario,
            environment: &Environment::default(),
            ending: &ending,
            lang: Lang::En,
        };
        let sealed = |from_memory: bool| {
            let directory = RunDir::create(folder.path().join(from_memory.to_string())).unwrap();
            directory.write_scenario(&scenario).unwrap();
            directory.write_ending(&ending).unwrap();
            let mut journal = directory.start_journal(&Header::new(None)).unwrap();
            let mut kept = Kept::default();
            for index in 0..2_000 {
                let mut record = answer(index);
                record.rank = None;
                let entry = Entry::End(Cow::Owned(record));
                journal.append(&entry).unwrap();
                kept.take(entry);
            }
            drop(journal);
            let after = AfterLoad {
                records: kept.all().filter(|_| from_memory),
                ..AfterLoad::default()
            };
            let reading = read_and_seal_after(&directory, &context, after).unwrap();
            let summary = serde_json::to_string(&reading.folded.summary(Lang::En)).unwrap();
            (summary, fs::read(directory.parquet_path()).unwrap())
        };
        assert!(sealed(true) == sealed(false));
    }

    #[test]
    fn a_large_run_says_the_same_in_parts_as_in_one_stream_and_an_altered_file_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDir::create(folder.path().join("run")).unwrap();
        let options = "[load]\nconcurrency = 32\nrequests = 264000\n";
        let scenario = Options::from_toml(options).unwrap().resolve().unwrap();
        directory.write_scenario(&scenario).unwrap();
        let file = |rank: u64| {
            let records = directory.path().join("records");
            records.join(format!("rank={rank}/records.parquet"))
        };
        for rank in 0..RANKS {
            fs::create_dir(file(rank).parent().unwrap()).unwrap();
            let mut writer = RecordsWriter::create(&file(rank)).unwrap();
            for nth in 0..RECORDS / RANKS {
                writer.push(&answer(nth * RANKS + rank)).unwrap();
            }
            writer.finish().unwrap();
        }
        let ending = Ending {
            planned: RECORDS,
            sending_ended: Offset(RECORDS * 1_000_000),
            ..Ending::default()
        };
        let context = RunContext {
            scenario: &scenario,
            environment: &Environment::default(),
            ending: &ending,
            lang: Lang::En,
        };
        let read = || read(&directory, &context, ReadFor::Pictures);
        let parts = read().unwrap();
        let said = Said::of(&directory).unwrap();
        let verdicts = Verdicts::default();
        let pictures = ReadFor::Pictures;
        let stored = Source::Stored(directory.records().unwrap());
        let stream = pass(stored, &context, None, &verdicts, &said, pictures).unwrap();
        let json = |reading: &Reading| {
            serde_json::to_string_pretty(&reading.folded.summary(Lang::En)).unwrap()
        };
        assert_eq!(json(&parts), json(&stream));
        let summary = parts.folded.summary(Lang::En);
        assert_eq!(summary.requests.ok, RECORDS);
        let rows = |reading: &Reading| reading.trace.as_ref().unwrap().rows.clone();
        assert!(rows(&parts).len() < RECORDS as usize, "a share is kept");
        let rows = |reading: &Reading| format!("{:?}", rows(reading));
        assert!(
            rows(&parts) == rows(&stream),
            "in the order in which they ended"
        );

        let names =
            (0..RANKS).map(|rank| format!("{:064x}  records/rank={rank}/records.parquet\n", 0));
        fs::write(
            directory.path().join("SHA256SUMS"),
            names.collect::<String>(),
        )
        .unwrap();
        let error = read().err().map(|error| error.to_string());
        assert!(
            error
                .as_ref()
                .is_some_and(|told| told.contains("not as it was written")),
            "{error:?}"
        );
    }
}
