//! What a parser says of a study's text, as one sentence that a user understands.

use inferometer_catalog::engine::nearest;

const UNKNOWN: &str = "unknown field `";

/// Whether a message is about a table or a key that does not exist.
pub(super) fn is_unknown_key(message: &str) -> bool {
    message.starts_with(UNKNOWN)
}

/// An error with its line, and without the parser's own words where there are plainer ones.
pub(super) fn in_plain_words(error: &toml::de::Error, text: &str) -> String {
    let said = of_message(error.message(), &[]);
    let Some(span) = error.span() else {
        return said;
    };
    let before = text.get(..span.start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let given = text.get(span).unwrap_or_default();
    let message = error.message();
    match message {
        _ if given.is_empty() || given.contains('\n') => format!("line {line}: {said}"),
        _ if message.contains("expected a sequence") => {
            format!("line {line}: {given} must be a list; write [{given}]")
        }
        _ if message.starts_with("write ") => {
            format!("line {line}: {given} does not fit here; {said}")
        }
        _ => format!("line {line}: {said}"),
    }
}

/// A message in plain words. `also`: names that are known beside those that it lists.
pub(super) fn of_message(message: &str, also: &[&str]) -> String {
    let Some((given, expected)) = message
        .strip_prefix(UNKNOWN)
        .and_then(|rest| rest.split_once('`'))
    else {
        if message.starts_with("invalid basic string") {
            return "a text has no end; close it with a quotation mark".to_owned();
        }
        let lines = message.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty());
        return lines.collect::<Vec<_>>().join(" ");
    };
    let listed = expected.split('`').skip(1).step_by(2);
    let known: Vec<&str> = listed.chain(also.iter().copied()).collect();
    match nearest(known.iter().copied(), given).first() {
        Some(meant) => format!("there is no '{given}'; did you mean '{meant}'?"),
        None => format!("there is no '{given}'; there are {}", known.join(", ")),
    }
}
