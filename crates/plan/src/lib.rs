//! The planner: will it fit, how fast will it be, how many cards.
//!
//! [`memory`] divides a card before anyone starts a server. [`calibrate`] fits the timing of the
//! simulated engine to measured load points and says how wrong it may be. [`what_if`] asks the
//! calibrated engine about settings that nobody has measured, and [`rank`] orders a tuner's
//! candidates by it. [`unmeasured`] predicts without any measurement of one's own. [`validate`] holds predictions against published measurements. A prediction
//! is always a run of the simulated engine in virtual time: whatever has no queue and no scheduler
//! cannot tell TTFT.

mod arrivals;
pub mod calibrate;
pub mod choose;
mod cores;
pub mod device;
pub mod flags;
pub mod means;
pub mod memory;
mod mindie;
pub mod model;
pub mod observation;
pub mod predict;
pub mod rank;
mod refusal;
pub mod split;
pub mod unmeasured;
pub mod validate;
pub mod what_if;
pub mod work;
