//! Results as checks that passed or failed, in the forms that CI services read.

use inferometer_text::hostile::{escaped, printable};

/// Longest text of a check that is shown.
const MOST_CHARS: usize = 1_000;

/// Warnings of a workflow that are told one by one.
const MOST_WARNINGS: usize = 5;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checks {
    /// What was checked.
    pub name: String,
    pub checks: Vec<Check>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What it belongs to, such as a load.
    pub group: String,
    pub name: String,
    pub outcome: Outcome,
    /// What was found, in one line.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// It speaks against the change.
    Failed,
    /// It cannot be decided.
    Undecided,
}

impl Checks {
    fn of(&self, outcome: Outcome) -> impl Iterator<Item = &Check> {
        (self.checks.iter()).filter(move |check| check.outcome == outcome)
    }

    fn count(&self, outcome: Outcome) -> usize {
        self.of(outcome).count()
    }

    /// JUnit's XML: a check that cannot be decided is a skipped test.
    pub fn junit(&self) -> String {
        let name = attribute(&self.name);
        let counts = format!(
            "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"",
            self.checks.len(),
            self.count(Outcome::Failed),
            self.count(Outcome::Undecided),
        );
        let mut out = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  <testsuite name=\"{name}\" {counts}>\n"
        );
        for check in &self.checks {
            let text = attribute(&check.text);
            let inside = match check.outcome {
                Outcome::Passed => format!("<system-out>{text}</system-out>"),
                Outcome::Failed => format!("<failure message=\"{text}\"/>"),
                Outcome::Undecided => format!("<skipped message=\"{text}\"/>"),
            };
            out.push_str(&format!(
                "    <testcase classname=\"{}\" name=\"{}\">{inside}</testcase>\n",
                attribute(&check.group),
                attribute(&check.name),
            ));
        }
        out + "  </testsuite>\n</testsuites>\n"
    }

    /// Annotations of a GitHub workflow: an error for what failed, a warning for what cannot be
    /// decided, and one line for all that passed.
    pub fn github(&self) -> String {
        let mut out = String::new();
        let failed = self.of(Outcome::Failed).map(|it| (it, "error"));
        // The service shows a few of each kind only, and drops the rest without a word.
        let undecided = self.of(Outcome::Undecided).map(|it| (it, "warning"));
        for (check, level) in failed.chain(undecided.take(MOST_WARNINGS)) {
            let parts = [check.group.as_str(), check.name.as_str()];
            let parts = parts.into_iter().filter(|part| !part.is_empty());
            let title: Vec<&str> = parts.collect();
            out.push_str(&format!(
                "::{level} title={}::{}\n",
                property(&title.join(" · ")),
                message(&check.text)
            ));
        }
        if let more @ 1.. = (self.count(Outcome::Undecided)).saturating_sub(MOST_WARNINGS) {
            out.push_str(&format!("::warning::… +{more}\n"));
        }
        let passed = format!(
            "{}: {} / {}",
            self.name,
            self.count(Outcome::Passed),
            self.checks.len()
        );
        out + "::notice::" + &message(&passed) + "\n"
    }
}

fn attribute(text: &str) -> String {
    escaped(&printable(text, MOST_CHARS))
}

/// A text in a command of a workflow: signs that have a meaning there are written as numbers.
fn message(text: &str) -> String {
    printable(text, MOST_CHARS).replace('%', "%25")
}

fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

/// Text of a document among the commands of a workflow: no line of it is taken for one.
pub fn without_commands(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let begins = line.trim_start();
        if begins.starts_with("::") || begins.starts_with("##[") {
            out.push_str("&#8203;");
        }
        out.push_str(line);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks() -> Checks {
        let check = |name: &str, outcome, text: &str| Check {
            group: "c=8, <b>".to_owned(),
            name: name.to_owned(),
            outcome,
            text: text.to_owned(),
        };
        Checks {
            name: "A & B".to_owned(),
            checks: vec![
                check(
                    "TTFT p99",
                    Outcome::Failed,
                    "18 % more\n::set-output name=x::y",
                ),
                check("TPOT mean", Outcome::Passed, "the same"),
                check("E2E mean", Outcome::Undecided, "\"cannot tell\""),
            ],
        }
    }

    #[test]
    fn junit_is_xml_with_a_test_for_each_check() {
        let xml = checks().junit();
        let document = roxmltree::Document::parse(&xml).unwrap();
        let suite = document
            .descendants()
            .find(|it| it.has_tag_name("testsuite"));
        let suite = suite.unwrap();
        assert_eq!(suite.attribute("name"), Some("A & B"));
        assert_eq!(suite.attribute("tests"), Some("3"));
        assert_eq!(suite.attribute("failures"), Some("1"));
        assert_eq!(suite.attribute("skipped"), Some("1"));
        let failure = document.descendants().find(|it| it.has_tag_name("failure"));
        let failure = failure.unwrap();
        let case = failure.parent().unwrap();
        assert_eq!(case.attribute("classname"), Some("c=8, <b>"));
        assert_eq!(case.attribute("name"), Some("TTFT p99"));
        assert!(
            failure
                .attribute("message")
                .unwrap()
                .starts_with("18 % more")
        );
    }

    #[test]
    fn annotations_are_one_line_each_whatever_the_texts_are() {
        let text = checks().github();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "::error title=c=8%2C <b> · TTFT p99::18 %25 more ::set-output name=x::y",
                "::warning title=c=8%2C <b> · E2E mean::\"cannot tell\"",
                "::notice::A & B: 1 / 3",
            ]
        );
    }

    #[test]
    fn what_failed_comes_before_the_few_warnings_that_are_shown() {
        let check = |outcome: Outcome| Check {
            group: String::new(),
            name: "TTFT".to_owned(),
            outcome,
            text: "…".to_owned(),
        };
        let mut all = vec![check(Outcome::Undecided); 8];
        all.push(check(Outcome::Failed));
        let checks = Checks {
            name: "A".to_owned(),
            checks: all,
        };
        let text = checks.github();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 8, "{text}");
        assert!(lines[0].starts_with("::error"), "{text}");
        assert_eq!(lines[6], "::warning::… +3");
    }

    #[test]
    fn no_line_of_a_document_is_a_command() {
        let told = without_commands("# A\n ::add-mask::x\n##[error]y\nb :: c\n");
        assert!(
            told.lines()
                .all(|line| !line.trim_start().starts_with("::"))
        );
        assert!(
            told.lines()
                .all(|line| !line.trim_start().starts_with("##["))
        );
        assert!(told.contains("b :: c"));
    }
}
