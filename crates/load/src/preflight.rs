//! The preflight: finds the endpoint and the model, and learns with a request or two what the
//! server understands, so that only that is sent and the run can say so.

mod cache;
mod explain;
mod find;
mod health;
mod tokenize;

pub use explain::{PreflightError, unreachable};

use crate::api::{Ask, CHAT, COMPLETIONS, Dialect, Said};
use crate::clock::Clock;
use crate::connect::Network;
use crate::exchange::{Bench, Timeouts};
use crate::failure::speaks_of_context;
use crate::flight::{Flight, Sink};
use crate::http::{Request, Target};
use crate::live::Live;
use crate::setup::Way;
use find::Site;
use inferometer_core::content::Content;
use inferometer_core::environment::{LimitField, Probe};
use inferometer_core::note::{Known, Note};
use inferometer_core::record::{Failure, FailureClass, Outcome, Record};
use inferometer_core::scenario::Api;
use inferometer_text::hostile::{Secrets, printable};
use std::sync::Arc;

/// Characters of a server's text in an error message.
const SAID: usize = 300;

/// Requests that the preflight may spend on finding out what is understood.
const TRIES: usize = 10;

/// Output tokens of a preflight request: enough to see whether chunks are tokens.
const TOKENS: u32 = 16;

pub struct Wish {
    pub targets: Vec<Target>,
    pub networks: Vec<Network>,
    pub api: Api,
    /// The model, if named.
    pub model: Option<String>,
    pub headers: Vec<(String, String)>,
    /// What will be asked; the preflight takes away what is not understood.
    pub ask: Ask,
    /// A prompt like those to come.
    pub content: Content,
    pub as_token_ids: bool,
    /// Prompt and output tokens of the longest request that is known, to hold against the
    /// context that the server states.
    pub longest: Option<(u32, u32)>,
    /// Output tokens of a request.
    pub limit: Option<u32>,
    /// Whether usage comes with each chunk, where an earlier run decided that; else what the
    /// server's chunks hold decides.
    pub chunk_usage: Option<bool>,
    /// Limits on an open connection.
    pub timeouts: Timeouts,
    pub secrets: Secrets,
}

pub struct Learned {
    /// The ways to the endpoints.
    pub ways: Vec<Way<Network>>,
    pub dialect: &'static dyn Dialect,
    pub ask: Ask,
    /// The same for the run's files.
    pub probe: Probe,
    /// What a reader should know.
    pub notes: Vec<Note>,
    /// The server counts output tokens.
    pub counts_output: bool,
    /// Path to probe the health with, for each way.
    health: Vec<[String; 2]>,
    /// Paths by which a prefix cache may be emptied, for each way.
    empty_cache: Vec<[String; 2]>,
    /// Path of the tokenizer that some servers offer.
    tokenize: String,
}

/// Finds out what is needed to run.
pub async fn preflight(wish: Wish) -> Result<Learned, PreflightError> {
    let mut scout = Scout {
        bench: Bench::new(Clock::start(), CHAT, wish.timeouts),
        dialect: CHAT,
        ask: wish.ask.clone(),
        probe: Probe::default(),
        notes: Vec::new(),
        counts_output: false,
        refused: Vec::new(),
        suspected: Vec::new(),
        wish,
    };
    let mut sites = Vec::new();
    for place in 0..scout.wish.targets.len() {
        sites.push(scout.find_site(place).await?);
    }
    scout.choose_model(&sites)?;
    scout.check_context(&sites)?;
    let first = &sites[0];
    scout.learn(first).await?;
    for site in &sites[1..] {
        scout.confirm(site).await?;
    }
    scout.probe.software = first.software.clone();
    Ok(scout.finish(sites))
}

struct Scout {
    wish: Wish,
    bench: Bench,
    dialect: &'static dyn Dialect,
    ask: Ask,
    probe: Probe,
    notes: Vec<Note>,
    counts_output: bool,
    /// Taken away because the server named it, or because it could not be had.
    refused: Vec<Optional>,
    /// Taken away because something had to go.
    suspected: Vec<Optional>,
}

/// Parts of a request that not every server takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Optional {
    IgnoreEos,
    MinTokens,
    StreamOptions,
}

impl Optional {
    const ALL: [Optional; 3] = [
        Optional::IgnoreEos,
        Optional::MinTokens,
        Optional::StreamOptions,
    ];

    fn word(self) -> &'static str {
        match self {
            Optional::IgnoreEos => "ignore_eos",
            Optional::MinTokens => "min_tokens",
            Optional::StreamOptions => "stream_options",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Yes,
    No,
}

impl Scout {
    fn choose_model(&mut self, sites: &[Site]) -> Result<(), PreflightError> {
        let first = &sites[0];
        self.probe.models = first.models.clone();
        self.probe.max_model_len = first.max_model_len;
        self.ask.model = match (&self.wish.model, first.models.first()) {
            (Some(model), _) => model.clone(),
            (None, Some(model)) => model.clone(),
            (None, None) => {
                if let Some(status) = first.page {
                    return Err(PreflightError::WebPage {
                        url: first.url.clone(),
                        status,
                    });
                }
                return Err(PreflightError::NoModel {
                    url: first.url.clone(),
                    said: first.models_said.clone(),
                });
            }
        };
        if self.wish.model.is_none() && first.models.len() > 1 {
            self.note(Known::ManyModels {
                count: first.models.len() as u64,
                model: printable(&self.ask.model, 80),
            });
        }
        Ok(())
    }

    fn check_context(&self, sites: &[Site]) -> Result<(), PreflightError> {
        let (Some((input, output)), Some(most)) = (self.wish.longest, sites[0].max_model_len)
        else {
            return Ok(());
        };
        let asked = u64::from(input) + u64::from(output);
        match asked > most {
            false => Ok(()),
            true => Err(PreflightError::Context {
                said: format!(
                    "{input} input and {output} output tokens, and the server states {most}"
                ),
            }),
        }
    }

    /// Sends requests until one is answered, taking away what is refused.
    async fn learn(&mut self, site: &Site) -> Result<(), PreflightError> {
        self.dialect = match (self.wish.api, site.named) {
            (Api::Chat, _) => CHAT,
            (Api::Completions, _) => COMPLETIONS,
            (Api::Auto, named) => named.unwrap_or(CHAT),
        };
        if self.wish.as_token_ids {
            if self.dialect.name() == CHAT.name() && self.wish.api != Api::Auto {
                return Err(PreflightError::NoTokenIds {
                    url: site.url.clone(),
                });
            }
            self.dialect = COMPLETIONS;
        }
        let may_switch = self.wish.api == Api::Auto && site.named.is_none();
        for _ in 0..TRIES {
            let record = self.post(site).await;
            let Some(failure) = record.failure() else {
                if self.limit_was_ignored(&record) && self.ask.limit_field == LimitField::MaxTokens
                {
                    self.ask.limit_field = LimitField::MaxCompletionTokens;
                    continue;
                }
                let record = self.put_back(site, record).await;
                self.note_refusals();
                self.note_answer(site, &record).await;
                return Ok(());
            };
            let status = record.status.unwrap_or_default();
            let no_chat = matches!(failure.class, FailureClass::NotFound)
                || failure.detail.contains("chat template")
                || failure.detail.contains("chat_template");
            if may_switch
                && no_chat
                && self.dialect.name() == CHAT.name()
                && !self.is_model_missing(failure)
            {
                self.dialect = COMPLETIONS;
                self.note(Known::NoChatApi);
                continue;
            }
            if matches!(status, 400 | 422)
                && !speaks_of_context(&failure.detail)
                && self.take_away(&failure.detail)
            {
                continue;
            }
            return Err(self.explain(site, &record, failure));
        }
        Err(PreflightError::Refused {
            url: site.url.clone(),
            status: 400,
            said: "every form of the request was refused".into(),
        })
    }

    /// A server in rotation must understand what the first one does.
    async fn confirm(&self, site: &Site) -> Result<(), PreflightError> {
        let record = self.post(site).await;
        match record.failure() {
            None => Ok(()),
            Some(failure) => Err(self.explain(site, &record, failure)),
        }
    }

    fn limit_was_ignored(&self, record: &Record) -> bool {
        let limit = self.limit().map(|limit| limit.saturating_mul(2));
        record
            .output_tokens()
            .zip(limit)
            .is_some_and(|(got, limit)| got > limit)
    }

    fn limit(&self) -> Option<u32> {
        Some(self.wish.limit.unwrap_or(TOKENS).min(TOKENS))
    }

    fn is_model_missing(&self, failure: &Failure) -> bool {
        let said = failure.detail.to_ascii_lowercase();
        failure.class == FailureClass::NotFound
            && said.contains("model")
            && (said.contains("exist")
                || said.contains("not found")
                || said.contains(&self.ask.model.to_ascii_lowercase()))
    }

    /// Takes one thing away from the request; says whether there was one.
    fn take_away(&mut self, said: &str) -> bool {
        let said = said.to_ascii_lowercase();
        if said.contains("max_completion_tokens") && self.ask.limit_field == LimitField::MaxTokens {
            self.ask.limit_field = LimitField::MaxCompletionTokens;
            return true;
        }
        let asked = Optional::ALL.iter().filter(|field| self.asks(**field));
        // What the server names goes first; if it names nothing, they go one by one, and come
        // back if they were not the reason.
        let named = asked
            .clone()
            .find(|field| said.contains(field.word()))
            .copied();
        let Some(field) = named.or_else(|| asked.clone().next().copied()) else {
            return false;
        };
        self.set(field, Wanted::No);
        match named {
            Some(field) => self.refused.push(field),
            None => self.suspected.push(field),
        }
        true
    }

    /// Asks again, one by one, for what was taken away on suspicion. Gives the last good answer.
    async fn put_back(&mut self, site: &Site, mut good: Record) -> Record {
        for field in std::mem::take(&mut self.suspected) {
            self.set(field, Wanted::Yes);
            let record = self.post(site).await;
            if record.is_done() {
                good = record;
            } else {
                self.set(field, Wanted::No);
                self.refused.push(field);
            }
        }
        good
    }

    fn asks(&self, field: Optional) -> bool {
        match field {
            Optional::IgnoreEos => self.ask.ignore_eos,
            Optional::MinTokens => self.ask.min_tokens.is_some(),
            Optional::StreamOptions => self.ask.stream_usage && self.ask.stream,
        }
    }

    fn set(&mut self, field: Optional, wanted: Wanted) {
        let yes = wanted == Wanted::Yes;
        match field {
            Optional::IgnoreEos => self.ask.ignore_eos = yes,
            Optional::MinTokens => self.ask.min_tokens = self.wish.ask.min_tokens.filter(|_| yes),
            Optional::StreamOptions => self.ask.stream_usage = yes,
        }
    }

    fn note(&mut self, known: Known) {
        self.notes.push(known.into());
    }

    /// Says what the server refused.
    fn note_refusals(&mut self) {
        for refused in std::mem::take(&mut self.refused) {
            let field = refused.word().to_owned();
            self.probe.refused_fields.push(field.clone());
            match refused {
                Optional::IgnoreEos => self.probe.ignore_eos = Some(false),
                Optional::MinTokens => self.probe.min_tokens = Some(false),
                Optional::StreamOptions => {}
            }
            self.note(Known::RefusesField { field });
        }
    }

    /// Keeps what a good answer shows.
    async fn note_answer(&mut self, site: &Site, record: &Record) {
        let counted = record.usage.and_then(|usage| usage.output);
        self.counts_output = counted.is_some();
        self.probe.stream_usage = record.streamed && counted.is_some();
        if self.ask.ignore_eos {
            self.probe.ignore_eos = Some(true);
            // Taken is not understood: only the length shows that.
            let asked = self.limit().zip(counted);
            if let Some((asked, received)) = asked.filter(|(asked, received)| received < asked) {
                self.probe.ignore_eos = Some(false);
                self.note(Known::EndsEarly { asked, received });
            }
        }
        if self.ask.min_tokens.is_some() {
            self.probe.min_tokens = Some(true);
        }
        self.probe.latency_ms = record.e2e().map(|span| span.as_secs_f64() * 1e3);
        let asked = Said::from(&self.wish.content).streams(&self.ask);
        if asked && !record.streamed {
            self.note(Known::AnswersWhole);
        }
        // An end-of-sequence token has no text, so one chunk less is still a token a chunk.
        let chunks = record.chunks.len() as u32;
        let merged = counted.is_some_and(|tokens| tokens > chunks + 1);
        if record.streamed && self.wish.chunk_usage.unwrap_or(merged) {
            self.ask.chunk_usage = true;
            let again = self.post(site).await;
            self.ask.chunk_usage = again.is_done() && again.chunks.tokens.is_some();
            self.probe.chunk_usage = self.ask.chunk_usage;
        }
        if self.dialect.name() == COMPLETIONS.name() {
            self.probe.token_ids = Some(self.wish.as_token_ids || self.takes_token_ids(site).await);
        }
    }

    async fn takes_token_ids(&self, site: &Site) -> bool {
        let mut ask = self.ask.clone();
        ask.extra.insert("prompt".into(), vec![1, 2, 3, 4].into());
        ask.stream = false;
        ask.ignore_eos = false;
        ask.min_tokens = None;
        self.post_as(site, &ask, Some(1)).await.is_done()
    }

    async fn post(&self, site: &Site) -> Record {
        self.post_as(site, &self.ask, self.limit()).await
    }

    async fn post_as(&self, site: &Site, ask: &Ask, limit: Option<u32>) -> Record {
        let way = self.way(site);
        let mut ask = ask.clone();
        // The wish for the run may be longer than a preflight's answer.
        ask.min_tokens = ask
            .min_tokens
            .map(|least| least.min(limit.unwrap_or(least)));
        let body = self.dialect.body(&ask, &(&self.wish.content).into(), limit);
        let request = Request {
            method: "POST",
            path: &way.path,
            host: &way.host,
            headers: &way.headers,
        };
        let bytes = request.render(
            &[("x-request-id", "preflight"), ("Connection", "close")],
            Some(&body),
        );
        let (entries, _) = std::sync::mpsc::channel();
        let sink = Sink {
            entries,
            live: Arc::new(Live::new(0)),
            slos: Arc::new([]),
            secrets: Arc::new(Secrets::default()),
        };
        let record = Record {
            streamed: Said::from(&self.wish.content).streams(&ask),
            ..Record::default()
        };
        let mut flight = Flight::begin(record, sink);
        let bench = Bench::new(self.bench.clock, self.dialect, self.bench.timeouts);
        match crate::connect::Transport::open(&way.transport).await {
            Ok(mut stream) => {
                bench.exchange(&mut stream, &bytes, &mut flight).await;
            }
            Err(failure) => flight.record.outcome = Outcome::Failed(failure),
        }
        flight.record.clone()
    }

    fn way(&self, site: &Site) -> Way<Network> {
        let path = format!("{}{}", site.base, self.dialect.path());
        Way::new(site.network.clone(), &path, self.wish.headers.clone())
    }

    fn said(&self, text: &str) -> String {
        match text.trim() {
            "" => "no text".into(),
            text => printable(&self.wish.secrets.redact(text), SAID),
        }
    }

    fn finish(self, sites: Vec<Site>) -> Learned {
        let ways: Vec<_> = sites.iter().map(|site| self.way(site)).collect();
        let health = sites
            .iter()
            .map(|site| {
                let path = |path: String| site.network.request_path(&path);
                [
                    path(format!("{}/health", site.prefix)),
                    path(format!("{}/models", site.base)),
                ]
            })
            .collect();
        let empty_cache = (sites.iter())
            .map(|site| {
                ["reset_prefix_cache", "flush_cache"]
                    .map(|name| (site.network).request_path(&format!("{}/{name}", site.prefix)))
            })
            .collect();
        let first = &sites[0];
        let tokenize = (first.network).request_path(&format!("{}/tokenize", first.prefix));
        let probe = Probe {
            endpoints: ways.iter().map(|way| way.url.clone()).collect(),
            api: self.dialect.name().to_owned(),
            model: self.ask.model.clone(),
            limit_field: self.ask.limit_field,
            ..self.probe
        };
        Learned {
            ways,
            dialect: self.dialect,
            ask: self.ask,
            probe,
            notes: self.notes,
            counts_output: self.counts_output,
            health,
            empty_cache,
            tokenize,
        }
    }
}
