//! Pages of every kind of result: what goes on them; `page::html` lays it out.

pub mod capacity;
pub mod compare;
mod environment;
mod glossary;
pub mod history;
pub mod import;
pub mod run;
pub mod study;
pub mod sweep;

pub use glossary::glossary;

use inferometer_message::PageText;
use inferometer_text::Lang;
use std::path::Path;

/// A page's name for a report that has no label.
fn title(name: Option<&str>, otherwise: PageText, lang: Lang) -> String {
    match name.filter(|name| !name.trim().is_empty()) {
        Some(name) => format!("{name} · {}", otherwise.text(lang)),
        None => otherwise.text(lang).to_owned(),
    }
}

/// What its owner calls a thing that is kept: its label, else its folder.
fn name<'a>(label: Option<&'a str>, directory: Option<&'a Path>) -> Option<&'a str> {
    label.or_else(|| directory?.file_name()?.to_str())
}
