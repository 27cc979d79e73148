//! What a search answers.

use serde::Serialize;

pub const SCHEMA: &str = "inferometer.capacity/1";

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// `inferometer.capacity/1`.
    pub schema: &'static str,
    pub over: String,
    pub tier: usize,
    /// The capacity; absent if no level met the objectives, or if the sample cannot carry it.
    pub value: Option<f64>,
    /// Low end of its 90 % interval, or the highest level that met the objectives where none
    /// missed them.
    pub low: Option<f64>,
    /// High end, or the lowest level that missed the objectives where none met them; absent if
    /// every level up to the ceiling met them.
    pub high: Option<f64>,
    /// The objective that is missed first.
    pub binding: Option<String>,
    pub edge: Option<Edge>,
    /// Requests of the whole search, all that were sent.
    pub requests_spent: u64,
    /// The long run to go by: the last that met the objectives, else the last.
    pub confirmation: Option<ConfirmationRun>,
    /// Requests that the long run must count for its percentile to be claimed; present where
    /// it had fewer.
    pub needs: Option<u64>,
    /// Why there is no better answer.
    pub ending: CapacityEnding,
}

/// A long run at the answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ConfirmationRun {
    pub level: f64,
    pub requests: u64,
    /// How many met the target that they are farthest from meeting.
    pub met: u64,
    /// The share that must.
    pub share: f64,
    pub is_met: bool,
}

/// How attainment falls at the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Edge {
    /// Slowly: a little more load misses a little more.
    Slope,
    /// At once: 5 % more load misses most of what was met.
    Cliff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CapacityEnding {
    /// The interval is as narrow as asked, and a long run confirmed it.
    Confirmed,
    /// Every long run moved the answer; the last one's is given.
    Unconfirmed,
    /// The long runs missed the objectives, though the answer seems to be there.
    Missed,
    /// The requests were spent before.
    BudgetSpent,
    /// Every level up to the ceiling met the objectives.
    AtCeiling,
    /// No level down to the floor met them.
    NeverMet,
    /// The long run had fewer requests than the percentile needs, so nothing is claimed.
    TooFewSamples,
    Interrupted,
}
