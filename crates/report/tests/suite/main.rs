//! What people see: reports, figures, findings, pages, and the dialects of other tools.

#![allow(clippy::unwrap_used)]

mod capacity;
mod chinese;
mod data;
mod dialect;
mod dialect_peers;
mod figure;
mod findings;
mod imports;
mod made_up;
mod page;
mod report;
mod samples;
mod sessions;
mod study;
