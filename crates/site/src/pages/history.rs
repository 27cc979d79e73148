//! The page of a history.

use super::title;
use inferometer_campaign::history::History;
use inferometer_message::PageText;
use inferometer_page::html::{Edition, Page, page};
use inferometer_report::history::{compose, figures};
use inferometer_text::Lang;
use serde_json::json;

/// The page of a history, which opens in a language.
pub fn compose_page(history: &History, lang: Lang) -> Page {
    page(lang, json!({"history": history}), |lang| Edition {
        above: 0,
        glossary: super::glossary(lang),
        lang,
        title: title(None, PageText::History, lang),
        headlines: Vec::new(),
        figures: figures(history, lang),
        doc: compose(history, lang),
    })
}
