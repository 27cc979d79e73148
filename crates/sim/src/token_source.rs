//! Where the tokens of an answer come from: the fixed timing, or the engine.

use std::{io, time::Duration};

use tokio::time::{Instant, sleep_until};

use crate::{
    client_stream::ClientStream,
    engine::{Finish, Nanos},
    engine_driver::Generation,
    timing::Pace,
    token_event::{PerToken, Usage},
};

pub(crate) enum TokenSource {
    Fixed(Fixed),
    Engine(Box<Scheduled>),
}

pub(crate) struct Fixed {
    pace: Pace,
    arrival: Instant,
    left: u32,
    finish: Finish,
    begun: bool,
}

pub(crate) struct Scheduled {
    generation: Generation,
    /// Tokens that have come and are not written.
    waiting: u32,
    due: Nanos,
    finish: Option<Finish>,
    cached_tokens: u32,
    preemptions: u32,
    per_token: Option<PerToken>,
}

/// What a chunk may hold, and how long it is held back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkLimits {
    pub(crate) least: u32,
    pub(crate) most: u32,
    pub(crate) held_up: Duration,
    /// Whether this chunk is the one that is held up.
    pub(crate) stalls: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadyTokens {
    pub(crate) tokens: u32,
    pub(crate) finish: Option<Finish>,
    /// When the engine would have them written, unless they were held up.
    pub(crate) due: Option<Nanos>,
}

impl TokenSource {
    pub(crate) fn fixed(pace: Pace, arrival: Instant, tokens: u32, finish: Finish) -> TokenSource {
        TokenSource::Fixed(Fixed {
            pace,
            arrival,
            left: tokens,
            finish,
            begun: false,
        })
    }

    /// `per_token`: whether usage tells of each token.
    pub(crate) fn engine(generation: Generation, per_token: bool) -> TokenSource {
        TokenSource::Engine(Box::new(Scheduled {
            generation,
            waiting: 0,
            due: 0,
            finish: None,
            cached_tokens: 0,
            preemptions: 0,
            per_token: per_token.then(PerToken::default),
        }))
    }

    /// Waits for the next tokens, of which none come any more where the engine has died; an
    /// error means that the client has gone.
    pub(crate) async fn next(
        &mut self,
        ask: ChunkLimits,
        client: &mut ClientStream,
    ) -> io::Result<Option<ReadyTokens>> {
        match self {
            TokenSource::Fixed(fixed) => fixed.next(ask, client).await.map(Some),
            TokenSource::Engine(scheduled) => scheduled.next(ask, client).await,
        }
    }

    pub(crate) fn usage(&self, output: u32) -> Usage<'_> {
        match self {
            TokenSource::Fixed(_) => Usage::of(output),
            TokenSource::Engine(scheduled) => Usage {
                output,
                cached: scheduled.cached_tokens,
                preemptions: scheduled.preemptions,
                per_token: scheduled.per_token.as_ref(),
            },
        }
    }
}

impl Fixed {
    async fn next(
        &mut self,
        ask: ChunkLimits,
        client: &mut ClientStream,
    ) -> io::Result<ReadyTokens> {
        let tokens = ask.least.min(ask.most).min(self.left);
        let mut due = Duration::ZERO;
        for _ in 0..tokens {
            due = self.pace.next_due();
        }
        let until = self.arrival + due + ask.held_up;
        if self.begun && !ask.stalls {
            wait(until).await;
        } else {
            wait_or_disconnect(until, client).await?;
        }
        self.begun = true;
        self.left -= tokens;
        Ok(ReadyTokens {
            tokens,
            finish: (self.left == 0).then_some(self.finish),
            due: None,
        })
    }
}

impl Scheduled {
    async fn next(
        &mut self,
        ask: ChunkLimits,
        client: &mut ClientStream,
    ) -> io::Result<Option<ReadyTokens>> {
        while self.waiting < ask.least.min(ask.most) && self.finish.is_none() {
            let delivery = tokio::select! {
                biased;
                delivery = self.generation.next() => delivery,
                () = client.disconnected() => return Err(io::ErrorKind::ConnectionAborted.into()),
            };
            let Some(delivery) = delivery else {
                return Ok(None);
            };
            self.waiting = self.waiting.saturating_add(delivery.tokens);
            self.due = delivery.at;
            self.finish = delivery.finish;
            self.cached_tokens = delivery.cached_tokens;
            self.preemptions = delivery.preemptions;
            if let Some(per_token) = &mut self.per_token {
                for _ in 0..delivery.tokens {
                    let first = per_token.batch_size.is_empty();
                    per_token.batch_size.push(delivery.batch);
                    let waited = if first { delivery.queued / 1000 } else { 0 };
                    per_token.queue_wait_us.push(waited);
                }
            }
        }
        let held_up = !ask.held_up.is_zero();
        if held_up {
            let until = self.generation.driver().instant(self.due) + ask.held_up;
            wait_or_disconnect(until, client).await?;
        }
        let tokens = self.waiting.min(ask.most);
        self.waiting -= tokens;
        Ok(Some(ReadyTokens {
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
pub(crate) async fn wait_or_disconnect(
    until: Instant,
    client: &mut ClientStream,
) -> io::Result<()> {
    tokio::select! {
        biased;
        () = wait(until) => Ok(()),
        () = client.disconnected() => Err(io::ErrorKind::ConnectionAborted.into()),
    }
}
