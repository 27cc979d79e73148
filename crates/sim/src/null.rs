//! The null server: it does nothing but write, and so measures the client alone.
//!
//! Every POST is answered with as many identical token events as the request asks for, as
//! fast as the socket takes them or on a fixed beat. A thread per connection with blocking
//! calls: nothing stands between the loop and `write()`, and a sleeping thread wakes within
//! some tens of microseconds, where an event loop's timers tick in milliseconds.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    num::NonZeroU32,
    path::PathBuf,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{
    clock::Stamp,
    completion_request::Api,
    engine::Finish,
    error::SimError,
    fault::Faults,
    http::{ReadProgress, Request, RequestReader},
    listen::listen,
    render::Renderer,
    reply::{BodyEnd, EVENT_STREAM, ErrorReply, Head, JSON, model_list},
    token_event::{Channel, TokenEvent, Usage},
    truth::{TruthEntry, TruthLog, TruthSink},
};

/// How long a blocking call may keep a thread from noticing the end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Enough for these shallow calls; the default would reserve 2 MiB per connection.
const STACK: usize = 128 << 10;
/// Tokens of a request that gives no limit.
const DEFAULT_TOKENS: u32 = 128;

inferometer_catalog::with_defaults! {
    #[derive(Clone, Debug)]
    pub struct NullConfig {
        /// The model's name in the events and in `/v1/models`.
        pub model: String = "null".to_owned(),
        /// Token events handed over with each `write()`.
        pub events_per_write: NonZeroU32 = NonZeroU32::MIN,
        /// From one write to the next, counted from the request's arrival; `None`: no pause.
        pub gap: Option<Duration> = None,
        /// Where to write what was really sent and when; an existing file is replaced.
        pub truth: Option<PathBuf> = None,
    }
}

/// A bound null server; connections wait in the kernel until [`run`](NullServer::run).
pub struct NullServer {
    listener: TcpListener,
    address: SocketAddr,
    config: NullConfig,
    truth: Option<TruthLog>,
}

impl NullServer {
    /// Binds the address and creates the truth log. Raises the process's soft limit on open
    /// files to its hard limit.
    ///
    /// # Errors
    ///
    /// If the address cannot be bound or the truth log cannot be created.
    pub fn bind(address: SocketAddr, config: NullConfig) -> Result<NullServer, SimError> {
        let (listener, address) = listen(address)?;
        let truth = config.truth.as_deref().map(TruthLog::create).transpose()?;
        Ok(NullServer {
            listener,
            address,
            config,
            truth,
        })
    }

    /// The address with the port that was really bound.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is set, which is noticed within some tenths of a second; then
    /// closes every connection and writes the rest of the truth log. Blocks the thread.
    ///
    /// # Errors
    ///
    /// If the listening socket breaks or the truth log cannot be written.
    pub fn run(self, stop: &AtomicBool) -> Result<(), SimError> {
        let truth = self.truth;
        let sink = truth.as_ref().map(TruthLog::sink).unwrap_or_default();
        let shared = Shared {
            chat: Script::new(Api::Chat, &self.config),
            completions: Script::new(Api::Completions, &self.config),
            config: self.config,
            truth: sink,
            requests: AtomicU64::new(0),
            stop,
        };
        let served = thread::scope(|scope| {
            while !stop.load(Relaxed) {
                let Some(stream) = accept(&self.listener)? else {
                    continue;
                };
                let serve = || {
                    // An error means that the client has gone, which is its right.
                    let _ = shared.serve(stream);
                };
                let started = thread::Builder::new()
                    .stack_size(STACK)
                    .spawn_scoped(scope, serve);
                if started.is_err() {
                    thread::sleep(POLL_INTERVAL);
                }
            }
            Ok(())
        });
        drop(shared);
        drop(self.listener);
        if let Some(truth) = truth {
            truth.close()?;
        }
        served
    }
}

fn accept(listener: &TcpListener) -> Result<Option<TcpStream>, SimError> {
    let mut ready = [PollFd::new(listener, PollFlags::IN)];
    let timeout = Timespec::try_from(POLL_INTERVAL).expect("a tenth of a second fits");
    match poll(&mut ready, Some(&timeout)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
        Ok(_) => {}
        Err(error) => return Err(SimError::Accept(error.into())),
    }
    match listener.accept() {
        Ok((stream, _)) => Ok(Some(stream)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) if crate::listen::is_transient(&error) => {
            thread::sleep(Duration::from_millis(10));
            Ok(None)
        }
        Err(error) => Err(SimError::Accept(error)),
    }
}

#[derive(Clone, Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    /// For each event the end of its text, and its tokens.
    events: Vec<(usize, u32)>,
}

impl Batch {
    fn add(&mut self, tokens: Option<u32>, render: impl FnOnce(&mut Vec<u8>)) {
        let mut event = Vec::new();
        render(&mut event);
        let size = format!("{:x}\r\n", event.len() + 2);
        self.bytes.extend_from_slice(size.as_bytes());
        self.bytes.extend_from_slice(&event);
        if let Some(tokens) = tokens {
            self.events.push((self.bytes.len(), tokens));
        }
        self.bytes.extend_from_slice(b"\n\n\r\n");
    }
}

/// What one kind of request gets, rendered before the first one comes.
struct Script {
    renderer: Renderer<'static>,
    batch: Batch,
    events_per_write: u32,
}

impl Script {
    fn new(api: Api, config: &NullConfig) -> Script {
        let id = "5f0c9a3e7b1d4c2f8e6a0b9d3c7f1e24";
        let renderer = Renderer::new(api, id, 1_700_000_000, &config.model, 0, &Faults::default());
        let events_per_write = config.events_per_write.get();
        let mut batch = Batch::default();
        for _ in 0..events_per_write {
            batch.add(Some(1), |out| renderer.tokens(out, &token(None)));
        }
        Script {
            renderer,
            batch,
            events_per_write,
        }
    }

    /// The last `tokens` tokens, of which the very last tells why it ends.
    fn last_batch(&self, tokens: u32) -> Batch {
        let mut batch = Batch::default();
        for left in (0..tokens).rev() {
            let finish = (left == 0).then_some(Finish::Length);
            batch.add(Some(1), |out| self.renderer.tokens(out, &token(finish)));
        }
        batch
    }

    fn tail(&self, tokens: u32) -> Batch {
        let mut batch = Batch::default();
        batch.add(Some(0), |out| self.renderer.usage(out, Usage::of(tokens)));
        batch.add(None, |out| self.renderer.done(out));
        batch.bytes.extend_from_slice(b"0\r\n\r\n");
        batch
    }
}

fn token(finish: Option<Finish>) -> TokenEvent<'static> {
    TokenEvent {
        text: b" time",
        channel: Channel::Answer,
        finish,
        usage: None,
        progress: None,
    }
}

struct Shared<'a> {
    chat: Script,
    completions: Script,
    config: NullConfig,
    truth: TruthSink,
    requests: AtomicU64,
    stop: &'a AtomicBool,
}

impl Shared<'_> {
    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(POLL_INTERVAL))?;
        stream.set_write_timeout(Some(POLL_INTERVAL))?;
        let mut reader = RequestReader::default();
        let mut piece = [0; 16 << 10];
        loop {
            match reader.advance() {
                Ok(ReadProgress::More) => {
                    let count = self.until_stopped(|| stream.read(&mut piece))?;
                    if count == 0 {
                        return Ok(());
                    }
                    reader.buf.extend_from_slice(&piece[..count]);
                }
                Ok(ReadProgress::Continue) => {
                    self.write(&mut stream, b"HTTP/1.1 100 Continue\r\n\r\n")?;
                }
                Ok(ReadProgress::Done(request)) => {
                    self.answer(&mut stream, &request)?;
                    if !request.keep_alive {
                        return Ok(());
                    }
                }
                Err(reason) => return self.refuse(&mut stream, &ErrorReply::unreadable(reason)),
            }
        }
    }

    /// Repeats a call that timed out, until the server is to end.
    fn until_stopped(&self, mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
        loop {
            match call() {
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                    ) && !self.stop.load(Relaxed) => {}
                result => return result,
            }
        }
    }

    fn write(&self, stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
        let mut from = 0;
        while from < bytes.len() {
            from += self.until_stopped(|| stream.write(&bytes[from..]))?;
        }
        Ok(())
    }

    fn refuse(&self, stream: &mut TcpStream, refusal: &ErrorReply) -> io::Result<()> {
        let head = self.head(refusal.status, JSON, refusal.body.len(), false);
        self.write(stream, (head + &refusal.body).as_bytes())
    }

    fn head(&self, status: u16, content_type: &str, length: usize, keep_alive: bool) -> String {
        let head = Head {
            keep_alive,
            ..Head::new(status, content_type, BodyEnd::Length(length))
        };
        head.render()
    }

    fn answer(&self, stream: &mut TcpStream, request: &Request) -> io::Result<()> {
        let script = match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/v1/completions") => &self.completions,
            ("POST", _) => &self.chat,
            (_, "/v1/models") => {
                let body = model_list(&self.config.model, &[], u32::MAX);
                let head = self.head(200, JSON, body.len(), request.keep_alive);
                return self.write(stream, (head + &body).as_bytes());
            }
            _ => {
                let head = self.head(200, "text/plain", 0, request.keep_alive);
                return self.write(stream, head.as_bytes());
            }
        };
        let number = self.requests.fetch_add(1, Relaxed);
        let own_id = format!("null-{number}");
        let id = request.request_id.as_ref().unwrap_or(&own_id);
        let mut entry = self.truth.entry(id, Stamp::now());
        let begun = Instant::now();
        let head = Head {
            keep_alive: request.keep_alive,
            request_id: Some(id),
            ..Head::new(200, EVENT_STREAM, BodyEnd::Chunked)
        };
        self.write(stream, head.render().as_bytes())?;
        let tokens = tokens_asked(&request.body).unwrap_or(DEFAULT_TOKENS).max(1);
        let mut left = tokens;
        let mut writes = 0;
        while left > script.events_per_write {
            self.pause(begun, writes)?;
            self.write_batch(stream, &script.batch, &mut entry)?;
            left -= script.events_per_write;
            writes += 1;
        }
        self.pause(begun, writes)?;
        self.write_batch(stream, &script.last_batch(left), &mut entry)?;
        self.write_batch(stream, &script.tail(tokens), &mut entry)
    }

    /// Waits for the write of this number, without letting delays add up.
    fn pause(&self, begun: Instant, number: u32) -> io::Result<()> {
        let Some(gap) = self.config.gap else {
            return Ok(());
        };
        let due = begun + gap * number;
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            if self.stop.load(Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            thread::sleep(left.min(POLL_INTERVAL));
        }
    }

    fn write_batch(
        &self,
        stream: &mut TcpStream,
        batch: &Batch,
        entry: &mut TruthEntry,
    ) -> io::Result<()> {
        let mut from = 0;
        let mut logged = 0;
        while from < batch.bytes.len() {
            let mut at = Stamp::now();
            from += self.until_stopped(|| {
                at = Stamp::now();
                stream.write(&batch.bytes[from..])
            })?;
            while let Some(&(end, tokens)) = batch.events.get(logged)
                && end <= from
            {
                entry.chunk(at, tokens);
                logged += 1;
            }
            entry.end(at);
        }
        Ok(())
    }
}

/// The limit in a request's body, found without reading the JSON.
fn tokens_asked(body: &[u8]) -> Option<u32> {
    let number_after = |key: &[u8]| {
        let at = body.windows(key.len()).rposition(|part| part == key)?;
        let rest = body[at + key.len()..].trim_ascii_start();
        let rest = rest.strip_prefix(b":")?.trim_ascii_start();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
    };
    number_after(b"\"max_completion_tokens\"").or_else(|| number_after(b"\"max_tokens\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_found_in_a_body() {
        assert_eq!(tokens_asked(br#"{"max_tokens": 12, "a": 1}"#), Some(12));
        assert_eq!(tokens_asked(br#"{"max_completion_tokens":7}"#), Some(7));
        assert_eq!(tokens_asked(br#"{"max_tokens": null}"#), None);
        assert_eq!(tokens_asked(b"{}"), None);
    }

    #[test]
    fn an_event_is_as_long_as_a_real_one() {
        let script = Script::new(Api::Chat, &NullConfig::default());
        let length = script.batch.bytes.len();
        assert!((200..320).contains(&length), "{length}");
    }
}
