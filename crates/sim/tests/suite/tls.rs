//! The simulated engine over HTTPS.

use std::{
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
};

use crate::support::{CHAT, Sim, chat, quick};
use inferometer_sim::{Config, Server, SimError, Tls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::ring,
    pki_types::{PrivateKeyDer, ServerName},
};

struct Authority(CertifiedIssuer<'static, KeyPair>);

struct Identity {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).expect("made here, so right");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("made here, so right");
        Authority(CertifiedIssuer::self_signed(params, key).expect("made here, so right"))
    }

    fn issue(&self, name: &str) -> Identity {
        let key = KeyPair::generate().expect("made here, so right");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("made here, so right");
        let certificate = params
            .signed_by(&key, &self.0)
            .expect("made here, so right");
        Identity { certificate, key }
    }

    fn client(&self, identity: Option<&Identity>) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots
            .add(self.0.der().clone())
            .expect("made here, so right");
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("made here, so right")
            .with_root_certificates(roots);
        match identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let key = PrivateKeyDer::try_from(identity.key.serialize_der())
                    .expect("made here, so right");
                let chain = vec![identity.certificate.der().clone()];
                builder
                    .with_client_auth_cert(chain, key)
                    .expect("made here, so right")
            }
        }
    }
}

fn server_tls(authority: &Authority) -> Tls {
    let identity = authority.issue("localhost");
    Tls {
        cert_chain_pem: identity.certificate.pem().into_bytes(),
        key_pem: identity.key.serialize_pem().into_bytes(),
        client_ca_pem: None,
    }
}

/// One request, and everything until the end of the connection.
fn ask(sim: &Sim, client: ClientConfig) -> std::io::Result<String> {
    let name = ServerName::try_from("localhost").expect("made here, so right");
    let connection = ClientConnection::new(Arc::new(client), name).expect("made here, so right");
    let mut stream = StreamOwned::new(connection, TcpStream::connect(sim.address)?);
    let body = chat(4).to_string();
    let request = format!(
        "POST {CHAT} HTTP/1.1\r\nHost: sim\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

#[test]
fn a_stream_comes_over_tls_and_ends_in_order() {
    let authority = Authority::new();
    let sim = Sim::start(Config {
        tls: Some(server_tls(&authority)),
        ..quick()
    });
    // Reading to the end fails unless the server takes leave as TLS asks.
    let text = ask(&sim, authority.client(None)).unwrap();
    assert_eq!(text.matches("data: {").count(), 4);
    assert!(text.ends_with("data: [DONE]\n\n\r\n0\r\n\r\n"));
    let truth = sim.stop();
    assert_eq!(truth[0].tokens(), 4);
    truth[0].assert_ordered();
}

#[test]
fn a_cut_stream_ends_without_leave() {
    let authority = Authority::new();
    let sim = Sim::start(Config {
        tls: Some(server_tls(&authority)),
        faults: "cut".parse().unwrap(),
        ..quick()
    });
    let error = ask(&sim, authority.client(None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn clients_must_show_a_certificate_where_asked() {
    let authority = Authority::new();
    let mut tls = server_tls(&authority);
    tls.client_ca_pem = Some(authority.0.pem().into_bytes());
    let sim = Sim::start(Config {
        tls: Some(tls),
        ..quick()
    });
    let stranger = Authority::new().issue("stranger");
    assert!(ask(&sim, authority.client(None)).is_err());
    assert!(ask(&sim, authority.client(Some(&stranger))).is_err());
    let known = authority.issue("client");
    let text = ask(&sim, authority.client(Some(&known))).unwrap();
    assert_eq!(text.matches("data: {").count(), 4);
}

#[test]
fn useless_certificates_are_refused_at_the_start() {
    let authority = Authority::new();
    let good = server_tls(&authority);
    let other = server_tls(&authority);
    for (tls, part) in [
        (
            Tls {
                cert_chain_pem: b"none".to_vec(),
                ..good.clone()
            },
            "certificate chain",
        ),
        (
            Tls {
                key_pem: b"none".to_vec(),
                ..good.clone()
            },
            "private key",
        ),
        (
            Tls {
                key_pem: other.key_pem,
                ..good.clone()
            },
            "certificate and key",
        ),
        (
            Tls {
                client_ca_pem: Some(Vec::new()),
                ..good
            },
            "client CA",
        ),
    ] {
        let config = Config {
            tls: Some(tls),
            ..quick()
        };
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        match Server::bind(any_port, config) {
            Err(SimError::Tls { part: found, .. }) => assert_eq!(found, part),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("{part} was accepted"),
        }
    }
}
