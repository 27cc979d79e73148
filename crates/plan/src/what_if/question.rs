//! What is asked, and why there may be no answer.

use super::objective::Objectives;
use crate::calibrate::Calibration;
use crate::device::BadDevice;
use crate::work::{Load, MOST_REQUESTS, MOST_STREAMS, Sizes};
use inferometer_core::length::Distribution as Lengths;
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

pub const MOST_SETTINGS: usize = 10_000;
/// Seed of simulations: settings differ by themselves alone. It is that of `run`, unless it is
/// given another, so that both send the same.
pub(crate) const SEED: u64 = 0;
/// Tails are known worse than means.
pub const TAIL: f64 = 1.5;

/// Settings to try: every combination of devices, flags and loads.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    pub calibration: &'a Calibration,
    /// Cards in place of the calibrated one; empty: that one.
    pub cards: Vec<String>,
    /// Values of each flag to vary; `None` is a switch.
    pub flags: Vec<(String, Vec<Option<String>>)>,
    /// Loads; empty: each replica's share of the traffic, or without a traffic the greatest
    /// concurrency that meets the objectives.
    pub loads: Vec<Load>,
    pub input: Lengths,
    pub output: Lengths,
    pub trace: Option<Arc<[Sizes]>>,
    /// Requests of each simulation; absent: as many as were measured, or four per stream.
    pub requests: Option<u32>,
    pub objectives: Objectives,
    /// Of a card whose own price is not known.
    pub price_per_hour: Option<f64>,
    /// Of cards by their names.
    pub card_prices: BTreeMap<String, f64>,
    /// Requests/s that replicas are counted for.
    pub traffic: Option<f64>,
    /// Power of a card under load.
    pub watts: Option<f64>,
}

/// Requests most of which an engine rejects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Tokens of prompt and answer, half of the requests having more.
    pub median: u64,
    pub most: u32,
}

#[derive(Debug, Error)]
pub enum WhatIfError {
    #[error("{0} settings are too many; vary less, at most {MOST_SETTINGS}")]
    TooMany(usize),
    #[error("concurrency {0} is too much to simulate; ask for at most {MOST_STREAMS} streams")]
    TooManyStreams(u32),
    #[error("{0} requests are too many to simulate; ask for at most {MOST_REQUESTS}")]
    TooManyRequests(u32),
    #[error(
        "say at which load (--concurrency or --rate), or give objectives (--slo) to find the greatest"
    )]
    NoLoad,
    #[error(
        "requests of {} tokens (prompt + answer) exceed max-model-len {}, and the engine rejects them; ask for shorter ones, or vary --flag max-model-len", .0.median, .0.most
    )]
    TooLong(TooLong),
    #[error(transparent)]
    Device(#[from] BadDevice),
    #[error(
        "of the device '{0}' only the memory is known; add bandwidth= and half= to predict times"
    )]
    NoSpeed(String),
}
