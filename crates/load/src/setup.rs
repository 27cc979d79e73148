//! What a run needs to know to make requests, shared by all workers.

use crate::api::{Ask, Dialect, Said};
use crate::clock::Clock;
use crate::connect::{Network, base64};
use crate::exchange::Timeouts;
use crate::http::Request;
use inferometer_core::content::{Content, Exchange};
use inferometer_core::record::Record;
use inferometer_core::units::Offset;
use inferometer_core::work::History;
use std::sync::Arc;
use std::time::Duration;

/// A prompt and what is known of it.
#[derive(Clone, Debug, Default)]
pub struct Job {
    pub content: Content,
    /// Its length in tokens, where that is known.
    pub input_tokens: Option<u32>,
    pub chars: u64,
    /// Output tokens to ask for; absent: the server's own limit.
    pub output_tokens: Option<u32>,
    /// The answer that the work itself holds, for the history of a conversation.
    pub answer: Option<Arc<str>>,
}

/// What is sent: a pure function of its place, called ahead of need on threads of its own.
pub trait Jobs: Send + Sync {
    /// Turns of a session; 1 where the work is no conversation.
    fn turns(&self, session: u64) -> u32;

    /// What the user says in a turn of a session, both counted from 0.
    fn job(&self, session: u64, turn: u32) -> Job;
}

/// Single prompts by a function of their number.
impl<F: Fn(u64) -> Job + Send + Sync> Jobs for F {
    fn turns(&self, _session: u64) -> u32 {
        1
    }

    fn job(&self, session: u64, _turn: u32) -> Job {
        self(session)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Talk {
    /// From the end of an answer to the next turn.
    pub think: Duration,
    /// Whose answers are told in the next turn.
    pub history: History,
}

/// Where a request stands in the work.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub session: u64,
    pub turn: u32,
    /// Turns that it will have in this run.
    pub turns: u32,
    /// Number of the request in the schedule.
    pub index: u64,
    /// Kept apart from the measured part.
    pub warmup: bool,
}

impl Place {
    /// The next turn of the session.
    pub fn next(self) -> Option<Place> {
        (self.turn + 1 < self.turns).then_some(Place {
            turn: self.turn + 1,
            index: self.index + 1,
            ..self
        })
    }
}

/// The way to one server.
#[derive(Clone)]
pub struct Way<T> {
    pub transport: T,
    /// What stands in the request line.
    pub path: String,
    /// The `Host` header.
    pub host: String,
    /// Further headers, secrets among them.
    pub headers: Vec<(String, String)>,
    /// The address for people and records, without secrets.
    pub url: String,
}

impl Way<Network> {
    /// The way to a path on a server.
    pub fn new(network: Network, path: &str, mut headers: Vec<(String, String)>) -> Self {
        headers.extend(network.proxy_headers());
        let target = network.target();
        let authorized = headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        if let Some(credentials) = target.credentials.as_ref().filter(|_| !authorized) {
            let value = format!("Basic {}", base64(credentials.as_bytes()));
            headers.push(("Authorization".into(), value));
        }
        Way {
            path: network.request_path(path),
            host: target.authority(),
            url: target.url(path),
            headers,
            transport: network,
        }
    }
}

/// Everything that a request is made of.
pub struct Setup<T> {
    /// Servers in rotation; at least one.
    pub ways: Vec<Way<T>>,
    pub dialect: &'static dyn Dialect,
    pub ask: Ask,
    pub jobs: Arc<dyn Jobs>,
    /// How conversations go on; absent: the work has single prompts.
    pub talk: Option<Talk>,
    /// Where the sessions of the warm-up begin, so that they are none of the measured ones
    /// where the work has enough of them.
    pub warmup_from: u64,
    /// Keep the text of answers until they are recorded.
    pub keep_text: bool,
    /// Limits on an open connection.
    pub timeouts: Timeouts,
    pub clock: Clock,
    pub run_id: String,
}

/// A request that is ready to go.
pub struct Prepared {
    /// The record with what is known beforehand.
    pub record: Record,
    /// The bytes to send.
    pub bytes: Vec<u8>,
    /// Which of the ways it takes.
    pub way: usize,
    /// Where it stands in the work.
    pub place: Place,
    /// What it says and the answer that the work holds, where a turn may follow.
    pub said: Option<(Arc<str>, Option<Arc<str>>)>,
}

impl<T> Setup<T> {
    /// Makes the request of a place.
    pub fn prepare(&self, place: Place, due: Option<Offset>, history: &[Exchange]) -> Prepared {
        let Place {
            session,
            turn,
            index,
            warmup,
            ..
        } = place;
        let first = if warmup { self.warmup_from } else { 0 };
        let job = self.jobs.job(first + session, turn);
        // A conversation stays with one server, whose cache knows it.
        let way = (session % self.ways.len() as u64) as usize;
        let part = if warmup { "w" } else { "r" };
        let id = format!("{}-{part}{index}", self.run_id);
        let to = &self.ways[way];
        let said = Said {
            history,
            content: &job.content,
        };
        let body = self.dialect.body(&self.ask, &said, job.output_tokens);
        let head = Request {
            method: "POST",
            path: &to.path,
            host: &to.host,
            headers: &to.headers,
        };
        let bytes = head.render(&[("x-request-id", &id)], Some(&body));
        let before = history.iter().map(|exchange| {
            (exchange.user.chars().count() + exchange.assistant.chars().count()) as u64
        });
        let record = Record {
            id,
            index,
            session: self.talk.map(|_| session),
            turn: self.talk.map(|_| turn),
            warmup,
            due,
            // Nobody counted what the server itself had said.
            input_tokens_asked: job.input_tokens.filter(|_| history.is_empty()),
            output_tokens_asked: job.output_tokens,
            output_exact: self.ask.ignore_eos && job.output_tokens.is_some(),
            input_chars: job.chars + before.sum::<u64>(),
            url: to.url.clone(),
            streamed: said.streams(&self.ask),
            ..Record::default()
        };
        let said = match job.content {
            Content::Text(text) if self.talk.is_some() => Some((text, job.answer)),
            _ => None,
        };
        Prepared {
            record,
            bytes,
            way,
            place,
            said,
        }
    }
}

/// Where the sessions of the warm-up begin if nobody knows how many are measured; no measured
/// run gets that far.
pub const WARMUP_SESSION: u64 = 1 << 48;
