//! The message catalogue: every text that a report shows, by key and language.
//!
//! A key is an enum value; each language is one exhaustive `match`, so the compiler lists what
//! a new text or a new language still lacks. Templates carry `{name}` for values.

pub mod doubts;
pub mod labels;

/// Language of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    /// English.
    #[default]
    En,
}

crate::record::words!(Lang { En => "en" });

/// Puts values into a template: `{name}` becomes the value of `name`.
pub fn fill(template: &str, values: &[(&str, String)]) -> String {
    values
        .iter()
        .fold(template.to_owned(), |text, (name, value)| {
            text.replace(&format!("{{{name}}}"), value)
        })
}
