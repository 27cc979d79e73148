//! The measuring instrument: driver, HTTP, SSE, API dialects, snapshots.
//!
//! This is the only hot path of Inferometer, kept small enough to audit. The way of a token:
//! `exchange` reads the socket and takes the time, `answer` takes off the framing (`http`),
//! finds events (`sse`) and their meaning (`api`), and the `flight`'s record gets a chunk.

mod absence;
mod ahead;
pub mod answer;
pub mod api;
pub mod certificate;
pub mod clock;
pub mod connect;
mod control;
pub mod exchange;
pub mod failure;
pub mod flight;
mod flood;
pub mod http;
pub mod instrument;
pub mod live;
pub mod pace;
pub mod plain;
mod plan;
mod precision;
pub mod preflight;
pub mod recorder;
mod refusal;
mod request_bytes;
pub mod setup;
pub mod sse;
pub mod stop_rules;
mod supply;
mod team;
mod wakeup;
pub mod worker;
