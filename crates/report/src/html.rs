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

/// A page's name for a report that has no label.
fn title(label: Option<&str>, otherwise: PageText, lang: Lang) -> String {
    match label.filter(|label| !label.trim().is_empty()) {
        Some(label) => format!("{label} · {}", otherwise.text(lang)),
        None => otherwise.text(lang).to_owned(),
    }
}
