//! Derived values: `concurrency*10`, `min(256, max-num-batched-tokens)`.
//!
//! A name may hold hyphens, as options do, so a minus between names needs spaces around it.

use std::collections::BTreeSet;
use std::fmt;

const DEEPEST: usize = 64;

/// An expression of numbers, names, `+ - * /`, `min`, `max` and parentheses.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: String,
    root: Node,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Name(String),
    Binary(char, Box<Node>, Box<Node>),
    Negative(Box<Node>),
    Least(Vec<Node>),
    Most(Vec<Node>),
}

/// Why an expression cannot be read or has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    #[error(
        "'{text}' cannot be read at '{rest}'; write an expression as in concurrency*10 or min(256, max-num-seqs)"
    )]
    Unreadable {
        text: String,
        /// From where on.
        rest: String,
    },
    #[error("'{name}' in '{text}' is not known here; known are {known}")]
    UnknownName {
        text: String,
        name: String,
        known: String,
    },
    #[error("'{text}' has no finite value here")]
    NotFinite { text: String },
}

impl std::str::FromStr for Expression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Self, ExpressionError> {
        let mut reader = Reader {
            rest: text,
            depth: 0,
        };
        let root = reader.sum();
        reader.skip_space();
        match root {
            Some(root) if reader.rest.is_empty() => Ok(Expression {
                text: text.trim().to_owned(),
                root,
            }),
            _ => Err(ExpressionError::Unreadable {
                text: text.to_owned(),
                rest: reader.rest.chars().take(40).collect(),
            }),
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl Reader<'_> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, wanted: &[char]) -> Option<char> {
        self.skip_space();
        let found = self.rest.chars().next().filter(|c| wanted.contains(c))?;
        self.rest = &self.rest[found.len_utf8()..];
        Some(found)
    }

    fn sum(&mut self) -> Option<Node> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let mut left = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            left = Node::Binary(sign, Box::new(left), Box::new(self.product()?));
        }
        self.depth -= 1;
        Some(left)
    }

    fn product(&mut self) -> Option<Node> {
        let mut left = self.factor()?;
        while let Some(sign) = self.take(&['*', '/']) {
            left = Node::Binary(sign, Box::new(left), Box::new(self.factor()?));
        }
        Some(left)
    }

    fn factor(&mut self) -> Option<Node> {
        if self.take(&['-']).is_some() {
            self.depth += 1;
            if self.depth > DEEPEST {
                return None;
            }
            let negative = Node::Negative(Box::new(self.factor()?));
            self.depth -= 1;
            return Some(negative);
        }
        if self.take(&['(']).is_some() {
            let inner = self.sum()?;
            return self.take(&[')']).map(|_| inner);
        }
        let begin = self.rest.chars().next()?;
        if begin.is_ascii_digit() || begin == '.' {
            return self.number();
        }
        let name = self.name()?;
        match name.as_str() {
            "min" | "max" if self.take(&['(']).is_some() => {
                let mut values = vec![self.sum()?];
                while self.take(&[',']).is_some() {
                    values.push(self.sum()?);
                }
                self.take(&[')'])?;
                Some(match name.as_str() {
                    "min" => Node::Least(values),
                    _ => Node::Most(values),
                })
            }
            _ => Some(Node::Name(name)),
        }
    }

    fn number(&mut self) -> Option<Node> {
        let end = (self.rest.find(|c: char| !(c.is_ascii_digit() || c == '.')))
            .unwrap_or(self.rest.len());
        let number = self.rest[..end].parse().ok()?;
        self.rest = &self.rest[end..];
        Some(Node::Number(number))
    }

    fn name(&mut self) -> Option<String> {
        let end = (self.rest)
            .find(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'))
            .unwrap_or(self.rest.len());
        let name = &self.rest[..end];
        let proper = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if !proper || name.ends_with('-') {
            return None;
        }
        self.rest = &self.rest[end..];
        Some(name.to_owned())
    }
}

impl Expression {
    /// Whether it says more than one name or number.
    pub fn is_computed(&self) -> bool {
        !matches!(self.root, Node::Name(_) | Node::Number(_))
    }

    pub fn names(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        self.root.collect(&mut names);
        names
    }

    /// Its value where `value` gives that of each name; `known` lists them for the error.
    pub fn value<'a>(
        &self,
        value: impl Fn(&str) -> Option<f64>,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Result<f64, ExpressionError> {
        if let Some(name) = self.names().into_iter().find(|name| value(name).is_none()) {
            return Err(ExpressionError::UnknownName {
                text: self.text.clone(),
                name: name.to_owned(),
                known: known.into_iter().collect::<Vec<_>>().join(", "),
            });
        }
        let found = self.root.value(&value);
        if found.is_finite() {
            return Ok(found);
        }
        let text = self.text.clone();
        Err(ExpressionError::NotFinite { text })
    }
}

impl Node {
    fn collect<'a>(&'a self, names: &mut BTreeSet<&'a str>) {
        match self {
            Node::Number(_) => {}
            Node::Name(name) => {
                names.insert(name);
            }
            Node::Negative(inner) => inner.collect(names),
            Node::Binary(_, left, right) => {
                left.collect(names);
                right.collect(names);
            }
            Node::Least(all) | Node::Most(all) => all.iter().for_each(|node| node.collect(names)),
        }
    }

    fn value(&self, of: &impl Fn(&str) -> Option<f64>) -> f64 {
        match self {
            Node::Number(number) => *number,
            Node::Name(name) => of(name).unwrap_or(f64::NAN),
            Node::Negative(inner) => -inner.value(of),
            Node::Binary(sign, left, right) => {
                let (left, right) = (left.value(of), right.value(of));
                match sign {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    _ => left / right,
                }
            }
            Node::Least(all) => all
                .iter()
                .map(|node| node.value(of))
                .fold(f64::INFINITY, f64::min),
            Node::Most(all) => all
                .iter()
                .map(|node| node.value(of))
                .fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> Result<f64, ExpressionError> {
        let of = |name: &str| match name {
            "concurrency" => Some(16.0),
            "max-num-batched-tokens" => Some(128.0),
            _ => None,
        };
        text.parse::<Expression>()?.value(of, ["concurrency"])
    }

    #[test]
    fn expressions_have_the_value_that_school_gives_them() {
        for (text, expected) in [
            ("concurrency*10", 160.0),
            ("min(256, max-num-batched-tokens)", 128.0),
            ("max(1, 2, concurrency) + 2 * 3", 22.0),
            ("(1 + 2) * -3", -9.0),
            ("8 - 4 - 2", 2.0),
            ("concurrency - 6 / 4", 14.5),
            ("1.5", 1.5),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_not_an_expression_is_refused_with_the_place() {
        for text in ["", "1 +", "min(1", "2 3", "(1", "concurrency*", "1..2", "%"] {
            let message = value(text).unwrap_err().to_string();
            assert!(message.contains("concurrency*10"), "{text}: {message}");
        }
        for (text, words) in [
            ("rate*2", "known are concurrency"),
            ("1/0", "no finite value"),
        ] {
            assert!(value(text).unwrap_err().to_string().contains(words));
        }
        assert!(value(&"(".repeat(100_000)).is_err());
        assert!(value(&"-".repeat(100_000)).is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[-+*/(),.a-z0-9 ]{0,40}") {
            let _ = value(&text);
        }
    }
}
