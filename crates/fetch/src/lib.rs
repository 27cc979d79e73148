//! The one HTTP client beside the measured requests: downloads, hub look-ups, scrapes and probes.
//!
//! A [`Client`] speaks either to one server, whose redirects it does not follow, or to hubs, whose
//! redirects it follows without taking a token to another origin. Everything is bounded in time,
//! and bodies in size; nothing is read from the environment.

mod access;
mod client;
mod error;
mod response;
#[cfg(any(test, feature = "test-server"))]
pub mod test_server;
mod tls;
pub mod url;

pub use access::{Access, Endpoints, HubAccess, Secret};
pub use client::{Client, Method, Timeouts};
pub use error::{FetchError, reason};
pub use response::{Body, Head, Reply, Response};
pub use ureq::http::header;
pub use ureq::http::{HeaderMap, Uri};
