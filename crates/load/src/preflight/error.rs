//! Why a run cannot start, and what to do about it.

use crate::connect::NO_HANDSHAKE;
use inferometer_core::record::{Failure, FailureClass};
use inferometer_text::hostile::printable;
use inferometer_text::secret::Secrets;

/// Characters of a server's text in an error message.
pub(super) const LONGEST_QUOTE: usize = 300;

#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    #[error("cannot reach {url}: {why}; {remedy}")]
    Unreachable {
        url: String,
        why: String,
        remedy: String,
    },
    #[error("{url} refuses access (status {status}: {said}); {remedy}")]
    Unauthorized {
        url: String,
        status: u16,
        said: String,
        remedy: &'static str,
    },
    #[error(
        "no API at {url} (status {status}: {said}){offers}; give the server's base URL, such as http://HOST:PORT or http://HOST:PORT/PREFIX, and check --api"
    )]
    NoApi {
        url: String,
        status: u16,
        said: String,
        /// What the server has in its place, as a clause; empty where nothing was found.
        offers: String,
    },
    #[error(
        "{url} does not serve the model '{model}'{said}; it serves: {served}; choose one with --model"
    )]
    ModelNotServed {
        url: String,
        model: String,
        said: String,
        served: String,
    },
    #[error(
        "{url} lists no model ({said}){offers}; correct the path of the URL, or name a model with --model if the path is right"
    )]
    NoModel {
        url: String,
        said: String,
        /// As above.
        offers: String,
    },
    #[error(
        "{url} has an empty list of models ({path}): it has loaded none; load a model in the server, or name one with --model if it answers all the same"
    )]
    EmptyList { url: String, path: String },
    #[error("{url} has not answered {asked} ({why}); {remedy}")]
    Silent {
        url: String,
        asked: String,
        why: String,
        remedy: String,
    },
    #[error(
        "{url} is an unsupported API ({path}){offers}; give the server's base URL, such as http://HOST:PORT, and choose what to measure with --api (docs/endpoints.md)"
    )]
    Unsupported {
        url: String,
        path: &'static str,
        /// As above.
        offers: String,
    },
    #[error(
        "the requests of this work ask for {n} answers each (\"n\": {n}), and a request is measured by one answer; leave out n"
    )]
    ManyAnswers { n: u64 },
    #[error(
        "the requests of this work ask for a stream (\"stream\": true), and the answers of --api {api} come whole; leave out stream"
    )]
    NoStream { api: &'static str },
    #[error(
        "the work does not fit the model's context: {said}; lower --input-tokens or --output-tokens, choose shorter rows with --max-prompt, or serve the model with a longer context"
    )]
    Context { said: String },
    #[error(
        "{url} answers with a web page (status {status}), not with an API: a proxy or another web server stands in the route; give the address of the API itself, or name the proxy with --proxy"
    )]
    WebPage { url: String, status: u16 },
    #[error(
        "{url} is asked by an API that takes only text (chat, responses or messages); use --api completions, or leave out --as-token-ids"
    )]
    NoTokenIds { url: String },
    #[error("{url} refuses a request like those of this run (status {status}: {said}); {remedy}")]
    Refused {
        url: String,
        status: u16,
        said: String,
        remedy: &'static str,
    },
    #[error(
        "{url} does not answer properly ({class}: {said}); look at the server's log, and run `inferometer run` again when it answers"
    )]
    Broken {
        url: String,
        class: FailureClass,
        said: String,
    },
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
            "something other than an HTTP server listens there; correct the port, or write https://"
        }
        _ => "check the address and the network",
    };
    PreflightError::Unreachable {
        url: url.to_owned(),
        why: printable(&secrets.redact(&failure.detail), LONGEST_QUOTE),
        remedy: remedy.to_owned(),
    }
}

/// A text for browsers and not for programs.
pub(super) fn is_page(text: &str) -> bool {
    let start: String = text.trim_start().chars().take(14).collect();
    let start = start.to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}
