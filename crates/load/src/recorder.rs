//! Recording to disk on a thread of its own, so that it never blocks the receive path.

mod kept;

pub use kept::{Kept, RecordBatches};

use crate::api::AnswerText;
use crate::clock::lower_priority;
use crate::refusal;
use inferometer_core::record::Record;
use inferometer_store::error::StorageError;
use inferometer_store::journal::{Entry, JournalWriter};
use inferometer_store::texts_file::{CalledTool, RequestText, TextWriter};
use inferometer_text::secret::Secrets;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between looks at what has come. The workers never wake the recorder: a wake-up for
/// each record would cost them a system call.
const FLUSH_EVERY: Duration = Duration::from_millis(50);

pub type RecorderSender = Sender<RecorderMessage>;

pub struct RecorderMessage {
    pub entry: Entry<'static>,
    /// The text of a finished answer, if it was kept. It is looked at here, and written only to be
    /// checked.
    pub text: Option<AnswerText>,
}

pub type TokenCount = Arc<dyn Fn(&str) -> u32 + Send + Sync>;

pub type Watch = Box<dyn FnMut(&Record) + Send>;

/// Where the text of measured answers is put aside, without what must not be written.
pub struct AnswerFile {
    pub writer: TextWriter,
    pub secrets: Arc<Secrets>,
}

impl AnswerFile {
    fn keep(&mut self, message: &RecorderMessage) -> Result<(), StorageError> {
        let (Entry::End(record), Some(text)) = (&message.entry, &message.text) else {
            return Ok(());
        };
        if !record.is_measured() || !record.is_done() {
            return Ok(());
        }
        self.writer.push(&RequestText {
            index: record.index,
            session: record.session,
            turn: record.turn,
            answer: self.secrets.redact(&text.answer),
            aside: self.secrets.redact(&text.aside),
            calls: (text.calls.iter())
                .map(|call| CalledTool {
                    name: self.secrets.redact(&call.name),
                    arguments: self.secrets.redact(&call.arguments),
                })
                .collect(),
            ..RequestText::default()
        })
    }
}

/// Writes entries to the journal until every sender is gone.
pub struct Recorder {
    thread: JoinHandle<Result<Option<RecordBatches>, StorageError>>,
    ending: Arc<AtomicBool>,
}

impl Recorder {
    /// Starts the thread. What cannot be written ends the recording, and `on_trouble` is told at
    /// once: load whose records are lost is wasted. Answers whose text was kept and whose tokens the server did not count
    /// are counted by us.
    pub fn start(
        journal: JournalWriter,
        count: Option<TokenCount>,
        watch: Option<Watch>,
        answers: Option<AnswerFile>,
        on_trouble: impl FnOnce() + Send + 'static,
    ) -> (Recorder, RecorderSender) {
        let (sender, receiver) = channel();
        let ending = Arc::new(AtomicBool::new(false));
        let wanted = Arc::clone(&ending);
        let thread = std::thread::Builder::new()
            .name("recorder".into())
            .spawn(move || {
                let count = count.as_ref();
                record(
                    journal, &receiver, count, watch, answers, &wanted, on_trouble,
                )
            })
            .expect("the system gives a thread");
        (Recorder { thread, ending }, sender)
    }

    /// Writes what has come so far and ends, even if a worker that hangs still holds a sender. Gives
    /// all records that the journal has, where they are few enough.
    pub fn finish(self) -> Result<Option<RecordBatches>, StorageError> {
        self.ending.store(true, Ordering::Release);
        self.thread.join().expect("the recorder does not panic")
    }
}

fn record(
    mut journal: JournalWriter,
    entries: &Receiver<RecorderMessage>,
    count: Option<&TokenCount>,
    mut watch: Option<Watch>,
    mut answers: Option<AnswerFile>,
    ending: &AtomicBool,
    on_trouble: impl FnOnce(),
) -> Result<Option<RecordBatches>, StorageError> {
    lower_priority();
    let mut kept = Kept::default();
    // A full disk ends recording with an error, but the channel is emptied to the end, so
    // that memory does not fill as well.
    let mut trouble = None;
    let mut on_trouble = Some(on_trouble);
    loop {
        if trouble.is_some()
            && let Some(tell) = on_trouble.take()
        {
            tell();
        }
        // Read before the channel is found empty, so that nothing sent before it is missed.
        let last = ending.load(Ordering::Acquire);
        match entries.try_recv() {
            Ok(left) if trouble.is_none() => {
                if let Some(answers) = &mut answers {
                    trouble = answers.keep(&left).err();
                }
                let entry = left.completed(count);
                if let (Entry::End(record), Some(watch)) = (&entry, &mut watch) {
                    watch(record);
                }
                trouble = trouble.or(journal.append(&entry).err());
                kept.take(entry);
            }
            Ok(_) => {}
            Err(state) => {
                if trouble.is_none() {
                    trouble = journal.flush().err();
                }
                if let Some(answers) = answers.as_mut().filter(|_| trouble.is_none()) {
                    trouble = answers.writer.flush().err();
                }
                if state == TryRecvError::Disconnected || last {
                    return trouble.map_or_else(|| Ok(kept.all()), Err);
                }
                std::thread::sleep(FLUSH_EVERY);
            }
        }
    }
}

impl RecorderMessage {
    /// The entry with what only the text can tell.
    fn completed(self, count: Option<&TokenCount>) -> Entry<'static> {
        let (mut record, text) = match (self.entry, self.text) {
            (Entry::End(record), Some(text)) => (record.into_owned(), text),
            (entry, _) => return entry,
        };
        record.refused = refusal::opens(&text.answer);
        let counted = record.usage.is_some_and(|usage| usage.output.is_some());
        if let Some(count) = count.filter(|_| !counted) {
            record.retokenized = Some(count(&text.answer) + count(&text.aside));
        }
        Entry::End(std::borrow::Cow::Owned(record))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use inferometer_store::journal::Header;
    use std::sync::mpsc::sync_channel;

    #[test]
    fn the_first_record_that_cannot_be_written_is_told_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut journal = JournalWriter::create(&path, &Header::new(None)).unwrap();
        let full = std::fs::File::options().write(true).open("/dev/full");
        journal.redirect(full.unwrap());
        let (tell, told) = sync_channel(1);
        let (recorder, entries) = Recorder::start(journal, None, None, None, move || {
            let _ = tell.send(());
        });
        let record = Record::default();
        let entry = Entry::End(std::borrow::Cow::Owned(record));
        let message = RecorderMessage { entry, text: None };
        entries.send(message).unwrap();
        // The sender is still there: nobody asked the recorder to end.
        told.recv_timeout(Duration::from_secs(60)).unwrap();
        drop(entries);
        let said = recorder.finish().unwrap_err().to_string();
        assert!(said.contains("no space left"), "{said}");
    }
}
