//! Values of one axis as users write them: `1,2,4`, `1..64:x2`, `10..100:+10`, and
//! `by input-chars: 100=32, 500=25, *=16`.

use super::expression::Expression;
use std::str::FromStr;

pub const MOST_VALUES: usize = 10_000;

#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// These, one after the other. One value is not an axis.
    List(Vec<String>),
    /// One for each value of another axis.
    By {
        axis: String,
        cases: Vec<(String, String)>,
        otherwise: Option<String>,
    },
    Derived(Expression),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    #[error("a list is empty; write values as in 1,2,4")]
    Empty,
    #[error("'{0}' is not a range; write 1..64:x2 (each twice the last) or 10..100:+10")]
    BadRange(String),
    #[error("'{0}' has more than {MOST_VALUES} values; take larger steps")]
    TooMany(String),
    #[error("'{0}' is not a dependent axis; write by AXIS: VALUE=RESULT, …, *=RESULT")]
    BadCases(String),
}

impl FromStr for Values {
    type Err = ListError;

    /// Lists and dependent axes. An expression looks like a word, so it is not guessed: give
    /// `Values::Derived` where the option may hold one.
    fn from_str(text: &str) -> Result<Self, ListError> {
        if let Some(cases) = text.trim().strip_prefix("by ") {
            return cases_of(cases).ok_or_else(|| ListError::BadCases(text.to_owned()));
        }
        let mut values = Vec::new();
        for part in outside_brackets(text) {
            let part = part.trim();
            match part.split_once("..") {
                _ if part.is_empty() => return Err(ListError::Empty),
                Some((from, rest)) if from.trim().parse::<f64>().is_ok() => {
                    range(part, from, rest, &mut values)?;
                }
                _ => values.push(part.to_owned()),
            }
            if values.len() > MOST_VALUES {
                return Err(ListError::TooMany(text.to_owned()));
            }
        }
        Ok(Values::List(values))
    }
}

/// Parts between commas that are in no bracket: `uniform(1,2),512` has two.
fn outside_brackets(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut begin) = (Vec::new(), 0u32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

fn range(part: &str, from: &str, rest: &str, values: &mut Vec<String>) -> Result<(), ListError> {
    let bad = || ListError::BadRange(part.to_owned());
    let (to, step) = rest.split_once(':').ok_or_else(bad)?;
    let number = |text: &str| -> Option<f64> {
        text.trim()
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
    };
    let (from, to) = (number(from).ok_or_else(bad)?, number(to).ok_or_else(bad)?);
    let step = step.trim();
    let (geometric, size) = match (step.strip_prefix('x'), step.strip_prefix('+')) {
        (Some(factor), _) => (true, number(factor).ok_or_else(bad)?),
        (_, Some(add)) => (false, number(add).ok_or_else(bad)?),
        _ => return Err(bad()),
    };
    let rises = if geometric {
        size > 1.0 && from > 0.0
    } else {
        size > 0.0
    };
    if !rises || to < from {
        return Err(bad());
    }
    for at in 0..=MOST_VALUES {
        let value = if geometric {
            from * size.powi(at as i32)
        } else {
            from + size * at as f64
        };
        // A hair beyond the end is the end: steps of 0.1 do not add up exactly.
        if value > to * (1.0 + 1e-9) {
            return Ok(());
        }
        values.push(plain(value));
    }
    Err(ListError::TooMany(part.to_owned()))
}

/// A number without the dust of its arithmetic.
pub(super) fn plain(value: f64) -> String {
    let rounded = format!("{value:.9}").parse().unwrap_or(value);
    if rounded == 0.0 {
        value.to_string()
    } else {
        rounded.to_string()
    }
}

fn cases_of(text: &str) -> Option<Values> {
    let (axis, list) = text.split_once(':')?;
    let axis = axis.trim();
    let (mut cases, mut otherwise) = (Vec::new(), None);
    for part in outside_brackets(list) {
        let (value, result) = part.split_once('=')?;
        let (value, result) = (value.trim(), result.trim());
        if value.is_empty() || result.is_empty() {
            return None;
        }
        match value {
            "*" if otherwise.is_none() => otherwise = Some(result.to_owned()),
            "*" => return None,
            _ => cases.push((value.to_owned(), result.to_owned())),
        }
    }
    (!axis.is_empty()).then(|| Values::By {
        axis: axis.to_owned(),
        cases,
        otherwise,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> String {
        match text.parse() {
            Ok(Values::List(values)) => values.join(" "),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn lists_and_ranges_have_the_values_that_they_say() {
        assert_eq!(list("1,2,4"), "1 2 4");
        assert_eq!(list("1..64:x2"), "1 2 4 8 16 32 64");
        assert_eq!(list("10..100:+10"), "10 20 30 40 50 60 70 80 90 100");
        assert_eq!(list("0.1..0.5:+0.1"), "0.1 0.2 0.3 0.4 0.5");
        assert_eq!(list("1..4:x2, 6, inf"), "1 2 4 6 inf");
        assert_eq!(list("uniform(256,1024),512"), "uniform(256,1024) 512");
        assert_eq!(list("../data/a.json,b.json"), "../data/a.json b.json");
    }

    #[test]
    fn a_dependent_axis_has_its_cases() {
        let found: Values = "by input-chars: 100=32, 500=25, *=16".parse().unwrap();
        let expected = Values::By {
            axis: "input-chars".to_owned(),
            cases: vec![("100".into(), "32".into()), ("500".into(), "25".into())],
            otherwise: Some("16".to_owned()),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_not_a_list_is_refused_with_an_example() {
        for text in [
            "", "1,,2", "1..64", "1..64:x1", "64..1:x2", "0..9:x2", "1..2:+0", "1..2:3", "1..9:+x",
        ] {
            let message = text.parse::<Values>().unwrap_err().to_string();
            assert!(
                message.contains("1,2,4") || message.contains("1..64:x2"),
                "{text}: {message}"
            );
        }
        assert!("1..1e9:+1".parse::<Values>().is_err());
        for text in ["by x", "by : 1=2", "by x: 1", "by x: *=1, *=2", "by x: =2"] {
            assert!(
                matches!(text.parse::<Values>(), Err(ListError::BadCases(_))),
                "{text}"
            );
        }
    }
}
