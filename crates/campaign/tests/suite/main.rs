//! The searches on the simulated engine in virtual time, and studies as they are written.

#![allow(clippy::unwrap_used)]

mod capacity_on_engine;
mod gains;
mod guess;
mod history;
mod landscape;
mod made_up;
mod prior;
mod study;
mod study_text;
mod support;
mod tune;
mod wrong;
