//! Recording to disk on a thread of its own, so that it never blocks the receive path.

use inferometer_core::journal::{Entry, JournalWriter};
use inferometer_core::run_dir::StorageError;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between looks at what has come. The workers never wake the recorder: a wake-up for
/// each record would cost them a system call.
const REST: Duration = Duration::from_millis(50);

/// Where workers leave what happened.
pub type Entries = Sender<Entry<'static>>;

/// Writes entries to the journal until every sender is gone.
pub struct Recorder {
    thread: JoinHandle<Result<(), StorageError>>,
}

impl Recorder {
    /// Starts the thread.
    pub fn start(journal: JournalWriter) -> (Recorder, Entries) {
        let (sender, receiver) = channel();
        let thread = std::thread::Builder::new()
            .name("recorder".into())
            .spawn(move || record(journal, &receiver))
            .expect("the system gives a thread");
        (Recorder { thread }, sender)
    }

    /// Waits until everything is written. All senders must be gone.
    pub fn finish(self) -> Result<(), StorageError> {
        self.thread.join().expect("the recorder does not panic")
    }
}

fn record(
    mut journal: JournalWriter,
    entries: &Receiver<Entry<'static>>,
) -> Result<(), StorageError> {
    // A full disk ends recording with an error, but the channel is emptied to the end, so
    // that memory does not fill as well.
    let mut trouble = None;
    loop {
        match entries.try_recv() {
            Ok(entry) if trouble.is_none() => trouble = journal.append(&entry).err(),
            Ok(_) => {}
            Err(ended) => {
                if trouble.is_none() {
                    trouble = journal.flush().err();
                }
                if ended == TryRecvError::Disconnected {
                    return trouble.map_or(Ok(()), Err);
                }
                std::thread::sleep(REST);
            }
        }
    }
}
