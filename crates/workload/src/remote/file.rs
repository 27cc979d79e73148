//! One file of a hub or the web: asked for, and what the answer's head says about it.

use super::address::Remote;
use super::error::RemoteError;
use super::partial::{Note, Resume};
use inferometer_fetch::header::{
    CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_RANGE, RANGE,
};
use inferometer_fetch::url::{Origin, host_shown, origin};
use inferometer_fetch::{Body, Client, Head, HubAccess, Response, Timeouts, Uri};
use inferometer_text::hostile::printable;

pub(super) enum Reply {
    /// The file from its first byte.
    Whole(Answer),
    Rest(Answer),
    /// What is there belongs to another version of the file, or cannot be continued.
    Stale,
}

/// A body and what is known about the whole file.
pub(super) struct Answer {
    pub note: Note,
    pub body: Body,
}

pub(super) struct RemoteFile<'a> {
    client: Client,
    remote: &'a Remote,
    url: Uri,
    hub: Option<Origin>,
}

impl<'a> RemoteFile<'a> {
    pub fn new(
        remote: &'a Remote,
        hubs: &HubAccess,
        timeouts: Timeouts,
    ) -> Result<Self, RemoteError> {
        Ok(RemoteFile {
            client: Client::for_hubs(hubs, timeouts).map_err(RemoteError::Setup)?,
            remote,
            url: remote.url(&hubs.endpoints)?,
            hub: hubs.endpoints.hugging_face_origin(),
        })
    }

    /// Asks for the file, or for what is missing of it.
    pub fn ask(&self, resume: Option<&Resume>) -> Result<Reply, RemoteError> {
        let range = resume.map(|resume| format!("bytes={}-", resume.from));
        let headers: Vec<(&str, &str)> = match (&range, resume) {
            (Some(range), Some(resume)) => vec![
                (RANGE.as_str(), range.as_str()),
                (IF_RANGE.as_str(), resume.etag.as_str()),
            ],
            _ => Vec::new(),
        };
        let response = self
            .client
            .open(&self.url.to_string(), &headers)
            .map_err(|error| RemoteError::of_fetch(error, self.remote))?;
        let mut linked = Linked::default();
        for head in response.redirects.iter().chain([&response.head]) {
            linked.learn(head, self.is_own_hub(&head.url));
        }
        self.judge(response, linked, resume)
    }

    fn address(&self) -> Box<Remote> {
        Box::new(self.remote.clone())
    }

    /// Whether Hugging Face answers, and is asked as such.
    fn is_own_hub(&self, url: &Uri) -> bool {
        matches!(self.remote, Remote::HuggingFace(_)) && origin(url) == self.hub
    }

    /// What the last answer is good for.
    fn judge(
        &self,
        response: Response,
        linked: Linked,
        resume: Option<&Resume>,
    ) -> Result<Reply, RemoteError> {
        let head = &response.head;
        let (status, host) = (head.status, host_shown(&head.url));
        match (status, resume) {
            (200, _) => {}
            (206, Some(resume)) => return Ok(self.rest(response, &linked, resume)),
            (416, Some(_)) => return Ok(Reply::Stale),
            (401 | 403, _) => {
                return Err(RemoteError::Denied {
                    address: self.address(),
                    status,
                    had_token: self.client.sends_token_to(&self.url),
                });
            }
            (404 | 410, _) => {
                return Err(RemoteError::NotFound {
                    address: self.address(),
                    status,
                });
            }
            _ => {
                return Err(RemoteError::Status {
                    address: self.address(),
                    host,
                    status,
                    reason: match response.words() {
                        words if words.is_empty() => "it gave no reason".to_owned(),
                        words => words,
                    },
                });
            }
        }
        if let Some(encoding) = encoding(head) {
            return Err(RemoteError::Encoded {
                address: self.address(),
                host,
                encoding: printable(encoding, 40),
            });
        }
        let name = self.remote.file_name();
        let is_page = head.header(CONTENT_TYPE.as_str()).is_some_and(|kind| {
            kind.trim_start()
                .to_ascii_lowercase()
                .starts_with("text/html")
        });
        if is_page && !name.ends_with(".html") && !name.ends_with(".htm") {
            return Err(RemoteError::WebPage {
                address: self.address(),
                host,
            });
        }
        let announced = response.length;
        if let (Some(expected), Some(got)) = (linked.size, announced)
            && expected != got
        {
            return Err(RemoteError::Length {
                address: self.address(),
                expected,
                got,
            });
        }
        Ok(Reply::Whole(Answer {
            note: Note {
                address: self.remote.to_string(),
                etag: strong_etag(head),
                total: linked.size.or(announced),
                sha256: linked.sha256,
            },
            body: response.body,
        }))
    }

    /// A 206 is trusted only if it goes on exactly where we are, in the same version.
    fn rest(&self, response: Response, linked: &Linked, resume: &Resume) -> Reply {
        let head = &response.head;
        let range = head.header(CONTENT_RANGE.as_str()).and_then(content_range);
        let mut note = resume.note.clone();
        let fits = range.is_some_and(|(from, to, total)| {
            let whole = total.or(note.total);
            note.total = whole;
            from == resume.from
                && (total.is_none() || resume.note.total.is_none() || total == resume.note.total)
                && whole.is_none_or(|whole| to < whole)
        });
        let same_version = strong_etag(head).is_none_or(|etag| etag == resume.etag)
            && (linked.sha256.is_none() || linked.sha256 == note.sha256);
        if fits && same_version && encoding(head).is_none() {
            Reply::Rest(Answer {
                note,
                body: response.body,
            })
        } else {
            Reply::Stale
        }
    }
}

/// What Hugging Face says about a stored file before it redirects to the store. (The store's own
/// ETag may have 64 digits too, and is another hash.)
#[derive(Default)]
struct Linked {
    sha256: Option<String>,
    size: Option<u64>,
}

impl Linked {
    fn learn(&mut self, head: &Head, own_hub: bool) {
        let etag = head
            .header("x-linked-etag")
            .or_else(|| head.header(ETAG.as_str()).filter(|_| own_hub));
        if self.sha256.is_none() {
            self.sha256 = etag.and_then(sha256_of_etag);
        }
        if self.size.is_none() {
            self.size = head
                .header("x-linked-size")
                .and_then(|size| size.trim().parse().ok());
        }
    }
}

fn sha256_of_etag(etag: &str) -> Option<String> {
    let digits = etag.trim().trim_start_matches("W/").trim_matches('"');
    let is_sha256 = digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_sha256.then(|| digits.to_ascii_lowercase())
}

/// A weak ETag does not promise the same bytes, so that nothing may be resumed by it.
fn strong_etag(head: &Head) -> Option<String> {
    let etag = head.header(ETAG.as_str())?.trim();
    (etag.len() >= 2 && etag.starts_with('"') && etag.ends_with('"')).then(|| etag.to_owned())
}

/// First byte, last byte and, unless it is `*`, the length of the whole.
fn content_range(value: &str) -> Option<(u64, u64, Option<u64>)> {
    let (range, total) = value.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (from, to) = range.trim().split_once('-')?;
    let total = match total.trim() {
        "*" => None,
        total => Some(total.parse().ok()?),
    };
    Some((from.parse().ok()?, to.parse().ok()?, total))
}

/// The encoding of a body that is not sent as it is.
fn encoding(head: &Head) -> Option<&str> {
    head.header(CONTENT_ENCODING.as_str())
        .filter(|encoding| !encoding.eq_ignore_ascii_case("identity"))
}
