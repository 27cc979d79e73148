//! Facts and arithmetic of Inferometer: no sockets, no clock, no async; the same input gives
//! the same output.

pub mod doubt;
pub mod environment;
pub mod hostile;
pub mod length;
pub mod message;
pub mod options;
pub mod record;
pub mod scenario;
pub mod seed;
pub mod slo;
pub mod summary;
pub mod units;
