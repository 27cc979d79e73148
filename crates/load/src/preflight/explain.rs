//! From a failed preflight request to the reason and its remedy.

use super::error::{LONGEST_QUOTE, PreflightError, is_page, unreachable};
use super::prober::Prober;
use super::site::Site;
use crate::api::Prompt;
use inferometer_core::content::Content;
use inferometer_core::record::{Failure, FailureClass, Record};
use inferometer_text::hostile::printable;

pub(super) const USUAL_REMEDY: &str = "check --extra, --model and the other request options";

/// What servers call that which goes with a text.
const MEDIA: [&str; 7] = [
    "image",
    "video",
    "audio",
    "multimodal",
    "multi-modal",
    "vision",
    "mmproj",
];

/// What they say of an address that they cannot fetch from.
const UNREACHABLE: [&str; 7] = [
    "connect",
    "fetch",
    "download",
    "resolve",
    "unreachable",
    "timed out",
    "timeout",
];

impl Prober {
    /// Refuses an answer that refuses access.
    pub(super) fn check_access(
        &self,
        url: &str,
        status: u16,
        said: &str,
    ) -> Result<(), PreflightError> {
        let remedy = match status {
            401 | 403 if self.has_key() => {
                "it does not take the key that was sent: check the one in OPENAI_API_KEY, --api-key-env or --api-key-file, and whether it may use this model"
            }
            401 | 403 => {
                "give the key in OPENAI_API_KEY, or name its place with --api-key-env or --api-key-file"
            }
            407 => "the proxy wants credentials: --proxy http://USER:PASSWORD@HOST:PORT",
            _ => return Ok(()),
        };
        Err(PreflightError::Unauthorized {
            url: url.to_owned(),
            status,
            said: self.quoted(said),
            remedy,
        })
    }

    /// Whether a key is sent.
    fn has_key(&self) -> bool {
        let names = ["authorization", "x-api-key", "api-key"];
        let mut headers = self.request.headers.iter();
        headers.any(|(name, _)| names.iter().any(|it| it.eq_ignore_ascii_case(name)))
    }

    /// A failed preflight request as a reason with its remedy.
    pub(super) fn explain(
        &self,
        site: &Site,
        record: &Record,
        failure: &Failure,
    ) -> PreflightError {
        let route = self.route(site);
        let said = self.quoted(&failure.detail);
        let status = record.status.unwrap_or_default();
        let body = match failure.class {
            // Here the body follows what is wrong with it.
            FailureClass::BadStream => failure
                .detail
                .find('<')
                .map_or("", |at| &failure.detail[at..]),
            _ => &failure.detail,
        };
        let beside = self.refuses_beside(&failure.detail);
        match failure.class {
            _ if self.is_model_missing(failure) => PreflightError::ModelNotServed {
                url: site.url.clone(),
                model: printable(&self.model_sent(), 80),
                said: format!(" ({said})"),
                served: if site.models.is_empty() {
                    "nothing that it lists".into()
                } else {
                    printable(&site.names().join(", "), LONGEST_QUOTE)
                },
            },
            FailureClass::Unauthorized => {
                match self.check_access(&route.url, status, &failure.detail) {
                    Err(error) => error,
                    Ok(()) => PreflightError::Refused {
                        url: route.url,
                        status,
                        said,
                        remedy: USUAL_REMEDY,
                    },
                }
            }
            _ if is_page(body) => PreflightError::WebPage {
                url: route.url,
                status,
            },
            FailureClass::NotFound | FailureClass::Redirected => PreflightError::NoApi {
                url: route.url,
                status,
                said,
                offers: String::new(),
            },
            // Not implemented, as llama.cpp says of what it was not started for.
            _ if status == 501 => PreflightError::NoApi {
                url: route.url,
                status,
                said,
                offers: String::new(),
            },
            FailureClass::ContextExceeded => PreflightError::Context { said },
            _ if status >= 400 && beside.is_some() => PreflightError::Refused {
                url: route.url,
                status,
                said,
                remedy: beside.unwrap_or(USUAL_REMEDY),
            },
            FailureClass::BadRequest => PreflightError::Refused {
                url: route.url,
                status,
                said,
                remedy: USUAL_REMEDY,
            },
            FailureClass::ReadTimeout | FailureClass::RequestTimeout => {
                let known = site.context_of(&self.options.model);
                PreflightError::Silent {
                    url: route.url,
                    asked: format!("a request with {}", size(&self.request.content)),
                    why: said,
                    remedy: match known {
                        Some(most) => format!(
                            "look at its log; a prompt longer than its context ({most} tokens) may hang it: lower --input-tokens; if it is only slow, raise --read-timeout or --request-timeout"
                        ),
                        None => "look at its log; a prompt longer than its context, which it does not state, may hang it: lower --input-tokens; if it is only slow, raise --read-timeout or --request-timeout".into(),
                    },
                }
            }
            FailureClass::NameNotFound
            | FailureClass::Refused
            | FailureClass::Disconnected
            | FailureClass::Network
            | FailureClass::TlsFailed
            | FailureClass::ConnectTimeout => self.unreachable(&route.url, failure),
            class => PreflightError::Broken {
                url: route.url,
                class,
                said,
            },
        }
    }

    /// What to do where a server speaks of what goes with the text.
    fn refuses_beside(&self, said: &str) -> Option<&'static str> {
        let said = said.to_ascii_lowercase();
        let speaks_of = |words: &[&str]| words.iter().any(|word| said.contains(word));
        let prompt = Prompt {
            media: &self.request.media,
            ..Prompt::from(&self.request.content)
        };
        let has_media = prompt.media_count().is_some();
        if has_media && self.request.media.is_empty() && speaks_of(&UNREACHABLE) {
            return Some(
                "it fetches media by their addresses itself: name such as it can reach, or files, which are sent with the request",
            );
        }
        if has_media && speaks_of(&MEDIA) {
            return Some(
                "serve a model that takes what goes with the text, or leave out --images, --video and --audio, or rows that bring them",
            );
        }
        let in_row = |json: &str| json.contains("\"tools\"");
        let has_tools = self.request.options.extra.contains_key("tools")
            || matches!(&self.request.content, Content::Body(json) if in_row(json));
        (has_tools && speaks_of(&["tool"]))
            .then_some("start the server with what it names (vLLM: --enable-auto-tool-choice --tool-call-parser NAME), or leave out --tools, or rows that bring them")
    }

    /// The model of the request: a row's own wins over the run's.
    fn model_sent(&self) -> String {
        let own = match &self.request.content {
            Content::Body(body) => serde_json::from_str::<serde_json::Value>(body).ok(),
            _ => None,
        };
        let own = own.and_then(|body| Some(body["model"].as_str()?.to_owned()));
        own.unwrap_or_else(|| self.options.model.clone())
    }

    pub(super) fn unreachable(&self, url: &str, failure: &Failure) -> PreflightError {
        unreachable(url, failure, &self.request.secrets)
    }
}

/// How long a prompt is, as far as it can be told at a glance.
fn size(content: &Content) -> String {
    match content {
        Content::Text(text) => format!("a prompt of {} characters", text.chars().count()),
        Content::Messages(json) => format!("messages of {} characters", json.chars().count()),
        Content::Body(json) => format!("a body of {} characters", json.chars().count()),
        Content::TokenIds(ids) => format!("a prompt of {} tokens", ids.len()),
        Content::Batch(batch) => format!("{} texts", batch.len()),
    }
}
