//! What follows from records: the summary, the doubts about it, and the
//! server's view laid beside the client's. Pure functions of stored facts.

pub mod context;
pub mod fold;
pub mod judge;
pub mod server;
pub mod steady;
pub mod thinning;
pub mod trace;
