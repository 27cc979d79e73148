//! Why there is no answer. Every text is one line, printable and free of secrets.

use crate::url::{SHOWN_CHARS, host_shown, without_query};
use inferometer_text::hostile::printable;
use inferometer_text::secret::Secrets;
use std::io;
use ureq::http::Uri;

/// Why there is no answer. URLs are without their query, which may be signed.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("the certificate or key is not PEM text: {0}")]
    BadCertificate(String),
    /// It is not repeated, since it may hold a password.
    #[error("the proxy is not understood; write it like http://HOST:PORT")]
    BadProxy,
    /// It is not repeated.
    #[error("the Hugging Face token holds blanks or other odd characters; check HF_TOKEN")]
    BadToken,
    /// It is not repeated: it may be a key.
    #[error("a key or token holds blanks or other characters that no header can have; check it")]
    BadHeader,
    #[error("{url} is not a URL; write it like https://HOST/PATH")]
    BadUrl { url: String },
    /// No connection, or nothing came over it in time, or it was not HTTP.
    #[error("no answer from {url}: {reason}")]
    NoAnswer {
        url: String,
        host: String,
        reason: String,
    },
    #[error(
        "no secure connection to {host} ({reason}); if a proxy opens TLS here, add its certificate to the system's"
    )]
    Insecure { host: String, reason: String },
    #[error("the redirects of {url} lead nowhere ({reason})")]
    LostRedirect { url: String, reason: &'static str },
    #[error(
        "{url} is redirected from https to plain http at {host}, which anyone on the way could alter"
    )]
    Downgrade { url: String, host: String },
    #[error("{url} has more than {limit} bytes, too many for a file of its kind")]
    TooLarge { url: String, limit: u64 },
}

impl FetchError {
    pub(crate) fn of_call(error: ureq::Error, url: &Uri, secrets: &Secrets) -> Self {
        let host = host_shown(url);
        let insecure = is_insecure(&error);
        let reason = secrets.redact(&reason(&error.into_io()));
        if insecure {
            FetchError::Insecure { host, reason }
        } else {
            FetchError::NoAnswer {
                url: without_query(url),
                host,
                reason,
            }
        }
    }
}

/// Why a connection or a body failed.
pub fn reason(error: &io::Error) -> String {
    let inner = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<ureq::Error>());
    match inner {
        Some(ureq::Error::HostNotFound) => "its name is not known here".to_owned(),
        Some(ureq::Error::Timeout(phase)) => format!("no answer in time: {phase}"),
        Some(ureq::Error::Io(io)) => printable(&io.to_string(), SHOWN_CHARS),
        _ => printable(&error.to_string(), SHOWN_CHARS),
    }
}

fn is_insecure(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::Rustls(_) | ureq::Error::Tls(_) | ureq::Error::Pem(_) => true,
        // rustls reports through I/O; nothing else there is invalid data.
        ureq::Error::Io(io) => io.kind() == io::ErrorKind::InvalidData,
        _ => false,
    }
}
