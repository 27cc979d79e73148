//! Reports of Inferometer: a run's stored data becomes a [`doc::Doc`], and a document becomes
//! text, Markdown or a page ([`html`]); other tools' blocks and files come straight from the records ([`dialect`]).
//!
//! Everything here is a pure function of stored data: no clock, no files, no printing.

pub mod capacity;
pub mod compare;
pub mod csv;
pub mod data;
pub mod dialect;
pub mod doc;
pub mod doctor;
pub mod figure;
pub mod findings;
pub mod html;
pub mod import;
pub mod json;
pub mod markdown;
mod number;
pub mod run;
pub mod runs;
mod severity;
pub mod site;
pub mod study;
pub mod sweep;
pub mod text;
