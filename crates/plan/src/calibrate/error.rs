//! Why nothing can be fitted.

use crate::means::MeanMetric;
use crate::work::MOST_STREAMS;
use thiserror::Error;

/// Fewest load points that can be fitted and judged.
pub const LEAST_POINTS: usize = 3;

#[derive(Debug, Error)]
pub enum CalibrateError {
    #[error(
        "{0} load point(s) cannot be fitted and held out; measure at least {LEAST_POINTS}, at different loads"
    )]
    FewPoints(usize),
    #[error("{name} does not say how long its {what} are; add --{flag}")]
    NoLengths {
        name: String,
        what: &'static str,
        flag: &'static str,
    },
    #[error("{name} is not valid ({why}); leave it out, or use --force to take it all the same")]
    Invalid { name: String, why: String },
    #[error(
        "{a} and {b} contradict each other: the same load, and {metric} differs by a factor of {factor:.2}; leave one out, or use --force"
    )]
    Contradiction {
        a: String,
        b: String,
        metric: MeanMetric,
        factor: f64,
    },
    #[error(
        "{name} contradicts itself: {rate:.2} requests/s of {latency:.2} s each are {product:.0} at a time, and there were {streams} streams; leave it out, or use --force"
    )]
    Impossible {
        name: String,
        rate: f64,
        latency: f64,
        product: f64,
        streams: u32,
    },
    #[error(
        "{name} has requests of {tokens:.0} tokens (prompt + answer), and max-model-len {most} rejects them; check the lengths, or add --flag max-model-len=N"
    )]
    TooLong {
        name: String,
        tokens: f64,
        most: u32,
    },
    #[error(
        "{name} has {streams} streams, and at most {MOST_STREAMS} can be simulated; check the number, or leave it out"
    )]
    TooManyStreams { name: String, streams: u32 },
    #[error("{name} cannot be simulated: {reason}")]
    NoStart { name: String, reason: String },
}
