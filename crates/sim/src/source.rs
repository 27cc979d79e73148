//! Where the tokens of an answer come from: the fixed timing, or the engine.

use std::{io, time::Duration};

use tokio::time::{Instant, sleep_until};

use crate::{
    drive::Generation,
    engine::Nanos,
    render::{PerToken, Usage},
    timing::Pace,
    wire::Wire,
    work::{Finish, Work},
};

/// Gives out the tokens of one answer.
pub(crate) enum Source {
    Fixed(Fixed),
    Engine(Box<Scheduled>),
}

/// Tokens on the fixed schedule.
pub(crate) struct Fixed {
    pace: Pace,
    arrival: Instant,
    left: u32,
    finish: Finish,
    begun: bool,
}

/// Tokens as the engine makes them.
pub(crate) struct Scheduled {
    generation: Generation,
    /// Tokens that have come and are not written.
    waiting: u32,
    due: Nanos,
    finish: Option<Finish>,
    cached_tokens: u32,
    per_token: Option<PerToken>,
}

/// What a chunk may hold, and how long it is held back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub(crate) least: u32,
    pub(crate) most: u32,
    pub(crate) held_up: Duration,
    /// Whether this chunk is the one that is held up.
    pub(crate) stalls: bool,
}

/// Tokens to be written now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) tokens: u32,
    pub(crate) finish: Option<Finish>,
    /// When the engine would have them written, unless they were held up.
    pub(crate) due: Option<Nanos>,
}

impl Source {
    pub(crate) fn fixed(pace: Pace, arrival: Instant, work: &Work) -> Source {
        Source::Fixed(Fixed {
            pace,
            arrival,
            left: work.output_tokens,
            finish: work.finish,
            begun: false,
        })
    }

    /// `tells_each`: whether usage tells of each token.
    pub(crate) fn engine(generation: Generation, tells_each: bool) -> Source {
        Source::Engine(Box::new(Scheduled {
            generation,
            waiting: 0,
            due: 0,
            finish: None,
            cached_tokens: 0,
            per_token: tells_each.then(PerToken::default),
        }))
    }

    /// Waits for the next tokens, of which none come any more where the engine has died; an
    /// error means that the client has gone.
    pub(crate) async fn next(
        &mut self,
        ask: Ask,
        wire: &mut Wire,
        ahead: &mut Vec<u8>,
    ) -> io::Result<Option<Ready>> {
        match self {
            Source::Fixed(fixed) => fixed.next(ask, wire, ahead).await.map(Some),
            Source::Engine(scheduled) => scheduled.next(ask, wire, ahead).await,
        }
    }

    pub(crate) fn usage(&self, output: u32) -> Usage<'_> {
        match self {
            Source::Fixed(_) => Usage::of(output),
            Source::Engine(scheduled) => Usage {
                output,
                cached: scheduled.cached_tokens,
                per_token: scheduled.per_token.as_ref(),
            },
        }
    }
}

impl Fixed {
    async fn next(&mut self, ask: Ask, wire: &mut Wire, ahead: &mut Vec<u8>) -> io::Result<Ready> {
        let tokens = ask.least.min(ask.most).min(self.left);
        let mut due = Duration::ZERO;
        for _ in 0..tokens {
            due = self.pace.next_due();
        }
        let until = self.arrival + due + ask.held_up;
        if self.begun && !ask.stalls {
            wait(until).await;
        } else {
            wait_or_leave(until, wire, ahead).await?;
        }
        self.begun = true;
        self.left -= tokens;
        Ok(Ready {
            tokens,
            finish: (self.left == 0).then_some(self.finish),
            due: None,
        })
    }
}

impl Scheduled {
    async fn next(
        &mut self,
        ask: Ask,
        wire: &mut Wire,
        ahead: &mut Vec<u8>,
    ) -> io::Result<Option<Ready>> {
        while self.waiting < ask.least.min(ask.most) && self.finish.is_none() {
            let piece = tokio::select! {
                biased;
                piece = self.generation.next() => piece,
                () = wire.gone(ahead) => return Err(io::ErrorKind::ConnectionAborted.into()),
            };
            let Some(piece) = piece else {
                return Ok(None);
            };
            self.waiting = self.waiting.saturating_add(piece.tokens);
            self.due = piece.at;
            self.finish = piece.finish.map(Finish::from);
            self.cached_tokens = piece.cached_tokens;
            if let Some(per_token) = &mut self.per_token {
                for _ in 0..piece.tokens {
                    let first = per_token.batch_size.is_empty();
                    per_token.batch_size.push(piece.batch);
                    let waited = if first { piece.queued / 1000 } else { 0 };
                    per_token.queue_wait_us.push(waited);
                }
            }
        }
        let held_up = !ask.held_up.is_zero();
        if held_up {
            let until = self.generation.desk().instant(self.due) + ask.held_up;
            wait_or_leave(until, wire, ahead).await?;
        }
        let tokens = self.waiting.min(ask.most);
        self.waiting -= tokens;
        Ok(Some(Ready {
            tokens,
            finish: self.finish.filter(|_| self.waiting == 0),
            due: (!held_up).then_some(self.due),
        }))
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
