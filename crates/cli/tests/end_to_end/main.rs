//! The binary as a user meets it: `inferometer` against `inferometer sim`, whose truth log says
//! what really happened, and against servers that are none.
//!
//! One program for all, so that it is linked once. Every test has a folder of its own as working
//! directory and cache, every server a free port, and every process ends with its test.

#![allow(clippy::unwrap_used)]

mod answers;
mod audio;
mod bad_input;
mod browser;
mod cancellation;
mod capacity;
mod comparison;
mod comparison_of_notes;
mod data;
mod dialects_read_back;
mod doubts;
mod endpoints;
mod engine;
mod explain;
mod faults;
mod foreign;
mod front_end;
mod history;
mod hostile;
mod interruption;
mod language;
mod launch;
mod length_study;
mod limits;
mod load;
mod manifest;
mod mindie;
mod models;
mod otlp;
mod pages;
mod pictures;
mod plan;
mod plan_choice;
mod plan_memory;
mod plan_trust;
mod plan_validation;
mod preflight;
mod progress;
mod proxy;
mod publish;
mod ranks;
mod real_server;
mod schemas;
mod screens;
mod secrets;
mod serve;
mod serve_in_browser;
mod sessions;
mod stored_runs;
mod stores;
mod strangers;
mod structured;
mod support;
mod sweep;
mod telemetry;
mod terminal;
mod tls;
mod tokenizer;
mod truth;
mod tune;
mod tune_live;
mod virtual_death;
mod watch;
mod wire;
mod work;
