//! What may go wrong with a request: at which step, and how.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The step of the request at which it went wrong.
    pub phase: Phase,
    pub class: FailureClass,
    /// The server's body or the system's message, made printable, shortened and free of
    /// secrets.
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Phase {
    /// Looking up the host's name.
    Resolve,
    Connect,
    Tls,
    Send,
    /// Waiting for the status line and headers, or a status that is no success.
    Status,
    Stream,
    /// The answer ended before it was complete.
    Truncated,
    /// One of the three timeouts.
    Timeout,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum FailureClass {
    /// The name has no address.
    NameNotFound,
    Refused,
    /// The connection was reset, closed or lost before an answer.
    Disconnected,
    /// No route, network down, or another error of the system.
    Network,
    /// The certificate is not trusted, or TLS failed otherwise.
    TlsFailed,
    /// 401 or 403.
    Unauthorized,
    /// 404 or 405.
    NotFound,
    /// The prompt, or prompt and output, exceed the model's context.
    ContextExceeded,
    /// 429.
    RateLimited,
    BadRequest,
    /// 3xx: answers are never followed elsewhere.
    Redirected,
    ServerError,
    /// `{"error": …}` in a stream that began with 200.
    InBandError,
    /// 200, and then no token and no finish.
    EmptyStream,
    /// A stream or body that is no valid HTTP, SSE or JSON.
    BadStream,
    /// A stream that stopped without a finish.
    CutStream,
    /// Far more chunks or bytes than the answer that was asked for can have.
    TooLong,
    /// Could not connect within `--connect-timeout`.
    ConnectTimeout,
    /// Silence for longer than `--read-timeout`.
    ReadTimeout,
    /// Not complete within `--request-timeout`.
    RequestTimeout,
}
