//! The instrument on paused time, and on recorded answers.

#![allow(clippy::unwrap_used)]

mod driver;
mod fixtures;
