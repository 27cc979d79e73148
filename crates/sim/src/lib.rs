//! The simulated engine: an OpenAI-compatible HTTP server whose timing is known.
//!
//! [`Server`] answers like vLLM, on a fixed schedule (time to first token, gap between tokens,
//! jitter) or as a scheduler decides that runs step by step ([`engine`]). It misbehaves on
//! request ([`Faults`]) and writes down what it really did (the truth log), so that a client's
//! time-stamps can be checked against the server's.
//! [`null::NullServer`] does nothing but write, and so measures the client alone.
//!
//! The crate reads and writes HTTP/1.1 by itself. It shares no parser with the client, so
//! that a mistake made twice cannot cancel out; and the truth log needs the instant before
//! each `write()`, the faults the bare socket, which a server library would not hand over.

mod alarm;
mod clock;
mod config;
mod connection;
mod draw;
mod drive;
mod endpoint;
pub mod engine;
mod engine_metrics;
mod fault;
mod generate;
mod http;
pub mod launch;
mod line_log;
mod listen;
mod metrics;
mod mindie;
mod notation;
pub mod null;
mod profile;
mod prompt;
mod render;
mod reply;
mod server;
mod source;
mod stream;
mod timing;
mod tls;
mod tokenizer;
mod truth;
mod wire;
mod work;

pub use config::{Config, EngineSetup, SimError};
pub use drive::Death;
pub use fault::{FaultError, Faults};
pub use server::{Ending, Server};
pub use tls::Tls;
pub use tokenizer::{Tokenizer, TokenizerError, words};
