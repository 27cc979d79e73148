//! Answering a request for tokens: streamed or whole, with the fate that was drawn for it.

use std::{
    io,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use tokio::time::Instant;

use crate::{
    clock::Stamp,
    connection::{After, Exchange, JSON, authorized, now_s},
    draw::{Draw, Purpose},
    fault::{Fate, Fault, UsagePlace},
    http::Request,
    metrics::Running,
    render::{Renderer, Whole, Words, inband_error},
    reply::{BodyEnd, Refusal},
    server::Shared,
    stream::{Ended, EventWriter, Stream, wait_or_leave},
    truth::Entry,
    wire::Wire,
    work::{Api, Work},
};

const EVENTS: &str = "text/event-stream; charset=utf-8";

/// Ids that go into a header and the log as they are.
fn usable_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 256 && id.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Answers a request for tokens, and logs what was done.
pub(crate) async fn generate(
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
