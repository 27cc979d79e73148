//! What a parser says of a study's text, as one sentence that a user understands.

use inferometer_catalog::engine::nearest;
use std::ops::Range;

const UNKNOWN: &str = "unknown field `";

/// A text without the lines of a mistake, of a table's name with all that is in it; its other lines
/// keep their numbers. Absent where the rest cannot be read.
pub(super) fn without(text: &str, mistake: Range<usize>) -> Option<String> {
    let number = |at: usize| text.get(..at).map(|before| before.matches('\n').count());
    let (first, mut last) = (number(mistake.start)?, number(mistake.end)?);
    if text.lines().nth(first).and_then(table_name).is_some() {
        let inside = text.lines().skip(first + 1);
        last = first + inside.take_while(|line| table_name(line).is_none()).count();
    }
    let rest = without_lines(text, |at, _| (first..=last).contains(&at));
    let is_less = text.lines().ne(rest.lines());
    (is_less && rest.parse::<toml::Table>().is_ok()).then_some(rest)
}

/// The line that a message begins with.
pub(super) fn line_of(message: &str) -> Option<usize> {
    let rest = message.strip_prefix("line ")?;
    rest.split(':').next()?.parse().ok()
}

/// A text without a table; its other lines keep their numbers.
pub(super) fn without_table(text: &str, name: &str) -> String {
    let mut is_inside = false;
    without_lines(text, |_, line| {
        is_inside = table_name(line).map_or(is_inside, |it| it == name);
        is_inside
    })
}

fn table_name(line: &str) -> Option<&str> {
    let name = line.trim_start().strip_prefix('[')?;
    Some(name.split(']').next()?.trim())
}

fn without_lines(text: &str, mut is_out: impl FnMut(usize, &str) -> bool) -> String {
    let lines = text.lines().enumerate();
    let lines = lines.map(|(at, line)| if is_out(at, line) { "" } else { line });
    lines.collect::<Vec<&str>>().join("\n")
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
