//! Whether an answer is right, by rules that need nothing but its text and what is expected.

mod choice;
mod json_schema;
mod number;
mod tools;

pub use json_schema::JsonSchema;
pub use tools::ToolSet;

use inferometer_core::check::EXPECTED;
use regex::Regex;

/// A rule for single answers.
#[derive(Debug)]
pub enum Rule {
    Gsm8k,
    Choice,
    Exact,
    Matches(Pattern),
    Schema(JsonSchema),
}

/// What an answer must match.
#[derive(Debug)]
pub enum Pattern {
    Fixed(Regex),
    /// With a place for what is expected.
    Around(String),
    /// What is expected is the pattern.
    Expected,
}

impl Pattern {
    /// Of `regex:PATTERN`, or of `regex` alone.
    pub fn new(given: Option<&str>) -> Result<Self, regex::Error> {
        Ok(match given {
            None => Pattern::Expected,
            Some(pattern) if pattern.contains(EXPECTED) => {
                Regex::new(&pattern.replace(EXPECTED, "x"))?;
                Pattern::Around(pattern.to_owned())
            }
            Some(pattern) => Pattern::Fixed(Regex::new(pattern)?),
        })
    }

    fn matches(&self, answer: &str, expected: Option<&str>) -> Option<bool> {
        let pattern = match self {
            Pattern::Fixed(regex) => return Some(regex.is_match(answer)),
            Pattern::Around(pattern) => pattern.replace(EXPECTED, &regex::escape(expected?)),
            Pattern::Expected => expected?.to_owned(),
        };
        // A row's own pattern may be none; then nothing can be said of the answer.
        Regex::new(&pattern)
            .ok()
            .map(|regex| regex.is_match(answer))
    }
}

impl Rule {
    /// Whether the answer is right; absent where nothing that it needs is expected.
    pub fn is_right(&self, answer: &str, expected: Option<&str>) -> Option<bool> {
        match self {
            Rule::Gsm8k => {
                let wanted = number::concluding(expected?)?;
                Some(number::concluding(answer).is_some_and(|found| number::same(found, wanted)))
            }
            Rule::Choice => {
                let wanted = choice::expected(expected?)?;
                Some(choice::chosen(answer) == Some(wanted))
            }
            Rule::Exact => Some(answer.trim() == expected?.trim()),
            Rule::Matches(pattern) => pattern.matches(answer, expected),
            Rule::Schema(schema) => Some(schema.allows_text(answer)),
        }
    }
}

/// Characters before the first that differs; absent where the texts are the same.
pub fn first_difference(one: &str, other: &str) -> Option<u64> {
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b);
    (one != other).then(|| same.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(rule: &Rule, answer: &str, expected: &str) -> Option<bool> {
        rule.is_right(answer, Some(expected))
    }

    #[test]
    fn a_sum_is_right_by_its_last_number_however_it_is_written() {
        for (answer, expected, is_right) in [
            ("So 3 + 4 = 7.", "3+4\n#### 7", true),
            ("It costs $1,234.50!", "#### 1234.5", true),
            ("The answer is \\boxed{-12}.", "#### -12", true),
            ("between 5-8 of them", "#### 8", true),
            ("#### 7\nThat is 2 more than 5.", "#### 7", true),
            ("8", "#### 7", false),
            ("I cannot say.", "#### 7", false),
        ] {
            let found = right(&Rule::Gsm8k, answer, expected);
            assert_eq!(found, Some(is_right), "{answer}");
        }
        assert_eq!(right(&Rule::Gsm8k, "7", "none"), None);
        assert_eq!(Rule::Gsm8k.is_right("7", None), None);
    }

    #[test]
    fn a_choice_is_the_letter_that_the_answer_settles_on() {
        for (answer, expected, is_right) in [
            ("B", "B", true),
            ("(b)", "B", true),
            ("B. Paris", "B", true),
            ("A is wrong, so the answer is (C).", "C", true),
            ("**Answer: D**", "D", true),
            ("答案是B。", "B", true),
            ("\\boxed{C}", "2", true),
            ("A man walks; it must be D", "D", true),
            ("A", "B", false),
            ("I do not know.", "B", false),
        ] {
            let found = right(&Rule::Choice, answer, expected);
            assert_eq!(found, Some(is_right), "{answer}");
        }
        assert_eq!(right(&Rule::Choice, "B", "Paris"), None);
    }

    #[test]
    fn patterns_may_hold_what_is_expected_or_be_it() {
        let rule = |given| Rule::Matches(Pattern::new(given).unwrap());
        assert_eq!(right(&rule(Some("^yes")), "yes, it is", "x"), Some(true));
        let around = rule(Some(r"(?i)answer: {expected}$"));
        assert_eq!(right(&around, "Answer: a.b", "a.b"), Some(true));
        assert_eq!(right(&around, "Answer: axb", "a.b"), Some(false));
        assert_eq!(right(&rule(None), "12 apples", r"^\d+"), Some(true));
        assert_eq!(right(&rule(None), "12 apples", "("), None);
        assert!(Pattern::new(Some("(")).is_err());
        assert_eq!(right(&Rule::Exact, " a b\n", "a b"), Some(true));
        assert_eq!(right(&Rule::Exact, "a  b", "a b"), Some(false));
    }

    #[test]
    fn answers_differ_from_their_first_other_character_on() {
        assert_eq!(first_difference("因为a", "因为a"), None);
        assert_eq!(first_difference("因为a", "因为b"), Some(2));
        assert_eq!(first_difference("a", "ab"), Some(1));
    }
}
