//! The work that a prediction is made for: the load, and the lengths of its requests.

use inferometer_core::length::Distribution as Lengths;
use inferometer_core::seed::{Dimension, rng};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Requests per stream with which a point of unknown extent is simulated.
const REQUESTS_PER_STREAM: u32 = 4;
/// Arrivals that are simulated, at most.
const MOST_ARRIVALS: u32 = 10_000;
/// Requests of streams, at least and at most: more change a mean by less than a measurement does.
const REQUESTS: std::ops::RangeInclusive<u32> = 64..=4000;

/// Streams that are simulated, at most: no engine serves as many at once, and each takes memory.
pub const MOST_STREAMS: u32 = 65_536;

/// Requests that are simulated, at most, whoever asks for more.
pub const MOST_REQUESTS: u32 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Streams, each of which sends its next request when its last answer is complete.
    Closed(u32),
    /// Poisson arrivals, requests/s.
    Open(f64),
}

impl fmt::Display for Load {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Load::Closed(streams) => write!(to, "concurrency {streams}"),
            Load::Open(rate) => write!(to, "rate {}", brief(*rate)),
        }
    }
}

impl Load {
    /// The streams, where they are more than can be simulated.
    pub(crate) fn too_many_streams(self) -> Option<u32> {
        match self {
            Load::Closed(streams) if streams > MOST_STREAMS => Some(streams),
            Load::Closed(_) | Load::Open(_) => None,
        }
    }

    /// How many requests to simulate: as many as are known, but at least one per stream, since
    /// fewer are another load.
    pub fn requests(self, known: Option<u32>) -> u32 {
        let (usual, least) = match self {
            Load::Closed(streams) => (streams.saturating_mul(REQUESTS_PER_STREAM), streams),
            Load::Open(_) => (1000, 1),
        };
        known
            .unwrap_or(usual.max(*REQUESTS.start()))
            .clamp(least, self.most_requests())
    }

    /// As many as tell something: every stream has its turn.
    pub(crate) fn most_requests(self) -> u32 {
        match self {
            Load::Closed(streams) => streams.max(*REQUESTS.end()),
            Load::Open(_) => MOST_ARRIVALS,
        }
    }
}

/// A number for people: three decimals are more than anyone measures.
pub(crate) fn brief(value: f64) -> String {
    ((value * 1e3).round() / 1e3).to_string()
}

/// When the streams of a closed loop send their first requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Start {
    /// All at once, as most tools do.
    #[default]
    AtOnce,
    /// Before the measured window, over one latency, as our runs do; the load goes on after it.
    Spread,
    /// Over a time that is known, in nanoseconds.
    Over(u64),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    pub load: Load,
    pub start: Start,
    pub input: Lengths,
    pub output: Lengths,
    pub requests: u32,
    /// Lengths of one request after another, over and over, in place of drawn ones.
    pub trace: Option<Arc<[Sizes]>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    pub input: u32,
    pub output: u32,
}

impl Sizes {
    /// Whether an engine takes so long a request: servers answer 400 where prompt and answer
    /// together exceed their limit.
    pub fn fit(self, max_model_len: u32) -> bool {
        self.total() <= u64::from(max_model_len)
    }

    pub fn total(self) -> u64 {
        u64::from(self.input) + u64::from(self.output)
    }
}

impl Work {
    /// The lengths of all requests, as [`simulate`](crate::predict::simulate) sends them with the same seed.
    pub fn sizes(&self, seed: u64) -> Vec<Sizes> {
        match self.load {
            Load::Closed(_) => self.drawn(&mut ChaCha8Rng::seed_from_u64(seed)),
            Load::Open(_) => (0..u64::from(self.requests))
                .map(|number| self.numbered(seed, number))
                .collect(),
        }
    }

    /// The lengths of the request of this number, as `run` draws them.
    pub(crate) fn numbered(&self, seed: u64, number: u64) -> Sizes {
        match self.trace.as_deref() {
            Some(trace) if !trace.is_empty() => trace[(number % trace.len() as u64) as usize],
            _ => Sizes {
                input: self
                    .input
                    .sample(&mut rng(seed, Dimension::InputLength, number)),
                output: self
                    .output
                    .sample(&mut rng(seed, Dimension::OutputLength, number)),
            },
        }
    }

    pub(crate) fn drawn(&self, rng: &mut impl Rng) -> Vec<Sizes> {
        let mut sizes = |id: u32| match self.trace.as_deref() {
            Some(trace) if !trace.is_empty() => trace[id as usize % trace.len()],
            _ => Sizes {
                input: self.input.sample(rng),
                output: self.output.sample(rng),
            },
        };
        (0..self.requests).map(&mut sizes).collect()
    }
}
