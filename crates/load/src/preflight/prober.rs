//! Asks a server on behalf of the preflight.

use super::error::LONGEST_QUOTE;
use super::request::{PreflightRequest, PreflightStep, Question};
use super::site::Site;
use crate::api::{CHAT, Dialect, Place, Prompt, RequestOptions};
use crate::clock::Clock;
use crate::connect::{Network, Transport};
use crate::exchange::{ExchangeContext, Timeouts};
use crate::flight::{Flight, Sink};
use crate::http::Request;
use crate::live::StageCounters;
use crate::setup::Route;
use inferometer_core::environment::Probe;
use inferometer_core::note::{Known, Note};
use inferometer_core::record::{Failure, FailureClass, Outcome, Record};
use inferometer_text::hostile::printable;
use inferometer_text::secret::Secrets;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// How long a server may take to list its models.
const LONGEST_LOOK: Duration = Duration::from_secs(30);

/// Waits before a request that failed for the moment is sent again.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

/// Output tokens of a preflight request: enough to see whether chunks are tokens.
pub const TOKENS: u32 = 16;

pub(super) struct Prober {
    pub(super) request: PreflightRequest,
    pub(super) context: ExchangeContext,
    pub(super) dialect: &'static dyn Dialect,
    pub(super) options: RequestOptions,
    pub(super) probe: Probe,
    pub(super) notes: Vec<Note>,
    pub(super) counts_output: bool,
    /// Dropped because the server named it, or because the request failed with it.
    pub(super) refused: Vec<OptionalField>,
    /// Dropped on suspicion: the server named nothing.
    pub(super) suspected: Vec<OptionalField>,
}

/// Fields of a request that not every server takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub(super) enum OptionalField {
    IgnoreEos,
    MinTokens,
    StreamOptions,
}

impl Prober {
    pub(super) fn new(request: PreflightRequest) -> Prober {
        Prober {
            context: ExchangeContext::new(Clock::start(), CHAT, request.timeouts),
            dialect: CHAT,
            options: request.options.clone(),
            probe: Probe::default(),
            notes: Vec::new(),
            counts_output: false,
            refused: Vec::new(),
            suspected: Vec::new(),
            request,
        }
    }

    pub(super) fn limit(&self) -> Option<u32> {
        Some(self.request.limit.unwrap_or(TOKENS).min(TOKENS))
    }

    pub(super) fn is_model_missing(&self, failure: &Failure) -> bool {
        let said = failure.detail.to_ascii_lowercase();
        failure.class == FailureClass::NotFound
            && said.contains("model")
            && (said.contains("exist")
                || said.contains("not found")
                || said.contains(&self.options.model.to_ascii_lowercase()))
    }

    pub(super) fn note(&mut self, known: Known) {
        self.notes.push(known.into());
    }

    pub(super) async fn takes_token_ids(&self, site: &Site) -> bool {
        let mut options = self.options.clone();
        options
            .extra
            .insert("prompt".into(), vec![1, 2, 3, 4].into());
        options.stream = false;
        options.ignore_eos = false;
        options.min_tokens = None;
        self.post_as(site, &options, Some(1)).await.is_done()
    }

    /// A list is no generation; it need not wait as long.
    pub(super) fn look_timeouts(&self) -> Timeouts {
        let Timeouts { read, request } = self.request.timeouts;
        Timeouts {
            read: read.min(LONGEST_LOOK),
            request: request.min(LONGEST_LOOK),
        }
    }

    pub(super) fn waits_for(&self, url: &str, question: Question, timeouts: Timeouts) {
        self.request.steps.send_replace(Some(PreflightStep {
            url: url.to_owned(),
            question,
            limit: timeouts.read.min(timeouts.request),
        }));
    }

    /// One request. What a server may say once and not again is asked anew: one answer in a hundred
    /// that fails is for the run to count.
    pub(super) async fn post(&self, site: &Site) -> Record {
        let mut record = self.post_as(site, &self.options, self.limit()).await;
        for pause in PAUSES {
            let by_status = matches!(record.status, Some(429 | 500 | 502..=504));
            let by_class = |failure: &Failure| {
                [FailureClass::CutStream, FailureClass::Disconnected].contains(&failure.class)
            };
            if !record.failure().is_some_and(|it| by_status || by_class(it)) {
                break;
            }
            tokio::time::sleep(pause).await;
            record = self.post_as(site, &self.options, self.limit()).await;
        }
        record
    }

    pub(super) async fn post_as(
        &self,
        site: &Site,
        options: &RequestOptions,
        limit: Option<u32>,
    ) -> Record {
        let route = self.route(site);
        let mut options = options.clone();
        // The run may ask for more than a preflight's answer holds.
        options.min_tokens = options
            .min_tokens
            .map(|least| least.min(limit.unwrap_or(least)));
        let prompt = Prompt {
            media: &self.request.media,
            ..Prompt::from(&self.request.content)
        };
        let body = self.dialect.body(&options, &prompt, limit);
        let request = Request {
            method: "POST",
            path: &route.path,
            host: &route.host,
            headers: &route.headers,
        };
        let bytes = request.render_as(
            &self.dialect.content_type(&body),
            &[("x-request-id", "preflight"), ("Connection", "close")],
            Some(&body),
        );
        let (entries, _) = std::sync::mpsc::channel();
        let sink = Rc::new(Sink {
            entries,
            live: Arc::new(StageCounters::new(0)),
            slos: Arc::new([]),
            secrets: Arc::new(Secrets::default()),
        });
        let record = Record {
            streamed: self.dialect.streams(&options, &prompt),
            items_asked: self.dialect.items_asked(&options, &prompt),
            ..Record::default()
        };
        let mut flight = Flight::begin(record, sink);
        self.waits_for(&route.url, Question::Answer, self.context.timeouts);
        let context = ExchangeContext::new(self.context.clock, self.dialect, self.context.timeouts);
        match route.transport.open().await {
            Ok(mut stream) => {
                let now = context.clock.now();
                context
                    .exchange(&mut stream, now, &bytes, &mut flight)
                    .await;
            }
            Err(failure) => flight.record.outcome = Outcome::Failed(failure),
        }
        flight.record.clone()
    }

    pub(super) fn route(&self, site: &Site) -> Route<Network> {
        self.route_of(site, self.dialect)
    }

    pub(super) fn route_of(&self, site: &Site, dialect: &dyn Dialect) -> Route<Network> {
        let place = match dialect.place() {
            Place::Base => &site.base,
            Place::Root => &site.prefix,
        };
        let path = format!("{place}{}", dialect.path(&self.options));
        let mut headers = self.request.headers.clone();
        headers.extend(dialect.headers(&headers));
        Route::new(site.network.clone(), &path, headers)
    }

    pub(super) fn quoted(&self, text: &str) -> String {
        match text.trim() {
            "" => "no text".into(),
            text => printable(&self.request.secrets.redact(text), LONGEST_QUOTE),
        }
    }
}
