//! Answers of the planner as documents and figures: whether a model fits, calibrations, and
//! predictions.

pub mod calibration;
pub mod curves;
pub mod labels;
mod latencies;
pub mod memory;
pub mod predictions;
pub mod verification;
