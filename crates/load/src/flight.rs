//! A request in flight: its record, and the promise that it is recorded however it ends.

use crate::api::AnswerText;
use crate::live::StageCounters;
use crate::recorder::{RecorderMessage, RecorderSender};
use inferometer_core::record::{Chunks, FailureClass, Outcome, Record};
use inferometer_core::slo::Slo;
use inferometer_core::units::Offset;
use inferometer_store::journal::{Entry, Progress};
use inferometer_text::secret::Secrets;
use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// What is lost at most when the process is killed, with the recorder's own rest.
pub const JOURNAL_EVERY: Duration = Duration::from_millis(700);

/// How soon a server that had closed the connection before the request came makes itself
/// known: a round trip, over any network that one measures on.
const AT_ONCE: Duration = Duration::from_millis(100);

pub struct Sink {
    pub entries: RecorderSender,
    pub live: Arc<StageCounters>,
    /// Objectives that are counted while the run goes on.
    pub slos: Arc<[Slo]>,
    pub secrets: Arc<Secrets>,
}

/// A request in flight. Dropped in any way, it is recorded: as `Cut` unless it was ended.
pub struct Flight {
    pub record: Record,
    pub text: Option<AnswerText>,
    /// It is given up so long after it was sent.
    pub cancel_after: Option<Duration>,
    sink: Rc<Sink>,
    journaled: Journaled,
}

/// What the journal has of the request already. It hears of it when something has not ended after
/// [`JOURNAL_EVERY`]: of a short request it gets one entry, the last.
#[derive(Default)]
struct Journaled {
    begun: bool,
    /// When it heard of it last, or might have.
    at: Offset,
    chunks: usize,
    bare: usize,
    chars: u64,
}

impl Flight {
    pub fn begin(record: Record, sink: Rc<Sink>) -> Flight {
        sink.live.of(record.stage).start();
        Flight {
            record,
            text: None,
            cancel_after: None,
            sink,
            journaled: Journaled::default(),
        }
    }

    pub fn sent(&mut self, now: Offset) {
        self.record.sent = Some(now);
        self.journaled.at = now;
        if self.journaled.begun {
            self.begin_journal();
        }
    }

    fn begin_journal(&mut self) {
        self.journaled.begun = true;
        self.hand_over(Entry::Begin(Cow::Owned(self.record.clone())));
    }

    /// The connection was gone at once, before anything of the answer came. On a connection
    /// that had served before, this is a server that closes what it kept, without a word; a
    /// server that loses the connection later has failed.
    pub fn found_closed(&self) -> bool {
        let record = &self.record;
        let lost = record.failure().map(|failure| failure.class);
        let at_once =
            (record.end.zip(record.sent)).is_some_and(|(end, sent)| end.since(sent) < AT_ONCE);
        lost == Some(FailureClass::Disconnected) && record.first_byte.is_none() && at_once
    }

    /// Goes out once more; the record says so.
    pub fn resend(&mut self) {
        self.record.resent = true;
        self.record.outcome = Outcome::Cut;
        self.record.end = None;
    }

    /// A read gave something; from time to time the journal is told.
    pub fn read(&mut self, now: Offset, chunks_before: usize) {
        let new = self.record.chunks.len() - chunks_before;
        self.sink.live.of(self.record.stage).read(new as u64);
        if now.since(self.journaled.at) >= JOURNAL_EVERY {
            self.journal(now);
        }
    }

    /// Nothing has come for a while: the journal is told what it does not know yet.
    pub fn journal_if_behind(&mut self, now: Offset) {
        let (record, done) = (&self.record, &self.journaled);
        let behind = record.chunks.len() > done.chunks || record.bare.len() > done.bare;
        if behind || !done.begun {
            self.journal(now);
        }
    }

    fn journal(&mut self, now: Offset) {
        if !self.journaled.begun {
            self.begin_journal();
        } else {
            self.journal_progress();
        }
        let record = &self.record;
        self.journaled = Journaled {
            begun: true,
            at: now,
            chunks: record.chunks.len(),
            bare: record.bare.len(),
            chars: record.output_chars,
        };
    }

    fn journal_progress(&self) {
        let record = &self.record;
        let done = &self.journaled;
        let progress = Progress {
            index: record.index,
            stage: record.stage,
            sent: None,
            first_byte: record.first_byte,
            first_answer: record.first_answer,
            status: record.status,
            chunks: Chunks {
                at: record.chunks.at[done.chunks..].to_vec(),
                tokens: record
                    .chunks
                    .tokens
                    .as_ref()
                    .map(|all| all[done.chunks..].to_vec()),
                same_read: record.chunks.same_read[done.chunks..].to_vec(),
            },
            bare: record.bare[done.bare..].to_vec(),
            output_chars: record.output_chars - done.chars,
        };
        self.hand_over(Entry::Progress(progress));
    }

    fn hand_over(&self, entry: Entry<'static>) {
        // The recorder outlives every worker unless the process is ending.
        let _ = self
            .sink
            .entries
            .send(RecorderMessage { entry, text: None });
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut record = std::mem::take(&mut self.record);
        let secrets = &self.sink.secrets;
        let said = [&mut record.finish, &mut record.model];
        for said in said.into_iter().flatten().filter(|_| !secrets.is_empty()) {
            *said = secrets.redact(said);
        }
        if let Outcome::Failed(failure) = &mut record.outcome {
            failure.detail = secrets.keep(&failure.detail);
        }
        self.sink
            .live
            .of(record.stage)
            .end(&record, &self.sink.slos);
        let text = self.text.take();
        let entry = Entry::End(Cow::Owned(record));
        let _ = self.sink.entries.send(RecorderMessage { entry, text });
    }
}
