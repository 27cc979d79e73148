//! What goes around a piece of text.

use super::error::{ContinuationError, LONGEST_TEMPLATE};
use inferometer_core::work::{Language, Template};
use std::fs::File;
use std::io::Read;
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
    let unreadable = |source| ContinuationError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    let mut file = File::open(path)
        .map_err(unreadable)?
        .take(LONGEST_TEMPLATE + 1);
    file.read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LONGEST_TEMPLATE {
        return Err(ContinuationError::TooLong {
            path: path.to_owned(),
        });
    }
    let text = String::from_utf8(bytes).map_err(|_| ContinuationError::NotText {
        path: path.to_owned(),
    })?;
    for (placeholder, stands) in [
        (TEXT, "the piece of text"),
        (NUMBER, "the number of characters"),
    ] {
        if !text.contains(placeholder) {
            return Err(ContinuationError::Missing {
                path: path.to_owned(),
                placeholder,
                stands,
            });
        }
    }
    Ok(text)
}
