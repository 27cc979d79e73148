//! Why a remote data set cannot be had, and what to do about it.

use super::address::{AddressError, Remote};
use inferometer_fetch::FetchError;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The proxy, the token or the certificates are unusable.
    #[error(transparent)]
    Setup(FetchError),
    /// No connection, or nothing came over it.
    #[error(
        "{host} is not reachable ({reason}); \
         download {address} elsewhere and give the file{}",
        or_mirror(address)
    )]
    Unreachable {
        address: Box<Remote>,
        host: String,
        reason: String,
    },
    #[error(
        "no secure connection to {host} ({reason}); if a proxy opens TLS here, add its \
         certificate to the system's, or download {address} elsewhere and give the file"
    )]
    Insecure {
        address: Box<Remote>,
        host: String,
        reason: String,
    },
    #[error("access to {address} is denied (HTTP {status}); {}", permission(address, *had_token))]
    Denied {
        address: Box<Remote>,
        /// 401 or 403.
        status: u16,
        had_token: bool,
    },
    #[error("{address} does not exist (HTTP {status}); {}", check_path(address))]
    NotFound {
        address: Box<Remote>,
        /// 404 or 410.
        status: u16,
    },
    /// A status that gives no file.
    #[error(
        "{host} answered HTTP {status} for {address}: {reason}; \
         try again later, or download it elsewhere and give the file"
    )]
    Status {
        address: Box<Remote>,
        host: String,
        status: u16,
        /// The beginning of the body, made printable.
        reason: String,
    },
    /// HTML in place of data: a page about the file, or one to log in.
    #[error(
        "{host} answered with a web page for {address}; \
         give the link that downloads the file itself (on Hugging Face: /resolve/, not /blob/)"
    )]
    WebPage { address: Box<Remote>, host: String },
    /// The server compressed what was asked for plain.
    #[error(
        "{host} sends {address} only in the encoding `{encoding}`; \
         download it with `curl --compressed` and give the file"
    )]
    Encoded {
        address: Box<Remote>,
        host: String,
        encoding: String,
    },
    /// The server sends us round in circles, or nowhere.
    #[error(
        "the redirects of {address} lead nowhere ({reason}); \
         download it elsewhere and give the file"
    )]
    LostRedirect {
        address: Box<Remote>,
        reason: &'static str,
    },
    #[error(
        "{address} is redirected from https to plain http at {host}, which anyone on the way \
         could alter; download it elsewhere and give the file"
    )]
    Downgrade { address: Box<Remote>, host: String },
    /// The body ended too early, again and again.
    #[error(
        "the download of {address} broke off after {received} bytes{} ({reason}); \
         repeat the command to go on from there",
        total.map(|total| format!(" of {total}")).unwrap_or_default()
    )]
    BrokeOff {
        address: Box<Remote>,
        received: u64,
        total: Option<u64>,
        reason: String,
    },
    /// The server contradicts itself about the length.
    #[error(
        "{address} should have {expected} bytes, but {got} came; \
         repeat the command, or download it elsewhere and give the file"
    )]
    Length {
        address: Box<Remote>,
        expected: u64,
        got: u64,
    },
    /// What came is not what the hub holds.
    #[error(
        "{address} arrived damaged: its SHA-256 is {got}, the hub says {expected}; what came \
         was deleted, repeat the command, or download it elsewhere and give the file"
    )]
    Checksum {
        address: Box<Remote>,
        /// The hub's SHA-256.
        expected: String,
        got: String,
    },
    #[error(
        "the disk of {folder} is full; make room and repeat the command to go on, \
         or choose another cache folder"
    )]
    DiskFull { folder: PathBuf },
    #[error(
        "cannot {action} {path} in the cache: {source}; \
         check its permissions, or choose a cache folder on a local disk"
    )]
    Cache {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl RemoteError {
    /// What kept `address` from being fetched.
    pub(super) fn of_fetch(error: FetchError, address: &Remote) -> Self {
        let address = Box::new(address.clone());
        match error {
            FetchError::NoAnswer { host, reason, .. } => RemoteError::Unreachable {
                address,
                host,
                reason,
            },
            FetchError::Insecure { host, reason } => RemoteError::Insecure {
                address,
                host,
                reason,
            },
            FetchError::LostRedirect { reason, .. } => {
                RemoteError::LostRedirect { address, reason }
            }
            FetchError::Downgrade { host, .. } => RemoteError::Downgrade { address, host },
            error => RemoteError::Setup(error),
        }
    }

    pub(super) fn cache(action: &'static str, path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => RemoteError::DiskFull {
                folder: path.parent().unwrap_or(path).to_owned(),
            },
            _ => RemoteError::Cache {
                action,
                path: path.to_owned(),
                source,
            },
        }
    }
}

fn or_mirror(address: &Remote) -> &'static str {
    match address {
        Remote::HuggingFace(_) => ", or set HF_ENDPOINT to a mirror",
        Remote::ModelScope(_) => ", or set MODELSCOPE_DOMAIN to a mirror",
        Remote::Web(_) => "",
    }
}

fn permission(address: &Remote, had_token: bool) -> &'static str {
    match (address, had_token) {
        // The hub answers 401 also for what does not exist.
        (Remote::HuggingFace(_), false) => {
            "check its name; if it is gated or private, accept its terms on the hub and set \
             HF_TOKEN"
        }
        (Remote::HuggingFace(_), true) => {
            "check its name, and that the account of the token has accepted its terms"
        }
        (Remote::ModelScope(_) | Remote::Web(_), _) => {
            "check its name, or download it with your account and give the file"
        }
    }
}

fn check_path(address: &Remote) -> &'static str {
    match address {
        Remote::HuggingFace(_) => "check the path: hf://datasets/ORG/NAME/FILE",
        Remote::ModelScope(_) => "check the path: ms://datasets/ORG/NAME/FILE",
        Remote::Web(_) => "check the path",
    }
}
