//! Why a server cannot start or go on.

use std::{io, net::SocketAddr, path::PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum SimError {
    #[error("cannot listen on {listen}: {source}; choose another address or port 0")]
    Listen {
        listen: SocketAddr,
        source: io::Error,
    },
    #[error("TLS: {part}: {why}")]
    Tls { part: &'static str, why: String },
    #[error("cannot accept connections: {0}")]
    Accept(io::Error),
    #[error("truth log {}: {source}", path.display())]
    Truth { path: PathBuf, source: io::Error },
    #[error("step log {}: {source}", path.display())]
    Steps { path: PathBuf, source: io::Error },
}
