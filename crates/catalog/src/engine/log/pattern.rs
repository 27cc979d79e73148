//! Texts with slots: `{}` for a word, `{n}` for a whole number, `{,}` with thousands, `{.2}` for
//! two decimals, `{*}` for anything.

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Slot {
    Number(f64),
    Text(String),
}

impl Slot {
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) => None,
        }
    }

    pub fn count(&self) -> Option<u64> {
        let number = self.number()?;
        (number >= 0.0 && number.fract() == 0.0).then_some(number as u64)
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Number(_) => None,
        }
    }
}

enum Piece<'a> {
    Literal(&'a str),
    Slot(&'a str),
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
            let kind = &inside[..end];
            rest = &inside[end + 1..];
            return Some(Piece::Slot(kind));
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
pub(super) fn read(text: &str, line: &str) -> Option<Vec<Slot>> {
    let mut slots = Vec::new();
    let mut rest = line;
    let mut open: Option<&str> = None;
    let mut began = false;
    for piece in pieces(text) {
        match piece {
            Piece::Slot(kind) => open = Some(kind),
            Piece::Literal(literal) => {
                let at = rest.find(literal)?;
                if began && open.is_none() && at != 0 {
                    return None;
                }
                if let Some(kind) = open.take() {
                    slots.push(fill(kind, &rest[..at])?);
                }
                rest = &rest[at + literal.len()..];
                began = true;
            }
        }
    }
    if let Some(kind) = open {
        let value = match kind {
            "*" => rest,
            _ => rest.split_whitespace().next().unwrap_or_default(),
        };
        slots.push(fill(kind, value)?);
    }
    Some(slots)
}

fn fill(kind: &str, value: &str) -> Option<Slot> {
    let value = value.trim();
    if matches!(kind, "" | "*") {
        let fits = kind == "*" || !value.contains(char::is_whitespace);
        return (fits && !value.is_empty()).then(|| Slot::Text(value.to_owned()));
    }
    let plain = value.replace(',', "");
    let plain = plain.trim_end_matches(['.', ';']);
    let number: f64 = plain.parse().ok()?;
    number.is_finite().then_some(Slot::Number(number))
}

/// The text with its slots filled; `None` if they do not fit.
pub(super) fn write(text: &str, slots: &[Slot]) -> Option<String> {
    let mut written = String::new();
    let mut slots = slots.iter();
    for piece in pieces(text) {
        match piece {
            Piece::Literal(literal) => written.push_str(literal),
            Piece::Slot(kind) => match (kind, slots.next()?) {
                ("" | "*", Slot::Text(text)) => written.push_str(text),
                ("n", Slot::Number(number)) => written.push_str(&format!("{number:.0}")),
                (",", Slot::Number(number)) => written.push_str(&thousands(*number)),
                (kind, Slot::Number(number)) => {
                    let decimals: usize = kind.strip_prefix('.')?.parse().ok()?;
                    written.push_str(&format!("{number:.decimals$}"));
                }
                _ => return None,
            },
        }
    }
    slots.next().is_none().then_some(written)
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
