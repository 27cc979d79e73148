//! One request and its answer on an open connection.

use crate::answer::{AnswerProgress, AnswerReader};
use crate::api::{Decoder, Dialect};
use crate::clock::Clock;
use crate::failure::{failure, of_io};
use crate::flight::{Flight, JOURNAL_EVERY};
use crate::flood;
use inferometer_core::record::{Failure, FailureClass, Outcome, Phase, Record};
use inferometer_core::units::Offset;
use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::Sleep;

/// Bytes taken by one read. One such buffer serves all connections of a worker: what is read
/// is parsed before anything else runs.
pub const READ_SIZE: usize = 64 << 10;

/// How long the end of the body may take after `[DONE]`.
const AFTER_DONE: Duration = Duration::from_millis(250);

/// Messages and bytes that an answer may have for each token that was asked for, at least, and
/// at most or where nothing was asked: without a limit a server that never ends fills the disk.
const MESSAGES: Allowance = Allowance {
    per_token: 64,
    least: 1 << 16,
    most: 1 << 21,
};
const BYTES: Allowance = Allowance {
    per_token: 64 << 10,
    least: 64 << 20,
    most: 1 << 30,
};

struct Allowance {
    per_token: u64,
    least: u64,
    most: u64,
}

impl Allowance {
    fn of(&self, asked: Option<u32>) -> u64 {
        let by_tokens = |asked| (u64::from(asked) * self.per_token).clamp(self.least, self.most);
        asked.map_or(self.most, by_tokens)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// Silence between bytes.
    pub read: Duration,
    /// The whole request, from sending.
    pub request: Duration,
}

/// What every exchange of a worker shares.
pub struct ExchangeContext {
    pub clock: Clock,
    pub dialect: &'static dyn Dialect,
    pub timeouts: Timeouts,
    /// Keep the text of answers with the flight.
    pub keep_text: bool,
    pub scratch: RefCell<Box<[u8]>>,
    /// What earlier exchanges needed and later ones use again.
    decoders: RefCell<Vec<Decoder>>,
    timers: RefCell<Vec<Pin<Box<Sleep>>>>,
}

impl ExchangeContext {
    pub fn new(clock: Clock, dialect: &'static dyn Dialect, timeouts: Timeouts) -> Self {
        ExchangeContext {
            clock,
            dialect,
            timeouts,
            keep_text: false,
            scratch: RefCell::new(vec![0; READ_SIZE].into()),
            decoders: RefCell::default(),
            timers: RefCell::default(),
        }
    }

    /// Sends a request, which happens at the moment `sent`, and reads the answer into the flight's
    /// record, which then has its outcome. Says whether the connection can be used again.
    pub async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: &mut S,
        sent: Offset,
        request: &[u8],
        flight: &mut Flight,
    ) -> bool {
        flight.sent(sent);
        let deadline = self.clock.instant(sent + self.timeouts.request);
        let written = {
            let mut writing = pin!(tokio::time::timeout_at(deadline, async {
                stream.write_all(request).await?;
                stream.flush().await
            }));
            poll_fn(|cx| {
                let polled = writing.as_mut().poll(cx);
                // A server that does not read now may not do so for long.
                if polled.is_pending() {
                    flight.journal_if_behind(sent);
                }
                polled
            })
            .await
        };
        match written {
            Ok(Ok(())) => self.read_answer(stream, sent, flight).await,
            Ok(Err(error)) => self.fail(flight, of_io(Phase::Send, &error)),
            Err(_) => self.fail(flight, self.timed_out(Silence::WholeRequest)),
        }
    }

    async fn read_answer<S: AsyncRead + Unpin>(
        &self,
        stream: &mut S,
        sent: Offset,
        flight: &mut Flight,
    ) -> bool {
        let decoder = self.decoders.borrow_mut().pop();
        let decoder = decoder.unwrap_or_else(|| Decoder::new(self.dialect));
        let mut reader = AnswerReader::with_decoder(self.dialect, decoder);
        if self.keep_text {
            reader = reader.keeping_text();
        }
        let reusable = self.read_to_end(stream, sent, flight, &mut reader).await;
        let (text, mut decoder) = reader.into_parts();
        flight.text = text;
        decoder.forget();
        self.decoders.borrow_mut().push(decoder);
        reusable
    }

    async fn read_to_end<S: AsyncRead + Unpin>(
        &self,
        stream: &mut S,
        sent: Offset,
        flight: &mut Flight,
        reader: &mut AnswerReader,
    ) -> bool {
        let mut timer = ReadTimer::new(self, sent);
        timer.cancel_at = flight.cancel_after.map(|after| sent + after);
        let mut bytes = 0;
        loop {
            // The buffer is borrowed and the bytes are parsed inside one poll, so that no
            // other request can come between.
            let step = poll_fn(|cx| {
                let mut scratch = self.scratch.borrow_mut();
                let mut buffer = ReadBuf::new(&mut scratch);
                match Pin::new(&mut *stream).poll_read(cx, &mut buffer) {
                    Poll::Pending => {
                        drop(scratch);
                        Poll::Ready(Step::Silent(ready!(timer.poll(cx))))
                    }
                    Poll::Ready(Err(error)) => Poll::Ready(Step::Broken(error)),
                    Poll::Ready(Ok(())) if buffer.filled().is_empty() => Poll::Ready(Step::Closed),
                    Poll::Ready(Ok(())) => {
                        let now = self.clock.now();
                        timer.restart(now);
                        flood::read();
                        bytes += buffer.filled().len() as u64;
                        let chunks = flight.record.chunks.len();
                        let progress = reader.take(buffer.filled(), now, &mut flight.record);
                        flight.read(now, chunks);
                        Poll::Ready(Step::Read(progress))
                    }
                }
            })
            .await;
            match step {
                Step::Read(AnswerProgress::Over { reusable }) => return reusable,
                Step::Read(progress) => {
                    if progress == AnswerProgress::Ending {
                        timer.limit = AFTER_DONE;
                    }
                    // The timer is asked in silence only, and there may be none.
                    if timer.request_is_over() {
                        return self.fail(flight, self.timed_out(Silence::WholeRequest));
                    }
                    if let Some(failure) = too_long(&flight.record, bytes) {
                        return self.fail(flight, failure);
                    }
                }
                Step::Closed => {
                    reader.close(self.clock.now(), &mut flight.record);
                    return false;
                }
                Step::Silent(Silence::BetweenBytes) if timer.limit == AFTER_DONE => {
                    reader.close(self.clock.now(), &mut flight.record);
                    return false;
                }
                // Closing the connection is how a client says so.
                Step::Silent(Silence::Cancelled) => {
                    flight.record.end = Some(self.clock.now());
                    flight.record.outcome = Outcome::Cancelled;
                    return false;
                }
                Step::Silent(Silence::Lull) => flight.journal_if_behind(self.clock.now()),
                Step::Silent(silence) => return self.fail(flight, self.timed_out(silence)),
                Step::Broken(error) => {
                    let phase = match flight.record.status {
                        Some(_) => Phase::Truncated,
                        None => Phase::Status,
                    };
                    let mut failure = of_io(phase, &error);
                    if phase == Phase::Truncated {
                        failure.class = FailureClass::CutStream;
                    }
                    return self.fail(flight, failure);
                }
            }
        }
    }

    fn fail(&self, flight: &mut Flight, failure: Failure) -> bool {
        flight.record.end = Some(self.clock.now());
        flight.record.outcome = Outcome::Failed(failure);
        false
    }

    fn timed_out(&self, silence: Silence) -> Failure {
        let (class, limit, name) = match silence {
            Silence::Lull | Silence::Cancelled | Silence::BetweenBytes => (
                FailureClass::ReadTimeout,
                self.timeouts.read,
                "silence for longer than --read-timeout",
            ),
            Silence::WholeRequest => (
                FailureClass::RequestTimeout,
                self.timeouts.request,
                "not complete within --request-timeout",
            ),
        };
        failure(Phase::Timeout, class, format!("{name} {limit:?}"))
    }
}

fn too_long(record: &Record, bytes: u64) -> Option<Failure> {
    let asked = record.output_tokens_asked;
    let messages = (record.chunks.len() + record.bare.len()) as u64;
    let detail = match (MESSAGES.of(asked), BYTES.of(asked)) {
        (most, _) if messages > most => format!("over {most} messages, and no end"),
        (_, most) if bytes > most => format!("over {} MiB, and no end", most >> 20),
        _ => return None,
    };
    Some(failure(Phase::Stream, FailureClass::TooLong, detail))
}

enum Step {
    Read(AnswerProgress),
    Closed,
    Broken(std::io::Error),
    Silent(Silence),
}

#[derive(Clone, Copy)]
enum Silence {
    /// Long enough to tell the journal what has come, in case nothing more does.
    Lull,
    /// The moment has come to give the request up.
    Cancelled,
    BetweenBytes,
    WholeRequest,
}

/// The two timeouts of reading with one timer that is moved only when it fires, so that neither a
/// token nor a short request costs a timer operation: one that was set for an earlier request
/// rings too early, and is then set anew.
struct ReadTimer<'a> {
    context: &'a ExchangeContext,
    /// Absent only while it is dropped.
    sleep: Option<Pin<Box<Sleep>>>,
    sent: Offset,
    last_byte: Offset,
    limit: Duration,
    cancel_at: Option<Offset>,
    /// The journal knows of the lull since the last read.
    lull_reported: bool,
}

impl<'a> ReadTimer<'a> {
    fn new(context: &'a ExchangeContext, sent: Offset) -> Self {
        let first = || context.clock.instant(sent + JOURNAL_EVERY);
        let used = context.timers.borrow_mut().pop();
        let sleep = used.unwrap_or_else(|| Box::pin(tokio::time::sleep_until(first())));
        ReadTimer {
            context,
            sleep: Some(sleep),
            sent,
            last_byte: sent,
            limit: context.timeouts.read,
            cancel_at: None,
            lull_reported: false,
        }
    }

    fn restart(&mut self, now: Offset) {
        self.last_byte = now;
        self.lull_reported = false;
    }

    fn request_is_over(&self) -> bool {
        self.last_byte >= self.sent + self.context.timeouts.request
    }

    fn poll(&mut self, cx: &mut std::task::Context<'_>) -> Poll<Silence> {
        let Some(sleep) = &mut self.sleep else {
            return Poll::Pending;
        };
        loop {
            let silence_ends = self.last_byte + self.limit;
            let request_ends = self.sent + self.context.timeouts.request;
            let lull = self.last_byte + JOURNAL_EVERY;
            let mut next = silence_ends.min(request_ends);
            if !self.lull_reported {
                next = next.min(lull);
            }
            if let Some(cancel_at) = self.cancel_at {
                next = next.min(cancel_at);
            }
            let due = self.context.clock.instant(next);
            // The limit shrinks after `[DONE]`; a timer that is set too far is moved back.
            if sleep.deadline() > due {
                sleep.as_mut().reset(due);
            }
            ready!(sleep.as_mut().poll(cx));
            let now = self.context.clock.now();
            if self.cancel_at.is_some_and(|at| now >= at) {
                return Poll::Ready(Silence::Cancelled);
            }
            if now >= request_ends {
                return Poll::Ready(Silence::WholeRequest);
            }
            if now >= silence_ends {
                return Poll::Ready(Silence::BetweenBytes);
            }
            if !self.lull_reported && now >= lull {
                self.lull_reported = true;
                return Poll::Ready(Silence::Lull);
            }
            sleep.as_mut().reset(due);
        }
    }
}

impl Drop for ReadTimer<'_> {
    fn drop(&mut self) {
        let mut timers = self.context.timers.borrow_mut();
        timers.extend(self.sleep.take());
    }
}
