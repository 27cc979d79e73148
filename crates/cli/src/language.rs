//! The language of what is printed.

use inferometer_text::Lang;

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
