//! Why a run cannot start, and what to do about it.

use super::find::Site;
use super::{SAID, Scout};
use crate::connect::NO_HANDSHAKE;
use crate::plain::Reply;
use inferometer_core::content::Content;
use inferometer_core::hostile::{Secrets, printable};
use inferometer_core::record::{Failure, FailureClass, Record};

/// Why a run cannot start, with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    /// The server cannot be reached.
    #[error("cannot reach {url}: {why}; {remedy}")]
    Unreachable {
        url: String,
        why: String,
        remedy: String,
    },
    /// 401, 403 or 407.
    #[error("{url} refuses access (status {status}: {said}); {remedy}")]
    Unauthorized {
        url: String,
        status: u16,
        said: String,
        remedy: &'static str,
    },
    /// There is no API at this path.
    #[error(
        "no API at {url} (status {status}: {said}); give the server's base URL, such as http://HOST:PORT or http://HOST:PORT/PREFIX, and check --api"
    )]
    NoApi {
        url: String,
        status: u16,
        said: String,
    },
    /// The model is not served.
    #[error(
        "{url} does not serve the model '{model}'{said}; it serves: {served}; choose one with --model"
    )]
    ModelNotServed {
        url: String,
        model: String,
        said: String,
        served: String,
    },
    /// The server lists no model and none was named.
    #[error(
        "{url} lists no model ({said}); correct the path of the URL, or name a model with --model if the path is right"
    )]
    NoModel { url: String, said: String },
    /// The prompt does not fit.
    #[error(
        "the work does not fit the model's context: {said}; lower --input-tokens or --output-tokens, choose shorter rows with --max-prompt, or serve the model with a longer context"
    )]
    Context { said: String },
    /// Something else than an API answers.
    #[error(
        "{url} answers with a web page (status {status}), not with an API: a proxy or another web server stands in the way; give the address of the API itself, or name the proxy with --proxy"
    )]
    WebPage { url: String, status: u16 },
    /// Token ids where only text is taken.
    #[error(
        "{url} is spoken to by chat, which takes text only; use --api completions, or leave out --as-token-ids"
    )]
    NoTokenIds { url: String },
    /// The server refuses the request for another reason.
    #[error(
        "{url} refuses a request like those of this run (status {status}: {said}); check --extra, --model and the other request options"
    )]
    Refused {
        url: String,
        status: u16,
        said: String,
    },
    /// The server answers with an error or a broken stream.
    #[error(
        "{url} does not answer properly ({class}: {said}); look at the server's log, and run `inferometer run` again when it answers"
    )]
    Broken {
        url: String,
        class: FailureClass,
        said: String,
    },
}

impl Scout {
    pub(super) fn check_access(&self, url: &str, reply: &Reply) -> Result<(), PreflightError> {
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

    /// A failed preflight request as a reason with its remedy.
    pub(super) fn explain(
        &self,
        site: &Site,
        record: &Record,
        failure: &Failure,
    ) -> PreflightError {
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
                model: printable(&self.model_sent(), 80),
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

    /// The model of the request: a row's own wins over the run's.
    fn model_sent(&self) -> String {
        let own = match &self.wish.content {
            Content::Body(body) => serde_json::from_str::<serde_json::Value>(body).ok(),
            _ => None,
        };
        let own = own.and_then(|body| Some(body["model"].as_str()?.to_owned()));
        own.unwrap_or_else(|| self.ask.model.clone())
    }

    pub(super) fn unreachable(&self, url: &str, failure: &Failure) -> PreflightError {
        unreachable(url, failure, &self.wish.secrets)
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
pub(super) fn is_page(text: &str) -> bool {
    let start: String = text.trim_start().chars().take(14).collect();
    let start = start.to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}
