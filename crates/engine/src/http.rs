//! Short questions to a server that may answer anything: bounded in time and size, never
//! redirected, never through a proxy.

use inferometer_core::hostile::printable;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};

/// Most bytes of an answer that are read; the rest is left.
const MOST_BYTES: u64 = 16 << 20;

/// What opens the server's door. Never stored.
#[derive(Clone, Default)]
pub struct Access {
    /// Headers of every request, such as the one with the key.
    pub headers: Vec<(String, String)>,
    pub insecure: bool,
    /// Certificate authorities in place of the system's, as PEM.
    pub authorities_pem: Option<Vec<u8>>,
    /// Our own certificate and key, as PEM.
    pub identity_pem: Option<(Vec<u8>, Vec<u8>)>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        write!(f, "Access({names:?})")
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The certificates given are none.
    #[error("the certificate or key is no PEM text: {0}")]
    BadCertificate(String),
    /// Nobody answered, or not in time, or not in HTTP.
    #[error("no answer from {url}: {why}")]
    NoAnswer { url: String, why: String },
}

#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    /// The beginning of its body, at most 16 MiB; bytes that are no text are replaced.
    pub body: String,
}

#[derive(Clone, Debug)]
pub struct Client {
    agent: Agent,
    access: Access,
}

impl Client {
    /// A client that waits no longer than `limit` for a whole answer.
    pub fn new(access: Access, limit: Duration) -> Result<Self, HttpError> {
        let bad = |e: ureq::Error| HttpError::BadCertificate(e.to_string());
        let authorities: Vec<Certificate<'static>> = match &access.authorities_pem {
            Some(pem) => vec![Certificate::from_pem(pem).map_err(bad)?.to_owned()],
            None => rustls_native_certs::load_native_certs()
                .certs
                .iter()
                .map(|found| Certificate::from_der(found).to_owned())
                .collect(),
        };
        let mut tls = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&authorities))
            .disable_verification(access.insecure);
        if let Some((chain, key)) = &access.identity_pem {
            let chain = Certificate::from_pem(chain).map_err(bad)?.to_owned();
            let key = PrivateKey::from_pem(key).map_err(bad)?.to_owned();
            tls = tls.client_cert(Some(ClientCert::new_with_certs(&[chain], key)));
        }
        let agent = Agent::config_builder()
            // Its default would be taken from the environment.
            .proxy(None)
            .tls_config(tls.build())
            .user_agent(concat!("inferometer/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_global(Some(limit))
            .timeout_connect(Some(limit))
            .build()
            .new_agent();
        Ok(Client { agent, access })
    }

    pub fn get(&self, url: &str) -> Result<Reply, HttpError> {
        let mut request = self.agent.get(url);
        for (name, value) in &self.access.headers {
            request = request.header(name, value);
        }
        Self::read(url, request.call())
    }

    /// POST without a body.
    pub fn post(&self, url: &str) -> Result<Reply, HttpError> {
        let mut request = self.agent.post(url);
        for (name, value) in &self.access.headers {
            request = request.header(name, value);
        }
        Self::read(url, request.send_empty())
    }

    /// POST of a JSON text.
    pub fn post_json(&self, url: &str, body: &str) -> Result<Reply, HttpError> {
        let mut request = self.agent.post(url);
        for (name, value) in &self.access.headers {
            request = request.header(name, value);
        }
        let request = request.header("content-type", "application/json");
        Self::read(url, request.send(body))
    }

    fn read(
        url: &str,
        answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> Result<Reply, HttpError> {
        let failed = |e: ureq::Error| HttpError::NoAnswer {
            url: printable(url, 200),
            why: printable(&e.to_string(), 200),
        };
        let mut response = answer.map_err(failed)?;
        let status = response.status().as_u16();
        let mut body = Vec::new();
        let reader = response.body_mut().as_reader();
        std::io::Read::read_to_end(&mut std::io::Read::take(reader, MOST_BYTES), &mut body)
            .map_err(|e| failed(e.into()))?;
        Ok(Reply {
            status,
            body: String::from_utf8_lossy(&body).into_owned(),
        })
    }
}

/// `http://host:port` of an address, whatever path it has; absent if it is none.
pub(crate) fn origin(url: &str) -> Option<&str> {
    let scheme = url.find("://")? + 3;
    let end = url[scheme..]
        .find(['/', '?', '#'])
        .map_or(url.len(), |at| scheme + at);
    (end > scheme).then(|| &url[..end])
}

/// Host and port of an address.
pub(crate) fn host_and_port(url: &str) -> Option<(String, u16)> {
    let origin = origin(url)?;
    let (scheme, place) = origin.split_once("://")?;
    let place = place.rsplit('@').next()?;
    let standard = if scheme.eq_ignore_ascii_case("https") {
        443
    } else {
        80
    };
    match place.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            Some((host.trim_matches(['[', ']']).to_owned(), port.parse().ok()?))
        }
        _ => Some((place.trim_matches(['[', ']']).to_owned(), standard)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_of_an_address_is_found() {
        assert_eq!(origin("http://h:8000/v1/chat"), Some("http://h:8000"));
        assert_eq!(origin("https://[::1]:1?x"), Some("https://[::1]:1"));
        assert_eq!((origin("h:8000"), origin("http:///x")), (None, None));
        assert_eq!(host_and_port("http://u:p@h:81/"), Some(("h".into(), 81)));
        assert_eq!(host_and_port("https://h"), Some(("h".into(), 443)));
        assert_eq!(host_and_port("http://[::1]:9"), Some(("::1".into(), 9)));
        assert_eq!(host_and_port("http://h:99999"), None);
    }

    #[test]
    fn nobody_there_is_an_error_that_names_the_place() {
        let client = Client::new(Access::default(), Duration::from_secs(5)).unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let error = client
            .get(&format!("http://127.0.0.1:{port}/health"))
            .unwrap_err();
        assert!(error.to_string().contains("/health"), "{error}");
        assert!(client.get("nonsense").is_err());
    }
}
