//! Answering a request for tokens: streamed or whole, with the faults that were drawn for it.

use std::{
    io,
    sync::{Arc, PoisonError, atomic::Ordering::Relaxed},
    time::Duration,
};

use inferometer_catalog::engine::EngineKind;
use tokio::time::Instant;

use crate::{
    client_stream::ClientStream,
    clock::{Stamp, unix_seconds},
    completion_request::{Api, CompletionRequest},
    engine::{self, Finish},
    fault::{DrawnFaults, Fault, Switch, UsagePlace},
    http::Request,
    items::{ItemsApi, ItemsRequest},
    metrics::Running,
    native, native_answer,
    random::{Purpose, RandomStream},
    render::{AnswerTokens, Renderer, WholeAnswer, inband_error},
    reply::{BodyEnd, EVENT_STREAM, ErrorReply, JSON},
    responder::{After, Responder},
    shared::Shared,
    span_export::TraceParent,
    stream::{Ended, EventWriter, Stream},
    timing::Pace,
    token_source::{ChunkLimits, TokenSource, wait_or_disconnect},
    transcription_request,
    truth::TruthEntry,
};

/// Ids that go into a header and the log as they are.
fn usable_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 256 && id.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whom a request for tokens asks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target<'a> {
    OpenAi(Api),
    Native(native::Endpoint<'a>),
    Items(ItemsApi),
    Transcription,
}

pub(crate) async fn generate(
    shared: &Arc<Shared>,
    client: &mut ClientStream,
    request: Request,
    target: Target<'_>,
) -> io::Result<After> {
    let stamp = Stamp::now();
    let arrival = Instant::now();
    let config = &shared.config;
    let number = shared.requests.fetch_add(1, Relaxed);
    if let Some(driver) = &shared.driver
        && (config.faults.oom_after).is_some_and(|count| u64::from(count.get()) == number)
    {
        driver.kill();
    }
    let own_id = format!("sim-{number}");
    let given_id = request.request_id.as_deref();
    let id = given_id.filter(|id| usable_id(id)).unwrap_or(&own_id);
    let mut random = RandomStream::new(config.seed, number, Purpose::Fault);
    let drawn = config.faults.draw(&mut random);
    let mut entry = shared.truth.entry(id, stamp);
    entry.fault(drawn.name());
    let http10 = request.http10 || config.faults.has(Switch::Http10);
    let responder = Responder {
        http10,
        keep_alive: request.keep_alive && !drawn.close && !config.faults.has(Switch::Http10),
        request_id: Some(id),
        kind: shared.kind(),
    };
    let trace = request.traceparent.as_deref().and_then(TraceParent::parse);
    let job = Job {
        shared,
        responder,
        drawn,
        number,
        arrival,
        id,
        trace,
    };
    let result = if shared.authorizes(&request) {
        let body = request.body;
        match target {
            Target::Items(api) => {
                let asked = ItemsRequest::parse(api, &body, config);
                drop(body);
                job.serve_items(client, &mut entry, asked).await
            }
            Target::OpenAi(api) => {
                let work = CompletionRequest::parse(api, &body, config, number);
                drop(body);
                job.serve(client, &mut entry, work).await
            }
            Target::Transcription => {
                let work = transcription_request::parse(&request.content_type, &body, config);
                drop(body);
                job.serve(client, &mut entry, work).await
            }
            Target::Native(endpoint) => {
                let work = endpoint.parse(&body, config, number);
                drop(body);
                job.serve(client, &mut entry, work).await
            }
        }
    } else {
        entry.fault(None);
        job.refuse(client, &mut entry, &ErrorReply::unauthorized())
            .await
    };
    entry.complete();
    drop(entry);
    shared.answered().await;
    result
}

/// Why the engine does not take a request.
fn refused(refusal: engine::Rejection) -> ErrorReply {
    match refusal {
        engine::Rejection::Empty { prompt: 0, .. } => {
            ErrorReply::bad_request("The decoder prompt cannot be empty")
        }
        engine::Rejection::Dead => ErrorReply::engine_dead(),
        other => ErrorReply::bad_request(other.to_string()),
    }
}

struct Job<'a> {
    shared: &'a Shared,
    responder: Responder<'a>,
    drawn: DrawnFaults,
    number: u64,
    arrival: Instant,
    id: &'a str,
    trace: Option<TraceParent>,
}

impl Job<'_> {
    async fn serve(
        self,
        client: &mut ClientStream,
        entry: &mut TruthEntry,
        work: Result<CompletionRequest, ErrorReply>,
    ) -> io::Result<After> {
        if let Some(after) = self.fail_before(client, entry).await? {
            return Ok(after);
        }
        if let Ok(work) = &work {
            self.load_adapter(work, client).await?;
        }
        let sourced = work.and_then(|mut work| {
            let source = self.source(&mut work)?;
            Ok((work, source))
        });
        let (work, source) = match sourced {
            Ok(sourced) => sourced,
            Err(refusal) => return self.refuse_asked(client, entry, &refusal).await,
        };
        let mut running = self.shared.metrics.start();
        let answered = if work.stream {
            self.stream(client, entry, (&work, source), &mut running)
                .await
        } else {
            self.whole(client, entry, (&work, source), &mut running)
                .await
        };
        let config = &self.shared.config;
        if answered.is_err() && config.faults.has(Switch::KeepCancelled) {
            let whole = config.ttft + config.itl * work.output_tokens;
            tokio::time::sleep_until(self.arrival + whole).await;
        }
        answered
    }

    /// The first request of an adapter waits until it is loaded.
    async fn load_adapter(
        &self,
        work: &CompletionRequest,
        client: &mut ClientStream,
    ) -> io::Result<()> {
        let (Some(adapter), Some(load)) = (&work.adapter, self.shared.config.faults.adapter_load)
        else {
            return Ok(());
        };
        let is_new = (self.shared.loaded_adapters.lock())
            .unwrap_or_else(PoisonError::into_inner)
            .insert(adapter.clone());
        if is_new {
            wait_or_disconnect(self.arrival + load, client).await?;
        }
        Ok(())
    }

    /// Answers when the last text is done: each is a request of its own to the engine.
    async fn serve_items(
        self,
        client: &mut ClientStream,
        entry: &mut TruthEntry,
        asked: Result<ItemsRequest, ErrorReply>,
    ) -> io::Result<After> {
        if let Some(after) = self.fail_before(client, entry).await? {
            return Ok(after);
        }
        let sourced = asked.and_then(|asked| Ok((self.item_sources(&asked)?, asked)));
        let (sources, asked) = match sourced {
            Ok(sourced) => sourced,
            Err(refusal) => return self.refuse_asked(client, entry, &refusal).await,
        };
        let mut running = self.shared.metrics.start();
        for mut source in sources {
            if source.next(self.whole_limits(), client).await?.is_none() {
                return self.refuse(client, entry, &ErrorReply::engine_dead()).await;
            }
        }
        let config = &self.shared.config;
        let usage = config.faults.usage != Some(UsagePlace::Missing);
        let body = asked.render(self.id, config, usage);
        let (written, complete) = self.write_whole(client, entry, body).await?;
        if let Some(after) = complete {
            let since = self.arrival.elapsed();
            running.tokens(since, 0, asked.prompt_tokens());
            running.finish(Finish::Stop, since);
            entry.chunk(written, 0);
            return Ok(after);
        }
        Ok(After::Drop)
    }

    fn item_sources(&self, asked: &ItemsRequest) -> Result<Vec<TokenSource>, ErrorReply> {
        let Some(driver) = &self.shared.driver else {
            let pace = Pace::new(&self.shared.config, self.draw(Purpose::Pace));
            let source = TokenSource::fixed(pace, self.arrival, 1, Finish::Stop);
            return Ok(vec![source]);
        };
        let config = &driver.setup().config;
        let submit = |(place, prompt): (usize, &Vec<u32>)| {
            let request = engine::Request {
                // Numbers of requests do not come near the place.
                id: self.number | (place as u64) << 48,
                prompt_tokens: u32::try_from(prompt.len()).unwrap_or(u32::MAX),
                output_tokens: 1,
                hashes: if config.prefix_caching {
                    engine::block_hashes(prompt, config.block_size)
                } else {
                    Vec::new()
                },
                priority: 0,
                stops: true,
            };
            let generation = driver.submit(request, self.trace.filter(|_| place == 0));
            Ok(TokenSource::engine(generation.map_err(refused)?, false))
        };
        asked.prompts.iter().enumerate().map(submit).collect()
    }

    /// What the faults make of a request before anybody reads it.
    async fn fail_before(
        &self,
        client: &mut ClientStream,
        entry: &mut TruthEntry,
    ) -> io::Result<Option<After>> {
        match self.drawn.fault {
            Some(Fault::Refuse) => {
                client.reset_on_close();
                Ok(Some(After::Drop))
            }
            Some(fault @ (Fault::Error500 | Fault::Error503 | Fault::Error429)) => {
                let injected = ErrorReply::injected(fault);
                self.refuse(client, entry, &injected).await.map(Some)
            }
            Some(Fault::Hang) => {
                client.disconnected().await;
                Ok(Some(After::Drop))
            }
            Some(Fault::SlowHeaders(wait)) => {
                wait_or_disconnect(self.arrival + wait, client).await?;
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Refuses what was asked. What was drawn for the stream did not come to pass.
    async fn refuse_asked(
        &self,
        client: &mut ClientStream,
        entry: &mut TruthEntry,
        refusal: &ErrorReply,
    ) -> io::Result<After> {
        if !matches!(self.drawn.fault, Some(Fault::SlowHeaders(_))) {
            entry.fault(None);
        }
        self.refuse(client, entry, refusal).await
    }

    /// Has the tokens made; the engine may refuse to.
    fn source(&self, work: &mut CompletionRequest) -> Result<TokenSource, ErrorReply> {
        let Some(driver) = &self.shared.driver else {
            let pace = Pace::new(&self.shared.config, self.draw(Purpose::Pace));
            let (tokens, finish) = (work.output_tokens, work.finish);
            return Ok(TokenSource::fixed(pace, self.arrival, tokens, finish));
        };
        let setup = driver.setup();
        // The answer's tokens are known already, so that a chat which goes on from it finds
        // them cached.
        let mut tokens = std::mem::take(&mut work.prompt);
        let mut hashes = Vec::new();
        if setup.config.prefix_caching {
            tokens.extend(self.answer_tokens(work).ids(work.output_tokens));
            hashes = engine::block_hashes(&tokens, setup.config.block_size);
        }
        let request = engine::Request {
            id: self.number,
            prompt_tokens: work.prompt_tokens,
            output_tokens: work.output_tokens,
            hashes,
            priority: work.priority,
            stops: work.finish == Finish::Stop,
        };
        let generation = driver.submit(request, self.trace).map_err(refused)?;
        let per_token = setup.kind == EngineKind::Mindie;
        Ok(TokenSource::engine(generation, per_token))
    }

    async fn refuse(
        &self,
        client: &mut ClientStream,
        entry: &mut TruthEntry,
        refusal: &ErrorReply,
    ) -> io::Result<After> {
        let written = self.responder.refuse(client, refusal).await?;
        entry.end(written);
        Ok(self.responder.after())
    }

    fn draw(&self, purpose: Purpose) -> RandomStream {
        RandomStream::new(self.shared.config.seed, self.number, purpose)
    }

    fn context(&self, work: &CompletionRequest) -> native_answer::AnswerContext<'_> {
        native_answer::AnswerContext {
            request_id: self.id,
            model: &self.shared.config.model,
            prompt_tokens: work.prompt_tokens,
        }
    }

    /// The fault that takes away the end of JSON comes to pass at this token.
    fn lacks_end(&self, token: u32, work: &CompletionRequest) -> bool {
        let last = token + 1 >= work.output_tokens;
        self.drawn.fault == Some(Fault::InvalidJson) && last && token > 0 && !work.says.is_empty()
    }

    /// The words of an answer: a server that mixes up its requests under load says others.
    fn words<'a>(&'a self, work: &'a CompletionRequest) -> AnswerTokens<'a> {
        let limit = self.shared.config.faults.garble_above;
        let is_garbled =
            limit.is_some_and(|limit| self.shared.metrics.running() > limit.get().into());
        let tokens = self.answer_tokens(work).opening(work.declines);
        if is_garbled && work.calls.is_none() {
            tokens
        } else {
            tokens.saying(&work.says)
        }
    }

    fn answer_tokens(&self, work: &CompletionRequest) -> AnswerTokens<'_> {
        let tokenizer = &self.shared.config.tokenizer;
        AnswerTokens::new(self.draw(Purpose::Words), tokenizer, work.language)
    }

    async fn stream(
        &self,
        client: &mut ClientStream,
        entry: &mut TruthEntry,
        (work, source): (&CompletionRequest, TokenSource),
        running: &mut Running<'_>,
    ) -> io::Result<After> {
        let config = &self.shared.config;
        let chunked = !self.responder.http10;
        let body_end = if chunked {
            BodyEnd::Chunked
        } else {
            BodyEnd::Close
        };
        let content_type = match &work.native {
            Some(asked) => asked.content_type(),
            None => EVENT_STREAM,
        };
        let head = self.responder.head(200, content_type, body_end);
        entry.end(client.write_all(head.as_bytes()).await?);
        drop(head);
        let renderer = Renderer::new(
            work.api,
            self.id,
            unix_seconds(),
            work.adapter.as_deref().unwrap_or(&config.model),
            work.prompt_tokens,
            &config.faults,
        )
        .with_media(work.media_tokens);
        let renderer = match &work.native {
            Some(asked) => renderer.in_form(asked, self.context(work)),
            None => renderer,
        };
        let mut events = EventWriter::new(
            client,
            entry,
            chunked,
            renderer.event_end(),
            &config.faults,
            self.draw(Purpose::Split),
            self.shared.driver.as_deref(),
        );
        let stream = Stream {
            work,
            faults: &config.faults,
            fault: self.drawn.fault,
            renderer: &renderer,
            arrival: self.arrival,
            kind: self.shared.kind(),
            source,
            answer_tokens: self.words(work),
        };
        Ok(match stream.serve(&mut events, running).await? {
            Ended::Whole if chunked => self.responder.after(),
            Ended::Whole => After::Close,
            Ended::Broken => After::Drop,
        })
    }

    /// The answer in one piece, when its last token is due. Faults of streams take the form
    /// that they have here.
    async fn whole(
        &self,
        client: &mut ClientStream,
        entry: &mut TruthEntry,
        (work, mut source): (&CompletionRequest, TokenSource),
        running: &mut Running<'_>,
    ) -> io::Result<After> {
        let config = &self.shared.config;
        let mut answer_tokens = self.words(work);
        let thinking = match work.api {
            Api::Chat => config.faults.reasoning,
            Api::Completions | Api::Transcriptions => 0,
        };
        let (mut reasoning, mut text) = (Vec::new(), Vec::new());
        let Some(ready) = source.next(self.whole_limits(), client).await? else {
            return self.refuse(client, entry, &ErrorReply::engine_dead()).await;
        };
        let mut ids = Vec::new();
        for token in 0..ready.tokens {
            if self.lacks_end(token, work) {
                break;
            }
            if token == 0 && work.calls.is_some() {
                ids.push(answer_tokens.append(&mut Vec::new()));
                continue;
            }
            ids.push(
                answer_tokens.append(if token < thinking && work.calls.is_none() {
                    &mut reasoning
                } else {
                    &mut text
                }),
            );
        }

        let whole = |bytes: Vec<u8>| String::from_utf8(bytes).expect("pieces are whole texts");
        let reasoning = (thinking > 0).then(|| whole(reasoning));
        let mut text = whole(text);
        if !work.says.is_empty() {
            text = serde_json::from_str(&format!("\"{text}\"")).unwrap_or(text);
        }
        let finish = ready.finish.unwrap_or(work.finish);
        let usage = config.faults.usage != Some(UsagePlace::Missing);
        let answer = WholeAnswer {
            api: work.api,
            request_id: self.id,
            created_s: unix_seconds(),
            model: work.adapter.as_deref().unwrap_or(&config.model),
            reasoning: reasoning.as_deref(),
            text: &text,
            calls: work.calls.as_deref(),
            media_tokens: work.media_tokens,
            audio_s: work.audio_s,
            finish,
            usage: usage.then(|| (work.prompt_tokens, source.usage(ready.tokens))),
        };
        let body = match &work.native {
            Some(asked) => {
                let usage = source.usage(ready.tokens);
                let said = (reasoning.as_deref(), text.as_str());
                asked.whole(&self.context(work), said, &ids, finish, usage)
            }
            None => answer.render(),
        };
        let tokens = match self.drawn.fault {
            Some(Fault::Empty | Fault::InbandError) => 0,
            _ => ready.tokens,
        };
        let (written, complete) = self.write_whole(client, entry, body).await?;
        let Some(after) = complete else {
            return Ok(After::Drop);
        };
        entry.chunk(written, tokens);
        if tokens > 0 {
            let since = self.arrival.elapsed();
            running.tokens(since, tokens, work.prompt_tokens);
            running.finish(finish, since);
        }
        Ok(after)
    }

    /// All tokens at once, held up where the faults say so.
    fn whole_limits(&self) -> ChunkLimits {
        ChunkLimits {
            least: u32::MAX,
            most: u32::MAX,
            held_up: match self.drawn.fault {
                Some(Fault::Stall(wait)) => wait,
                _ => Duration::ZERO,
            },
            stalls: true,
        }
    }

    /// Writes an answer in one piece, with what the faults make of it; says when, and how the
    /// connection goes on unless the answer was cut off.
    async fn write_whole(
        &self,
        client: &mut ClientStream,
        entry: &mut TruthEntry,
        mut body: String,
    ) -> io::Result<(Stamp, Option<After>)> {
        match self.drawn.fault {
            Some(Fault::Empty) => body.clear(),
            Some(Fault::InbandError) => body = inband_error().to_string(),
            Some(Fault::Malformed | Fault::CutClean) => body.truncate(body.len() / 2),
            _ => {}
        }
        let head = self.responder.head(200, JSON, BodyEnd::Length(body.len()));
        let cut = self.drawn.fault == Some(Fault::Cut);
        if cut {
            body.truncate(body.len() / 2);
        }
        let written = client.write_all((head + &body).as_bytes()).await?;
        entry.end(written);
        Ok((written, (!cut).then(|| self.responder.after())))
    }
}
