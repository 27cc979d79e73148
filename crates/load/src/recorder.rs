//! Recording to disk on a thread of its own, so that it never blocks the receive path.

use crate::api::AnswerText;
use crate::clock::lower_priority;
use crate::refusal;
use inferometer_core::record::Record;
use inferometer_store::error::StorageError;
use inferometer_store::journal::{Entry, JournalWriter};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between looks at what has come. The workers never wake the recorder: a wake-up for
/// each record would cost them a system call.
const REST: Duration = Duration::from_millis(50);

pub type RecorderSender = Sender<RecorderMessage>;

pub struct RecorderMessage {
    pub entry: Entry<'static>,
    /// The text of a finished answer, if it was kept. It is looked at here and never written.
    pub text: Option<AnswerText>,
}

pub type TokenCount = Arc<dyn Fn(&str) -> u32 + Send + Sync>;

pub type Watch = Box<dyn FnMut(&Record) + Send>;

/// Writes entries to the journal until every sender is gone.
pub struct Recorder {
    thread: JoinHandle<Result<(), StorageError>>,
    ending: Arc<AtomicBool>,
}

impl Recorder {
    /// Starts the thread. Answers whose text was kept and whose tokens the server did not count
    /// are counted by us.
    pub fn start(
        journal: JournalWriter,
        count: Option<TokenCount>,
        watch: Option<Watch>,
    ) -> (Recorder, RecorderSender) {
        let (sender, receiver) = channel();
        let ending = Arc::new(AtomicBool::new(false));
        let wanted = Arc::clone(&ending);
        let thread = std::thread::Builder::new()
            .name("recorder".into())
            .spawn(move || record(journal, &receiver, count.as_ref(), watch, &wanted))
            .expect("the system gives a thread");
        (Recorder { thread, ending }, sender)
    }

    /// Writes what has come so far and ends, even if a worker that hangs still holds a sender.
    pub fn finish(self) -> Result<(), StorageError> {
        self.ending.store(true, Ordering::Release);
        self.thread.join().expect("the recorder does not panic")
    }
}

fn record(
    mut journal: JournalWriter,
    entries: &Receiver<RecorderMessage>,
    count: Option<&TokenCount>,
    mut watch: Option<Watch>,
    ending: &AtomicBool,
) -> Result<(), StorageError> {
    lower_priority();
    // A full disk ends recording with an error, but the channel is emptied to the end, so
    // that memory does not fill as well.
    let mut trouble = None;
    loop {
        // Read before the channel is found empty, so that nothing sent before it is missed.
        let last = ending.load(Ordering::Acquire);
        match entries.try_recv() {
            Ok(left) if trouble.is_none() => {
                let entry = left.completed(count);
                if let (Entry::End(record), Some(watch)) = (&entry, &mut watch) {
                    watch(record);
                }
                trouble = journal.append(&entry).err();
            }
            Ok(_) => {}
            Err(state) => {
                if trouble.is_none() {
                    trouble = journal.flush().err();
                }
                if state == TryRecvError::Disconnected || last {
                    return trouble.map_or(Ok(()), Err);
                }
                std::thread::sleep(REST);
            }
        }
    }
}

impl RecorderMessage {
    /// The entry with what only the text can tell.
    fn completed(self, count: Option<&TokenCount>) -> Entry<'static> {
        let (Entry::End(record), Some(text)) = (&self.entry, self.text) else {
            return self.entry;
        };
        let mut record = record.clone().into_owned();
        record.refused = refusal::opens(&text.answer);
        let counted = record.usage.is_some_and(|usage| usage.output.is_some());
        if let Some(count) = count.filter(|_| !counted) {
            record.retokenized = Some(count(&text.answer) + count(&text.aside));
        }
        Entry::End(std::borrow::Cow::Owned(record))
    }
}
