//! Facts about engines, models and devices: pure data and functions, no I/O but for files that
//! the caller names.

mod defaults;
pub mod device;
pub mod engine;
pub mod memory;
pub mod model;
pub mod nearest;
pub mod timing;
pub mod units;
