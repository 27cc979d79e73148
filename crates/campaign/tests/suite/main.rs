//! The searches on the simulated engine in virtual time.

mod capacity_on_engine;
mod gains;
mod guess;
mod landscape;
mod made_up;
mod prior;
mod support;
mod tune;
mod wrong;
