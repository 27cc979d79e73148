//! Reports of Inferometer: every kind of result becomes a document and figures (`page` renders
//! them), a CSV row or a JSON object; the catalogue of messages says them in both languages.
//!
//! Everything here is a pure function of stored data: no clock, no files, no printing.

pub mod capacity;
mod columns;
pub mod compare;
pub mod csv;
pub mod data;
pub mod doctor;
pub mod findings;
pub mod history;
pub mod import;
pub mod json;
mod quality;
pub mod run;
pub mod runs;
mod severity;
pub mod study;
pub mod sweep;
