//! Answers: the heads that led to them, and bodies within bounds.

use crate::error::{FetchError, reason};
use crate::url::{SHOWN_CHARS, host_shown, without_query};
use inferometer_text::hostile::printable;
use inferometer_text::secret::Secrets;
use std::io::{self, Read};
use ureq::BodyReader;
use ureq::http::{HeaderMap, Uri};

/// Most bytes of a short answer; the rest is left.
const REPLY_BYTES: u64 = 16 << 20;

/// A short answer.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    /// The beginning of its body, at most 16 MiB; bytes that are not UTF-8 are replaced.
    pub body: String,
}

/// Status and headers.
#[derive(Clone, Debug)]
pub struct Head {
    pub url: Uri,
    pub status: u16,
    pub headers: HeaderMap,
}

impl Head {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// An answer whose body has not been read.
pub struct Response {
    /// Those on the way, first to last.
    pub redirects: Vec<Head>,
    pub head: Head,
    /// Bytes of the body, where the server says.
    pub length: Option<u64>,
    pub body: Body,
    secrets: Secrets,
}

/// The bytes of an answer as they come; [`reason`] puts an error of it into words.
pub struct Body(BodyReader<'static>);

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Response {
    pub(crate) fn new(
        redirects: Vec<Head>,
        head: Head,
        body: ureq::Body,
        secrets: Secrets,
    ) -> Self {
        Response {
            redirects,
            head,
            length: body.content_length(),
            body: Body(body.into_reader()),
            secrets,
        }
    }

    /// The whole body; an error if it has more than `limit` bytes.
    pub fn bytes(self, limit: u64) -> Result<Vec<u8>, FetchError> {
        let url = without_query(&self.head.url);
        let bytes = self.beginning(limit + 1)?;
        if bytes.len() as u64 > limit {
            return Err(FetchError::TooLarge { url, limit });
        }
        Ok(bytes)
    }

    /// The body's first bytes, at most `limit`.
    pub fn beginning(self, limit: u64) -> Result<Vec<u8>, FetchError> {
        let mut bytes = Vec::new();
        match self.body.take(limit).read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(FetchError::NoAnswer {
                url: without_query(&self.head.url),
                host: host_shown(&self.head.url),
                reason: reason(&error),
            }),
        }
    }

    /// What a server says for a reason, in one line; empty if it says nothing.
    pub fn words(self) -> String {
        let mut bytes = Vec::new();
        // What came before it broke off is better than nothing.
        let _ = self
            .body
            .take(4 * SHOWN_CHARS as u64)
            .read_to_end(&mut bytes);
        let words = self.secrets.redact(String::from_utf8_lossy(&bytes).trim());
        printable(&words, SHOWN_CHARS)
    }

    pub(crate) fn into_reply(self) -> Result<Reply, FetchError> {
        let status = self.head.status;
        let body = self.beginning(REPLY_BYTES)?;
        Ok(Reply {
            status,
            body: String::from_utf8_lossy(&body).into_owned(),
        })
    }
}
