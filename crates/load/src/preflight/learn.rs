//! What a server understands, learned by asking.

use super::error::PreflightError;
use super::explain::USUAL_REMEDY;
use super::prober::{OptionalField, Prober};
use super::site::Site;
use crate::api::{COMPLETIONS, Prompt, forms, raw};
use crate::failure::speaks_of_context;
use inferometer_core::api::{Answers, Api};
use inferometer_core::environment::LimitField;
use inferometer_core::note::Known;
use inferometer_core::record::Record;
use strum::VariantArray as _;

/// Requests that may be spent on finding out what is understood.
const TRIES: usize = 10;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Yes,
    No,
}

/// Why a form of an API cannot be used.
enum Refusal {
    /// The server does not have it.
    Absent(PreflightError),
    /// It is there, and may be meant in another form.
    OtherForm(PreflightError),
    Final(PreflightError),
}

impl Prober {
    /// Sends requests until one is answered, dropping what is refused.
    pub(super) async fn learn(&mut self, site: &Site) -> Result<(), PreflightError> {
        let named = site.named.filter(|_| self.request.api == Api::Auto);
        let given = self.request.raw.as_ref().map(raw);
        let forms = match (given.or(named), self.request.as_token_ids, self.request.api) {
            (_, true, Api::Auto) => vec![COMPLETIONS],
            (Some(named), _, _) => vec![named],
            (None, _, api) => forms(api).to_vec(),
        };
        let takes_ids = |api: Api| match api.answers() {
            Answers::Tokens => matches!(api, Api::Completions | Api::Generate),
            Answers::Items => true,
        };
        if self.request.as_token_ids && !takes_ids(forms[0].api()) {
            return Err(PreflightError::NoTokenIds {
                url: site.url.clone(),
            });
        }
        if given.is_some() {
            // Nothing but the user's own fields is sent.
            self.options.ignore_eos = false;
            self.options.min_tokens = None;
        }
        let (mut refused, mut absent) = (None, None);
        for form in forms {
            self.dialect = form;
            match self.learn_form(site).await {
                Ok(()) => {
                    if self.request.api == Api::Auto && absent.is_some() {
                        self.note(Known::NoChatApi);
                    }
                    return Ok(());
                }
                Err(Refusal::Absent(error)) => absent = absent.or(Some(error)),
                Err(Refusal::OtherForm(error)) => refused = refused.or(Some(error)),
                Err(Refusal::Final(error)) => return Err(error),
            }
        }
        let error = refused.or(absent).expect("an API has a form");
        Err(self.with_offers(site, error).await)
    }

    async fn learn_form(&mut self, site: &Site) -> Result<(), Refusal> {
        for _ in 0..TRIES {
            let record = self.post(site).await;
            let Some(failure) = record.failure() else {
                if self.dialect.api().is_openai_completion()
                    && self.limit_was_ignored(&record)
                    && self.options.limit_field == LimitField::MaxTokens
                {
                    self.options.limit_field = LimitField::MaxCompletionTokens;
                    continue;
                }
                let record = self.restore_suspected(site, record).await;
                self.note_refusals();
                self.note_answer(site, &record).await;
                return Ok(());
            };
            let status = record.status.unwrap_or_default();
            if matches!(status, 400 | 422)
                && !speaks_of_context(&failure.detail)
                && self.drop_field(&failure.detail)
            {
                continue;
            }
            let error = self.explain(site, &record, failure);
            let no_template = failure.detail.contains("chat template")
                || failure.detail.contains("chat_template");
            let is_absent = matches!(error, PreflightError::NoApi { .. })
                || no_template && self.request.api == Api::Auto && site.named.is_none();
            return Err(match status {
                _ if is_absent => Refusal::Absent(error),
                400 | 422 if !self.dialect.api().is_openai_completion() => {
                    Refusal::OtherForm(error)
                }
                _ => Refusal::Final(error),
            });
        }
        Err(Refusal::Final(PreflightError::Refused {
            url: site.url.clone(),
            status: 400,
            said: "every form of the request was refused".into(),
            remedy: USUAL_REMEDY,
        }))
    }

    /// A server in rotation must understand what the first one does.
    pub(super) async fn confirm(&self, site: &Site) -> Result<(), PreflightError> {
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

    /// Drops one field from the request; false where none is left to drop.
    fn drop_field(&mut self, said: &str) -> bool {
        let said = said.to_ascii_lowercase();
        if said.contains("max_completion_tokens")
            && self.dialect.api().is_openai_completion()
            && self.options.limit_field == LimitField::MaxTokens
        {
            self.options.limit_field = LimitField::MaxCompletionTokens;
            return true;
        }
        let asked = OptionalField::VARIANTS
            .iter()
            .filter(|field| self.asks(**field));
        // What the server names goes first; if it names nothing, they go one by one, and come
        // back if they were not the reason.
        let named = asked
            .clone()
            .find(|field| said.contains(field.into_str()))
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

    /// Asks again, one by one, for what was dropped on suspicion. Gives the last good answer.
    async fn restore_suspected(&mut self, site: &Site, mut good: Record) -> Record {
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

    fn asks(&self, field: OptionalField) -> bool {
        match field {
            OptionalField::IgnoreEos => self.options.ignore_eos,
            OptionalField::MinTokens => self.options.min_tokens.is_some(),
            OptionalField::StreamOptions => {
                let knows_it = self.dialect.api().asks_for_usage();
                knows_it && self.options.stream_usage && self.options.stream
            }
        }
    }

    fn set(&mut self, field: OptionalField, wanted: Wanted) {
        let yes = wanted == Wanted::Yes;
        match field {
            OptionalField::IgnoreEos => self.options.ignore_eos = yes,
            OptionalField::MinTokens => {
                self.options.min_tokens = self.request.options.min_tokens.filter(|_| yes)
            }
            OptionalField::StreamOptions => self.options.stream_usage = yes,
        }
    }

    fn note_refusals(&mut self) {
        for refused in std::mem::take(&mut self.refused) {
            let field = refused.into_str().to_owned();
            self.probe.refused_fields.push(field.clone());
            match refused {
                OptionalField::IgnoreEos => self.probe.ignore_eos = Some(false),
                OptionalField::MinTokens => self.probe.min_tokens = Some(false),
                OptionalField::StreamOptions => {}
            }
            self.note(Known::RefusesField { field });
        }
    }

    async fn note_answer(&mut self, site: &Site, record: &Record) {
        self.probe.latency_ms = record.e2e().map(|span| span.as_secs_f64() * 1e3);
        if self.dialect.api().answers() == Answers::Items {
            // There is no output that the server could fail to count.
            self.counts_output = true;
            return;
        }
        let counted = record.usage.and_then(|usage| usage.output);
        self.counts_output = counted.is_some();
        self.probe.stream_usage = record.streamed && counted.is_some();
        if self.options.ignore_eos {
            self.probe.ignore_eos = Some(true);
            // Taken is not understood: only the length shows that.
            let asked = self.limit().zip(counted);
            if let Some((asked, received)) = asked.filter(|(asked, received)| received < asked) {
                self.probe.ignore_eos = Some(false);
                self.note(Known::EndsEarly { asked, received });
            }
        }
        if self.options.min_tokens.is_some() {
            self.probe.min_tokens = Some(true);
        }
        let asked = Prompt::from(&self.request.content).streams(&self.options);
        if self.request.raw.is_none() && asked && !record.streamed {
            self.note(Known::AnswersWhole);
        }
        // An end-of-sequence token has no text, so one chunk less is still a token a chunk.
        let chunks = record.chunks.len() as u32;
        let merged = counted.is_some_and(|tokens| tokens > chunks + 1);
        if self.dialect.api().asks_for_usage()
            && record.streamed
            && self.request.chunk_usage.unwrap_or(merged)
        {
            self.options.chunk_usage = true;
            let again = self.post(site).await;
            self.options.chunk_usage = again.is_done() && again.chunks.tokens.is_some();
            self.probe.chunk_usage = self.options.chunk_usage;
        }
        if self.dialect.api() == Api::Completions {
            self.probe.token_ids =
                Some(self.request.as_token_ids || self.takes_token_ids(site).await);
        }
    }
}
