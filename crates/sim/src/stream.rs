//! Answering as a stream of events, on time and with the faults asked for.

use std::{io, io::Write as _, time::Duration};

use tokio::time::{Instant, sleep_until};

use crate::{
    draw::Draw,
    fault::{Fault, Faults, UsagePlace},
    metrics::Running,
    render::{Channel, Renderer, TokenEvent, Words},
    timing::Pace,
    truth::Entry,
    wire::Wire,
    work::{Api, Work},
};

/// How an answer ended, if nothing broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// As the head announced.
    Whole,
    /// In the middle: the connection must be closed.
    Broken,
}

/// Everything that a stream needs besides the connection.
pub(crate) struct Stream<'a> {
    pub(crate) work: &'a Work,
    pub(crate) faults: &'a Faults,
    pub(crate) fault: Option<Fault>,
    pub(crate) renderer: &'a Renderer,
    pub(crate) arrival: Instant,
    pub(crate) pace: Pace,
    pub(crate) words: Words,
}

/// Where usage goes in one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct UsagePlan {
    each: bool,
    finish: bool,
    own: bool,
}

impl UsagePlan {
    fn new(work: &Work, faults: &Faults) -> UsagePlan {
        let none = UsagePlan {
            each: false,
            finish: false,
            own: false,
        };
        match faults.usage {
            None => UsagePlan {
                each: work.usage.continuous,
                own: work.usage.at_end,
                ..none
            },
            Some(UsagePlace::Missing) => none,
            Some(UsagePlace::Finish) => UsagePlan {
                finish: true,
                ..none
            },
            Some(UsagePlace::Own) => UsagePlan { own: true, ..none },
            Some(UsagePlace::Continuous) => UsagePlan {
                each: true,
                own: true,
                ..none
            },
        }
    }
}

impl Stream<'_> {
    /// Writes the events and the end of the body; the head has been written.
    pub(crate) async fn serve(
        mut self,
        events: &mut EventWriter<'_>,
        running: &mut Running<'_>,
        ahead: &mut Vec<u8>,
    ) -> io::Result<Ended> {
        let (work, faults, renderer) = (self.work, self.faults, self.renderer);
        if self.fault == Some(Fault::Empty) {
            return events.end().await;
        }
        let plan = UsagePlan::new(work, faults);
        if faults.comments {
            events.comment(b": keepalive");
            events.write_out().await?;
        }
        // Sent ahead of the first token, as several servers do: a client that takes it for
        // a token reports a time to first token of nearly nothing.
        if faults.role_first && work.api == Api::Chat {
            events.push(Some(0), |out| renderer.role(out, plan.each.then_some(0)));
            events.write_out().await?;
        }

        let strike_at = work.output_tokens / 2;
        let mut strike = self.fault;
        let mut held_up = Duration::ZERO;
        let mut sent = 0;
        let mut text = Vec::new();
        while sent < work.output_tokens {
            let take = self.chunk_size(sent);
            let mut due = Duration::ZERO;
            text.clear();
            for _ in 0..take {
                due = self.pace.next_due();
                self.words.append(&mut text);
            }
            let striking = if sent >= strike_at {
                strike.take()
            } else {
                None
            };
            if let Some(Fault::Stall(wait)) = striking {
                held_up = wait;
            }
            let long_wait = sent == 0 || matches!(striking, Some(Fault::Stall(_)));
            let until = self.arrival + due + held_up;
            if long_wait {
                wait_or_leave(until, events.wire, ahead).await?;
            } else {
                wait(until).await;
            }
            let usage_now = sent + take;
            let last = usage_now == work.output_tokens;
            let event = TokenEvent {
                text: &text,
                channel: if sent < self.reasoning() {
                    Channel::Reasoning
                } else {
                    Channel::Answer
                },
                finish: last.then_some(work.finish),
                usage: (plan.each || plan.finish && last).then_some(usage_now),
            };
            match striking {
                Some(Fault::InbandError) => {
                    events.push(Some(0), |out| renderer.error(out));
                    if !faults.no_done {
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
                Some(Fault::Malformed) => events.push(Some(take), |out| {
                    renderer.tokens(out, &event);
                    out.truncate(out.len() / 2);
                }),
                _ => events.push(Some(take), |out| renderer.tokens(out, &event)),
            }
            sent = usage_now;
            let since = self.arrival.elapsed();
            running.tokens(since, take, work.prompt_tokens);
            if events.is_batch() {
                events.write_out().await?;
            }
        }
        if plan.own {
            events.push(Some(0), |out| renderer.usage(out, sent));
            if events.is_batch() {
                events.write_out().await?;
            }
        }
        if !faults.no_done {
            events.push(None, |out| renderer.done(out));
        }
        let ended = events.end().await?;
        running.finish(work.finish, self.arrival.elapsed());
        Ok(ended)
    }

    fn reasoning(&self) -> u32 {
        match self.work.api {
            Api::Chat => self.faults.reasoning,
            Api::Completions => 0,
        }
    }

    /// The tokens of the next chunk; one chunk never holds both reasoning and answer.
    fn chunk_size(&self, sent: u32) -> u32 {
        let left = self.work.output_tokens - sent;
        let thinking = self.reasoning().saturating_sub(sent);
        let most = if thinking > 0 {
            thinking.min(left)
        } else {
            left
        };
        self.faults.tokens_per_chunk.get().min(most)
    }
}

/// Waits for a due time; lets other streams have their turn even if it has passed.
async fn wait(until: Instant) {
    if Instant::now() < until {
        sleep_until(until).await;
    } else {
        tokio::task::coop::consume_budget().await;
    }
}

/// Waits for a due time, but not for a client that has gone.
pub(crate) async fn wait_or_leave(
    until: Instant,
    wire: &mut Wire,
    ahead: &mut Vec<u8>,
) -> io::Result<()> {
    tokio::select! {
        biased;
        () = wait(until) => Ok(()),
        () = wire.gone(ahead) => Err(io::ErrorKind::ConnectionAborted.into()),
    }
}

/// Frames events, writes them, and logs when each was written.
pub(crate) struct EventWriter<'a> {
    pub(crate) wire: &'a mut Wire,
    entry: &'a mut Entry,
    /// Whether the body is chunked; otherwise it ends with the connection.
    chunked: bool,
    line_end: &'static [u8],
    events_per_write: usize,
    /// Where to cut each event in two, if at all.
    split: Option<Draw>,
    out: Vec<u8>,
    event: Vec<u8>,
    pending: Vec<Pending>,
}

/// An event in the output buffer.
struct Pending {
    start: usize,
    /// The end of its text: before the line end, so that no reader can have it earlier.
    end: usize,
    tokens: u32,
}

impl<'a> EventWriter<'a> {
    pub(crate) fn new(
        wire: &'a mut Wire,
        entry: &'a mut Entry,
        chunked: bool,
        line_end: &'static [u8],
        faults: &Faults,
        split: Draw,
    ) -> EventWriter<'a> {
        EventWriter {
            wire,
            entry,
            chunked,
            line_end,
            events_per_write: faults.events_per_write.get() as usize,
            split: faults.split_writes.then_some(split),
            out: Vec::new(),
            event: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// Adds an event. With `None` for its tokens it stays out of the log: `[DONE]`.
    fn push(&mut self, tokens: Option<u32>, render: impl FnOnce(&mut Vec<u8>)) {
        self.event.clear();
        render(&mut self.event);
        let length = self.event.len();
        self.event.extend_from_slice(self.line_end);
        self.event.extend_from_slice(self.line_end);
        let start = self.frame();
        if let Some(tokens) = tokens {
            let end = start + length;
            self.pending.push(Pending { start, end, tokens });
        }
    }

    fn comment(&mut self, text: &[u8]) {
        self.event.clear();
        self.event.extend_from_slice(text);
        self.event.extend_from_slice(self.line_end);
        self.event.extend_from_slice(self.line_end);
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

    /// Ends the body and writes what is left.
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
                let written = self.wire.write(&self.out[from..to]).await?;
                from += written.bytes;
                while let Some(event) = self.pending.get(logged)
                    && event.end <= from
                {
                    self.entry.chunk(written.at, event.tokens);
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
