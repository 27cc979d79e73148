//! Requests: what is sent with them, how long they may take, and where redirects may lead.

use crate::access::{Access, HubAccess, Secret};
use crate::error::FetchError;
use crate::response::{Head, Reply, Response};
use crate::tls::TlsSettings;
use crate::url::{
    Origin, escape_stray, host_shown, is_downgrade, is_web, origin, redirected, without_query,
};
use inferometer_text::hostile::printable;
use inferometer_text::secret::Secrets;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use ureq::http::header::{AUTHORIZATION, LOCATION};
use ureq::http::{HeaderValue, Uri};
use ureq::tls::TlsConfig;
use ureq::{Agent, Proxy};

const MAX_REDIRECTS: usize = 10;

type Answer = Result<ureq::http::Response<ureq::Body>, ureq::Error>;

/// How long to wait for each thing.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For the name, and again for the connection.
    pub connect: Duration,
    /// For the next bytes.
    pub read: Duration,
    /// For the whole answer to one request; absent for no limit.
    pub whole: Option<Duration>,
}

impl Timeouts {
    /// No longer than this for a whole answer.
    pub fn whole(limit: Duration) -> Self {
        Timeouts {
            connect: limit,
            read: limit,
            whole: Some(limit),
        }
    }
}

/// What is asked of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Put,
    Post,
    Delete,
}

impl Method {
    pub fn word(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Put => "PUT",
            Method::Post => "POST",
            Method::Delete => "DELETE",
        }
    }
}

#[derive(Clone)]
pub struct Client {
    agents: Arc<Agents>,
    /// Sent with every request; only to a server whose redirects are not followed.
    headers: Vec<(String, String)>,
    /// Sent to this origin and no other.
    token: Option<(Origin, HeaderValue)>,
    /// Kept out of every text.
    secrets: Secrets,
    redirects: Redirects,
}

/// Nothing of it, since its headers hold keys.
impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Redirects {
    Follow,
    /// They are answers like any other.
    Return,
}

impl Client {
    /// For one server: never through a proxy, never redirected, and waiting no longer than
    /// `limit` for a whole answer.
    pub fn for_server(access: Access, limit: Duration) -> Result<Self, FetchError> {
        Ok(Client {
            agents: Agents::new(&access, None, Timeouts::whole(limit))?,
            headers: access.headers,
            token: None,
            secrets: Secrets::default(),
            redirects: Redirects::Return,
        })
    }

    /// For hubs and any other place of the web: redirects are followed, and the token goes to its
    /// own hub only.
    pub fn for_hubs(hubs: &HubAccess, timeouts: Timeouts) -> Result<Self, FetchError> {
        let mut secrets = Secrets::default();
        let mut token = None;
        if let Some(secret) = hubs.hugging_face_token.as_ref().and_then(|t| t.value()) {
            secrets.add(secret);
            let mut bearer = HeaderValue::try_from(format!("Bearer {secret}"))
                .map_err(|_| FetchError::BadToken)?;
            bearer.set_sensitive(true);
            let home = hubs.endpoints.hugging_face_origin();
            token = home.map(|home| (home, bearer));
        }
        Ok(Client {
            agents: Agents::new(&Access::default(), proxy_of(hubs.proxy.as_ref())?, timeouts)?,
            headers: Vec::new(),
            token,
            secrets,
            redirects: Redirects::Follow,
        })
    }

    /// For an object store: never redirected, since a signature is for one place only. No header
    /// is sent but those of the request.
    pub fn for_store(
        access: &Access,
        proxy: Option<&Secret>,
        timeouts: Timeouts,
    ) -> Result<Self, FetchError> {
        Ok(Client {
            agents: Agents::new(access, proxy_of(proxy)?, timeouts)?,
            headers: Vec::new(),
            token: None,
            secrets: Secrets::default(),
            redirects: Redirects::Return,
        })
    }

    /// A request of any method, whose answer is read by the caller.
    pub fn exchange(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, String)],
        body: &[u8],
    ) -> Result<Response, FetchError> {
        let url = parse(url)?;
        let request = ureq::http::Request::builder()
            .method(method.word())
            .uri(&url);
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, value)
        });
        let agent = self.agents.of(&url);
        let sent = match method {
            Method::Put | Method::Post => request.body(body).map(|request| agent.run(request)),
            Method::Get | Method::Delete => request.body(()).map(|request| agent.run(request)),
        };
        let (head, body) = self.answered(&url, sent.map_err(|_| FetchError::BadHeader)?)?;
        Ok(Response::new(Vec::new(), head, body, self.secrets.clone()))
    }

    /// A short answer.
    pub fn get(&self, url: &str) -> Result<Reply, FetchError> {
        self.open(url, &[])?.into_reply()
    }

    /// POST without a body.
    pub fn post(&self, url: &str) -> Result<Reply, FetchError> {
        self.send(url, |request| request.send_empty())
    }

    /// POST of a JSON text.
    pub fn post_json(&self, url: &str, body: &str) -> Result<Reply, FetchError> {
        self.send(url, |request| {
            request.content_type("application/json").send(body)
        })
    }

    /// POST of a message in protobuf.
    pub fn post_protobuf(&self, url: &str, body: &[u8]) -> Result<Reply, FetchError> {
        self.send(url, |request| {
            request.content_type("application/x-protobuf").send(body)
        })
    }

    /// GET whose body is read by the caller.
    pub fn open(&self, url: &str, headers: &[(&str, &str)]) -> Result<Response, FetchError> {
        let first = parse(url)?;
        let mut url = first.clone();
        let mut redirects = Vec::new();
        let lost = |reason| FetchError::LostRedirect {
            url: without_query(&first),
            reason,
        };
        while redirects.len() <= MAX_REDIRECTS {
            let mut request = self.agents.of(&url).get(&url);
            if let Some(token) = self.token_for(&url) {
                request = request.header(AUTHORIZATION, token);
            }
            let own = self.headers.iter().map(|(name, value)| (&**name, &**value));
            for (name, value) in own.chain(headers.iter().copied()) {
                request = request.header(name, value);
            }
            let (head, body) = self.answered(&url, request.call())?;
            let moved = matches!(head.status, 301 | 302 | 303 | 307 | 308);
            if !moved || self.redirects == Redirects::Return {
                return Ok(Response::new(redirects, head, body, self.secrets.clone()));
            }
            let location = head.header(LOCATION.as_str());
            let location = location.ok_or_else(|| lost("one names no place"))?;
            let next = redirected(&url, location).ok_or_else(|| lost("one names no URL"))?;
            if is_downgrade(&url, &next) {
                return Err(FetchError::Downgrade {
                    url: without_query(&first),
                    host: host_shown(&next),
                });
            }
            url = next;
            redirects.push(head);
        }
        Err(lost("there are more than 10"))
    }

    /// Whether a request to this URL carries the token.
    pub fn sends_token_to(&self, url: &Uri) -> bool {
        self.token_for(url).is_some()
    }

    fn token_for(&self, url: &Uri) -> Option<&HeaderValue> {
        let (home, token) = self.token.as_ref()?;
        (origin(url).as_ref() == Some(home)).then_some(token)
    }

    fn send(
        &self,
        url: &str,
        send: impl FnOnce(ureq::RequestBuilder<ureq::typestate::WithBody>) -> Answer,
    ) -> Result<Reply, FetchError> {
        let url = parse(url)?;
        let mut request = self.agents.of(&url).post(&url);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let (head, body) = self.answered(&url, send(request))?;
        Response::new(Vec::new(), head, body, self.secrets.clone()).into_reply()
    }

    fn answered(&self, url: &Uri, answer: Answer) -> Result<(Head, ureq::Body), FetchError> {
        let answer = answer.map_err(|error| FetchError::of_call(error, url, &self.secrets))?;
        let (parts, body) = answer.into_parts();
        let head = Head {
            url: url.clone(),
            status: parts.status.as_u16(),
            headers: parts.headers,
        };
        Ok((head, body))
    }
}

/// One agent for plain HTTP, and one for TLS, which is made when it is first needed.
struct Agents {
    plain: Agent,
    secure: OnceLock<Agent>,
    tls: TlsSettings,
    proxy: Option<Proxy>,
    timeouts: Timeouts,
}

impl Agents {
    fn new(
        access: &Access,
        proxy: Option<Proxy>,
        timeouts: Timeouts,
    ) -> Result<Arc<Self>, FetchError> {
        Ok(Arc::new(Agents {
            tls: TlsSettings::of(access)?,
            plain: agent(TlsConfig::default(), None, timeouts),
            secure: OnceLock::new(),
            proxy,
            timeouts,
        }))
    }

    fn of(&self, url: &Uri) -> &Agent {
        // A proxy may want TLS for itself.
        if url.scheme_str() == Some("http") && self.proxy.is_none() {
            return &self.plain;
        }
        let secure = || agent(self.tls.config(), self.proxy.clone(), self.timeouts);
        self.secure.get_or_init(secure)
    }
}

fn agent(tls: TlsConfig, proxy: Option<Proxy>, timeouts: Timeouts) -> Agent {
    let config = Agent::config_builder()
        // Its default would be taken from the environment.
        .proxy(proxy)
        .tls_config(tls)
        .user_agent(concat!("inferometer/", env!("CARGO_PKG_VERSION")))
        .accept_encoding("identity")
        .http_status_as_error(false)
        // Followed here, since the heads on the way matter and the token must not go along.
        .max_redirects(0)
        .timeout_global(timeouts.whole)
        .timeout_resolve(Some(timeouts.connect))
        .timeout_connect(Some(timeouts.connect))
        .timeout_recv_response(Some(timeouts.read))
        .timeout_per_read(Some(timeouts.read))
        .timeout_per_write(Some(timeouts.read))
        .build();
    config.new_agent()
}

fn proxy_of(given: Option<&Secret>) -> Result<Option<Proxy>, FetchError> {
    match given.and_then(Secret::value) {
        Some(proxy) => Ok(Some(Proxy::new(proxy).map_err(|_| FetchError::BadProxy)?)),
        None => Ok(None),
    }
}

fn parse(url: &str) -> Result<Uri, FetchError> {
    let parsed = escape_stray(url).parse().ok().filter(is_web);
    parsed.ok_or_else(|| FetchError::BadUrl {
        url: printable(url.split('?').next().unwrap_or(url), 200),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_server::{Sent, Server};
    use std::time::Instant;

    const LONG: Duration = Duration::from_secs(60);

    fn keyed() -> Access {
        Access {
            headers: vec![("Authorization".to_owned(), "Bearer sk-1".to_owned())],
            ..Access::default()
        }
    }

    #[test]
    fn a_server_that_redirects_does_not_lead_the_key_away() {
        let other = Server::start(|_, _| Some(Sent::status(200, "")));
        let target = other.origin.clone();
        let server = Server::start(move |_, _| Some(Sent::redirect(&target)));
        let client = Client::for_server(keyed(), LONG).unwrap();
        assert_eq!(client.get(&server.origin).unwrap().status, 302);
        assert_eq!(client.post(&server.origin).unwrap().status, 302);
        assert!(other.requests().is_empty());
        for request in server.requests() {
            assert_eq!(request.header("authorization"), Some("Bearer sk-1"));
        }
    }

    #[test]
    fn json_is_announced_as_such() {
        let server = Server::start(|_, _| Some(Sent::status(500, "no\u{fffd}")));
        let client = Client::for_server(Access::default(), LONG).unwrap();
        let reply = client.post_json(&server.origin, "{}").unwrap();
        assert_eq!((reply.status, reply.body.as_str()), (500, "no\u{fffd}"));
        let asked = server.requests()[0].clone();
        assert_eq!(asked.header("content-type"), Some("application/json"));
    }

    #[test]
    fn nobody_there_is_an_error_that_names_the_place() {
        let client = Client::for_server(Access::default(), LONG).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let error = client.get(&format!("http://{address}/health?key=s3cr3t"));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("/health"), "{error}");
        assert!(!error.contains("s3cr3t"), "{error}");
        assert!(matches!(
            client.get("nonsense"),
            Err(FetchError::BadUrl { .. })
        ));
    }

    #[test]
    fn sizes_and_times_have_limits() {
        let server = Server::start(|_, _| Some(Sent::bare(200, b"12345")));
        let client = Client::for_hubs(&HubAccess::default(), Timeouts::whole(LONG)).unwrap();
        let open = || client.open(&server.origin, &[]).unwrap();
        assert_eq!(open().bytes(5).unwrap(), b"12345");
        assert_eq!(open().beginning(4).unwrap(), b"1234");
        assert!(matches!(
            open().bytes(4),
            Err(FetchError::TooLarge { limit: 4, .. })
        ));
        let silent =
            Server::start(|_, _| Some(Sent::status(200, "x").broken_after(0).then_silent()));
        let client = Client::for_server(Access::default(), Duration::from_millis(200)).unwrap();
        let began = Instant::now();
        assert!(client.get(&silent.origin).is_err());
        assert!(began.elapsed() < LONG);
    }

    #[test]
    fn certificates_that_are_none_are_refused() {
        let access = Access {
            authorities_pem: Some(b"no PEM".to_vec()),
            ..Access::default()
        };
        let refused = Client::for_server(access, LONG);
        assert!(matches!(refused, Err(FetchError::BadCertificate(_))));
    }

    #[test]
    fn a_token_with_blanks_and_an_odd_proxy_are_refused_unrepeated() {
        let mut hubs = HubAccess {
            hugging_face_token: Some(crate::Secret::new("a\nb")),
            ..HubAccess::default()
        };
        let refused = Client::for_hubs(&hubs, Timeouts::whole(LONG));
        assert!(matches!(refused, Err(FetchError::BadToken)));
        hubs.hugging_face_token = None;
        hubs.proxy = Some(crate::Secret::new("gopher://me:s3cr3t@x"));
        let refused = Client::for_hubs(&hubs, Timeouts::whole(LONG));
        assert!(matches!(refused, Err(FetchError::BadProxy)));
    }
}
