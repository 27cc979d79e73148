//! What a run needs to know to make requests, shared by all workers.

use crate::api::{BodyTemplates, Dialect, Prompt, RequestOptions};
use crate::clock::Clock;
use crate::connect::{Network, basic_auth};
use crate::exchange::Timeouts;
use crate::http::Request;
use crate::request_bytes::RequestBytes;
use inferometer_core::content::{Content, Exchange};
use inferometer_core::first_wave::FirstWave;
use inferometer_core::medium::Medium;
use inferometer_core::record::{Record, Stage};
use inferometer_core::scenario::Cancel;
use inferometer_core::seed::{Dimension, rng};
use inferometer_core::trace_id::TraceId;
use inferometer_core::units::Offset;
use inferometer_core::work::{Conversation, Follows};
use rand::RngExt as _;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug, Default)]
pub struct Job {
    pub content: Content,
    /// Its length in tokens, where that is known.
    pub input_tokens: Option<u32>,
    pub chars: u64,
    /// Output tokens to ask for; absent: the server's own limit.
    pub output_tokens: Option<u32>,
    /// What goes with the text.
    pub media: Vec<Medium>,
    /// The place of the model that it asks for, where there are several.
    pub model: Option<usize>,
    /// The answer that the work itself holds, for the history of a conversation.
    pub answer: Option<Arc<str>>,
}

/// What is sent: a pure function of its place, called ahead of need on threads of its own.
pub trait Jobs: Send + Sync {
    /// Turns of a session; 1 where the work has single prompts.
    fn turns(&self, session: u64) -> u32;

    /// When a turn is sent; absent: after the one before, with its answer in the history.
    fn follows(&self, _session: u64, _turn: u32) -> Option<Follows> {
        None
    }

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
pub struct RequestPlace {
    pub session: u64,
    pub turn: u32,
    /// Turns that it will have in this run.
    pub turns: u32,
    pub index: u64,
    pub stage: Stage,
}

impl RequestPlace {
    pub fn next(self) -> Option<RequestPlace> {
        (self.turn + 1 < self.turns).then(|| self.at(self.turn + 1))
    }

    /// Another turn of the same session.
    pub fn at(self, turn: u32) -> RequestPlace {
        RequestPlace {
            turn,
            index: self.index - u64::from(self.turn) + u64::from(turn),
            ..self
        }
    }
}

#[derive(Clone)]
pub struct Route<T> {
    pub transport: T,
    pub path: String,
    pub host: String,
    /// Further headers, secrets among them.
    pub headers: Vec<(String, String)>,
    /// The address for people and records, without secrets.
    pub url: String,
}

impl Route<Network> {
    pub fn new(network: Network, path: &str, mut headers: Vec<(String, String)>) -> Self {
        headers.extend(network.proxy_headers());
        let target = network.target();
        let authorized = headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        if let Some(credentials) = target.credentials.as_ref().filter(|_| !authorized) {
            headers.push(("Authorization".into(), basic_auth(credentials)));
        }
        Route {
            path: network.request_path(path),
            host: target.authority(),
            url: target.url(path),
            headers,
            transport: network,
        }
    }
}

/// What is asked of one model of several.
pub struct ModelForm {
    options: RequestOptions,
    bodies: BodyTemplates,
}

impl ModelForm {
    /// As all others, but for the model.
    pub fn new(model: &str, options: &RequestOptions) -> Self {
        ModelForm {
            options: RequestOptions {
                model: model.to_owned(),
                ..options.clone()
            },
            bodies: BodyTemplates::default(),
        }
    }
}

pub struct Setup<T> {
    /// Servers in rotation; at least one.
    pub routes: Vec<Route<T>>,
    pub dialect: &'static dyn Dialect,
    pub options: RequestOptions,
    /// Of these options.
    pub bodies: BodyTemplates,
    /// The same for each model, where requests ask for several.
    pub models: Vec<ModelForm>,
    pub jobs: Arc<dyn Jobs>,
    /// How conversations go on; absent: the work has single prompts.
    pub conversation: Option<Conversation>,
    /// Where the sessions of the warm-up begin, so that they are none of the measured ones
    /// where the work has enough of them.
    pub warmup_from: u64,
    /// What the streams of a closed loop begin with in the warm-up; absent: with what comes first.
    pub first_wave: Option<FirstWave>,
    /// Requests that are given up, and the seed that chooses them.
    pub cancel: Option<(Cancel, u64)>,
    pub keep_text: bool,
    pub timeouts: Timeouts,
    pub clock: Clock,
    pub run_id: String,
    /// Whether measured requests name a trace of their own, by their ids.
    pub traced: bool,
    /// The rank whose requests these are, where several share the load.
    pub rank: Option<u32>,
}

/// Room for a head without many headers of the user.
const LONGEST_USUAL_HEAD: usize = 512;

pub struct PreparedRequest {
    pub record: Record,
    pub bytes: RequestBytes,
    pub route: usize,
    pub place: RequestPlace,
    /// It is given up so long after it was sent.
    pub cancel_after: Option<Duration>,
    /// What it says and the answer that the work holds, where a turn may follow.
    pub said: Option<(Arc<str>, Option<Arc<str>>)>,
}

impl<T> Setup<T> {
    /// When a turn of a session is sent, where the work says it.
    pub fn follows(&self, place: RequestPlace) -> Option<Follows> {
        self.jobs.follows(self.work_session(place), place.turn)
    }

    /// The session of the work at a place of the load.
    fn work_session(&self, place: RequestPlace) -> u64 {
        let session = place.session;
        match (place.stage, &self.first_wave) {
            (Stage::Warmup, Some(wave)) => self.warmup_from + wave.session(session),
            (Stage::Warmup, None) => self.warmup_from + session,
            (Stage::Measured | Stage::Hold, _) => session,
        }
    }

    /// Turns of the session at a place of the load.
    pub(crate) fn turns(&self, place: RequestPlace) -> u32 {
        let turns = self.jobs.turns(self.work_session(place)).max(1);
        match (place.stage, &self.first_wave) {
            (Stage::Warmup, Some(wave)) => wave.turns(place.session, turns),
            _ => turns,
        }
    }

    fn cancel_after(&self, index: u64) -> Option<Duration> {
        let (cancel, seed) = self.cancel?;
        let is_drawn = rng(seed, Dimension::Cancel, index).random::<f64>() < cancel.share;
        is_drawn.then_some(cancel.after.0)
    }

    pub fn prepare(
        &self,
        place: RequestPlace,
        due: Option<Offset>,
        history: &[Exchange],
    ) -> PreparedRequest {
        self.prepare_in(RequestBytes::default(), place, due, history)
    }

    /// Renders into bytes that are at hand.
    pub(crate) fn prepare_in(
        &self,
        mut bytes: RequestBytes,
        place: RequestPlace,
        due: Option<Offset>,
        history: &[Exchange],
    ) -> PreparedRequest {
        let RequestPlace {
            session,
            turn,
            index,
            stage,
            ..
        } = place;
        let talks = self.conversation.is_some();
        let warmup = stage == Stage::Warmup;
        let work_session = self.work_session(place);
        let mut job = self.jobs.job(work_session, turn);
        if let Some(wave) = self.first_wave.as_ref().filter(|_| warmup && turn == 0) {
            let asked = |tokens: u32| wave.tokens(session, tokens);
            job.output_tokens = job.output_tokens.map(asked);
        }
        // A conversation stays with one server, whose cache knows it.
        let route = (session % self.routes.len() as u64) as usize;
        let part = if warmup { "w" } else { "r" };
        let id = format!("{}-{part}{index}", self.run_id);
        let to = &self.routes[route];
        let prompt = Prompt {
            history,
            content: &job.content,
            media: &job.media,
        };
        let media = prompt.media_count();
        let form = job.model.and_then(|place| self.models.get(place));
        let (options, bodies) = match form {
            Some(form) => (&form.options, &form.bodies),
            None => (&self.options, &self.bodies),
        };
        let body = bodies.body(self.dialect, options, &prompt, job.output_tokens);
        let head = Request {
            method: "POST",
            path: &to.path,
            host: &to.host,
            headers: &to.headers,
        };
        let traced = self.traced && stage == Stage::Measured;
        let traceparent = traced.then(|| TraceId::of_request(&id).traceparent());
        let own = [
            ("x-request-id", id.as_str()),
            ("traceparent", traceparent.as_deref().unwrap_or_default()),
        ];
        let own = &own[..1 + usize::from(traced)];
        let out = bytes.buffer();
        out.reserve(LONGEST_USUAL_HEAD + body.len());
        let content_type = body.content_type(self.dialect);
        head.render_head(out, own, Some((&content_type, body.len())));
        body.write_to(out);
        let before = history.iter().map(|exchange| {
            (exchange.user.chars().count() + exchange.assistant.chars().count()) as u64
        });
        let record = Record {
            id,
            index,
            rank: self.rank,
            session: talks.then_some(session),
            turn: talks.then_some(turn),
            turns: talks.then(|| self.turns(place)),
            stage,
            due,
            // Nobody counted what the server itself had said.
            input_tokens_asked: job.input_tokens.filter(|_| history.is_empty()),
            output_tokens_asked: job.output_tokens,
            model_asked: form.map(|form| form.options.model.clone()),
            output_exact: self.options.ignore_eos && job.output_tokens.is_some(),
            input_chars: job.chars + before.sum::<u64>(),
            url: to.url.clone(),
            streamed: self.dialect.streams(&self.options, &prompt),
            media,
            audio_ms: media.and_then(|_| prompt.audio_ms()),
            upload_bytes: media.map(|_| body.len() as u64),
            items_asked: self.dialect.items_asked(&self.options, &prompt),
            ..Record::default()
        };
        let said = match job.content {
            Content::Text(text) if talks => Some((text, job.answer)),
            _ => None,
        };
        PreparedRequest {
            record,
            bytes,
            route,
            place,
            cancel_after: self.cancel_after(index),
            said,
        }
    }
}

/// Where the sessions of the warm-up begin if nobody knows how many are measured; no measured
/// run gets that far.
pub const WARMUP_SESSION: u64 = 1 << 48;
