//! The simulated engine: its schedule in virtual time, and its server over sockets.

mod engine_contract;
mod engine_figures;
mod engine_phenomena;
mod faults;
mod front_end;
mod mindie;
mod null;
mod out_of_memory;
mod parallel;
mod scheduled;
mod serving;
mod sglang;
mod split;
mod support;
mod tls;
mod trtllm;
