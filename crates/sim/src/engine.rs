//! The simulated engine: the scheduler, the KV cache and the clockwork of an LLM server.
//!
//! [`Engine`] is a deterministic state machine: it has no clock, does no I/O, and the same
//! calls with the same seed give the same answers. Whoever drives it tells it the time: a
//! server with real time, [`virtual_time`] with its own. A driver hands requests in with
//! [`Engine::add`], calls [`Engine::step`] at [`Engine::wake`], and delivers what the events
//! say at the times that they say.
//!
//! API servers stand before and behind the scheduler (`api.rs`), since in real servers their core
//! is what saturates first when many streams are open.

mod api;
mod blocks;
mod config;
mod engine_core;
mod mindie;
mod noise;
mod replicas;
mod request;
mod sglang;
mod state;
mod step_log;
mod time;
mod trtllm;
pub mod virtual_time;
mod vllm;

pub use blocks::block_hashes;
pub use config::{EngineConfig, Headroom, Policy, PrefillWorkers, Speculation};
pub use engine_core::OutOfMemory;
pub use mindie::MindiePolicy;
pub use noise::Noise;
pub use replicas::{Engine, StepOutcome};
pub use request::{Event, EventKind, Finish, Rejection, Request};
pub use sglang::SglangPolicy;
pub use state::{Order, Stats};
pub use step_log::StepRecord;
pub use time::Nanos;
pub(crate) use time::nanos;
pub use trtllm::{Capacity, TrtllmPolicy};
pub use vllm::VllmPolicy;
