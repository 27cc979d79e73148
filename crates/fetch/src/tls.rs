//! Certificates: the system's or the given ones, and our own.

use crate::access::Access;
use crate::error::FetchError;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

pub(crate) fn config(access: &Access) -> Result<TlsConfig, FetchError> {
    let roots = match &access.authorities_pem {
        Some(pem) => RootCerts::from(certificates(pem)?.into_iter()),
        None => system_roots(),
    };
    let mut tls = TlsConfig::builder()
        .root_certs(roots)
        .disable_verification(access.insecure);
    if let Some((chain, key)) = &access.identity_pem {
        let key = PrivateKey::from_pem(key).map_err(bad)?;
        tls = tls.client_cert(Some(ClientCert::new_with_certs(&certificates(chain)?, key)));
    }
    Ok(tls.build())
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
