//! Facts and arithmetic of Inferometer: no sockets, no clock, no async; the same input gives
//! the same output.

pub mod capacity;
pub mod certificate;
pub mod compare;
pub mod concurrency;
pub mod content;
pub mod doubt;
pub mod environment;
pub mod figures;
pub mod fold;
pub mod guard;
pub mod hostile;
pub mod journal;
pub mod judge;
pub mod length;
pub mod message;
pub mod note;
pub mod options;
pub mod parquet_file;
pub mod quantile;
pub mod record;
pub mod run_dir;
pub mod scenario;
pub mod schedule;
pub mod seed;
pub mod server;
pub mod slo;
pub mod statistics;
pub mod steady;
pub mod stored;
pub mod summary;
pub mod survey;
pub mod sweep_dir;
pub mod units;
pub mod work;
