//! Texts with slots, as `data/engine/log-lines.toml` explains them.

use super::slots::Slots;
use serde_json::Value;

enum Piece<'a> {
    Literal(&'a str),
    /// What it fills, if it fills anything, and how it is written.
    Slot(Option<&'a str>, &'a str),
}

fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some(inside) = rest.strip_prefix('{')
            && let Some(end) = inside.find('}')
        {
            rest = &inside[end + 1..];
            return Some(match inside[..end].split_once(':') {
                Some((name, kind)) => Piece::Slot(Some(name), kind),
                None => Piece::Slot(None, &inside[..end]),
            });
        }
        let end = rest
            .char_indices()
            .skip(1)
            .find(|(_, character)| *character == '{')
            .map_or(rest.len(), |(at, _)| at);
        let literal = &rest[..end];
        rest = &rest[end..];
        Some(Piece::Literal(literal))
    })
}

/// The slots of a line that has this text somewhere.
pub(super) fn read(text: &str, line: &str) -> Option<Slots> {
    let mut slots = Slots::new();
    let mut rest = line;
    let mut open = None;
    let mut began = false;
    let mut fill = |(name, kind): (Option<&str>, &str), value: &str| {
        let value = value_of(kind, value)?;
        if let Some(name) = name {
            slots.insert(name.to_owned(), value);
        }
        Some(())
    };
    for piece in pieces(text) {
        match piece {
            Piece::Slot(name, kind) => open = Some((name, kind)),
            Piece::Literal(literal) => {
                let at = rest.find(literal)?;
                if began && open.is_none() && at != 0 {
                    return None;
                }
                if let Some(slot) = open.take() {
                    fill(slot, &rest[..at])?;
                }
                rest = &rest[at + literal.len()..];
                began = true;
            }
        }
    }
    if let Some(slot) = open {
        let value = match slot.1 {
            "*" => rest,
            _ => rest.split_whitespace().next().unwrap_or_default(),
        };
        fill(slot, value)?;
    }
    Some(slots)
}

fn value_of(kind: &str, value: &str) -> Option<Value> {
    let value = value.trim();
    if matches!(kind, "" | "*") {
        let fits = kind == "*" || !value.contains(char::is_whitespace);
        return (fits && !value.is_empty()).then(|| value.into());
    }
    let plain = value.replace(',', "");
    let plain = plain.trim_end_matches(['.', ';']);
    // What counts things is a whole number.
    let whole = plain.parse::<i64>().ok().map(Value::from);
    let number = || plain.parse::<f64>().ok().filter(|it| it.is_finite());
    whole.or_else(|| number().map(Value::from))
}

/// The text with its slots filled; `None` if they do not fit.
pub(super) fn write(text: &str, slots: &Slots) -> Option<String> {
    let mut written = String::new();
    let mut filled = 0;
    for piece in pieces(text) {
        let (name, kind) = match piece {
            Piece::Literal(literal) => {
                written.push_str(literal);
                continue;
            }
            Piece::Slot(name, kind) => (name?, kind),
        };
        let value = slots.get(name)?;
        filled += 1;
        match kind {
            "" | "*" => written.push_str(value.as_str()?),
            "n" => written.push_str(&format!("{:.0}", value.as_f64()?)),
            "," => written.push_str(&thousands(value.as_f64()?)),
            kind => {
                let decimals: usize = kind.strip_prefix('.')?.parse().ok()?;
                written.push_str(&format!("{:.decimals$}", value.as_f64()?));
            }
        }
    }
    (filled == slots.len()).then_some(written)
}

fn thousands(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let mut grouped = String::from(if number < 0.0 { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
