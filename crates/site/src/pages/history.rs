//! The page of a history.

use super::title;
use inferometer_campaign::history::History;
use inferometer_message::PageText;
use inferometer_page::html::{Edition, Page, page};
use inferometer_report::history::{compose, figures};
use inferometer_text::Lang;
use serde_json::json;
use std::path::PathBuf;

/// The page of a history of the runs in some folders, which opens in a language.
pub fn compose_page(history: &History, folders: &[PathBuf], lang: Lang) -> Page {
    let names = folders.iter().filter_map(|folder| folder.file_name());
    let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
    let name = names.join(", ");
    page(lang, json!({"history": history}), |lang| Edition {
        above: 0,
        glossary: super::glossary(lang),
        lang,
        title: title(Some(&name), PageText::History, lang),
        headlines: Vec::new(),
        figures: figures(history, lang),
        doc: compose(history, lang),
    })
}
