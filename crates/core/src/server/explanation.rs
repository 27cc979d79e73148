//! Where the time of the slowest requests went, as `summary.json` holds it.

use serde::{Deserialize, Serialize};

/// The latency that is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Explained {
    Ttft,
    /// Time to the complete answer.
    E2e,
}

/// What time is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Cause {
    /// Before it was sent: the client's lateness, the user's cap, the connection.
    Client,
    /// Waiting in the server for its first step.
    Queueing,
    /// From its first step to its first token.
    Prefill,
    /// Tokens at the answer's usual pace.
    Decode,
    /// Stalls of everybody while another request's prompt was worked on.
    Interference,
    /// Stalls of this answer alone, during which the server threw a request back.
    Preemption,
    /// Between the engine and the client: the server's front end, the network.
    FrontEnd,
    /// Neither the client nor the server can tell.
    Unknown,
}

/// Time of one cause, as a mean over the slowest requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    pub cause: Cause,
    /// Milliseconds of a slow request.
    pub ms: f64,
    pub share: f64,
}

/// What an attribution rests on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Evidence {
    /// The server said nothing while these requests were under way.
    ServerSilent,
    /// Mean wait by the server's own clock.
    ServerQueue {
        /// Of requests that ended when the slow ones did.
        slow_ms: f64,
        /// Of all requests of the run.
        run_ms: f64,
    },
    /// Mean prefill by the server's own clock.
    ServerPrefill {
        /// Of requests that ended when the slow ones did.
        slow_ms: f64,
        /// Of all requests of the run.
        run_ms: f64,
    },
    /// The queue was seen while the slow requests had no token yet.
    Waiting {
        /// Share of those samples with somebody waiting.
        share: f64,
        samples: u64,
    },
    /// Stalls in the slow answers.
    Stalls {
        count: u64,
        /// Of these, while another request's prompt was worked on.
        interfered: u64,
        /// Of these, with a preemption meanwhile, and while other answers went on.
        preempted: u64,
        /// The longest, in milliseconds.
        longest_ms: f64,
    },
    /// The server's own trace of a request was there.
    Traced {
        /// For so many of the slow requests.
        requests: u64,
    },
    /// Requests that the server threw back in the whole run.
    Preemptions { count: f64 },
}

/// The slowest requests, and where their time went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    pub of: Explained,
    /// The percentile, in percent, from which on requests count as slow.
    pub percentile: f64,
    /// Its value in milliseconds.
    pub at_ms: f64,
    /// How many requests are that slow.
    pub requests: u64,
    /// Their mean latency in milliseconds, which the parts add up to.
    pub mean_ms: f64,
    /// Where it went, the most first.
    pub parts: Vec<Part>,
    pub evidence: Vec<Evidence>,
}

impl Explanation {
    /// The largest part, where it is known.
    pub fn main(&self) -> Option<Cause> {
        let first = self.parts.first()?.cause;
        (first != Cause::Unknown).then_some(first)
    }
}
