//! Facts and arithmetic of Inferometer: no sockets, no clock, no async; the same input gives
//! the same output.

pub mod concurrency;
pub mod doubt;
pub mod environment;
pub mod fold;
pub mod hostile;
pub mod judge;
pub mod length;
pub mod message;
pub mod options;
pub mod quantile;
pub mod record;
pub mod scenario;
pub mod schedule;
pub mod seed;
pub mod slo;
pub mod statistics;
pub mod steady;
pub mod summary;
pub mod units;
