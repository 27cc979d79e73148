//! One question to a server: redirects, the token, and what the answer's head says.

use super::partial::{Note, Resume};
use super::url::{Origin, is_downgrade, origin, redirected};
use super::{Fetcher, Remote, RemoteError};
use inferometer_text::hostile::{Secrets, printable};
use std::io::{self, Read};
use ureq::http::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_RANGE, LOCATION, RANGE,
};
use ureq::http::{HeaderMap, HeaderValue, Response, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body, BodyReader, Proxy};

const MAX_REDIRECTS: usize = 10;
/// Characters of an error's body or reason that are shown.
const SAID_CHARS: usize = 200;

pub(super) enum Reply {
    /// The file from its first byte.
    Whole(Answer),
    Rest(Answer),
    /// What is there belongs to another version of the file, or cannot be gone on from.
    Stale,
}

/// A body and what is known about the whole file.
pub(super) struct Answer {
    pub note: Note,
    pub body: BodyReader<'static>,
}

pub(super) struct Client<'a> {
    agent: Agent,
    remote: &'a Remote,
    url: Uri,
    hub: Option<Origin>,
    token: Option<HeaderValue>,
    secrets: Secrets,
}

impl<'a> Client<'a> {
    pub fn new(fetcher: &Fetcher, remote: &'a Remote) -> Result<Self, RemoteError> {
        let mut secrets = Secrets::default();
        let mut token = None;
        if let Some(secret) = fetcher
            .hugging_face_token
            .as_ref()
            .filter(|t| !t.0.is_empty())
        {
            secrets.add(&secret.0);
            let bearer = HeaderValue::try_from(format!("Bearer {}", secret.0));
            let mut bearer = bearer.map_err(|_| RemoteError::BadToken)?;
            bearer.set_sensitive(true);
            token = Some(bearer);
        }
        let proxy = match fetcher.proxy.as_ref().filter(|proxy| !proxy.0.is_empty()) {
            Some(proxy) => Some(Proxy::new(&proxy.0).map_err(|_| RemoteError::BadProxy)?),
            None => None,
        };
        let patience = &fetcher.patience;
        let config = Agent::config_builder()
            // Its default would be taken from the environment.
            .proxy(proxy)
            .tls_config(TlsConfig::builder().root_certs(roots()).build())
            .user_agent(concat!("inferometer/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .http_status_as_error(false)
            // Followed here, since the heads on the way matter and the token must not go along.
            .max_redirects(0)
            .timeout_resolve(Some(patience.connect))
            .timeout_connect(Some(patience.connect))
            .timeout_recv_response(Some(patience.read))
            .timeout_per_read(Some(patience.read))
            .timeout_per_write(Some(patience.read))
            .build();
        Ok(Client {
            agent: config.new_agent(),
            remote,
            url: remote.url(&fetcher.endpoints)?,
            hub: fetcher.endpoints.hugging_face_origin(),
            token,
            secrets,
        })
    }

    /// Asks for the file, or for what is missing of it.
    pub fn ask(&self, resume: Option<&Resume>) -> Result<Reply, RemoteError> {
        let mut url = self.url.clone();
        let mut linked = Linked::default();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send(&url, resume)?;
            linked.learn(response.headers(), self.is_own_hub(&url));
            if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return self.judge(&url, response, linked, resume);
            }
            let lost = |reason| RemoteError::LostRedirect {
                address: self.address(),
                reason,
            };
            let location = text(response.headers(), LOCATION.as_str());
            let location = location.ok_or_else(|| lost("one names no place"))?;
            let next = redirected(&url, location).ok_or_else(|| lost("one names no URL"))?;
            if is_downgrade(&url, &next) {
                return Err(RemoteError::Downgrade {
                    address: self.address(),
                    host: host(&next),
                });
            }
            url = next;
        }
        Err(RemoteError::LostRedirect {
            address: self.address(),
            reason: "there are more than 10",
        })
    }

    fn send(&self, url: &Uri, resume: Option<&Resume>) -> Result<Response<Body>, RemoteError> {
        let mut request = self.agent.get(url);
        if let Some(token) = self.token_for(url) {
            request = request.header(AUTHORIZATION, token);
        }
        if let Some(resume) = resume {
            request = request
                .header(RANGE, format!("bytes={}-", resume.from))
                .header(IF_RANGE, resume.etag.as_str());
        }
        request.call().map_err(|error| {
            let (address, host) = (self.address(), host(url));
            let insecure = is_insecure(&error);
            let reason = self.secrets.redact(&reason(&error.into_io()));
            if insecure {
                RemoteError::Insecure {
                    address,
                    host,
                    reason,
                }
            } else {
                RemoteError::Unreachable {
                    address,
                    host,
                    reason,
                }
            }
        })
    }

    fn address(&self) -> Box<Remote> {
        Box::new(self.remote.clone())
    }

    fn token_for(&self, url: &Uri) -> Option<&HeaderValue> {
        let own = self.hub.is_some() && origin(url) == self.hub;
        self.token.as_ref().filter(|_| own)
    }

    /// The hub of Hugging Face answers, and is asked as such.
    fn is_own_hub(&self, url: &Uri) -> bool {
        matches!(self.remote, Remote::HuggingFace(_)) && origin(url) == self.hub
    }

    /// What the last answer is good for.
    fn judge(
        &self,
        url: &Uri,
        response: Response<Body>,
        linked: Linked,
        resume: Option<&Resume>,
    ) -> Result<Reply, RemoteError> {
        let status = response.status().as_u16();
        match (status, resume) {
            (200, _) => {}
            (206, Some(resume)) => return Ok(self.rest(response, &linked, resume)),
            (416, Some(_)) => return Ok(Reply::Stale),
            (401 | 403, _) => {
                return Err(RemoteError::Denied {
                    address: self.address(),
                    status,
                    had_token: self.token_for(&self.url).is_some(),
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
                    host: host(url),
                    status,
                    said: self.beginning(response),
                });
            }
        }
        let headers = response.headers();
        if let Some(encoding) =
            text(headers, CONTENT_ENCODING.as_str()).filter(|e| !e.eq_ignore_ascii_case("identity"))
        {
            return Err(RemoteError::Encoded {
                address: self.address(),
                host: host(url),
                encoding: printable(encoding, 40),
            });
        }
        let name = self.remote.file_name();
        let is_page = text(headers, CONTENT_TYPE.as_str()).is_some_and(|kind| {
            kind.trim_start()
                .to_ascii_lowercase()
                .starts_with("text/html")
        });
        if is_page && !name.ends_with(".html") && !name.ends_with(".htm") {
            return Err(RemoteError::WebPage {
                address: self.address(),
                host: host(url),
            });
        }
        let announced = response.body().content_length();
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
                etag: strong_etag(headers),
                total: linked.size.or(announced),
                sha256: linked.sha256,
            },
            body: response.into_body().into_reader(),
        }))
    }

    /// A 206 is trusted only if it goes on exactly where we are, in the same version.
    fn rest(&self, response: Response<Body>, linked: &Linked, resume: &Resume) -> Reply {
        let headers = response.headers();
        let range = text(headers, CONTENT_RANGE.as_str()).and_then(content_range);
        let mut note = resume.note.clone();
        let fits = range.is_some_and(|(from, to, total)| {
            let whole = total.or(note.total);
            note.total = whole;
            from == resume.from
                && (total.is_none() || resume.note.total.is_none() || total == resume.note.total)
                && whole.is_none_or(|whole| to < whole)
        });
        let same_version = strong_etag(headers).is_none_or(|etag| etag == resume.etag)
            && (linked.sha256.is_none() || linked.sha256 == note.sha256);
        let plain = text(headers, CONTENT_ENCODING.as_str())
            .is_none_or(|encoding| encoding.eq_ignore_ascii_case("identity"));
        if fits && same_version && plain {
            Reply::Rest(Answer {
                note,
                body: response.into_body().into_reader(),
            })
        } else {
            Reply::Stale
        }
    }

    /// The beginning of an error's body, fit to be shown.
    fn beginning(&self, response: Response<Body>) -> String {
        let mut bytes = Vec::new();
        // What came before it broke off is better than nothing.
        let _ = response
            .into_body()
            .into_reader()
            .take(4 * SAID_CHARS as u64)
            .read_to_end(&mut bytes);
        let said = self.secrets.redact(String::from_utf8_lossy(&bytes).trim());
        match said.as_str() {
            "" => "it gave no reason".to_owned(),
            said => printable(said, SAID_CHARS),
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
    fn learn(&mut self, headers: &HeaderMap, own_hub: bool) {
        let etag = text(headers, "x-linked-etag")
            .or_else(|| text(headers, ETAG.as_str()).filter(|_| own_hub));
        if self.sha256.is_none() {
            self.sha256 = etag.and_then(sha256_of_etag);
        }
        if self.size.is_none() {
            self.size = text(headers, "x-linked-size").and_then(|size| size.trim().parse().ok());
        }
    }
}

fn sha256_of_etag(etag: &str) -> Option<String> {
    let digits = etag.trim().trim_start_matches("W/").trim_matches('"');
    let is_sha256 = digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_sha256.then(|| digits.to_ascii_lowercase())
}

/// A weak ETag does not promise the same bytes, so that nothing may be resumed by it.
fn strong_etag(headers: &HeaderMap) -> Option<String> {
    let etag = text(headers, ETAG.as_str())?.trim();
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

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

fn host(url: &Uri) -> String {
    let authority = url.authority().map_or("", |authority| authority.as_str());
    let host = authority.rsplit('@').next().unwrap_or_default();
    printable(host, SAID_CHARS)
}

/// Why a connection or a body failed, in words of one line.
pub(super) fn reason(error: &io::Error) -> String {
    let inner = error
        .get_ref()
        .and_then(|e| e.downcast_ref::<ureq::Error>());
    match inner {
        Some(ureq::Error::HostNotFound) => "its name is not known here".to_owned(),
        Some(ureq::Error::Timeout(phase)) => format!("no answer in time: {phase}"),
        Some(ureq::Error::Io(io)) => printable(&io.to_string(), SAID_CHARS),
        _ => printable(&error.to_string(), SAID_CHARS),
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

/// The system's certificates, so that those of a company count; a machine without any, such as a
/// small container, gets Mozilla's.
fn roots() -> RootCerts {
    let native = rustls_native_certs::load_native_certs().certs;
    if native.is_empty() {
        return RootCerts::WebPki;
    }
    let certificates = native
        .iter()
        .map(|der| Certificate::from_der(der).to_owned());
    RootCerts::from(certificates)
}
