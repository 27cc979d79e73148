//! The message catalogue: every text that a report shows, by key and language.
//!
//! A topic is an enum made by [`texts!`](inferometer_text::texts), with both languages side by
//! side. The words of doubts stand beside the doubts (`analysis::judge::texts`,
//! `import::doubt_texts`).

pub mod capacity;
pub mod compare;
pub mod data;
pub mod doctor;
pub mod figures;
pub mod findings;
pub mod glossary;
pub mod import;
pub mod metric;
pub mod notes;
pub mod numbers;
pub mod page;
pub mod plan;
pub mod progress;
pub mod runs;
pub mod server;
pub mod setup;
pub mod site;
pub mod study;
pub mod sweep;
pub mod verdict;
