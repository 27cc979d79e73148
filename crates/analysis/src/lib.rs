//! What follows from records: the summary, the doubts about it, statistics, comparison, and the
//! server's view laid beside the client's. Pure functions of stored facts.

pub mod compare;
pub mod concurrency;
pub mod context;
mod exact_sum;
pub mod fold;
pub mod judge;
pub mod server;
pub mod steady;
mod thinning;
mod timeline;
pub mod trace;
