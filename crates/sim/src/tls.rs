//! HTTPS, with client certificates where asked for.

use std::sync::Arc;

use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use tokio_rustls::TlsAcceptor;

use crate::error::SimError;

/// What a server needs to speak HTTPS, as PEM. No `Debug`: it holds a private key.
#[derive(Clone)]
pub struct Tls {
    /// The server's certificate and those that vouch for it, the server's first.
    pub cert_chain_pem: Vec<u8>,
    pub key_pem: Vec<u8>,
    /// Where set, clients must show a certificate that one of these signed.
    pub client_ca_pem: Option<Vec<u8>>,
}

impl Tls {
    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor, SimError> {
        let chain = certificates("certificate chain", &self.cert_chain_pem)?;
        let key = PrivateKeyDer::from_pem_slice(&self.key_pem)
            .map_err(|error| unusable("private key", &error))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable("protocol versions", &error))?;
        let builder = match &self.client_ca_pem {
            None => builder.with_no_client_auth(),
            Some(pem) => {
                let part = "client CA";
                let mut roots = RootCertStore::empty();
                for certificate in certificates(part, pem)? {
                    roots
                        .add(certificate)
                        .map_err(|error| unusable(part, &error))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                        .build()
                        .map_err(|error| unusable(part, &error))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let mut config = builder
            .with_single_cert(chain, key)
            .map_err(|error| unusable("certificate and key", &error))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

fn certificates(part: &'static str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, SimError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all = all.map_err(|error| unusable(part, &error))?;
    if all.is_empty() {
        return Err(unusable(part, &"no certificate in the PEM"));
    }
    Ok(all)
}

fn unusable(part: &'static str, why: &dyn std::fmt::Display) -> SimError {
    SimError::Tls {
        part,
        why: why.to_string(),
    }
}
