//! What goes around a piece of text.

use super::error::{ContinuationError, LONGEST_TEMPLATE};
use inferometer_core::work::{Language, Template};
use inferometer_text::user_file::read_at_most;
use std::path::Path;

const TEXT: &str = "{text}";
const NUMBER: &str = "{num_completion}";

/// A template whose number is filled in, cut where the text goes.
#[derive(Clone, Debug)]
pub(super) struct Form(Vec<String>);

impl Form {
    pub(super) fn open(template: &Template, ask_chars: u32) -> Result<Self, ContinuationError> {
        let read;
        let text = match template {
            Template::Embedded(Language::En) => include_str!("template_en.txt"),
            Template::Embedded(Language::Zh) => include_str!("template_zh.txt"),
            Template::File(path) => {
                read = checked(path)?;
                &read
            }
        };
        // The line end of a file's last line is not part of a prompt.
        let text = text
            .trim_start_matches('\u{feff}')
            .trim_end_matches(['\r', '\n']);
        let number = ask_chars.to_string();
        let parts = text.split(TEXT);
        Ok(Form(
            parts.map(|part| part.replace(NUMBER, &number)).collect(),
        ))
    }

    pub(super) fn filled(&self, text: &str) -> String {
        self.0.join(text)
    }
}

/// The user's template, which names both places.
fn checked(path: &Path) -> Result<String, ContinuationError> {
    let path = path.to_owned();
    let bytes = match read_at_most(&path, LONGEST_TEMPLATE) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Err(ContinuationError::TooLong { path }),
        Err(source) => return Err(ContinuationError::Unreadable { path, source }),
    };
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(ContinuationError::NotText { path });
    };
    for (placeholder, stands) in [
        (TEXT, "the piece of text"),
        (NUMBER, "the number of characters"),
    ] {
        if !text.contains(placeholder) {
            return Err(ContinuationError::Missing {
                path,
                placeholder,
                stands,
            });
        }
    }
    Ok(text)
}
