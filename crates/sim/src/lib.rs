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

mod client_stream;
mod clock;
mod completion_request;
mod config;
mod connection;
mod endpoint;
pub mod engine;
mod engine_driver;
mod engine_metrics;
mod error;
mod fault;
mod fields;
mod generate;
mod histogram;
mod http;
mod items;
mod language;
pub mod launch;
mod line_log;
mod listen;
pub mod media;
mod metrics;
pub mod multipart;
mod native;
mod native_answer;
mod notation;
pub mod null;
mod profile;
pub mod prompt;
mod random;
mod render;
mod reply;
mod responder;
mod server;
mod shared;
mod span_export;
mod stream;
mod structured;
mod timer;
mod timing;
mod tls;
mod token_event;
mod token_source;
mod tokenizer;
mod transcription_request;
mod truth;
pub mod wish;

pub use config::{Config, EngineSetup};
pub use engine_driver::Death;
pub use error::SimError;
pub use fault::{FaultError, Faults};
pub use server::{Ending, Server};
pub use tls::Tls;
pub use tokenizer::{Tokenizer, TokenizerError, word_ids};
