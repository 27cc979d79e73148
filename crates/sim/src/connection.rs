//! One connection: reads requests one after the other and answers them.

use std::{
    io,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::json;
use tokio::time::Instant;

use crate::{
    clock::Stamp,
    draw::{Draw, Purpose},
    fault::{Fate, Fault, UsagePlace},
    http::{Progress, Request, RequestReader},
    metrics::Running,
    render::{Renderer, Whole, Words, inband_error},
    reply::{BodyEnd, Head, Refusal},
    server::Shared,
    stream::{Ended, EventWriter, Stream, wait_or_leave},
    truth::Entry,
    wire::Wire,
    work::{Api, Work},
};

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What becomes of the connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    KeepOpen,
    Close,
    /// Without waiting for the client to take what was sent.
    Drop,
}

/// Serves a connection until either side ends it. An error means that the client has gone,
/// which is its right.
pub(crate) async fn serve(shared: Arc<Shared>, mut wire: Wire) -> io::Result<()> {
    let mut reader = RequestReader::default();
    loop {
        match reader.advance() {
            Ok(Progress::More) => {
                if wire.read(&mut reader.buf).await? == 0 {
                    return Ok(());
                }
            }
            Ok(Progress::Continue) => {
                wire.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
            }
            Ok(Progress::Done(request)) => {
                match answer(&shared, &mut wire, &mut reader.buf, request).await? {
                    After::KeepOpen => {}
                    After::Close => {
                        wire.close().await;
                        return Ok(());
                    }
                    After::Drop => return Ok(()),
                }
            }
            Err(reason) => {
                let plain = Exchange::closing();
                plain
                    .refuse(&mut wire, &Refusal::unreadable(reason))
                    .await?;
                wire.close().await;
                return Ok(());
            }
        }
    }
}

/// What the heads of a request's answers have in common.
struct Exchange<'a> {
    http10: bool,
    keep_alive: bool,
    request_id: Option<&'a str>,
}

impl Exchange<'_> {
    fn closing() -> Exchange<'static> {
        Exchange {
            http10: false,
            keep_alive: false,
            request_id: None,
        }
    }

    fn after(&self) -> After {
        if self.keep_alive {
            After::KeepOpen
        } else {
            After::Close
        }
    }

    fn head(&self, status: u16, content_type: &str, body_end: BodyEnd) -> String {
        self.head_with(status, content_type, body_end, None)
    }

    fn head_with(
        &self,
        status: u16,
        content_type: &str,
        body_end: BodyEnd,
        header: Option<(&'static str, &'static str)>,
    ) -> String {
        let head = Head {
            status,
            content_type,
            body_end,
            http10: self.http10,
            keep_alive: self.keep_alive && body_end != BodyEnd::Close,
            request_id: self.request_id,
            header,
        };
        head.render()
    }

    async fn send(&self, wire: &mut Wire, content_type: &str, body: &str) -> io::Result<Stamp> {
        let mut bytes = self.head(200, content_type, BodyEnd::Length(body.len()));
        bytes.push_str(body);
        wire.write_all(bytes.as_bytes()).await
    }

    async fn refuse(&self, wire: &mut Wire, refusal: &Refusal) -> io::Result<Stamp> {
        let length = BodyEnd::Length(refusal.body.len());
        let mut bytes = self.head_with(refusal.status, JSON, length, refusal.header);
        bytes.push_str(&refusal.body);
        wire.write_all(bytes.as_bytes()).await
    }
}

async fn answer(
    shared: &Arc<Shared>,
    wire: &mut Wire,
    ahead: &mut Vec<u8>,
    request: Request,
) -> io::Result<After> {
    let config = &shared.config;
    let path = match &config.path_prefix {
        Some(prefix) => request.path.strip_prefix(prefix.trim_end_matches('/')),
        None => Some(request.path.as_str()),
    };
    let path = path.unwrap_or_default();
    let api = match path {
        "/v1/chat/completions" => Some(Api::Chat),
        "/v1/completions" => Some(Api::Completions),
        _ => None,
    };
    if let Some(api) = api
        && request.method == "POST"
    {
        return generate(shared, wire, ahead, request, api).await;
    }
    let exchange = Exchange {
        http10: request.http10 || config.faults.http10,
        keep_alive: request.keep_alive && !config.faults.http10,
        request_id: request.request_id.as_deref(),
    };
    let allowed = match path {
        _ if api.is_some() => "POST",
        "/v1/models" | "/health" | "/version" | "/metrics" => "GET",
        _ => {
            let refusal = Refusal::not_found(&request.path);
            exchange.refuse(wire, &refusal).await?;
            return Ok(exchange.after());
        }
    };
    if request.method != allowed {
        exchange
            .refuse(wire, &Refusal::method_not_allowed(allowed))
            .await?;
        return Ok(exchange.after());
    }
    match path {
        "/v1/models" if !authorized(shared, &request) => {
            exchange.refuse(wire, &Refusal::unauthorized()).await?;
        }
        "/v1/models" => {
            let models = models(&config.model, config.max_model_len);
            exchange.send(wire, JSON, &models).await?;
        }
        "/version" => {
            let version = json!({"version": env!("CARGO_PKG_VERSION")}).to_string();
            exchange.send(wire, JSON, &version).await?;
        }
        "/metrics" => {
            let text = shared.metrics.render(&config.model);
            exchange.send(wire, PROMETHEUS, &text).await?;
        }
        _ => {
            exchange.send(wire, JSON, "").await?;
        }
    }
    Ok(exchange.after())
}

/// As vLLM lists the one model that it serves.
pub(crate) fn models(model: &str, max_model_len: u32) -> String {
    let card = json!({
        "id": model, "object": "model", "created": now_s(), "owned_by": "inferometer-sim",
        "root": model, "parent": null, "max_model_len": max_model_len,
    });
    json!({"object": "list", "data": [card]}).to_string()
}

fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

fn authorized(shared: &Shared, request: &Request) -> bool {
    let Some(key) = &shared.config.api_key else {
        return true;
    };
    let token = request.authorization.as_deref();
    token.and_then(|text| text.strip_prefix("Bearer ")) == Some(key)
}

/// Ids that go into a header and the log as they are.
fn usable_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 256 && id.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Answers a request for tokens, and logs what was done.
async fn generate(
    shared: &Arc<Shared>,
    wire: &mut Wire,
    ahead: &mut Vec<u8>,
    request: Request,
    api: Api,
) -> io::Result<After> {
    let stamp = Stamp::now();
    let arrival = Instant::now();
    let config = &shared.config;
    let number = shared.requests.fetch_add(1, Relaxed);
    let own_id;
    let id = match request.request_id.as_deref().filter(|id| usable_id(id)) {
        Some(id) => id,
        None => {
            own_id = format!("sim-{number}");
            &own_id
        }
    };
    let fate = config
        .faults
        .fate(&mut Draw::new(config.seed, number, Purpose::Fault));
    let mut entry = shared.truth.entry(id, stamp);
    entry.fault(fate.name());
    let http10 = request.http10 || config.faults.http10;
    let exchange = Exchange {
        http10,
        keep_alive: request.keep_alive && !fate.close && !config.faults.http10,
        request_id: Some(id),
    };
    let job = Job {
        shared,
        exchange,
        fate,
        number,
        arrival,
        id,
    };
    let result = if authorized(shared, &request) {
        let work = Work::parse(api, &request.body, config, number);
        drop(request.body);
        job.serve(wire, ahead, &mut entry, work).await
    } else {
        entry.fault(None);
        job.refuse(wire, &mut entry, &Refusal::unauthorized()).await
    };
    entry.complete();
    drop(entry);
    shared.answered();
    result
}

/// One request for tokens.
struct Job<'a> {
    shared: &'a Shared,
    exchange: Exchange<'a>,
    fate: Fate,
    number: u64,
    arrival: Instant,
    id: &'a str,
}

impl Job<'_> {
    async fn serve(
        self,
        wire: &mut Wire,
        ahead: &mut Vec<u8>,
        entry: &mut Entry,
        work: Result<Work, Refusal>,
    ) -> io::Result<After> {
        match self.fate.fault {
            Some(Fault::Refuse) => {
                wire.reset_on_close();
                return Ok(After::Drop);
            }
            Some(Fault::Status(status)) => {
                return self.refuse(wire, entry, &Refusal::injected(status)).await;
            }
            Some(Fault::Hang) => {
                wire.gone(ahead).await;
                return Ok(After::Drop);
            }
            Some(Fault::SlowHeaders(wait)) => {
                wait_or_leave(self.arrival + wait, wire, ahead).await?;
            }
            _ => {}
        }
        let work = match work {
            Ok(work) => work,
            Err(refusal) => {
                // What was drawn for the stream did not come to pass.
                if !matches!(self.fate.fault, Some(Fault::SlowHeaders(_))) {
                    entry.fault(None);
                }
                return self.refuse(wire, entry, &refusal).await;
            }
        };
        let mut running = self.shared.metrics.start();
        if work.stream {
            self.stream(wire, ahead, entry, &work, &mut running).await
        } else {
            self.whole(wire, ahead, entry, &work, &mut running).await
        }
    }

    async fn refuse(
        &self,
        wire: &mut Wire,
        entry: &mut Entry,
        refusal: &Refusal,
    ) -> io::Result<After> {
        let written = self.exchange.refuse(wire, refusal).await?;
        entry.end(written);
        Ok(self.exchange.after())
    }

    fn draw(&self, purpose: Purpose) -> Draw {
        Draw::new(self.shared.config.seed, self.number, purpose)
    }

    async fn stream(
        &self,
        wire: &mut Wire,
        ahead: &mut Vec<u8>,
        entry: &mut Entry,
        work: &Work,
        running: &mut Running<'_>,
    ) -> io::Result<After> {
        let config = &self.shared.config;
        let chunked = !self.exchange.http10;
        let body_end = if chunked {
            BodyEnd::Chunked
        } else {
            BodyEnd::Close
        };
        let head = self.exchange.head(200, EVENTS, body_end);
        entry.end(wire.write_all(head.as_bytes()).await?);
        drop(head);
        let renderer = Renderer::new(
            work.api,
            self.id,
            now_s(),
            &config.model,
            work.prompt_tokens,
            &config.faults,
        );
        let mut events = EventWriter::new(
            wire,
            entry,
            chunked,
            renderer.line_end(),
            &config.faults,
            self.draw(Purpose::Split),
        );
        let stream = Stream {
            work,
            faults: &config.faults,
            fault: self.fate.fault,
            renderer: &renderer,
            arrival: self.arrival,
            pace: self.shared.timing.pace(self.draw(Purpose::Pace)),
            words: Words(self.draw(Purpose::Words)),
        };
        Ok(match stream.serve(&mut events, running, ahead).await? {
            Ended::Whole if chunked => self.exchange.after(),
            Ended::Whole => After::Close,
            Ended::Broken => After::Drop,
        })
    }

    /// The answer in one piece, when its last token is due. Faults of streams take the form
    /// that they have here.
    async fn whole(
        &self,
        wire: &mut Wire,
        ahead: &mut Vec<u8>,
        entry: &mut Entry,
        work: &Work,
        running: &mut Running<'_>,
    ) -> io::Result<After> {
        let config = &self.shared.config;
        let mut pace = self.shared.timing.pace(self.draw(Purpose::Pace));
        let mut words = Words(self.draw(Purpose::Words));
        let thinking = match work.api {
            Api::Chat => config.faults.reasoning,
            Api::Completions => 0,
        };
        let (mut reasoning, mut text) = (Vec::new(), Vec::new());
        let mut due = pace.next_due();
        for token in 0..work.output_tokens {
            if token > 0 {
                due = pace.next_due();
            }
            words.append(if token < thinking {
                &mut reasoning
            } else {
                &mut text
            });
        }
        if let Some(Fault::Stall(wait)) = self.fate.fault {
            due += wait;
        }
        wait_or_leave(self.arrival + due, wire, ahead).await?;

        let ascii = |bytes: Vec<u8>| String::from_utf8(bytes).expect("words are ASCII");
        let reasoning = (thinking > 0).then(|| ascii(reasoning));
        let usage = config.faults.usage != Some(UsagePlace::Missing);
        let answer = Whole {
            api: work.api,
            request_id: self.id,
            created_s: now_s(),
            model: &config.model,
            reasoning: reasoning.as_deref(),
            text: &ascii(text),
            finish: work.finish,
            usage: usage.then_some((work.prompt_tokens, work.output_tokens)),
        };
        let mut body = answer.render();
        let mut tokens = work.output_tokens;
        match self.fate.fault {
            Some(Fault::Empty) => (body, tokens) = (String::new(), 0),
            Some(Fault::InbandError) => (body, tokens) = (inband_error().to_string(), 0),
            Some(Fault::Malformed | Fault::CutClean) => body.truncate(body.len() / 2),
            _ => {}
        }
        let mut bytes = self.exchange.head(200, JSON, BodyEnd::Length(body.len()));
        if self.fate.fault == Some(Fault::Cut) {
            body.truncate(body.len() / 2);
            bytes.push_str(&body);
            entry.end(wire.write_all(bytes.as_bytes()).await?);
            return Ok(After::Drop);
        }
        bytes.push_str(&body);
        let written = wire.write_all(bytes.as_bytes()).await?;
        entry.chunk(written, tokens);
        entry.end(written);
        if tokens > 0 {
            let since = self.arrival.elapsed();
            running.tokens(since, tokens, work.prompt_tokens);
            running.finish(work.finish, since);
        }
        Ok(self.exchange.after())
    }
}
