//! Prompts from data sets.

#![allow(clippy::unwrap_used)]

mod data_sets;
