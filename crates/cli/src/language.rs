//! The language of what is printed.

use inferometer_text::Lang;
use std::ffi::OsString;

/// The language asked for, else that of `INFEROMETER_LANG`, else the locale's, else English.
pub fn language(asked: Option<Lang>) -> Lang {
    let from_variable = || std::env::var("INFEROMETER_LANG").ok()?.parse().ok();
    let from_locale = || {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"]
            .into_iter()
            .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))?;
        locale.get(..2)?.parse().ok()
    };
    (asked.or_else(from_variable).or_else(from_locale)).unwrap_or_default()
}

/// The language of help and errors, which must be known before the command line is parsed: that
/// of `--lang`, wherever it stands.
pub fn spoken() -> Lang {
    let mut words = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        // What follows is an engine's command.
        .take_while(|word| word != "--");
    let mut asked = None;
    while let Some(word) = words.next() {
        if word == "--lang" {
            asked = words.next();
        } else if let Some(value) = word.strip_prefix("--lang=") {
            asked = Some(value.to_owned());
        }
    }
    language(asked.and_then(|word| word.parse().ok()))
}

/// The words of the command line, without the language where `help` is the command, which takes
/// names of commands and nothing else.
pub fn without_lang_of_help(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    let is_lang = |word: &OsString| word.to_string_lossy().starts_with("--lang");
    let takes_next = |word: &OsString| word == "--lang";
    let mut rest = words.iter().skip(1);
    let mut command = rest.next();
    while let Some(word) = command.filter(|word| is_lang(word)) {
        command = if takes_next(word) {
            rest.nth(1)
        } else {
            rest.next()
        };
    }
    if command.is_some_and(|word| word == "help") {
        while let Some(at) = words.iter().position(is_lang) {
            let count = if takes_next(&words[at]) { 2 } else { 1 };
            words.drain(at..(at + count).min(words.len()));
        }
    }
    words
}
