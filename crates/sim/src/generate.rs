//! Answering a request for tokens: streamed or whole, with the fate that was drawn for it.

use std::{
    io,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use inferometer_catalog::engine::EngineKind;
use tokio::time::Instant;

use crate::{
    clock::Stamp,
    connection::{After, Exchange, JSON, authorized, now_s},
    draw::{Draw, Purpose},
    engine,
    fault::{Fate, Fault, UsagePlace},
    http::Request,
    metrics::Running,
    mindie,
    render::{Renderer, Whole, Words, inband_error},
    reply::{BodyEnd, Refusal},
    server::Shared,
    source::{Ask, Source, wait_or_leave},
    stream::{Ended, EventWriter, Stream},
    truth::Entry,
    wire::Wire,
    work::{Api, Finish, Work},
};

const EVENTS: &str = "text/event-stream; charset=utf-8";

/// Ids that go into a header and the log as they are.
fn usable_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 256 && id.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whom a request for tokens asks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target<'a> {
    OpenAi(Api),
    Mindie(mindie::Endpoint<'a>),
}

/// Answers a request for tokens, and logs what was done.
pub(crate) async fn generate(
    shared: &Arc<Shared>,
    wire: &mut Wire,
    ahead: &mut Vec<u8>,
    request: Request,
    target: Target<'_>,
) -> io::Result<After> {
    let stamp = Stamp::now();
    let arrival = Instant::now();
    let config = &shared.config;
    let number = shared.requests.fetch_add(1, Relaxed);
    if let Some(desk) = &shared.desk
        && config.faults.oom_after == Some(number)
    {
        desk.kill();
    }
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
        kind: shared.kind(),
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
        let work = match target {
            Target::OpenAi(api) => Work::parse(api, &request.body, config, number),
            Target::Mindie(endpoint) => endpoint.parse(&request.body, config, number),
        };
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
        let sourced = work.and_then(|mut work| {
            let source = self.source(&mut work)?;
            Ok((work, source))
        });
        let (work, source) = match sourced {
            Ok(sourced) => sourced,
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
            self.stream(wire, ahead, entry, (&work, source), &mut running)
                .await
        } else {
            self.whole(wire, ahead, entry, (&work, source), &mut running)
                .await
        }
    }

    /// Has the tokens made; the engine may refuse to.
    fn source(&self, work: &mut Work) -> Result<Source, Refusal> {
        let Some(desk) = &self.shared.desk else {
            let pace = self.shared.timing.pace(self.draw(Purpose::Pace));
            return Ok(Source::fixed(pace, self.arrival, work));
        };
        let setup = desk.setup();
        // The answer's tokens are known already, so that a chat which goes on from it finds
        // them cached.
        let mut tokens = std::mem::take(&mut work.prompt);
        if setup.config.prefix_caching {
            tokens.extend(self.words().ids(work.output_tokens));
        }
        let request = engine::Request {
            id: self.number,
            prompt_tokens: work.prompt_tokens,
            output_tokens: work.output_tokens,
            hashes: if setup.config.prefix_caching {
                engine::block_hashes(&tokens, setup.config.block_size)
            } else {
                Vec::new()
            },
            priority: work.priority,
            stops: work.finish == Finish::Stop,
        };
        let generation = desk.submit(request).map_err(|refusal| match refusal {
            engine::Refusal::Empty { prompt: 0, .. } => {
                Refusal::bad_request("The decoder prompt cannot be empty")
            }
            engine::Refusal::Dead => Refusal::engine_dead(),
            other => Refusal::bad_request(other.to_string()),
        })?;
        let tells_each = setup.kind == EngineKind::Mindie;
        Ok(Source::engine(generation, tells_each))
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

    fn told(&self, work: &Work) -> mindie::Told<'_> {
        mindie::Told {
            request_id: self.id,
            model: &self.shared.config.model,
            prompt_tokens: work.prompt_tokens,
        }
    }

    fn words(&self) -> Words<'_> {
        Words::new(self.draw(Purpose::Words), &self.shared.config.tokenizer)
    }

    async fn stream(
        &self,
        wire: &mut Wire,
        ahead: &mut Vec<u8>,
        entry: &mut Entry,
        (work, source): (&Work, Source),
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
        let renderer = match &work.mindie {
            Some(asked) => renderer.in_form(asked, self.told(work)),
            None => renderer,
        };
        let mut events = EventWriter::new(
            wire,
            entry,
            chunked,
            renderer.event_end(),
            &config.faults,
            self.draw(Purpose::Split),
            self.shared.desk.as_deref(),
        );
        let stream = Stream {
            work,
            faults: &config.faults,
            fault: self.fate.fault,
            renderer: &renderer,
            arrival: self.arrival,
            kind: self.shared.kind(),
            source,
            words: self.words(),
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
        (work, mut source): (&Work, Source),
        running: &mut Running<'_>,
    ) -> io::Result<After> {
        let config = &self.shared.config;
        let mut words = self.words();
        let thinking = match work.api {
            Api::Chat => config.faults.reasoning,
            Api::Completions => 0,
        };
        let (mut reasoning, mut text) = (Vec::new(), Vec::new());
        let held_up = match self.fate.fault {
            Some(Fault::Stall(wait)) => wait,
            _ => Duration::ZERO,
        };
        let all = Ask {
            least: u32::MAX,
            most: u32::MAX,
            held_up,
            stalls: true,
        };
        let Some(ready) = source.next(all, wire, ahead).await? else {
            return self.refuse(wire, entry, &Refusal::engine_dead()).await;
        };
        let mut ids = Vec::new();
        for token in 0..ready.tokens {
            ids.push(words.append(if token < thinking {
                &mut reasoning
            } else {
                &mut text
            }));
        }

        let whole = |bytes: Vec<u8>| String::from_utf8(bytes).expect("pieces are whole texts");
        let reasoning = (thinking > 0).then(|| whole(reasoning));
        let text = whole(text);
        let finish = ready.finish.unwrap_or(work.finish);
        let usage = config.faults.usage != Some(UsagePlace::Missing);
        let answer = Whole {
            api: work.api,
            request_id: self.id,
            created_s: now_s(),
            model: &config.model,
            reasoning: reasoning.as_deref(),
            text: &text,
            finish,
            usage: usage.then(|| (work.prompt_tokens, source.usage(ready.tokens))),
        };
        let mut body = match &work.mindie {
            Some(asked) => {
                let usage = source.usage(ready.tokens);
                asked.whole(&self.told(work), &text, &ids, finish, usage)
            }
            None => answer.render(),
        };
        let mut tokens = ready.tokens;
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
            running.finish(finish, since);
        }
        Ok(self.exchange.after())
    }
}
