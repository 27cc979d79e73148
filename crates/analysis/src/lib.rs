//! What follows from records: the summary, the doubts about it, statistics, comparison, the knee
//! of a ladder, and the server's view laid beside the client's. Pure functions of stored facts.

pub mod compare;
pub mod concurrency;
pub mod context;
mod exact_sum;
pub mod fold;
pub mod judge;
pub mod knee;
pub mod live;
pub mod server;
pub mod statistics;
pub mod steady;
mod thinning;
mod timeline;
pub mod trace;
