//! The preflight: finds the endpoint and the model, and learns with a request or two what the
//! server understands, so that only that is sent and the run can say so.

use crate::api::{Ask, CHAT, COMPLETIONS, Dialect};
use crate::clock::Clock;
use crate::connect::{NO_HANDSHAKE, Network};
use crate::exchange::{Bench, Timeouts};
use crate::failure::speaks_of_context;
use crate::flight::{Flight, Sink};
use crate::http::{Request, Target};
use crate::live::Live;
use crate::plain::{Reply, get};
use crate::setup::Way;
use inferometer_core::environment::{Health, LimitField, Probe};
use inferometer_core::hostile::{Secrets, printable};
use inferometer_core::record::{Failure, FailureClass, Outcome, Record};
use inferometer_core::scenario::Api;
use std::sync::Arc;
use std::time::Duration;

/// Characters of a server's text in an error message.
const SAID: usize = 300;

/// Requests that the preflight may spend on finding out what is understood.
const TRIES: usize = 10;

/// Output tokens of a preflight request: enough to see whether chunks are tokens.
const TOKENS: u32 = 16;

/// What the run wants.
pub struct Wish {
    /// The servers.
    pub targets: Vec<Target>,
    /// The ways to them.
    pub networks: Vec<Network>,
    /// The API, or auto.
    pub api: Api,
    /// The model, if named.
    pub model: Option<String>,
    /// Headers, secrets among them.
    pub headers: Vec<(String, String)>,
    /// What will be asked; the preflight takes away what is not understood.
    pub ask: Ask,
    /// A prompt like those to come.
    pub prompt: String,
    /// Prompt and output tokens of the longest request that is known, to hold against the
    /// context that the server states.
    pub longest: Option<(u32, u32)>,
    /// Output tokens of a request.
    pub limit: Option<u32>,
    /// Limits on an open connection.
    pub timeouts: Timeouts,
    /// Never to be shown.
    pub secrets: Secrets,
}

/// What the preflight learned.
pub struct Learned {
    /// The ways to the endpoints.
    pub ways: Vec<Way<Network>>,
    /// The API spoken.
    pub dialect: &'static dyn Dialect,
    /// What to ask.
    pub ask: Ask,
    /// The same for the run's files.
    pub probe: Probe,
    /// What a reader should know, one sentence each.
    pub notes: Vec<String>,
    /// Path to probe the health with, for each way.
    health: Vec<[String; 2]>,
}

/// Why a run cannot start, with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    /// The server cannot be reached.
    #[error("cannot reach {url}: {why}; {remedy}")]
    Unreachable {
        /// The server.
        url: String,
        /// What was seen.
        why: String,
        /// What to do.
        remedy: String,
    },
    /// 401, 403 or 407.
    #[error("{url} refuses access (status {status}: {said}); {remedy}")]
    Unauthorized {
        /// The endpoint.
        url: String,
        /// The status.
        status: u16,
        /// The server's text.
        said: String,
        /// What to do.
        remedy: &'static str,
    },
    /// There is no API at this path.
    #[error(
        "no API at {url} (status {status}: {said}); give the server's base URL, such as http://HOST:PORT or http://HOST:PORT/PREFIX, and check --api"
    )]
    NoApi {
        /// The endpoint.
        url: String,
        /// The status.
        status: u16,
        /// The server's text.
        said: String,
    },
    /// The model is not served.
    #[error(
        "{url} does not serve the model '{model}'{said}; it serves: {served}; choose one with --model"
    )]
    ModelNotServed {
        /// The server.
        url: String,
        /// The wanted model.
        model: String,
        /// What the server said.
        said: String,
        /// What it lists.
        served: String,
    },
    /// The server lists no model and none was named.
    #[error(
        "{url} lists no model ({said}); correct the path of the URL, or name a model with --model if the path is right"
    )]
    NoModel {
        /// The server.
        url: String,
        /// What was seen.
        said: String,
    },
    /// The prompt does not fit.
    #[error(
        "the work does not fit the model's context: {said}; lower --input-tokens or --output-tokens, or serve the model with a longer context"
    )]
    Context {
        /// What was seen.
        said: String,
    },
    /// Something else than an API answers.
    #[error(
        "{url} answers with a web page (status {status}), not with an API: a proxy or another web server stands in the way; give the address of the API itself, or name the proxy with --proxy"
    )]
    WebPage {
        /// The endpoint.
        url: String,
        /// The status.
        status: u16,
    },
    /// The server refuses the request for another reason.
    #[error(
        "{url} refuses a request like those of this run (status {status}: {said}); check --extra, --model and the other request options"
    )]
    Refused {
        /// The endpoint.
        url: String,
        /// The status.
        status: u16,
        /// The server's text.
        said: String,
    },
    /// The server answers with an error or a broken stream.
    #[error(
        "{url} does not answer properly ({class}: {said}); look at the server's log, and run `inferometer run` again when it answers"
    )]
    Broken {
        /// The endpoint.
        url: String,
        /// The kind of failure.
        class: FailureClass,
        /// What was seen.
        said: String,
    },
}

/// Finds out what is needed to run.
pub async fn preflight(wish: Wish) -> Result<Learned, PreflightError> {
    let mut scout = Scout {
        bench: Bench::new(Clock::start(), CHAT, wish.timeouts),
        dialect: CHAT,
        ask: wish.ask.clone(),
        probe: Probe::default(),
        notes: Vec::new(),
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

impl Learned {
    /// Whether the servers still answer.
    pub async fn health(&self, timeouts: Timeouts) -> Health {
        for (way, paths) in self.ways.iter().zip(&self.health) {
            if let Err(said) = is_alive(way, paths, timeouts).await {
                return Health::Dead(format!("{}: {said}", way.url));
            }
        }
        Health::Alive
    }
}

/// What a health probe shows: `/health` decides where there is one, else the list of models.
async fn is_alive(
    way: &Way<Network>,
    [health, models]: &[String; 2],
    timeouts: Timeouts,
) -> Result<(), String> {
    let mut seen = String::new();
    // A server that is just busy gets three chances.
    for pause in [0, 300, 1000] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let mut reply = get(way, health, timeouts).await;
        if reply
            .as_ref()
            .is_ok_and(|reply| (400..500).contains(&reply.status))
        {
            reply = get(way, models, timeouts).await;
        }
        match reply {
            Ok(reply) if reply.status < 500 => return Ok(()),
            Ok(reply) => {
                seen = format!("status {}: {}", reply.status, printable(&reply.body, SAID));
            }
            Err(failure) => seen = failure.detail,
        }
    }
    Err(seen)
}

/// A server and where its API is.
struct Site {
    network: Network,
    url: String,
    /// Path of the API's base: `/v1` as a rule.
    base: String,
    /// What comes before it.
    prefix: String,
    /// The path names an API.
    named: Option<&'static dyn Dialect>,
    models: Vec<String>,
    max_model_len: Option<u64>,
    models_said: String,
    /// Status of a web page that came where the models should be listed.
    page: Option<u16>,
    software: Option<String>,
}

struct Scout {
    wish: Wish,
    bench: Bench,
    dialect: &'static dyn Dialect,
    ask: Ask,
    probe: Probe,
    notes: Vec<String>,
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
    /// Finds the base path of a server, and its models.
    async fn find_site(&self, place: usize) -> Result<Site, PreflightError> {
        let target = &self.wish.targets[place];
        let (base, named) = split_path(&target.path);
        let mut site = Site {
            network: self.wish.networks[place].clone(),
            url: target.to_string(),
            prefix: base.strip_suffix("/v1").unwrap_or(&base).to_owned(),
            base: base.clone(),
            named,
            models: Vec::new(),
            max_model_len: None,
            models_said: String::new(),
            page: None,
            software: None,
        };
        let versioned = |base: &str| {
            let last = base.rsplit('/').next().unwrap_or_default();
            last.starts_with('v') && last[1..].chars().all(|c| c.is_ascii_digit()) && last.len() > 1
        };
        // A path that names the API, or its version, is taken as it is.
        let candidates = match named.is_some() || versioned(&base) {
            true => vec![base],
            false => vec![format!("{base}/v1"), base],
        };
        site.base = candidates[0].clone();
        for candidate in &candidates {
            let path = format!("{candidate}/models");
            let way = Way::new(site.network.clone(), &path, self.wish.headers.clone());
            let reply = get(&way, &way.path, self.wish.timeouts)
                .await
                .map_err(|failure| self.unreachable(&site.url, &failure))?;
            if site.software.is_none() {
                site.software = reply.server.as_deref().map(|text| printable(text, 80));
            }
            self.check_access(&way.url, &reply)?;
            site.models_said = format!("{path}: status {}", reply.status);
            site.page = is_page(&reply.body).then_some(reply.status);
            if reply.status == 200
                && let Some((models, longest)) = read_models(&reply.body)
            {
                site.base = candidate.clone();
                site.models = models;
                site.max_model_len = longest;
                break;
            }
        }
        Ok(site)
    }

    fn check_access(&self, url: &str, reply: &Reply) -> Result<(), PreflightError> {
        let remedy = match reply.status {
            401 | 403 => {
                "give the key in OPENAI_API_KEY, or name its place with --api-key-env or --api-key-file"
            }
            407 => "the proxy wants credentials: --proxy http://USER:PASSWORD@HOST:PORT",
            _ => return Ok(()),
        };
        Err(PreflightError::Unauthorized {
            url: url.to_owned(),
            status: reply.status,
            said: self.said(&reply.body),
            remedy,
        })
    }

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
            self.notes.push(format!(
                "the server lists {} models; the first, {}, is measured (choose with --model)",
                first.models.len(),
                printable(&self.ask.model, 80)
            ));
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
                self.notes
                    .push("the server has no chat API; completions is measured".into());
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

    /// Says what the server refused.
    fn note_refusals(&mut self) {
        for field in &self.refused {
            self.probe.refused_fields.push(field.word().to_owned());
            self.notes.push(match field {
                Optional::IgnoreEos => {
                    self.probe.ignore_eos = Some(false);
                    "the server refuses ignore_eos: answers may end before the asked length".into()
                }
                Optional::MinTokens => {
                    self.probe.min_tokens = Some(false);
                    "the server refuses min_tokens; it is not sent".into()
                }
                Optional::StreamOptions => {
                    "the server refuses stream_options: usage cannot be asked for".into()
                }
            });
        }
    }

    /// Keeps what a good answer shows.
    async fn note_answer(&mut self, site: &Site, record: &Record) {
        let counted = record.usage.and_then(|usage| usage.output);
        self.probe.stream_usage = record.streamed && counted.is_some();
        if self.ask.ignore_eos {
            self.probe.ignore_eos = Some(true);
        }
        if self.ask.min_tokens.is_some() {
            self.probe.min_tokens = Some(true);
        }
        self.probe.latency_ms = record.e2e().map(|span| span.as_secs_f64() * 1e3);
        if self.ask.stream && !record.streamed {
            self.notes
                .push("the server answers whole where a stream was asked: there is no TTFT".into());
        }
        // An end-of-sequence token has no text, so one chunk less is still a token a chunk.
        let chunks = record.chunks.len() as u32;
        if record.streamed && counted.is_some_and(|tokens| tokens > chunks + 1) {
            self.ask.chunk_usage = true;
            let again = self.post(site).await;
            self.ask.chunk_usage = again.is_done() && again.chunks.tokens.is_some();
            self.probe.chunk_usage = self.ask.chunk_usage;
        }
        if self.dialect.name() == COMPLETIONS.name() {
            self.probe.token_ids = Some(self.takes_token_ids(site).await);
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
        let body = self.dialect.body(&ask, &self.wish.prompt, limit);
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
            streamed: ask.stream,
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

    /// A failed preflight request as a reason with its remedy.
    fn explain(&self, site: &Site, record: &Record, failure: &Failure) -> PreflightError {
        let way = self.way(site);
        let said = self.said(&failure.detail);
        let status = record.status.unwrap_or_default();
        let body = match failure.class {
            // Here the body follows what is wrong with it.
            FailureClass::BadStream => failure
                .detail
                .find('<')
                .map_or("", |at| &failure.detail[at..]),
            _ => &failure.detail,
        };
        match failure.class {
            _ if self.is_model_missing(failure) => PreflightError::ModelNotServed {
                url: site.url.clone(),
                model: printable(&self.ask.model, 80),
                said: format!(" ({said})"),
                served: match site.models.is_empty() {
                    true => "nothing that it lists".into(),
                    false => printable(&site.models.join(", "), SAID),
                },
            },
            FailureClass::Unauthorized => {
                let reply = Reply {
                    status,
                    server: None,
                    content_type: String::new(),
                    body: failure.detail.clone(),
                };
                match self.check_access(&way.url, &reply) {
                    Err(error) => error,
                    Ok(()) => PreflightError::Refused {
                        url: way.url,
                        status,
                        said,
                    },
                }
            }
            _ if is_page(body) => PreflightError::WebPage {
                url: way.url,
                status,
            },
            FailureClass::NotFound | FailureClass::Redirected => PreflightError::NoApi {
                url: way.url,
                status,
                said,
            },
            FailureClass::ContextExceeded => PreflightError::Context { said },
            FailureClass::BadRequest => PreflightError::Refused {
                url: way.url,
                status,
                said,
            },
            FailureClass::NameNotFound
            | FailureClass::Refused
            | FailureClass::Disconnected
            | FailureClass::Network
            | FailureClass::TlsFailed
            | FailureClass::ConnectTimeout
            | FailureClass::ReadTimeout
            | FailureClass::RequestTimeout => self.unreachable(&way.url, failure),
            class => PreflightError::Broken {
                url: way.url,
                class,
                said,
            },
        }
    }

    fn unreachable(&self, url: &str, failure: &Failure) -> PreflightError {
        unreachable(url, failure, &self.wish.secrets)
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
            health,
        }
    }
}

/// A server that cannot be reached, with what to do about it.
pub fn unreachable(url: &str, failure: &Failure, secrets: &Secrets) -> PreflightError {
    let remedy = match failure.class {
        FailureClass::NameNotFound => "correct the host's name, or add it to your name service",
        FailureClass::Refused => "start the server, or correct host and port",
        FailureClass::TlsFailed
            if failure.detail.contains("InvalidContentType")
                || failure.detail.contains("corrupt message") =>
        {
            "the server seems to speak plain HTTP there; write http://"
        }
        FailureClass::TlsFailed => {
            "trust its authority with --ca FILE, or anything with --insecure; a server that wants a certificate gets one with --client-cert and --client-key"
        }
        FailureClass::Disconnected => {
            "the server may still be starting, may want https://, or closes every connection: look at its log"
        }
        FailureClass::ConnectTimeout if failure.detail.starts_with(NO_HANDSHAKE) => {
            "the server may speak plain HTTP there: write http://, or raise --connect-timeout"
        }
        FailureClass::ConnectTimeout => {
            "check the address and the firewall, or raise --connect-timeout"
        }
        FailureClass::ReadTimeout | FailureClass::RequestTimeout => {
            "the server takes connections but does not answer: look at its log, or raise --read-timeout"
        }
        FailureClass::BadStream => {
            "something else than an HTTP server listens there; correct the port, or write https://"
        }
        _ => "check the address and the network",
    };
    PreflightError::Unreachable {
        url: url.to_owned(),
        why: printable(&secrets.redact(&failure.detail), SAID),
        remedy: remedy.to_owned(),
    }
}

/// A text for browsers and not for programs.
fn is_page(text: &str) -> bool {
    let start: String = text.trim_start().chars().take(14).collect();
    let start = start.to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// The base of a path, and the API that it names.
fn split_path(path: &str) -> (String, Option<&'static dyn Dialect>) {
    for dialect in [CHAT, COMPLETIONS] {
        if let Some(base) = path.strip_suffix(dialect.path()) {
            return (base.to_owned(), Some(dialect));
        }
    }
    (
        path.strip_suffix("/models").unwrap_or(path).to_owned(),
        None,
    )
}

/// The names in a list of models, and the context of the first.
fn read_models(body: &str) -> Option<(Vec<String>, Option<u64>)> {
    let value: serde_json::Value = serde_json::from_str(body).ok()?;
    let list = value["data"].as_array().or(value["models"].as_array())?;
    let names = list
        .iter()
        .filter_map(|model| model["id"].as_str().or(model["name"].as_str()))
        .map(str::to_owned)
        .collect();
    let longest = list
        .first()
        .and_then(|model| model["max_model_len"].as_u64());
    Some((names, longest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_name_the_api() {
        let name = |path| {
            let (base, named) = split_path(path);
            (base, named.map(Dialect::name))
        };
        assert_eq!(name("/v1/chat/completions"), ("/v1".into(), Some("chat")));
        assert_eq!(
            name("/p/v1/completions"),
            ("/p/v1".into(), Some("completions"))
        );
        assert_eq!(name("/p/v1"), ("/p/v1".into(), None));
        assert_eq!(name(""), (String::new(), None));
    }

    #[test]
    fn models_are_read_from_the_forms_that_servers_use() {
        let vllm = r#"{"data":[{"id":"a","max_model_len":4096},{"id":"b"}]}"#;
        assert_eq!(
            read_models(vllm),
            Some((vec!["a".into(), "b".into()], Some(4096)))
        );
        assert_eq!(read_models(r#"{"data":[]}"#), Some((vec![], None)));
        assert_eq!(read_models("<html>"), None);
    }
}
