//! Names of metrics as tools and people write them, in English and Chinese.

mod field;
pub mod quantity;
mod rates;
mod rules;
mod stat;
mod statistic;
mod words;

pub use field::{Field, Label, Sample};
pub use stat::Stat;

use crate::quantity::Unit;
use words::Words;

/// Whether a name tells by how much something is better or worse than something else.
pub fn is_change(text: &str) -> bool {
    let (words, unit) = normalise(text);
    rules::is_change(&Words { text: &words, unit })
}

/// Whether a name may be that of an account of requests.
pub fn is_account(text: &str) -> bool {
    let (words, unit) = normalise(text);
    rules::is_account(&Words { text: &words, unit })
}

const LONGEST: usize = 80;

/// Reads a label; `None` if it names nothing that is known.
pub fn label(text: &str) -> Option<Label> {
    let text = text
        .trim()
        .trim_matches(|c| matches!(c, '*' | '`' | '"' | '\''));
    if text.is_empty() || text.len() > LONGEST {
        return None;
    }
    // As `summary.json` names rates.
    let spelled = text.strip_suffix("_per_s");
    let spelled = spelled.map(|what| format!("{what} per second"));
    let (words, unit) = normalise(spelled.as_deref().unwrap_or(text));
    let (stat, text) = statistic::statistic(&words);
    let field = rules::field(&Words { text: &text, unit }, stat)?.with_unit(unit);
    let fits = unit.is_none_or(|unit| field.takes(unit));
    fits.then_some(Label { field, unit })
}

/// Whether a name ends with what is counted per second: `/s` behind it is not a unit of time.
fn is_rated(name: &str) -> bool {
    let begin = name
        .trim_end_matches(|c: char| c.is_ascii_alphabetic())
        .len();
    let noun = &name[begin..];
    name.ends_with(['字', '元', '次', '个', '条', '求'])
        || Unit::of_word(noun) == Some(Unit::Count)
        || matches!(noun, "tok" | "toks" | "t" | "req" | "gen" | "it" | "char")
}

/// Lower case, one space between words, and the unit taken off its end or brackets.
fn normalise(text: &str) -> (String, Option<Unit>) {
    let mut unit = None;
    let mut words = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find(['(', '（', '[']) {
        words.push_str(&rest[..open]);
        let inner = rest[open..].trim_start_matches(['(', '（', '[']);
        let close = inner.find([')', '）', ']']).unwrap_or(inner.len());
        match Unit::of_word(&inner[..close]) {
            Some(found) => unit = unit.or(Some(found)),
            // What is not a unit may be the name itself: `time_to_first_token(ttft)`.
            None => {
                words.push(' ');
                words.push_str(&inner[..close]);
            }
        }
        words.push(' ');
        rest = inner[close..].trim_start_matches([')', '）', ']']);
    }
    words.push_str(rest);
    // Arrows only tell whether more is better.
    let words = (words.to_lowercase()).replace(['_', '-', '\u{a0}', '↑', '↓'], " ");
    let mut parts: Vec<&str> = words.split_whitespace().collect();
    // `时延/ms`, but not `tokens/s`.
    if let (None, Some(last)) = (unit, parts.last_mut())
        && let Some((name, behind)) = last.rsplit_once('/')
        && let Some(found) = Unit::of_word(behind).filter(|unit| unit.in_ms().is_some())
        && Unit::of_word(last).is_none()
        && !name.is_empty()
        && !is_rated(name)
    {
        unit = Some(found);
        *last = name;
    }
    if unit.is_none()
        && let Some((last, front)) = parts.split_last()
        && !front.is_empty()
        && let Some(found @ (Unit::Millis | Unit::Seconds | Unit::Micros)) = Unit::of_word(last)
        // `prompt tokens/second` is a rate, `requests per second` too.
        && !front.last().is_some_and(|word| *word == "per" || word.ends_with('/'))
    {
        unit = Some(found);
        parts.pop();
    }
    (parts.join(" "), unit)
}

#[cfg(test)]
mod tests;
