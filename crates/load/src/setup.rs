//! What a run needs to know to make requests, shared by all workers.

use crate::api::{Ask, Dialect};
use crate::clock::Clock;
use crate::connect::{Network, base64};
use crate::exchange::Timeouts;
use crate::http::Request;
use inferometer_core::record::Record;
use inferometer_core::units::Offset;
use std::sync::Arc;

/// A prompt and what is known of it.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// The prompt.
    pub prompt: String,
    /// Its length in tokens, where it was made to a length.
    pub input_tokens: Option<u32>,
    /// Its length in characters.
    pub chars: u64,
    /// Output tokens to ask for.
    pub output_tokens: Option<u32>,
}

/// Makes the job of an index: a pure function, called ahead of need on threads of its own.
pub type JobMaker = Arc<dyn Fn(u64) -> Job + Send + Sync>;

/// The way to one server.
#[derive(Clone)]
pub struct Way<T> {
    /// Opens connections.
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
    /// The API spoken.
    pub dialect: &'static dyn Dialect,
    /// What is asked for.
    pub ask: Ask,
    /// Prompts.
    pub make_job: JobMaker,
    /// Limits on an open connection.
    pub timeouts: Timeouts,
    /// The run's clock.
    pub clock: Clock,
    /// Begins every request id.
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
}

impl<T> Setup<T> {
    /// Makes the request of an index.
    pub fn prepare(&self, index: u64, warmup: bool, due: Option<Offset>) -> Prepared {
        // Warm-up prompts are other prompts, so that they cannot warm the measured ones.
        let job = (self.make_job)(match warmup {
            true => WARMUP_INDEX + index,
            false => index,
        });
        let way = (index % self.ways.len() as u64) as usize;
        let part = if warmup { "w" } else { "r" };
        let id = format!("{}-{part}{index}", self.run_id);
        let to = &self.ways[way];
        let body = self.dialect.body(&self.ask, &job.prompt, job.output_tokens);
        let head = Request {
            method: "POST",
            path: &to.path,
            host: &to.host,
            headers: &to.headers,
        };
        let bytes = head.render(&[("x-request-id", &id)], Some(&body));
        let record = Record {
            id,
            index,
            warmup,
            due,
            input_tokens_asked: job.input_tokens,
            output_tokens_asked: job.output_tokens,
            output_exact: self.ask.ignore_eos,
            input_chars: job.chars,
            url: to.url.clone(),
            streamed: self.ask.stream,
            ..Record::default()
        };
        Prepared { record, bytes, way }
    }
}

/// Where the prompts of the warm-up begin; no measured run gets that far.
pub const WARMUP_INDEX: u64 = 1 << 48;
