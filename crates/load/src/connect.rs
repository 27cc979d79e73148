//! Opening connections: addresses, TCP, proxies and TLS, each with its own phase of failure.

use crate::failure::{failure, of_io};
use crate::http::{Head, Target};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use inferometer_core::record::{Failure, FailureClass, Phase};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// What is seen of a server that takes the connection and does not understand TLS.
pub(crate) const NO_HANDSHAKE: &str = "connected, but no TLS handshake";

/// Opens connections to one server. The driver's tests use one in memory.
pub trait Transport: 'static {
    type Stream: AsyncRead + AsyncWrite + Unpin + 'static;

    fn open(&self) -> impl Future<Output = Result<Self::Stream, Failure>>;

    /// Whether the other side has not closed an idle connection.
    fn is_open(stream: &mut Self::Stream) -> bool;
}

/// How to trust and be trusted.
#[derive(Clone, Debug, Default)]
pub struct TlsSettings {
    pub ca: Option<PathBuf>,
    /// Certificate and key to show.
    pub client: Option<(PathBuf, PathBuf)>,
    pub insecure: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{path}: {why}; give a PEM file with {what}")]
    File {
        path: PathBuf,
        why: String,
        what: &'static str,
    },
    #[error("this host has no certificate authorities to trust; give one with --ca FILE")]
    NoRoots,
    #[error("TLS cannot be set up: {0}")]
    Setup(#[from] rustls::Error),
}

impl TlsSettings {
    pub fn connector(&self) -> Result<TlsConnector, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let builder = if self.insecure {
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(TrustAnything(provider)))
        } else {
            builder.with_root_certificates(self.roots()?)
        };
        let config = match &self.client {
            None => builder.with_no_client_auth(),
            Some((cert, key)) => {
                let chain = certificates(cert)?;
                let key = PrivateKeyDer::from_pem_file(key)
                    .map_err(|error| bad_file(key, &error.to_string(), "a private key"))?;
                builder.with_client_auth_cert(chain, key)?
            }
        };
        Ok(TlsConnector::from(Arc::new(config)))
    }

    fn roots(&self) -> Result<rustls::RootCertStore, TlsError> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if let Some(ca) = &self.ca {
            for certificate in certificates(ca)? {
                roots
                    .add(certificate)
                    .map_err(|error| bad_file(ca, &error.to_string(), "certificates"))?;
            }
        }
        if roots.is_empty() {
            return Err(TlsError::NoRoots);
        }
        Ok(roots)
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let bad = |why: &str| bad_file(path, why, "certificates");
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .map_err(|error| bad(&error.to_string()))?
        .collect();
    match found {
        Ok(found) if found.is_empty() => Err(bad("no certificate in it")),
        Ok(found) => Ok(found),
        Err(error) => Err(bad(&error.to_string())),
    }
}

fn bad_file(path: &Path, why: &str, what: &'static str) -> TlsError {
    TlsError::File {
        path: path.to_owned(),
        why: why.to_owned(),
        what,
    }
}

/// `--insecure`.
#[derive(Debug)]
struct TrustAnything(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for TrustAnything {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// The way to one server, with its addresses looked up once, so that no lookup falls into a
/// measured request.
#[derive(Clone)]
pub struct Network {
    target: Target,
    proxy: Option<Target>,
    addresses: Vec<SocketAddr>,
    tls: Option<TlsConnector>,
    connect_timeout: Duration,
    sources: Option<Arc<Sources>>,
}

/// Addresses of this host that connections come from in turn.
struct Sources {
    addresses: Vec<IpAddr>,
    next: AtomicUsize,
}

impl Sources {
    /// The next of the kind that reaches an address.
    fn next(&self, to: &SocketAddr) -> Option<IpAddr> {
        let fitting = || {
            self.addresses
                .iter()
                .filter(|from| from.is_ipv4() == to.is_ipv4())
        };
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        fitting().nth(turn % fitting().count().max(1)).copied()
    }
}

impl Network {
    /// Lets connections come from these addresses, in turn.
    #[must_use]
    pub fn from_sources(self, addresses: &[IpAddr]) -> Network {
        let sources = (!addresses.is_empty()).then(|| {
            Arc::new(Sources {
                addresses: addresses.to_vec(),
                next: AtomicUsize::new(0),
            })
        });
        Network { sources, ..self }
    }

    /// Looks up the addresses of the server, or of the proxy before it.
    pub async fn resolve(
        target: Target,
        proxy: Option<Target>,
        tls: Option<TlsConnector>,
        connect_timeout: Duration,
    ) -> Result<Network, Failure> {
        let first = proxy.as_ref().unwrap_or(&target);
        let (host, port) = (first.host.clone(), first.port);
        let lookup = tokio::net::lookup_host((host.as_str(), port));
        let looked_up = tokio::time::timeout(connect_timeout, lookup).await;
        let not_found = |why: &str| {
            let detail = format!("{host}: {why}");
            failure(Phase::Resolve, FailureClass::NameNotFound, detail)
        };
        let addresses: Vec<SocketAddr> = match looked_up {
            Ok(Ok(found)) => found.collect(),
            Ok(Err(error)) => return Err(not_found(&error.to_string())),
            Err(_) => return Err(not_found("the lookup took too long")),
        };
        if addresses.is_empty() {
            return Err(not_found("the name has no address"));
        }
        Ok(Network {
            target,
            proxy,
            addresses,
            tls,
            connect_timeout,
            sources: None,
        })
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    /// What stands in the request line: a proxy for plain HTTP wants the whole URL.
    pub fn request_path(&self, path: &str) -> String {
        let path = self.target.with_query(path);
        if self.proxy.is_some() && !self.target.tls {
            self.target.origin() + &path
        } else {
            path
        }
    }

    /// Headers for the proxy, where plain HTTP goes through one.
    pub fn proxy_headers(&self) -> Option<(String, String)> {
        let credentials = self.proxy.as_ref()?.credentials.as_ref()?;
        (!self.target.tls).then(|| proxy_authorization(credentials))
    }

    async fn connect(&self) -> Result<TcpStream, Failure> {
        let mut last = None;
        for address in &self.addresses {
            match self.connect_to(address).await {
                Ok(stream) => {
                    // Without it the kernel may hold the request back.
                    stream
                        .set_nodelay(true)
                        .map_err(|error| of_io(Phase::Connect, &error))?;
                    return Ok(stream);
                }
                Err(error) => last = Some((address, error)),
            }
        }
        Err(match last {
            Some((address, error)) => {
                let mut failure = of_io(Phase::Connect, &error);
                failure.detail = format!("{address}: {}", failure.detail);
                failure
            }
            None => failure(Phase::Connect, FailureClass::Network, "no address"),
        })
    }

    async fn connect_to(&self, address: &SocketAddr) -> io::Result<TcpStream> {
        let Some(sources) = &self.sources else {
            return TcpStream::connect(address).await;
        };
        let Some(from) = sources.next(address) else {
            let why = "no --source-address is of the same kind, IPv4 or IPv6";
            return Err(io::Error::new(io::ErrorKind::AddrNotAvailable, why));
        };
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        let bound = socket.bind(SocketAddr::new(from, 0));
        bound.map_err(|error| {
            let why = format!("--source-address {from} cannot be used: {error}");
            io::Error::new(error.kind(), why)
        })?;
        socket.connect(*address).await
    }

    /// TLS on a connection, where it is wanted, through the proxy if there is one.
    async fn secure(&self, mut tcp: TcpStream) -> Result<Stream, Failure> {
        let Some(tls) = self.tls.as_ref().filter(|_| self.target.tls) else {
            return Ok(Wire::Plain(tcp).into());
        };
        if let Some(proxy) = &self.proxy {
            tunnel(&mut tcp, &self.target, proxy).await?;
        }
        let name = ServerName::try_from(self.target.host.clone())
            .map_err(|error| failure(Phase::Tls, FailureClass::TlsFailed, error.to_string()))?;
        match tls.connect(name, tcp).await {
            Ok(stream) => Ok(Wire::Tls(Box::new(stream)).into()),
            Err(error) => Err(match of_io(Phase::Tls, &error) {
                // A server that does not speak TLS resets or answers in plain text.
                known if known.class == FailureClass::Disconnected => known,
                other => Failure {
                    class: FailureClass::TlsFailed,
                    ..other
                },
            }),
        }
    }
}

impl Transport for Network {
    type Stream = Stream;

    async fn open(&self) -> Result<Stream, Failure> {
        let limit = self.connect_timeout;
        let deadline = tokio::time::Instant::now() + limit;
        let too_late = |what: &str| {
            let detail = format!("{what} within {limit:?}");
            failure(Phase::Timeout, FailureClass::ConnectTimeout, detail)
        };
        let tcp = tokio::time::timeout_at(deadline, self.connect())
            .await
            .unwrap_or_else(|_| Err(too_late("no connection")))?;
        tokio::time::timeout_at(deadline, self.secure(tcp))
            .await
            .unwrap_or_else(|_| Err(too_late(NO_HANDSHAKE)))
    }

    fn is_open(stream: &mut Stream) -> bool {
        let tcp = stream.tcp();
        // The runtime hears of anything that comes, if a little later than the kernel. Where the
        // server has kept the connection once, that is early enough, and costs no system call.
        let mut unheard = Context::from_waker(Waker::noop());
        if stream.was_kept && tcp.poll_read_ready(&mut unheard).is_pending() {
            return true;
        }
        // Nothing to read is a connection at rest. Bytes before a question are none of ours,
        // except in TLS, where the server may send tickets.
        let is_open = match socket2::SockRef::from(tcp).peek(&mut [MaybeUninit::uninit()]) {
            Ok(0) => false,
            Ok(_) => matches!(stream.wire, Wire::Tls(_)),
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        };
        stream.was_kept = is_open;
        is_open
    }
}

fn proxy_authorization(credentials: &str) -> (String, String) {
    ("Proxy-Authorization".into(), basic_auth(credentials))
}

/// Asks a proxy for a tunnel to the server.
async fn tunnel(tcp: &mut TcpStream, target: &Target, proxy: &Target) -> Result<(), Failure> {
    let name = format!("{}:{}", target.host, target.port);
    let mut request = format!("CONNECT {name} HTTP/1.1\r\nHost: {name}\r\n");
    if let Some(credentials) = &proxy.credentials {
        let (header, value) = proxy_authorization(credentials);
        request += &format!("{header}: {value}\r\n");
    }
    request += "\r\n";
    tcp.write_all(request.as_bytes())
        .await
        .map_err(|error| of_io(Phase::Connect, &error))?;
    let mut answer = Vec::new();
    loop {
        let mut byte = [0];
        let read = tcp
            .read(&mut byte)
            .await
            .map_err(|error| of_io(Phase::Connect, &error))?;
        answer.extend_from_slice(&byte[..read]);
        match Head::read(&answer) {
            Ok(Some(head)) if head.status == 200 => return Ok(()),
            Ok(None) if read > 0 => {}
            Ok(Some(head)) => {
                let detail = format!(
                    "the proxy {proxy} refused the way to {name}: status {}",
                    head.status
                );
                return Err(failure(Phase::Connect, FailureClass::Refused, detail));
            }
            Ok(None) | Err(_) => {
                let detail = format!("the proxy {proxy} gave no HTTP answer");
                return Err(failure(Phase::Connect, FailureClass::Disconnected, detail));
            }
        }
    }
}

pub struct Stream {
    wire: Wire,
    /// It was found open at rest, and so has served again if it is found at rest once more.
    was_kept: bool,
}

enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl From<Wire> for Stream {
    fn from(wire: Wire) -> Self {
        Stream {
            wire,
            was_kept: false,
        }
    }
}

impl Stream {
    fn tcp(&self) -> &TcpStream {
        match &self.wire {
            Wire::Plain(tcp) => tcp,
            Wire::Tls(tls) => tls.get_ref().0,
        }
    }

    /// Acknowledges what comes next at once. On a connection that has sent before, Linux waits
    /// up to 40 ms with that, and a server without TCP_NODELAY holds back its first token for
    /// as long. It lasts until the next request, so once for each is enough (2 µs).
    fn acknowledge_at_once(&self) {
        #[cfg(target_os = "linux")]
        // Without it the answer is read all the same.
        let _ = socket2::SockRef::from(self.tcp()).set_tcp_quickack(true);
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.get_mut().wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Wire::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_write(cx, buf),
            Wire::Tls(tls) => Pin::new(tls).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let stream = self.get_mut();
        let flushed = match &mut stream.wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Wire::Tls(tls) => Pin::new(tls).poll_flush(cx),
        };
        // A request is out: its answer comes next.
        stream.acknowledge_at_once();
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Wire::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}

/// The value of a header that carries `user:password`.
pub(crate) fn basic_auth(credentials: &str) -> String {
    format!("Basic {}", base64(credentials.as_bytes()))
}

/// Credentials as headers carry them, so that these can be kept secret as well.
pub fn base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_named_with_what_it_should_hold() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let settings = TlsSettings {
            ca: Some(file.path().to_owned()),
            ..TlsSettings::default()
        };
        let message = settings.connector().map(|_| ()).unwrap_err().to_string();
        assert!(message.contains("PEM file with certificates"), "{message}");
    }
    /// The head in one write, the first token in the next, as a server without TCP_NODELAY
    /// does. How long the two are apart at the other end, at best over a few requests.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_kept_connection_does_not_make_first_tokens_wait_for_an_acknowledgement() {
        use std::io::{Read as _, Write as _};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            while stream.read(&mut [0; 64]).is_ok_and(|read| read > 0) {
                for part in ["head", "size", "token"] {
                    stream.write_all(part.as_bytes()).unwrap();
                }
            }
        });
        let target = Target::parse(&format!("http://127.0.0.1:{port}")).unwrap();
        let limit = Duration::from_secs(5);
        let network = Network::resolve(target, None, None, limit).await.unwrap();
        let mut stream = network.open().await.unwrap();
        let mut fastest = limit;
        for turn in 0..10 {
            let sent = std::time::Instant::now();
            stream.write_all(b"request").await.unwrap();
            stream.flush().await.unwrap();
            let mut answer = Vec::new();
            while answer.len() < 13 {
                stream.read_buf(&mut answer).await.unwrap();
            }
            // The kernel acknowledges the beginning of a connection at once by itself.
            if turn > 2 {
                fastest = fastest.min(sent.elapsed());
            }
        }
        assert!(fastest < Duration::from_millis(30), "{fastest:?}");
    }
}
