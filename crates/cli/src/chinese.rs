//! Chinese for what is written in English where it arises: help texts stand beside their
//! arguments and errors beside what fails, so their Chinese is data here, found by the English.

pub mod errors;
pub mod help;

use crate::output::language;
use inferometer_text::Lang;

/// The language of help and errors, which must be known before the command line is parsed:
/// `--lang` wherever it stands, else `INFEROMETER_LANG`, else the locale's.
pub fn spoken() -> Lang {
    let mut words = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        // What follows is an engine's command.
        .take_while(|word| word != "--");
    let mut asked = std::env::var("INFEROMETER_LANG").ok();
    while let Some(word) = words.next() {
        if word == "--lang" {
            asked = words.next();
        } else if let Some(value) = word.strip_prefix("--lang=") {
            asked = Some(value.to_owned());
        }
    }
    language(asked.and_then(|word| word.parse().ok()))
}
