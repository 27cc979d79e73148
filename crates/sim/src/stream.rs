//! Answering as a stream of events, on time and with the faults asked for.

use std::{io, io::Write as _, time::Duration};

use inferometer_catalog::engine::EngineKind;
use tokio::time::Instant;

use crate::{
    client_stream::ClientStream,
    completion_request::{Api, CompletionRequest},
    engine::Nanos,
    engine_driver::EngineDriver,
    fault::{Fault, Faults, Switch, UsagePlace},
    metrics::Running,
    native_answer::NativeOptions,
    random::RandomStream,
    render::{AnswerTokens, Renderer},
    token_event::{AnswerProgress, Channel, TokenEvent},
    token_source::{ChunkLimits, TokenSource},
    truth::TruthEntry,
};

/// How an answer ended, if nothing broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Whole,
    /// In the middle: the connection must be closed.
    Broken,
}

pub(crate) struct Stream<'a> {
    pub(crate) work: &'a CompletionRequest,
    pub(crate) faults: &'a Faults,
    pub(crate) fault: Option<Fault>,
    pub(crate) renderer: &'a Renderer<'a>,
    pub(crate) arrival: Instant,
    /// Whose habits the stream has; `None` without an engine.
    pub(crate) kind: Option<EngineKind>,
    pub(crate) source: TokenSource,
    pub(crate) answer_tokens: AnswerTokens<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct UsagePlan {
    each: bool,
    finish: bool,
    own: bool,
}

impl UsagePlan {
    fn new(work: &CompletionRequest, faults: &Faults, kind: Option<EngineKind>) -> UsagePlan {
        let (each, finish, own) = match faults.usage {
            None if kind == Some(EngineKind::Mindie) => (false, true, false),
            None => (work.usage.continuous, false, work.usage.at_end),
            Some(UsagePlace::Missing) => (false, false, false),
            Some(UsagePlace::Finish) => (false, true, false),
            Some(UsagePlace::Own) => (false, false, true),
            Some(UsagePlace::Continuous) => (true, false, true),
        };
        UsagePlan { each, finish, own }
    }
}

impl Stream<'_> {
    /// Writes the events and the end of the body; the head has been written.
    pub(crate) async fn serve(
        mut self,
        events: &mut EventWriter<'_>,
        running: &mut Running<'_>,
    ) -> io::Result<Ended> {
        let (work, faults, renderer) = (self.work, self.faults, self.renderer);
        if self.fault == Some(Fault::Empty) {
            return events.end().await;
        }
        let plan = UsagePlan::new(work, faults, self.kind);
        if faults.has(Switch::Comments) {
            events.comment(b": keepalive");
            events.write_out().await?;
        }
        // Sent ahead of the first token, as several servers do: a client that takes it for
        // a token reports a time to first token of nearly nothing.
        let native = work.native.as_ref();
        if faults.has(Switch::RoleFirst) && work.api == Api::Chat && native.is_none() {
            let usage = plan.each.then(|| self.source.usage(0));
            events.push(Some(0), |out| renderer.role(out, usage));
            events.write_out().await?;
        }
        let role_with_first = self.kind == Some(EngineKind::Mindie)
            && native.is_none()
            && work.api == Api::Chat
            && !faults.has(Switch::RoleFirst);

        let fault_at = work.output_tokens / 2;
        let mut pending_fault = self.fault;
        let mut held_up = Duration::ZERO;
        let mut sent = 0;
        let (mut text, mut ids, mut so_far) = (Vec::new(), Vec::new(), Vec::new());
        let mut before = Duration::ZERO;
        let mut finish = None;
        while finish.is_none() {
            let mut fault_now = pending_fault.take_if(|_| sent >= fault_at);
            if let Some(Fault::Stall(wait)) = fault_now {
                held_up = wait;
            }
            let limits = self.limits(sent, held_up, matches!(fault_now, Some(Fault::Stall(_))));
            let Some(ready) = self.source.next(limits, events.client).await? else {
                if work.native.is_some() {
                    // What it says there is not known.
                    return Ok(Ended::Broken);
                }
                events.push(Some(0), |out| renderer.error(out));
                events.push(None, |out| renderer.done(out));
                return events.end().await;
            };
            let take = ready.tokens;
            finish = ready.finish;
            if finish.is_some() && fault_now.is_none() {
                // So few chunks that the middle was never reached.
                fault_now = pending_fault.take();
            }
            text.clear();
            ids.clear();
            for _ in 0..take {
                ids.push(self.answer_tokens.append(&mut text));
            }
            if work.native.is_some() {
                so_far.extend_from_slice(&text);
            }
            if role_with_first && sent == 0 {
                events.push(Some(0), |out| renderer.role(out, None));
            }
            events.due = ready.due;
            let usage_now = sent + take;
            let told = plan.each || plan.finish && finish.is_some() || work.native.is_some();
            let since = self.arrival.elapsed();
            let event = TokenEvent {
                text: &text,
                channel: match work.calls {
                    Some(_) if sent == 0 => Channel::CallName,
                    Some(_) => Channel::CallArguments,
                    None if sent < self.reasoning() => Channel::Reasoning,
                    None => Channel::Answer,
                },
                finish,
                usage: told.then(|| self.source.usage(usage_now)),
                progress: work.native.as_ref().map(|_| AnswerProgress {
                    ids: &ids,
                    so_far: &so_far,
                    generated: usage_now,
                    took: since.saturating_sub(before),
                }),
            };
            before = since;
            match fault_now {
                Some(Fault::InbandError) => {
                    events.push(Some(0), |out| renderer.error(out));
                    if !faults.has(Switch::NoDone) {
                        events.push(None, |out| renderer.done(out));
                    }
                    return events.end().await;
                }
                Some(Fault::CutClean) => return events.end().await,
                Some(Fault::Cut) => {
                    events.push(Some(take), |out| renderer.tokens(out, &event));
                    events.write_half_of_last().await?;
                    return Ok(Ended::Broken);
                }
                // The last piece of the JSON is an empty one.
                _ if self.fault == Some(Fault::InvalidJson)
                    && finish.is_some()
                    && !work.says.is_empty() =>
                {
                    let event = TokenEvent { text: b"", ..event };
                    events.push(Some(take), |out| renderer.tokens(out, &event));
                }
                Some(Fault::Malformed) => events.push(Some(take), |out| {
                    renderer.tokens(out, &event);
                    out.truncate(out.len() / 2);
                }),
                _ => events.push(Some(take), |out| renderer.tokens(out, &event)),
            }
            sent = usage_now;
            running.tokens(since, take, work.prompt_tokens);
            events.due = None;
            if events.is_batch() {
                events.write_out().await?;
            }
        }
        if plan.own && work.native.is_none() {
            let usage = self.source.usage(sent);
            events.push(Some(0), |out| renderer.usage(out, usage));
            if events.is_batch() {
                events.write_out().await?;
            }
        }
        if !faults.has(Switch::NoDone) && native.is_none_or(NativeOptions::says_done) {
            events.push(None, |out| renderer.done(out));
        }
        let ended = events.end().await?;
        running.finish(finish.unwrap_or(work.finish), self.arrival.elapsed());
        Ok(ended)
    }

    fn reasoning(&self) -> u32 {
        match self.work.api {
            Api::Chat => self.faults.reasoning,
            Api::Completions | Api::Transcriptions => 0,
        }
    }

    /// The tokens of the next chunk; one chunk never holds both reasoning and answer.
    fn limits(&self, sent: u32, held_up: Duration, stalls: bool) -> ChunkLimits {
        let thinking = self.reasoning().saturating_sub(sent);
        let names_tool = sent == 0 && self.work.calls.is_some();
        ChunkLimits {
            least: if names_tool {
                1
            } else {
                self.faults.tokens_per_chunk()
            },
            most: match thinking {
                _ if names_tool => 1,
                0 => u32::MAX,
                thinking => thinking,
            },
            held_up,
            stalls,
        }
    }
}

/// Frames events, writes them, and logs when each was written.
pub(crate) struct EventWriter<'a> {
    pub(crate) client: &'a mut ClientStream,
    entry: &'a mut TruthEntry,
    /// Whether the body is chunked; otherwise it ends with the connection.
    chunked: bool,
    event_end: &'static [u8],
    events_per_write: usize,
    /// Where to cut each event in two, if at all.
    split: Option<RandomStream>,
    out: Vec<u8>,
    event: Vec<u8>,
    pending: Vec<Pending>,
    /// When the events that are pushed now are to be written, where that is watched.
    due: Option<Nanos>,
    driver: Option<&'a EngineDriver>,
}

struct Pending {
    start: usize,
    /// The end of its text: before the line end, so that no reader can have it earlier.
    end: usize,
    tokens: u32,
    due: Option<Nanos>,
}

impl<'a> EventWriter<'a> {
    pub(crate) fn new(
        client: &'a mut ClientStream,
        entry: &'a mut TruthEntry,
        chunked: bool,
        event_end: &'static [u8],
        faults: &Faults,
        split: RandomStream,
        driver: Option<&'a EngineDriver>,
    ) -> EventWriter<'a> {
        EventWriter {
            client,
            entry,
            chunked,
            event_end,
            events_per_write: faults.events_per_write() as usize,
            split: faults.has(Switch::SplitWrites).then_some(split),
            out: Vec::new(),
            event: Vec::new(),
            pending: Vec::new(),
            due: None,
            driver,
        }
    }

    /// Adds an event. With `None` for its tokens it stays out of the log: `[DONE]`.
    fn push(&mut self, tokens: Option<u32>, render: impl FnOnce(&mut Vec<u8>)) {
        self.event.clear();
        render(&mut self.event);
        let length = self.event.len();
        self.event.extend_from_slice(self.event_end);
        let start = self.frame();
        if let Some(tokens) = tokens {
            self.pending.push(Pending {
                start,
                end: start + length,
                tokens,
                due: self.due,
            });
        }
    }

    fn comment(&mut self, text: &[u8]) {
        self.event.clear();
        self.event.extend_from_slice(text);
        self.event.extend_from_slice(self.event_end);
        self.frame();
    }

    /// Moves the event to the output, as one chunk of the body; says where its text begins.
    fn frame(&mut self) -> usize {
        if self.chunked {
            write!(self.out, "{:x}\r\n", self.event.len()).expect("writing to memory cannot fail");
        }
        let start = self.out.len();
        self.out.extend_from_slice(&self.event);
        if self.chunked {
            self.out.extend_from_slice(b"\r\n");
        }
        start
    }

    fn is_batch(&self) -> bool {
        self.pending.len() >= self.events_per_write
    }

    async fn end(&mut self) -> io::Result<Ended> {
        if self.chunked {
            self.out.extend_from_slice(b"0\r\n\r\n");
        }
        self.write_out().await?;
        Ok(Ended::Whole)
    }

    /// Writes everything up to the middle of the last event, which thereby never was.
    async fn write_half_of_last(&mut self) -> io::Result<()> {
        if let Some(last) = self.pending.pop() {
            self.out.truncate(last.start.midpoint(last.end));
        }
        self.write_out().await
    }

    async fn write_out(&mut self) -> io::Result<()> {
        let mut from = 0;
        let mut logged = 0;
        let mut cuts = self.cuts().into_iter().peekable();
        while from < self.out.len() {
            let to = cuts.next_if(|cut| *cut > from).unwrap_or(self.out.len());
            while from < to {
                let written = self.client.write(&self.out[from..to]).await?;
                from += written.bytes;
                while let Some(event) = self.pending.get(logged)
                    && event.end <= from
                {
                    self.entry.chunk(written.at, event.tokens);
                    if let (Some(driver), Some(due)) = (self.driver, event.due) {
                        driver.written(due, written.at);
                    }
                    logged += 1;
                }
                self.entry.end(written.at);
            }
            if to < self.out.len() {
                // Gives the reader a chance to see the pieces apart.
                tokio::task::yield_now().await;
            }
        }
        self.out.clear();
        self.pending.clear();
        Ok(())
    }

    /// A place strictly inside each pending event, where its writing is interrupted.
    fn cuts(&mut self) -> Vec<usize> {
        let Some(draw) = &mut self.split else {
            return Vec::new();
        };
        let inside = |event: &Pending| {
            let width = (event.end - event.start).saturating_sub(1).max(1) as u64;
            event.start + 1 + draw.below(width) as usize
        };
        self.pending.iter().map(inside).collect()
    }
}
