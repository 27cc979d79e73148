//! Certificates: the system's or the given ones, and our own.

use crate::access::Access;
use crate::error::FetchError;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

/// What was given, read; the system's own certificates are not.
pub(crate) struct TlsSettings {
    authorities: Option<RootCerts>,
    identity: Option<ClientCert>,
    insecure: bool,
}

impl TlsSettings {
    pub(crate) fn of(access: &Access) -> Result<Self, FetchError> {
        let authorities = match &access.authorities_pem {
            Some(pem) => Some(RootCerts::from(certificates(pem)?.into_iter())),
            None => None,
        };
        let identity = match &access.identity_pem {
            Some((chain, key)) => {
                let key = PrivateKey::from_pem(key).map_err(bad)?;
                Some(ClientCert::new_with_certs(&certificates(chain)?, key))
            }
            None => None,
        };
        Ok(TlsSettings {
            authorities,
            identity,
            insecure: access.insecure,
        })
    }

    /// Reads the system's certificates where none were given, which takes longer than most answers.
    pub(crate) fn config(&self) -> TlsConfig {
        let authorities = self.authorities.clone();
        TlsConfig::builder()
            .root_certs(authorities.unwrap_or_else(system_roots))
            .disable_verification(self.insecure)
            .client_cert(self.identity.clone())
            .build()
    }
}

/// All certificates of a PEM text; at least one.
fn certificates(pem: &[u8]) -> Result<Vec<Certificate<'static>>, FetchError> {
    let mut found = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(certificate) = item.map_err(bad)? {
            found.push(certificate);
        }
    }
    if found.is_empty() {
        return Err(FetchError::BadCertificate("it holds no certificate".into()));
    }
    Ok(found)
}

fn bad(error: ureq::Error) -> FetchError {
    FetchError::BadCertificate(error.to_string())
}

/// The system's certificates, so that those of a company count; a machine without any, such as a
/// small container, gets Mozilla's.
fn system_roots() -> RootCerts {
    let native = rustls_native_certs::load_native_certs().certs;
    if native.is_empty() {
        return RootCerts::WebPki;
    }
    RootCerts::from(
        native
            .iter()
            .map(|der| Certificate::from_der(der).to_owned()),
    )
}
