//! How answers are checked: by a rule of ours, by somebody's command, or against another run.

use crate::value::{BadValue, serde_as_text};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// The last number of the answer is the last number of what is expected.
    Gsm8k,
    /// The letter that the answer chooses is the expected one.
    Choice,
    /// The answer is what is expected, but for spaces around it.
    Exact,
    /// The answer has a match of this pattern, in which `{expected}` stands for what is expected;
    /// without one, what is expected is the pattern.
    Regex(Option<String>),
    /// The answer is JSON that this schema allows.
    Schema(PathBuf),
    /// A shell command that scores answers.
    Command(String),
    /// The answer is that of another run to the same prompt.
    SameAs(PathBuf),
}

impl Check {
    /// The file or folder that it reads.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Check::Schema(path) | Check::SameAs(path) => Some(path),
            Check::Gsm8k | Check::Choice | Check::Exact | Check::Regex(_) | Check::Command(_) => {
                None
            }
        }
    }

    /// The same with its file named from the root, so that a stored run is repeated from anywhere.
    pub fn absolute(self) -> Check {
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        match self {
            Check::Schema(path) => Check::Schema(absolute(path)),
            Check::SameAs(path) => Check::SameAs(absolute(path)),
            other => other,
        }
    }

    /// Whether it holds answers against what rows of data expect.
    pub fn needs_expected(&self) -> bool {
        match self {
            Check::Gsm8k | Check::Choice | Check::Exact | Check::Regex(None) => true,
            Check::Regex(Some(pattern)) => pattern.contains(EXPECTED),
            Check::Schema(_) | Check::Command(_) | Check::SameAs(_) => false,
        }
    }
}

/// What stands for the expected answer in a pattern.
pub const EXPECTED: &str = "{expected}";

impl FromStr for Check {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let text = text.trim();
        let given = |rest: &str| Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
        let (kind, rest) = match text.split_once([':', '=']) {
            Some((kind, rest)) => (kind.trim(), given(rest)),
            None => (text, None),
        };
        Ok(match (kind, rest) {
            ("gsm8k" | "last-number", None) => Check::Gsm8k,
            ("choice" | "multiple-choice", None) => Check::Choice,
            ("exact", None) => Check::Exact,
            ("regex", pattern) => Check::Regex(pattern),
            ("schema", Some(file)) => Check::Schema(file.into()),
            ("command", Some(command)) => Check::Command(command),
            ("same-as", Some(run)) => Check::SameAs(run.into()),
            _ if text.ends_with(".json") => Check::Schema(text.into()),
            _ => {
                return Err(BadValue::new(
                    text,
                    "choose gsm8k, choice, exact, regex, regex:PATTERN, a JSON schema (FILE.json), \
                     command:COMMAND or same-as:RUN",
                ));
            }
        })
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Check::Gsm8k => f.write_str("gsm8k"),
            Check::Choice => f.write_str("choice"),
            Check::Exact => f.write_str("exact"),
            Check::Regex(None) => f.write_str("regex"),
            Check::Regex(Some(pattern)) => write!(f, "regex:{pattern}"),
            Check::Schema(file) => write!(f, "schema:{}", file.display()),
            Check::Command(command) => write!(f, "command:{command}"),
            Check::SameAs(run) => write!(f, "same-as:{}", run.display()),
        }
    }
}

serde_as_text!(Check);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_and_a_file_alone_is_a_schema() {
        let texts = "gsm8k choice exact regex regex:^a:b=c$ schema:s.json same-as:runs/a";
        for text in texts.split(' ').chain(["command:judge --strict=yes"]) {
            let check: Check = text.parse().unwrap();
            assert_eq!(check.to_string(), text);
        }
        assert_eq!("a/b.json".parse(), Ok(Check::Schema("a/b.json".into())));
        assert_eq!("same-as=runs/a".parse(), Ok(Check::SameAs("runs/a".into())));
        for bad in ["", "same-as", "command:", "gsm8k:x", "mmlu"] {
            let said = bad.parse::<Check>().unwrap_err().to_string();
            assert!(said.contains("same-as:RUN"), "{said}");
        }
    }
}
