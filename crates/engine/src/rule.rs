//! Rules that a user gives about the flags of an engine that we do not know:
//! `max-batch <= max-tokens`, `threads >= 1`, `mode in fast|exact`.

use inferometer_text::hostile::printable;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq)]
pub struct FlagRule {
    left: String,
    relation: Relation,
}

#[derive(Clone, Debug, PartialEq)]
enum Relation {
    Compared(Comparison, Side),
    OneOf(Vec<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    AtMost,
    Below,
    AtLeast,
    Above,
}

/// What a flag is compared with.
#[derive(Clone, Debug, PartialEq)]
enum Side {
    Number(f64),
    Flag(String),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a rule; write FLAG <= NUMBER, FLAG <= FLAG (or <, >=, >), or FLAG in A|B|C")]
pub struct BadRule(String);

impl FromStr for FlagRule {
    type Err = BadRule;

    fn from_str(text: &str) -> Result<Self, BadRule> {
        let bad = || BadRule(printable(text, 80));
        let words: Vec<&str> = text.split_whitespace().collect();
        let [left, relation, right] = words.as_slice() else {
            return Err(bad());
        };
        let comparison = match *relation {
            "<=" => Comparison::AtMost,
            "<" => Comparison::Below,
            ">=" => Comparison::AtLeast,
            ">" => Comparison::Above,
            "in" => {
                let words = right.split('|').map(str::to_owned).collect();
                return Ok(FlagRule {
                    left: name(left),
                    relation: Relation::OneOf(words),
                });
            }
            _ => return Err(bad()),
        };
        let side = match right.parse::<f64>() {
            Ok(number) if number.is_finite() => Side::Number(number),
            Ok(_) => return Err(bad()),
            Err(_) => Side::Flag(name(right)),
        };
        Ok(FlagRule {
            left: name(left),
            relation: Relation::Compared(comparison, side),
        })
    }
}

fn name(flag: &str) -> String {
    flag.trim_start_matches('-').to_owned()
}

impl FlagRule {
    pub fn flag(&self) -> &str {
        &self.left
    }

    /// How a command breaks it; `None` if it does not, or does not give the flags.
    pub fn broken_by(&self, words: &[String]) -> Option<String> {
        let given = value_of(words, &self.left)?;
        match &self.relation {
            Relation::OneOf(choices) if choices.iter().any(|choice| choice == given) => None,
            Relation::OneOf(choices) => Some(format!(
                "{} is {}, and must be one of {}",
                self.left,
                printable(given, 80),
                choices.join(", ")
            )),
            Relation::Compared(comparison, side) => {
                let left: f64 = match given.parse() {
                    Ok(number) => number,
                    Err(_) => {
                        return Some(format!(
                            "{} is {}, which is not a number",
                            self.left,
                            printable(given, 80)
                        ));
                    }
                };
                let (right, called) = match side {
                    Side::Number(number) => (*number, number.to_string()),
                    Side::Flag(flag) => {
                        let number: f64 = value_of(words, flag)?.parse().ok()?;
                        (number, format!("{flag} ({number})"))
                    }
                };
                let (holds, words) = match comparison {
                    Comparison::AtMost => (left <= right, "at most"),
                    Comparison::Below => (left < right, "below"),
                    Comparison::AtLeast => (left >= right, "at least"),
                    Comparison::Above => (left > right, "above"),
                };
                (!holds).then(|| format!("{} is {left}, and must be {words} {called}", self.left))
            }
        }
    }
}

/// The value of `--name VALUE` or `--name=VALUE`, with one dash or two; the last counts.
fn value_of<'a>(words: &'a [String], name: &str) -> Option<&'a str> {
    words.iter().enumerate().rev().find_map(|(at, word)| {
        let bare = word.strip_prefix('-')?.trim_start_matches('-');
        match bare.split_once('=') {
            Some((flag, value)) => (flag == name).then_some(value),
            None if bare == name => words.get(at + 1).map(String::as_str),
            None => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(rule: &str, command: &str) -> Option<String> {
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        rule.parse::<FlagRule>().unwrap().broken_by(&words)
    }

    #[test]
    fn a_rule_is_checked_against_the_flags_that_are_given() {
        let command = "serve --max-batch 64 --max-tokens=32 -m fast";
        let message = broken("max-batch <= max-tokens", command).unwrap();
        assert!(
            message.contains("64") && message.contains("max-tokens (32)"),
            "{message}"
        );
        assert_eq!(broken("max-batch >= 1", command), None);
        assert_eq!(broken("absent > 3", command), None);
        assert_eq!(broken("m in fast|exact", command), None);
        assert!(
            broken("--m in slow|exact", command)
                .unwrap()
                .contains("slow, exact")
        );
        assert!(broken("m < 3", command).unwrap().contains("not a number"));
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for bad in ["", "a", "a b c", "a <=", "a <= b c", "a <= inf"] {
            assert!(bad.parse::<FlagRule>().is_err(), "{bad}");
        }
    }
}
