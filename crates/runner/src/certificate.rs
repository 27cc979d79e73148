//! Where the certificate of `doctor` is kept, for later runs.

use crate::error::RunnerError;
use crate::session::Session;
use inferometer_load::certificate::Certificate;
use std::path::PathBuf;

fn path(session: &Session) -> Option<PathBuf> {
    Some(session.cache_folder()?.join("doctor.json"))
}

/// The certificate of this host, if `doctor` was ever run on it.
pub fn stored(session: &Session) -> Option<Certificate> {
    let text = std::fs::read_to_string(path(session)?).ok()?;
    let certificate: Certificate = serde_json::from_str(&text).ok()?;
    let here = crate::host::host();
    (certificate.cpu == here.cpu && certificate.cores == here.cores).then_some(certificate)
}

/// Keeps a certificate; says where.
pub fn store(session: &Session, certificate: &Certificate) -> Result<Option<PathBuf>, RunnerError> {
    let Some(path) = path(session) else {
        return Ok(None);
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(&path, serde_json::to_string_pretty(certificate)? + "\n")?;
    Ok(Some(path))
}
