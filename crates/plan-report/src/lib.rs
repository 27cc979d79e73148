//! Answers of the planner as documents and figures: whether a model fits, calibrations,
//! predictions, and how good those are.

pub mod calibration;
pub mod choice;
pub mod curves;
pub mod labels;
mod latencies;
pub mod memory;
pub mod predictions;
pub mod validation;
pub mod verification;
